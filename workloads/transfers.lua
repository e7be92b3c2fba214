-- Money moves between accounts, a few of which are in every other transfer: transactions wait for each other's rows,
-- and some of them have to be tried again.
--
-- Purpose: what do hot rows cost, and does the server lose data? `check` reports whether the sum of all balances is
-- unchanged.
--
-- Licence: MIT or Apache-2.0, at your choice.

sysbench.cmdline.options = {
  accounts = { "Accounts", 1000 },
  hot = { "Accounts that are hot", 4 },
  hot_share = { "Percentage of accounts in transfers that are hot ones", 50 },
  ordered = { "Lock the smaller number first, so that transfers cannot deadlock", false },
}

local OPENING_BALANCE = 1000

function prepare()
  local connection = sysbench.sql.driver():connect()
  connection:query("CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)")
  connection:query([[CREATE TABLE transfers (id VARCHAR(24) NOT NULL PRIMARY KEY,
    giver INT NOT NULL, taker INT NOT NULL, amount INT NOT NULL)]])
  connection:bulk_insert_init("INSERT INTO accounts VALUES")
  for id = 1, sysbench.opt.accounts do
    connection:bulk_insert_next("(" .. id .. ", " .. OPENING_BALANCE .. ")")
  end
  connection:bulk_insert_done()
  connection:disconnect()
  print("opened " .. sysbench.opt.accounts .. " accounts")
end

function cleanup()
  local connection = sysbench.sql.driver():connect()
  connection:query("DROP TABLE IF EXISTS transfers")
  connection:query("DROP TABLE IF EXISTS accounts")
  connection:disconnect()
end

local function check()
  local connection = sysbench.sql.driver():connect()
  local sum, accounts = connection:query_row("SELECT SUM(balance), COUNT(*) FROM accounts")
  local transfers = connection:query_row("SELECT COUNT(*) FROM transfers")
  connection:disconnect()
  local expected = accounts * OPENING_BALANCE
  print(string.format("%s transfers; the balances sum up to %s of %d", transfers, sum, expected))
  return tonumber(sum) == expected
end

sysbench.cmdline.commands = { check = { check } }

-- Errors after which the transfer is tried again: deadlock, lock wait timeout, serialization failure, and both of
-- PostgreSQL's words for the first two.
local AGAIN = { [1213] = true, [1205] = true, ["40001"] = true, ["40P01"] = true, ["55P03"] = true }

function sysbench.hooks.sql_error_ignorable(problem)
  return AGAIN[problem.sql_errno] or AGAIN[problem.sql_state]
end

-- After a lock wait timeout MySQL keeps the transaction: the half that was done has to go.
function sysbench.hooks.before_restart_event(problem)
  problem.connection:query("ROLLBACK")
end

local function pick_account()
  if sysbench.rand.uniform(1, 100) <= sysbench.opt.hot_share then
    return sysbench.rand.uniform(1, sysbench.opt.hot)
  end
  return sysbench.rand.uniform(1, sysbench.opt.accounts)
end

local function change(id, amount)
  connection:query(string.format("UPDATE accounts SET balance = balance + %d WHERE id = %d", amount, id))
end

function thread_init()
  assert(sysbench.opt.accounts > sysbench.opt.hot, "--accounts must be more than --hot")
  connection = sysbench.sql.driver():connect()
  -- No two runs on the same tables name their transfers alike.
  transfer_prefix = sysbench.rand.string("@@@@@@@@") .. "-" .. sysbench.tid .. "-"
  transfers = 0
end

function event()
  local giver, taker = pick_account(), pick_account()
  if taker == giver then taker = giver % sysbench.opt.accounts + 1 end
  local amount = sysbench.rand.uniform(1, 100)
  transfers = transfers + 1
  connection:query("BEGIN")
  if sysbench.opt.ordered and taker < giver then
    change(taker, amount)
    change(giver, -amount)
  else
    change(giver, -amount)
    change(taker, amount)
  end
  connection:query(string.format("INSERT INTO transfers VALUES ('%s%d', %d, %d, %d)", transfer_prefix, transfers, giver,
                                 taker, amount))
  connection:query("COMMIT")
end

function thread_done()
  connection:disconnect()
end
