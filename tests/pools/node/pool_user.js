// Uses a pool as tests/pools/check.py asks: `pool_user.js CONFIGURATION`.
'use strict'
const fs = require('fs')
const mysql = require('mysql2/promise')

const configuration = fs.readFileSync(process.argv[2], 'utf8')
const pool = new Function('mysql', `${configuration}\nreturn pool`)(mysql)
// The configuration ends with a comment: how a statement is limited.
const limited = new Function('pool', 'sql', 'values', `return ${configuration.match(/a statement: (.*)/)[1]}`)

let users = []
const held = []

async function takeOne() {
  const connection = await pool.getConnection()
  held.push(connection)
  await connection.query('SELECT 1')
}

const obey = {
  // Ends with the first error: without an acquire timeout, the others wait until `give`.
  take: (connections) => {
    const taken = Array.from({ length: Number(connections) }, takeOne)
    users = users.concat(taken.map((one) => one.catch(() => {})))
    return Promise.all(taken)
  },
  give: async () => {
    let isOver = false
    Promise.all(users).then(() => { isOver = true })
    while (!isOver || held.length > 0) {
      held.splice(0).forEach((connection) => connection.release())
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    users = []
  },
  run: (sql) => limited(pool, sql, []),
}

async function main() {
  console.log('ok 0')
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    const [, command, argument] = line.match(/^(\S+) ?(.*)$/)
    const start = performance.now()
    const answer = await Promise.resolve(obey[command](argument)).then(() => null, (error) => error)
    const milliseconds = Math.floor(performance.now() - start)
    console.log(answer ? `error ${milliseconds} ${answer.message}` : `ok ${milliseconds}`)
  }
  process.exit(0)
}
main()
