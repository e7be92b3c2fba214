-- Tables that clients do not share: each client has its own table as long as there are enough. Compared with
-- `--shards=1` it shows the cost of sharing.
--
-- All commands except `verify` run in all clients at once, so that eight of them load eight tables in parallel. With
-- `--report-interval` reports are lines of CSV under a line of names: `run | grep -E '^(time_s|[0-9])' > run.csv`.
--
-- Licence: MIT or Apache-2.0, at your choice.

sysbench.cmdline.options = {
  shards = { "Tables", 8 },
  shard_rows = { "Rows of each table", 10000 },
}

local function shard_name(number) return "shard_" .. number end

-- The shards that are this client's to load or to drop: every shard is exactly one client's.
local function own_shards()
  local number = sysbench.tid + 1 - sysbench.opt.threads
  return function()
    number = number + sysbench.opt.threads
    if number <= sysbench.opt.shards then return number end
  end
end

local function load()
  local connection = sysbench.sql.driver():connect()
  for number in own_shards() do
    local name = shard_name(number)
    connection:query("CREATE TABLE " .. name .. " (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(60))")
    connection:bulk_insert_init("INSERT INTO " .. name .. " VALUES")
    for id = 1, sysbench.opt.shard_rows do
      connection:bulk_insert_next(string.format("(%d, 0, '%s')", id, sysbench.rand.string(string.rep("@", 40))))
    end
    connection:bulk_insert_done()
    print("loaded " .. name)
  end
  connection:disconnect()
end

local function warm()
  local connection = sysbench.sql.driver():connect()
  for number in own_shards() do
    connection:query_row("SELECT SUM(LENGTH(note)) FROM " .. shard_name(number))
  end
  connection:disconnect()
end

local function drop()
  local connection = sysbench.sql.driver():connect()
  for number in own_shards() do connection:query("DROP TABLE IF EXISTS " .. shard_name(number)) end
  connection:disconnect()
end

-- Whether all rows are there. `false` makes the exit code 1.
local function verify()
  local connection = sysbench.sql.driver():connect()
  local is_good = true
  for number = 1, sysbench.opt.shards do
    local rows, changes = connection:query_row("SELECT COUNT(*), SUM(n) FROM " .. shard_name(number))
    print(string.format("%s: %s rows, %s changes", shard_name(number), rows, changes))
    is_good = is_good and tonumber(rows) == sysbench.opt.shard_rows
  end
  connection:disconnect()
  return is_good
end

local PARALLEL = sysbench.cmdline.PARALLEL_COMMAND
sysbench.cmdline.commands = {
  prepare = { load, PARALLEL },
  warm = { warm, PARALLEL },
  cleanup = { drop, PARALLEL },
  verify = { verify },
}

function thread_init(tid)
  connection = sysbench.sql.driver():connect()
  local name = shard_name(tid % sysbench.opt.shards + 1)
  update = connection:prepare("UPDATE " .. name .. " SET n = n + 1 WHERE id = ?")
  id = update:bind_create(sysbench.sql.type.INT)
  update:bind_param(id)
end

function event()
  id:set(sysbench.rand.default(1, sysbench.opt.shard_rows))
  update:execute()
end

function thread_done()
  update:close()
  connection:disconnect()
end

local has_names = false

function sysbench.hooks.report_intermediate(stat)
  if not has_names then print("time_s,clients,tps,qps,latency_ms,errors_per_s") end
  has_names = true
  local seconds = stat.time_interval
  print(string.format("%.1f,%d,%.1f,%.1f,%.3f,%.2f", stat.time_total, stat.threads_running, stat.events / seconds,
                      (stat.reads + stat.writes + stat.other) / seconds, stat.latency_pct * 1000,
                      stat.errors / seconds))
end

function sysbench.hooks.report_cumulative(stat)
  print(string.format("# %d transactions in %.1f s, %.1f a second; latency %.3f ms on average, %.3f ms at most",
                      stat.events, stat.time_total, stat.events / stat.time_interval, stat.latency_avg * 1000,
                      stat.latency_max * 1000))
end
