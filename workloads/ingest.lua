-- Devices send readings: each event is one INSERT of some rows into a table of this script.
--
-- Purpose: how many rows a second does the server take, and what is the effect of indexes, longer rows, and more rows
-- in a statement? `--tables` larger than 1 shows whether the end of one table is the limit.
--
-- Licence: MIT or Apache-2.0, at your choice.

sysbench.cmdline.options = {
  tables = { "Tables; each event writes to one of them", 1 },
  devices = { "Devices that send readings", 1000 },
  rows = { "Rows in one INSERT", 1 },
  payload = { "Characters of text in each row", 100 },
  indexes = { "Secondary indexes of each table, 0 to 2", 2 },
}

local INDEXES = { "device, taken_at", "level" }

local function table_name(number) return "readings_" .. number end

function prepare()
  local driver = sysbench.sql.driver()
  local connection = driver:connect()
  local id = driver:name() == "pgsql" and "BIGSERIAL PRIMARY KEY" or "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"
  for number = 1, sysbench.opt.tables do
    local name = table_name(number)
    connection:query("CREATE TABLE " .. name .. " (id " .. id .. [[,
      device INT NOT NULL,
      level INT NOT NULL,
      taken_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
      payload TEXT NOT NULL)]])
    for n = 1, math.min(sysbench.opt.indexes, #INDEXES) do
      connection:query(string.format("CREATE INDEX %s_%d ON %s (%s)", name, n, name, INDEXES[n]))
    end
    print("made " .. name)
  end
  connection:disconnect()
end

function cleanup()
  local connection = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    connection:query("DROP TABLE IF EXISTS " .. table_name(number))
  end
  connection:disconnect()
end

-- A statement that is prepared once, and the values of its rows.
local function prepare_insert(connection, name)
  local type = sysbench.sql.type
  local insert = { rows = {} }
  local text = "INSERT INTO " .. name .. " (device, level, payload) VALUES " ..
               string.rep("(?, ?, ?)", sysbench.opt.rows, ", ")
  insert.statement = connection:prepare(text)
  local values = {}
  for n = 1, sysbench.opt.rows do
    local row = {
      device = insert.statement:bind_create(type.INT),
      level = insert.statement:bind_create(type.INT),
      payload = insert.statement:bind_create(type.VARCHAR, sysbench.opt.payload),
    }
    insert.rows[n] = row
    values[#values + 1], values[#values + 2], values[#values + 3] = row.device, row.level, row.payload
  end
  insert.statement:bind_param(unpack(values))
  return insert
end

function thread_init()
  connection = sysbench.sql.driver():connect()
  payload_model = string.rep("@", sysbench.opt.payload)
  inserts = {}
  for number = 1, sysbench.opt.tables do
    inserts[number] = prepare_insert(connection, table_name(number))
  end
end

function event()
  local insert = inserts[sysbench.rand.uniform(1, sysbench.opt.tables)]
  for _, row in ipairs(insert.rows) do
    row.device:set(sysbench.rand.default(1, sysbench.opt.devices))
    row.level:set(sysbench.rand.uniform(0, 1000000))
    row.payload:set_rand_str(payload_model)
  end
  insert.statement:execute()
end

function thread_done()
  for _, insert in ipairs(inserts) do insert.statement:close() end
  connection:disconnect()
end
