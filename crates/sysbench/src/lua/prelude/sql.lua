-- sysbench.sql: drivers, connections, statements, results, and values that are bound to statements.
local runtime, request = ...
local ffi = require("ffi")
local C = ffi.C
local ask = request.ask
local send_query, send_execute = request.query, request.execute
local CONNECT, RECONNECT, PREPARE = request.CONNECT, request.RECONNECT, request.PREPARE
local NEXT_RESULT, PREPARE_BOUND = request.NEXT_RESULT, request.PREPARE_BOUND
-- The runtime's answers: a result; no result; the statement failed; the call was wrong.
local RESULT, NONE, FAILED = runtime.answers.RESULT, runtime.answers.NONE, runtime.answers.FAILED
local CLOSED = runtime.answers.CLOSED

local RESTART_EVENT = 1
-- The result of statements without rows: equal to nil, as in sysbench, but an object.
local NO_RESULT = ffi.cast("sql_result *", nil)
-- The handle of no connection.
local NO_CONNECTION = 0xffffffff

local sql = {
  type = {
    NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8, DATETIME = 9,
    TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
  },
  error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
}
local TYPE = sql.type

-- The table `sysbench` of each client, by its number: connections know their client.
local sysbench_of = {}

local function text_or_nil(pointer)
  if pointer == nil then return nil end
  return ffi.string(pointer)
end

-- Raises the error of a failed statement: at the script's line that called into this file, `level` functions above.
local function raise(connection, query, level)
  level = level or 3
  local description = {
    connection = connection, query = query, sql_errno = connection.sql_errno,
    sql_state = text_or_nil(connection.sql_state), sql_errmsg = text_or_nil(connection.sql_errmsg),
  }
  local restarts = connection.error == C.DB_ERROR_IGNORABLE
  if not restarts then
    local sysbench = sysbench_of[connection.tid]
    local is_ignorable = sysbench and sysbench.hooks and sysbench.hooks.sql_error_ignorable
    restarts = is_ignorable and is_ignorable(description)
  end
  if restarts then
    description.errcode = RESTART_EVENT
    error(description, level)
  end
  error(string.format("SQL error, errno = %d, state = '%s': %s", description.sql_errno, description.sql_state or "",
                      description.sql_errmsg or ""), level)
end

-- Texts may be C strings, too.
local function as_text(query, name)
  if type(query) == "cdata" and query ~= nil then return ffi.string(query) end
  local length = #query
  error(string.format("bad argument #2 to '%s' (cannot convert '%s' of length %d to 'const char *')", name, type(query),
                      length), 3)
end

--
-- Values bound to statements
--

-- A parameter is a small table with one block of memory, which the runtime reads when the statement is executed. Numbers
-- (not enumerations or arrays) can be read and written without allocating an object.
ffi.cdef([[
typedef struct truetps_parameter {
  unsigned long data_len; uint32_t max_len; int32_t type; char is_null;
  union { int64_t number; double real; char text[1]; }; char rest[?];
} truetps_parameter;
]])
local IS_NULL_OFFSET = ffi.offsetof("truetps_parameter", "is_null")
local BIGINT, DOUBLE = TYPE.BIGINT, TYPE.DOUBLE
local min = math.min
local methods = {}

local function is_null_of(memory) return ffi.cast("char *", memory) + IS_NULL_OFFSET end

-- Fields that scripts may read from a parameter.
local fields = {
  type = function(memory) return memory.type end,
  max_len = function(memory) return memory.max_len end,
  is_null = is_null_of,
  data_len = function(memory) return ffi.cast("unsigned long *", memory) end,
  buffer = function(memory)
    if memory.type == BIGINT then return ffi.cast("int64_t *", memory.text) end
    if memory.type == DOUBLE then return ffi.cast("double *", memory.text) end
    return ffi.cast("char *", memory.text)
  end,
}

local parameter_type = {
  __index = function(self, name)
    local field = fields[name]
    if field then return field(self[1]) end
    return methods[name]
  end,
  __tostring = function() return "<sql_param>" end,
}

