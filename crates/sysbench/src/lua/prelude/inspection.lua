-- Decides whether clients of a script can share one state: searches for actions of the script that need a separate
-- state or thread. Runs once, in the state of the main thread, after the script's body. Code that a client loads later
-- is inspected then, and findings are only reported: it is too late for separate states.
local runtime, request, chunks, clients, turns = ...
local bit, ffi = require("bit"), require("ffi")
local util = require("jit.util")
local band, rshift = bit.band, bit.rshift

local LIBRARIES = { "string", "table", "math", "os", "io", "debug", "bit", "jit", "coroutine", "ffi" }

-- Functions that block a thread, from any source.
local WAITS = {}
for name in ([[usleep nanosleep sleep clock_nanosleep system ppoll pselect epoll_wait epoll_pwait recvfrom recvmsg waitpid
    wait4 waitid lockf sem_wait sem_timedwait sigwait sigwaitinfo sigtimedwait sigsuspend pthread_mutex_lock
    pthread_cond_wait pthread_cond_timedwait pthread_join]]):gmatch("%S+") do
  WAITS[name] = true
end
-- … whose names are common as fields in scripts: they count only if the script declares them to C.
local WAITS_IN_C = { "poll", "select", "accept", "recv", "wait", "pause", "flock", "connect" }
local WAITS_OF = { os = { execute = true }, io = { popen = true } }
-- Functions whose effect applies to a whole state.
local SETS_OF = { math = { randomseed = true }, io = { input = true, output = true } }

-- Tables that clients share, with their names and their former contents; and how a script reaches them: by a global, by
-- a field of a table, by a local of an enclosing function.
local shared, tables, before = {}, {}, {}
local globals, fields, locals = {}, {}, {}
-- What stands for `ffi.C`, which is no table.
local C_LIBRARY = {}

local function copy_of(table)
  local copy = {}
  for name, value in pairs(table) do copy[name] = value end
  return copy
end

