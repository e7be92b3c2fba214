-- Whether clients of a script can share one state: what the script does that only a state, or a thread, of its own can
-- give it. Looked at once, in the state of the main thread, after the script's body has run.
local host, request, chunks, clients = ...
local bit = require("bit")
local util = require("jit.util")

local LIBRARIES = { "string", "table", "math", "os", "io", "debug", "bit", "jit", "coroutine", "ffi" }
local before = {}

local function copy_of(table)
  local copy = {}
  for name, value in pairs(table) do copy[name] = value end
  return copy
end

local inspection = {}

function inspection.begin(environment)
  for _, name in ipairs(LIBRARIES) do before[name] = copy_of(environment[name]) end
  for _, name in ipairs({ "rand", "sql", "histogram" }) do
    before["sysbench." .. name] = copy_of(environment.sysbench[name])
  end
end

local function changed_in(now, was)
  for name, value in pairs(now) do
    if was[name] ~= value then return name end
  end
  for name in pairs(was) do
    if now[name] == nil then return name end
  end
end

local function changed_library(environment)
  for name, was in pairs(before) do
    local inner = name:match("^sysbench%.(.*)$")
    local now = inner and environment.sysbench[inner] or environment[name]
    -- A global of the same name is the client's own business; only a shared table matters.
    if type(now) == "table" then
      local changed = changed_in(now, was)
      if changed ~= nil and (inner or now == host.shared[name]) then
        return "changes " .. name .. "." .. tostring(changed) .. ", which all clients of a state share"
      end
    end
  end
end

local WAITS = { usleep = true, nanosleep = true, sleep = true, clock_nanosleep = true, system = true }
local WAITS_OF = { os = { execute = true }, io = { popen = true } }

-- The key of an instruction that reads a field by a constant name (TGETS), and the global that it reads it of where the
-- instruction before it is GGET.
local GGET, TGETS
do
  local probe = util.funcbc(function() return os.execute end, 1)
  GGET = bit.band(probe, 0xff)
  TGETS = bit.band(util.funcbc(function() return os.execute end, 2), 0xff)
end

local function waits(f)
  local last_global
  for pc = 1, 1e9 do
    local instruction = util.funcbc(f, pc)
    if not instruction then break end
    local operation = bit.band(instruction, 0xff)
    if operation == TGETS then
      local key = util.funck(f, -bit.band(bit.rshift(instruction, 16), 0xff) - 1)
      local of = WAITS_OF[last_global]
      if WAITS[key] or (of and of[key]) then return key end
    elseif operation == GGET then
      local key = util.funck(f, -bit.rshift(instruction, 16) - 1)
      if WAITS[key] then return key end
    end
    last_global = operation == GGET and util.funck(f, -bit.rshift(instruction, 16) - 1) or nil
  end
  for n = -1, -1e9, -1 do
    local constant = util.funck(f, n)
    if constant == nil then break end
    if type(constant) == "proto" then
      local key = waits(constant)
      if key then return key end
    end
  end
end

-- Why the script's clients need states of their own; nil where they do not.
function inspection.finding(client)
  local found = host.found() or changed_library(client.environment)
  if found then return found end
  if client.environment.thread_run ~= clients.default_run then return "has a thread_run of its own" end
  for _, chunk in ipairs(chunks.functions) do
    local key = waits(chunk)
    if key then return "may wait in `" .. key .. "`, which stops all clients of its thread" end
  end
end

return inspection