function methods:set(value)
  local memory = self[1]
  if value == nil then
    memory.is_null = 1
    return
  end
  memory.is_null = 0
  local kind = memory.type
  if kind == BIGINT then
    memory.number = value
  elseif kind == DOUBLE then
    memory.real = value
  else
    local length = min(#value, memory.max_len)
    ffi.copy(memory.text, value, length)
    memory.data_len = length
  end
end

function methods:set_rand_str(fmt)
  local memory = self[1]
  local length = min(#fmt, memory.max_len)
  if length < #fmt then fmt = fmt:sub(1, length) end
  C.sb_rand_str(fmt, memory.text)
  memory.is_null = 0
  memory.data_len = length
end

--
-- Statements
--
local statement = {}
-- The connection of each statement, which must live as long as the statement.
local kept_alive = setmetatable({}, { __mode = "k" })
-- The memory that a statement points to, by its handle: the runtime may read it while the handle exists.
local bound = {}

local INTEGERS = { [TYPE.TINYINT] = true, [TYPE.SMALLINT] = true, [TYPE.INT] = true, [TYPE.BIGINT] = true }
local NUMBER_BYTES = 8

function statement:bind_create(kind, max_len)
  local number = tonumber(kind)
  local memory
  if INTEGERS[number] then
    memory = ffi.new("truetps_parameter", 0)
    memory.type, memory.max_len = BIGINT, NUMBER_BYTES
  elseif number == TYPE.FLOAT or number == TYPE.DOUBLE then
    memory = ffi.new("truetps_parameter", 0)
    memory.type, memory.max_len = DOUBLE, NUMBER_BYTES
  elseif number == TYPE.CHAR or number == TYPE.VARCHAR then
    if max_len < 0 then error("a text of " .. max_len .. " bytes", 2) end
    memory = ffi.new("truetps_parameter", math.max(0, max_len + 1 - NUMBER_BYTES))
    memory.type, memory.max_len = TYPE.VARCHAR, max_len
  else
    error("Unsupported argument type: " .. tostring(kind), 2)
  end
  memory.is_null = 1
  return setmetatable({ memory }, parameter_type)
end

function statement:bind_param(...)
  local count = select("#", ...)
  if count == 0 then return nil end
  local binds = ffi.new("sql_bind[?]", count)
  local kept = { ... }
  for i = 1, count do
    local memory, bind = kept[i][1], binds[i - 1]
    bind.type, bind.buffer, bind.max_len = memory.type, memory.text, memory.max_len
    bind.data_len, bind.is_null = ffi.cast("unsigned long *", memory), is_null_of(memory)
    -- A script may clear the table's memory; the statement keeps its own.
    kept[i] = memory
  end
  local before = bound[self.handle]
  bound[self.handle] = kept
  local status = runtime.bind(self.handle, tonumber(ffi.cast("intptr_t", binds)), count)
  if status ~= 0 then bound[self.handle] = before end
  if status == 0 and ask(PREPARE_BOUND, self.handle) ~= NONE then return 1 end
  return status
end

-- What a statement gave. A tail call of a function of scripts: levels of errors count from that function.
local function result_of(connection, answer, query, misuse_level)
  if answer == NONE then return NO_RESULT end
  if answer == RESULT then return connection.result end
  if answer == FAILED then raise(connection, query) end
  error("SQL API error", misuse_level)
end

function statement:execute()
  return result_of(self.connection, send_execute(self), "<prepared statement>", 2)
end

function statement:next_result()
  local connection = self.connection
  return result_of(connection, ask(NEXT_RESULT, connection.handle), "", 2)
end

function statement:close()
  return runtime.close_statement(self.handle)
end

-- The result of preparing on a closed connection: equal to nil, as in sysbench, where using it is a crash.
ffi.cdef("typedef struct truetps_no_statement { int unused; } truetps_no_statement;")
local no_statement = { bind_create = statement.bind_create }
for _, name in ipairs({ "bind_param", "execute", "next_result", "close" }) do
  no_statement[name] = function() error("SQL API error", 2) end
end
ffi.metatype("truetps_no_statement", {
  __index = no_statement, __tostring = function() return "<sql_statement>" end,
})
local NO_STATEMENT = ffi.cast("truetps_no_statement *", nil)

--
-- Results
--
local result = {}

function result:fetch_row() return runtime.fetch_row(self.serial) end

function result:free() return assert(runtime.free_result(self.serial), "db_free_results() failed") end

-- Fields are read through here, so that reading a field of no result does not crash.
local result_fields = {
  nrows = function(self) return self.rows_ end,
  nfields = function(self) return self.fields_ end,
  counter = function(self) return self.counter_ end,
  statement = function(self) return self.statement_ end,
  serial = function(self) return self.serial_ end,
}

local function result_index(self, name)
  if result[name] then return result[name] end
  local field = result_fields[name]
  if not field then error("'sql_result' has no member named '" .. tostring(name) .. "'", 2) end
  if self == nil then
    if name == "nrows" or name == "nfields" then return 0 end
    if name == "serial" then return NO_CONNECTION end
    return nil
  end
  return field(self)
end

--
-- Connections
--
local connection = {}

-- Misuse is reported at the caller of the function that calls this one, as in sysbench.
function connection:query(text)
  if type(text) ~= "string" then text = as_text(text, "db_query") end
  return result_of(self, send_query(self, text), text, 3)
end

function connection:query_row(text)
  if type(text) ~= "string" then text = as_text(text, "db_query") end
  local answer = send_query(self, text)
  if answer == RESULT then
    local rows = self.result
    if rows.nrows == 0 then return nil end
    return unpack(rows:fetch_row(), 1, rows.nfields)
  end
  if answer == NONE then return nil end
  -- In sysbench this function calls query(), which reports errors at its caller.
  if answer == FAILED then raise(self, text, 2) end
  error("SQL API error", 2)
end

function connection:prepare(text)
  if type(text) ~= "string" then text = as_text(text, "db_prepare") end
  local answer = ask(PREPARE, self.handle, text)
  if answer == FAILED then raise(self, text) end
  if answer == CLOSED then return NO_STATEMENT end
  if answer ~= NONE then error("SQL API error", 2) end
  local made = ffi.gc(self.statement, C.truetps_release_statement)
  kept_alive[made] = self
  return made
end

function connection:bulk_insert_init(query)
  if type(query) ~= "string" then query = as_text(query, "db_bulk_insert_init") end
  runtime.bulk_begin(self.handle, query)
  return true
end

-- Sends the gathered rows. An error that the user ignores restarts the event.
local function flush(self)
  local answer = ask(request.FLUSH, self.handle)
  if answer == FAILED and self.error == C.DB_ERROR_IGNORABLE then raise(self, "", 4) end
  return answer == NONE or answer == RESULT
end

-- A full buffer is sent before the row that does not fit.
function connection:bulk_insert_next(val)
  if type(val) ~= "string" then val = as_text(val, "db_bulk_insert_next") end
  local taken = runtime.bulk_row(self.handle, val)
  if taken == false then taken = flush(self) and runtime.bulk_row(self.handle, val) end
  if not taken then error("db_bulk_insert_next() failed", 2) end
  return true
end

function connection:bulk_insert_done()
  if runtime.bulk_end(self.handle) and not flush(self) then error("db_bulk_insert_done() failed", 2) end
  return true
end

function connection:disconnect()
  runtime.disconnect(self.handle)
  return true
end

function connection:reconnect()
  local answer = ask(RECONNECT, self.handle)
  if answer == FAILED then raise(self, "") end
  if answer ~= NONE then error("SQL API error", 2) end
end

function connection:more_results() return runtime.more_results(self.handle) end

function connection:next_result() return result_of(self, ask(NEXT_RESULT, self.handle), "", 2) end

-- Handles a result that may be nil, for scripts that call it themselves.
function connection:check_error(rows, query)
  if rows ~= nil or self.error == C.DB_ERROR_NONE then return rows end
  raise(self, query, 4)
end

--
-- Drivers
--
local driver = {}

function driver:connect()
  local answer, address = ask(CONNECT, self.handle)
  if answer ~= NONE then error("connection creation failed", 2) end
  local made = ffi.cast("sql_connection *", address)
  return ffi.gc(made, C.truetps_release_connection)
end

function driver:name() return ffi.string(self.sname) end

function sql.driver(name)
  local address = runtime.driver(name)
  if not address then error("failed to initialize the DB driver", 2) end
  return ffi.cast("sql_driver *", address)
end

local function object(name, methods)
  local text = "<" .. name .. ">"
  ffi.metatype(name, { __index = methods, __tostring = function() return text end })
end
object("sql_driver", driver)
object("sql_connection", connection)
object("sql_statement", statement)
object("sql_result", result_index)

return { api = sql, sysbench_of = sysbench_of }
