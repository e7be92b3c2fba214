-- How a script sends the runtime a request that takes time: it yields, and the runtime resumes it with the answer. If
-- it cannot yield (inside a comparison of table.sort, a replacement of string.gsub), the runtime answers at once and
-- all clients of the thread wait.
local runtime = ...
local C = require("ffi").C
local yield, isyieldable = coroutine.yield, coroutine.isyieldable

-- Numbers that no script yields by chance, so that requests can pass through the script's own coroutines.
local FIRST, LAST = runtime.first_request, runtime.last_request

local request = {}
for name, number in pairs(runtime.requests) do request[name] = number end

function request.ask(what, handle, text)
  if isyieldable() then return yield(what, handle, text) end
  return runtime.answer_now(what, handle, text)
end

-- A statement. A client that has its thread to itself sends it by a C function, which waits for the answer: LuaJIT
-- compiles such a call, and with it the event around it. An answer that does not come soon is asked for.
local ask, QUERY, EXECUTE, LATE = request.ask, request.QUERY, request.EXECUTE, request.LATE
local NOT_SENT, IS_LATE = runtime.answers.NOT_SENT, runtime.answers.LATE

function request.query(connection, text)
  local answer = C.truetps_query(connection.handle, text, #text)
  if answer == NOT_SENT then return ask(QUERY, connection.handle, text) end
  if answer == IS_LATE then return ask(LATE, connection.handle) end
  return answer
end

function request.execute(statement)
  local answer = C.truetps_execute(statement.handle)
  if answer == NOT_SENT then return ask(EXECUTE, statement.handle) end
  if answer == IS_LATE then return ask(LATE, statement.connection.handle) end
  return answer
end

if runtime.is_shared then
  function request.query(connection, text) return ask(QUERY, connection.handle, text) end
  function request.execute(statement) return ask(EXECUTE, statement.handle) end
end

local create, resume, status = coroutine.create, coroutine.resume, coroutine.status

local function pass_up(thread, ok, what, ...)
  if ok and type(what) == "number" and what >= FIRST and what <= LAST and status(thread) == "suspended" then
    return pass_up(thread, resume(thread, request.ask(what, ...)))
  end
  return ok, what, ...
end

-- Each nested coroutine uses some of the thread's stack.
local NESTED_MAX = 190
local nested = setmetatable({}, { __mode = "k" })
local running = coroutine.running

local function resume_and_pass_up(thread, ...)
  local outer = running()
  local depth = (outer and nested[outer] or 0) + 1
  if depth > NESTED_MAX then return false, "C stack overflow" end
  if type(thread) == "thread" then nested[thread] = depth end
  return pass_up(thread, resume(thread, ...))
end

local function or_raise(ok, ...)
  if ok then return ... end
  error((...), 0)
end

-- The library for scripts: their coroutines may send requests, too.
request.coroutine = {}
for name, value in pairs(coroutine) do request.coroutine[name] = value end
request.coroutine.resume = resume_and_pass_up
function request.coroutine.wrap(f)
  local thread = create(f)
  return function(...) return or_raise(resume_and_pass_up(thread, ...)) end
end

-- Scripts may not resume a client's own coroutine.
local of_clients = setmetatable({}, { __mode = "k" })
function request.is_of_a_client(thread) of_clients[thread] = true end

function request.coroutine.yield(...)
  local thread = running()
  if thread == nil or of_clients[thread] then error("attempt to yield across C-call boundary", 2) end
  return yield(...)
end

return request
