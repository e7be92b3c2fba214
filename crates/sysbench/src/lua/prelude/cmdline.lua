-- sysbench.cmdline: the options and commands that a script declares.
local runtime, layers = ...
local ffi = require("ffi")
local C = ffi.C

local NAMES = { "NULL", "BOOL", "INT", "SIZE", "DOUBLE", "STRING", "LIST", "FILE" }
local TYPE_OF_DEFAULT = {
  boolean = C.SB_ARG_TYPE_BOOL, string = C.SB_ARG_TYPE_STRING, number = C.SB_ARG_TYPE_DOUBLE,
  table = C.SB_ARG_TYPE_LIST, ["nil"] = C.SB_ARG_TYPE_STRING,
}

local function text_of(value, kind)
  if value == nil then return nil end
  if kind == C.SB_ARG_TYPE_BOOL then return value and "on" or "off" end
  if type(value) == "table" then return table.concat(value, ",") end
  return tostring(value)
end

-- The declared options, sorted by name: {name, description, default as text, type}.
local function declared(options)
  if type(options) ~= "table" then error("wrong type for sysbench.cmdline.options: " .. type(options)) end
  local list = {}
  for name, option in pairs(options) do
    assert(type(name) == "string" and type(option) == "table", "wrong table structure in sysbench.cmdline.options")
    if option[1] == nil then error("nil description for option " .. name) end
    assert(type(option[1]) == "string", "wrong table structure in sysbench.cmdline.options")
    local kind = option[3]
    if kind == nil then kind = TYPE_OF_DEFAULT[type(option[2])] end
    assert(type(kind) == "number" and kind >= 0 and kind < C.SB_ARG_TYPE_MAX,
           "wrong table structure in sysbench.cmdline.options")
    list[#list + 1] = { name = name, description = option[1], default = text_of(option[2], kind), kind = kind }
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- The table of the client that runs.
local of_environment = setmetatable({}, { __mode = "k" })
local function current() return of_environment[getfenv(0)] end

local function command_of(name)
  local commands = current().commands
  if type(commands) ~= "table" then return nil end
  local command = commands[name]
  -- Any table with a first element is a command; whether that can be called shows when it is called.
  if command == nil or command[1] == nil then return nil end
  return command
end

local shared = { ARG_MAX = #NAMES, PARALLEL_COMMAND = true }
for number, name in ipairs(NAMES) do shared["ARG_" .. name] = number - 1 end

function shared.read_cmdline_options()
  local options = current().options
  if options == nil then return true end
  return runtime.declare(declared(options))
end

function shared.command_defined(name) return command_of(name) ~= nil end

function shared.command_parallel(name)
  local command = command_of(name)
  return command ~= nil and command[2] == true
end

function shared.call_command(name)
  local result = command_of(name)[1]()
  if result == nil then return true end
  return result and true or false
end

function shared.print_test_options()
  local options = current().options
  if options ~= nil then runtime.print_options(declared(options)) end
end

local cmdline = {}
local over_facts

function cmdline.new(environment, facts)
  if not over_facts then
    shared.argv, shared.command, shared.script_path = facts.argv, facts.command, facts.script_path
    over_facts = layers.over(shared)
  end
  local made = over_facts()
  of_environment[environment] = made
  return made
end

-- All clients of a state declare the same options, and need only one such table.
local declared_before
function cmdline.share_options(environment)
  local own = of_environment[environment]
  if own.options == nil then return end
  if layers.same(own.options, declared_before) then
    own.options = declared_before
  else
    declared_before = own.options
  end
end

return cmdline
