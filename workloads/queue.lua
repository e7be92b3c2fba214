-- A table as a queue: some clients put jobs into it, the others take the oldest job that no other client has locked,
-- and delete it.
--
-- Purpose: which rate of jobs does a table sustain as a queue? At the end it prints the number of remaining jobs and
-- the age of the oldest: a queue that grows is too slow. `--rate` is the number of events a second of all clients.
--
-- It needs SKIP LOCKED: MySQL 8.0, MariaDB 10.6, PostgreSQL 9.5. Run it with two clients or more.
--
-- Licence: MIT or Apache-2.0, at your choice.

sysbench.cmdline.options = {
  jobs = { "Jobs that wait at the beginning", 100 },
  consumers = { "Percentage of the clients that take jobs", 50 },
  payload = { "Characters of text in each job", 200 },
}

local TAKE = "SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"

-- How the two kinds of server say it.
local WORDS = {
  mysql = {
    create = "CREATE TABLE jobs (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, " ..
             "put_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), payload TEXT NOT NULL)",
    age_s = "TIMESTAMPDIFF(MICROSECOND, MIN(put_at), NOW(6)) / 1000000",
  },
  pgsql = {
    create = "CREATE TABLE jobs (id BIGSERIAL PRIMARY KEY, " ..
             "put_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), payload TEXT NOT NULL)",
    age_s = "EXTRACT(EPOCH FROM clock_timestamp() - MIN(put_at))",
  },
}

local function connect()
  local driver = sysbench.sql.driver()
  return driver:connect(), WORDS[driver:name()]
end

local function job()
  return "('" .. sysbench.rand.string(string.rep("@", sysbench.opt.payload)) .. "')"
end

function prepare()
  local connection, words = connect()
  connection:query(words.create)
  if sysbench.opt.jobs > 0 then
    connection:bulk_insert_init("INSERT INTO jobs (payload) VALUES")
    for _ = 1, sysbench.opt.jobs do connection:bulk_insert_next(job()) end
    connection:bulk_insert_done()
  end
  connection:disconnect()
  print("put " .. sysbench.opt.jobs .. " jobs into the queue")
end

function cleanup()
  local connection = connect()
  connection:query("DROP TABLE IF EXISTS jobs")
  connection:disconnect()
end

-- Consumers are spread evenly over the clients' numbers, whatever their share is.
local function is_consumer(tid)
  local share = sysbench.opt.consumers / 100
  return math.floor((tid + 1) * share) > math.floor(tid * share)
end

local function put()
  connection:query("INSERT INTO jobs (payload) VALUES " .. job())
end

local function take()
  connection:query("BEGIN")
  local id = connection:query_row(TAKE)
  if id then connection:query("DELETE FROM jobs WHERE id = " .. id) end
  connection:query("COMMIT")
end

function thread_init(tid)
  connection = connect()
  do_one = is_consumer(tid) and take or put
end

function event()
  do_one()
end

function thread_done()
  connection:disconnect()
end

-- Runs in the main thread's state, which has no connection yet.
function done()
  local connection, words = connect()
  local left, age_s = connection:query_row("SELECT COUNT(*), COALESCE(" .. words.age_s .. ", 0) FROM jobs")
  connection:disconnect()
  print(string.format("jobs left: %d, the oldest of them %.1f s old", left, age_s))
end
