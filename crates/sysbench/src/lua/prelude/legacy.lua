-- The API of sysbench 0.5, which 1.0 still had: one connection for each state, opened by the first statement.
local runtime, request, sql, rand = ...
local api = sql.api
local legacy = {}

local CONSTANTS = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }

-- Statements raise the table that restarts the event, or the name of the function that failed.
local function try(name, f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  if type(result) == "table" then error({ errcode = 1 }, 0) end
  error(name .. "() failed", 3)
end

local TYPES = { number = api.type.INT, string = api.type.CHAR }
local TEXT_BYTES = 256

-- The connection of each client, and its statements, by its globals.
local connections = setmetatable({}, { __mode = "k" })
local statements = setmetatable({}, { __mode = "k" })

local function connect()
  local environment = getfenv(0)
  local connection = connections[environment]
  if connection then return connection end
  local ok, driver = pcall(api.driver)
  if not ok then error("DB initialization failed", 3) end
  environment.db_driver = driver:name()
  ok, connection = pcall(driver.connect, driver)
  if not ok then error("Failed to connect to the database", 3) end
  connections[environment] = connection
  return connection
end

local function statement_data(handle, name)
  local found = statements[handle]
  if not found then error("bad argument #1 to '" .. name .. "' (a statement expected)", 3) end
  return found
end

local functions = {}

function functions.db_connect() connect() end

function functions.db_disconnect()
  local environment = getfenv(0)
  if connections[environment] then connections[environment]:disconnect() end
  connections[environment] = nil
end

for _, method in ipairs({ "query", "bulk_insert_init", "bulk_insert_next", "bulk_insert_done" }) do
  local name = "db_" .. method
  functions[name] = function(text) try(name, connect()[method], connect(), text) end
end

function functions.db_prepare(text)
  local handle = newproxy()
  statements[handle] = { statement = try("db_prepare", connect().prepare, connect(), text) }
  return handle
end

function functions.db_bind_param(handle, values)
  local found = statement_data(handle, "db_bind_param")
  if type(values) ~= "table" then error("bad argument #2 to 'db_bind_param' (table expected)", 2) end
  local parameters = {}
  for i, value in ipairs(values) do
    local kind = TYPES[type(value)]
    if not kind then error("Unsupported variable type: " .. type(value), 2) end
    parameters[i] = found.statement:bind_create(kind, TEXT_BYTES)
  end
  found.values, found.parameters = values, parameters
  found.statement:bind_param(unpack(parameters))
end

function functions.db_bind_result(handle) statement_data(handle, "db_bind_result") end

function functions.db_execute(handle)
  local found = statement_data(handle, "db_execute")
  -- The bound table is read again at each execution.
  for i, parameter in ipairs(found.parameters or {}) do parameter:set(found.values[i]) end
  try("db_execute", found.statement.execute, found.statement)
  -- Results are accepted by only two functions, which do nothing.
  return handle
end

function functions.db_store_results() end
function functions.db_free_results() end

function functions.db_close(handle)
  statement_data(handle, "db_close").statement:close()
  statements[handle] = nil
end

-- Scripts of 0.5 pass options as text.
local function number_of(value)
  if type(value) == "string" then return tonumber(value) or value end
  return value
end

local function of_numbers(draw)
  return function(a, b) return draw(number_of(a), number_of(b)) end
end

functions.sb_rnd = function() return rand.uniform(0, 0x7fffffff) end
functions.sb_rand = of_numbers(rand.default)
functions.sb_rand_str = rand.string
functions.sb_rand_uniform = of_numbers(rand.uniform)
functions.sb_rand_gaussian = of_numbers(rand.gaussian)
functions.sb_rand_special = of_numbers(rand.special)

function functions.sb_rand_uniq(a, b)
  if not a then return rand.unique() end
  a, b = number_of(a), number_of(b)
  local drawn
  repeat drawn = rand.unique() until drawn >= a and drawn <= b
  return drawn
end

-- `sysbench.db` has the same functions and constants, without their prefix.
local db = {}
for name, value in pairs(CONSTANTS) do db[name] = value end
for name, value in pairs(functions) do
  local short = name:match("^db_(.*)$")
  if short then db[short] = value end
end

-- Installs the parts that all clients share in `base`.
function legacy.install_in(base)
  if not runtime.has_legacy then return end
  for name, value in pairs(CONSTANTS) do base[name] = value end
  for name, value in pairs(functions) do base[name] = value end
  base.mysql_table_engine = "innodb"
  base.myisam_max_rows = 1000000
end

function legacy.install(environment, tid, facts)
  environment.thread_id = tid
  environment.test = facts.script_path
  environment.sysbench.db = db
end

return legacy
