-- The life of a client, from loading the script to its last line. Each procedure runs in its own coroutine; it ends
-- with `ENDED` and whether it succeeded, and leaves the error in the client's table.
local runtime, request, chunks, environments, legacy = ...
local ffi = require("ffi")
local C = ffi.C
local ask = request.ask
local ENDED, READY, NEXT_EVENT = request.ENDED, request.READY, request.NEXT_EVENT
local STOP, GO = runtime.answers.STOP, runtime.answers.GO
local RESTART_EVENT = 1

local function text_of(problem)
  if type(problem) == "string" then return problem end
  return "(not a string)"
end

local function ended(client, where, ok, problem)
  if ok then return ENDED, 1 end
  client.failed_in, client.problem = where, text_of(problem)
  return ENDED, 0
end

-- Runs events until the runtime ends the loop. Retries are part of the event that they retry.
local function run_events(tid)
  local environment = getfenv(0)
  while true do
    local state = C.truetps_next_event(tid)
    while state ~= GO and state ~= STOP do state = ask(NEXT_EVENT, tid) end
    if state == STOP then return end
    local ok, result = pcall(environment.event, tid)
    while not ok do
      if type(result) ~= "table" or result.errcode ~= RESTART_EVENT then error(result, 0) end
      local hooks = environment.sysbench.hooks
      if hooks.before_restart_event then hooks.before_restart_event(result) end
      if C.truetps_may_restart(tid) == 0 then
        C.truetps_abandon_event(tid)
        return
      end
      ok, result = pcall(environment.event, tid)
    end
    if result then
      C.truetps_abandon_event(tid)
      return
    end
    C.sb_event_stop(tid)
  end
end

environments.base.thread_run = run_events
legacy.install_in(environments.base)

local clients = { default_run = run_events }

-- A client: its number and its globals.
function clients.new(tid, facts)
  local environment = environments.new(tid, facts)
  local client = { tid = tid, environment = environment, facts = facts }
  if facts.has_legacy then legacy.install(environment, tid, facts) end
  -- Hooks of reports are called outside of any coroutine.
  if not runtime.is_shared then setfenv(0, environment) end
  return client
end

local function run_body(client)
  local facts, environment = client.facts, client.environment
  if facts.module then
    environment.require(facts.module)
    return
  end
  local chunk, problem
  if facts.source then
    chunk, problem = chunks.of_text(facts.source, facts.source_name, environment)
  else
    chunk, problem = chunks.of_file(facts.path, environment, facts.path)
  end
  if not chunk then error(problem, 0) end
  chunk()
end

function clients.set_options(client)
  environments.set_options(client.environment, runtime.options, client.facts.has_legacy)
end

local procedures = {}

-- The script's body alone.
function procedures.load(client)
  return ended(client, "", pcall(run_body, client))
end

-- Everything except events: for the states of reports.
function procedures.load_with_options(client)
  local ok, problem = pcall(run_body, client)
  if ok then clients.set_options(client) end
  return ended(client, "", ok, problem)
end

-- One global function. Its result is left in the client's table.
function procedures.call(client)
  local f = client.environment[client.called]
  local ok, result = pcall(f, client.argument)
  client.result = result
  return ended(client, client.called, ok, result)
end

-- A command of sysbench.cmdline.commands.
function procedures.command(client)
  local ok, result = pcall(client.environment.sysbench.cmdline.call_command, client.called)
  client.result = result
  return ended(client, "sysbench.cmdline.call_command", ok, result)
end

-- The same, run by one of many clients.
function procedures.parallel_command(client)
  local ok, problem = pcall(run_body, client)
  if not ok then return ended(client, "", ok, problem) end
  clients.set_options(client)
  return procedures.command(client)
end

-- A client of a run.
function procedures.run(client)
  local environment, tid = client.environment, client.tid
  local ok, problem = pcall(run_body, client)
  if not ok then return ended(client, "", ok, problem) end
  if runtime.is_shared then chunks.has_run[environment] = true end
  clients.set_options(client)
  if environment.thread_init then
    ok, problem = pcall(environment.thread_init, tid)
    if not ok then return ended(client, "thread_init", ok, problem) end
  end
  if ask(READY, tid) ~= GO then return ENDED, 1 end
  ok, problem = pcall(environment.thread_run, tid)
  if not ok then return ended(client, "thread_run", ok, problem) end
  if environment.thread_done then
    ok, problem = pcall(environment.thread_done, tid)
    -- The events succeeded: a later error is reported, and does not change that.
    if not ok then runtime.complain("thread_done", text_of(problem)) end
  end
  return ENDED, 1
end

-- A coroutine that runs a procedure, with the client's globals as its own.
function clients.start(client, procedure)
  local run = procedures[procedure]
  local thread = coroutine.create(function() return run(client) end)
  debug.setfenv(thread, client.environment)
  request.is_of_a_client(thread)
  return thread
end

function clients.has(client, name)
  local value = client.environment[name]
  -- Values of any type count here, since they are called.
  if name == "init" or name == "done" then return type(value) ~= "nil" end
  local metatable = debug.getmetatable(value)
  return type(value) == "function" or (type(metatable) == "table" and metatable.__call ~= nil)
end

-- Calls a hook of reports; an error is returned as text.
function clients.call_hook(hook, stat)
  local ok, problem = pcall(hook, stat)
  if not ok then return text_of(problem) end
end

-- The clients of a state with many, by their numbers: the runtime holds no reference to each.
local by_tid = {}
function clients.keep(client) by_tid[client.tid] = client end
function clients.of(tid) return by_tid[tid] end

function clients.hook(client, name) return client.environment.sysbench.hooks[name] end

return clients