local function share(name, table)
  if type(table) ~= "table" then return end
  tables[#tables + 1] = table
  shared[table], before[table] = name, copy_of(table)
end

local inspection = {}

function inspection.begin(environment)
  local sysbench = environment.sysbench
  for _, name in ipairs(LIBRARIES) do
    share(name, environment[name])
    globals[name] = environment[name]
  end
  for _, name in ipairs({ "rand", "sql", "histogram", "error" }) do share("sysbench." .. name, sysbench[name]) end
  for _, name in ipairs({ "type", "error" }) do share("sysbench.sql." .. name, sysbench.sql[name]) end
  fields[sysbench] = {
    rand = sysbench.rand, sql = sysbench.sql, histogram = sysbench.histogram, error = sysbench.error,
  }
  fields[environment.ffi] = { C = C_LIBRARY }
  fields[sysbench.sql] = { type = sysbench.sql.type, error = sysbench.sql.error }
end

local function changed_in(now, was)
  for name, value in pairs(now) do
    if was[name] ~= value then return name end
  end
  for name in pairs(was) do
    if now[name] == nil then return name end
  end
end

local function changes(name, field)
  if field ~= nil then name = name .. "." .. tostring(field) end
  return "changes " .. name .. ", which all clients of a state share"
end

local function changed_library()
  for _, table in ipairs(tables) do
    local changed = changed_in(table, before[table])
    if changed ~= nil then return changes(shared[table], changed) end
  end
end

local function is_c_library(value) return type(value) == "userdata" and value == ffi.C end

-- Finds the locals through which the script's functions reach shared tables. The same name is assumed to be the same
-- table everywhere. A function with itself as a local of an enclosing function calls itself.
local function look_for_locals(environment, found)
  local seen = {}
  local function look(f)
    if type(f) ~= "function" or seen[f] or debug.getfenv(f) ~= environment then return end
    seen[f] = true
    for n = 1, 1e9 do
      local name, value = debug.getupvalue(f, n)
      if not name then break end
      if type(value) == "table" and (shared[value] or fields[value]) then locals[name] = value end
      if is_c_library(value) then locals[name] = C_LIBRARY end
      if type(value) == "function" then
        if value == f then turns.calls_itself(found, name) end
        local proto = util.funcinfo(value).proto
        if proto then turns.names_function(found, proto, name) end
      end
      look(value)
    end
  end
  for _, value in next, environment do look(value) end
  for _, module in next, environment.package.loaded do
    if type(module) == "table" then
      for _, value in next, module do look(value) end
    end
  end
end

-- Numbers of the relevant instructions.
local GGET, UGET, MOV, TGETS, TSETS, TSETV
do
  local function operation(f, pc) return band(util.funcbc(f, pc), 0xff) end
  GGET, TGETS = operation(function() return os.execute end, 1), operation(function() return os.execute end, 2)
  UGET, MOV = operation(function() return runtime end, 1), operation(function(a) local b = a return b end, 1)
  TSETS, TSETV = operation(function(a) a.b = a end, 1), operation(function(a) a[a] = a end, 1)
end
-- How an instruction uses its first register.
local WRITES, WRITES_FROM = 1, 2

-- The client's `sysbench.opt`.
local options

local function library_of(value)
  if value == C_LIBRARY then return "ffi.C" end
  return shared[value]
end

-- Scans the code of a function and of its inner functions, in order. Returns the first finding. `scan` collects names
-- that wait only if they are declared to C (`read`, `declared`), and doubts about turns (`turns`).
local function look_at(f, environment, scan, outer)
  local reading = turns.reader(scan.turns, f, outer)
  -- The relevant content of each register.
  local registers = {}
  local moved_to, moved_from
  for pc = 1, 1e9 do
    local instruction, mode = util.funcbc(f, pc)
    if not instruction then break end
    local operation, a, d = band(instruction, 0xff), band(rshift(instruction, 8), 0xff), rshift(instruction, 16)
    local b, c = rshift(d, 8), band(d, 0xff)
    local loaded
    turns.step(reading, pc, instruction, mode, library_of(registers[b]))
    if operation == GGET then
      local name = util.funck(f, -d - 1)
      if WAITS[name] then return "may wait in `" .. name .. "`, which stops all clients of its thread" end
      loaded = rawget(environment, name)
      turns.loads(reading, a, name, nil, true, loaded)
      if loaded == nil then loaded = globals[name] end
      if is_c_library(loaded) then loaded = C_LIBRARY end
    elseif operation == UGET then
      local name = util.funcuvname(f, d)
      turns.loads(reading, a, name)
      loaded = locals[name]
    elseif operation == MOV then
      loaded = registers[d]
    elseif operation == TGETS then
      local name, of = util.funck(f, -c - 1), registers[b]
      local library = library_of(of)
      -- Functions of libraries are never called as methods, and methods of scripts may have any name.
      local is_method = moved_from == b and moved_to > a
      local waits, sets = WAITS_OF[library], SETS_OF[library]
      if not is_method and (WAITS[name] or waits and waits[name]) then
        return "may wait in `" .. name .. "`, which stops all clients of its thread"
      end
      if sets and sets[name] then
        return "may call `" .. library .. "." .. name .. "`, whose effect all clients of a state share"
      end
      if not is_method then scan.read[name] = true end
      turns.loads(reading, a, name, library, false, of == options and options[name])
      loaded = fields[of] and fields[of][name]
    elseif operation == TSETS or operation == TSETV then
      local library = shared[registers[b]]
      if library then return changes(library, operation == TSETS and util.funck(f, -c - 1) or nil) end
    end
    local use = band(mode, 7)
    if use == WRITES then
      registers[a] = type(loaded) == "table" and loaded or nil
    elseif use == WRITES_FROM then
      for register in pairs(registers) do
        if register >= a then registers[register] = nil end
      end
    end
    moved_to, moved_from = nil, nil
    if operation == MOV then moved_to, moved_from = a, d end
  end
  for n = -1, -1e9, -1 do
    local constant = util.funck(f, n)
    if constant == nil then break end
    if type(constant) == "proto" then
      local found = look_at(constant, environment, scan, reading)
      if found then return found end
    elseif type(constant) == "string" then
      scan.declared[#scan.declared + 1] = constant
    end
  end
end

local function new_scan() return { read = {}, declared = {}, turns = turns.found_nothing() } end

local function found_in(functions, environment, scan)
  for _, f in ipairs(functions) do
    local found = look_at(f, environment, scan)
    if found then return found end
  end
  for _, name in ipairs(WAITS_IN_C) do
    for _, text in ipairs(scan.read[name] and scan.declared or {}) do
      for _, kind in ipairs({ "int", "long", "pid_t", "ssize_t" }) do
        if text:find("%f[%w_]" .. kind .. "%s+" .. name .. "%s*%(") then
          return "may wait in `" .. name .. "`, which stops all clients of its thread"
        end
      end
    end
  end
end

-- Why the script's clients need separate states, or may need them, and whether they do; nil if they do not.
function inspection.finding(client)
  local found = runtime.found() or changed_library()
  if found then return found, true end
  if client.environment.thread_run ~= clients.default_run then return "has a thread_run of its own", true end
  local sysbench = client.environment.sysbench
  options = sysbench.opt
  fields[sysbench].opt = options
  local scan = new_scan()
  look_for_locals(client.environment, scan.turns)
  found = found_in(chunks.functions, client.environment, scan)
  if found then return found, true end
  return turns.judge(scan.turns)
end

-- Code that clients load after the script's body has run. The limit ends the inspection of a script that generates code
-- endlessly.
local LATE_MAX = 1000
local late = 0

if runtime.is_shared then
  function chunks.loaded(chunk)
    local environment = getfenv(0)
    if late >= LATE_MAX or not chunks.has_run[environment] then return end
    late = late + 1
    if late == 1 then inspection.begin(environment) end
    local found = found_in({ chunk }, environment, new_scan())
    if found then runtime.finds(found) end
  end
end

return inspection
