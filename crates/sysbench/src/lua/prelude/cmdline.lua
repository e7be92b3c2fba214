-- sysbench.cmdline: the options and commands that a script declares. One table a client, made by `new`.
local host = ...
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
  local list = {}
  for name, option in pairs(options) do
    assert(type(option) == "table" and type(option[1]) == "string", "wrong table structure in sysbench.cmdline.options")
    local kind = option[3]
    if kind == nil then kind = TYPE_OF_DEFAULT[type(option[2])] end
    assert(type(name) == "string" and type(kind) == "number" and kind >= 0 and kind < C.SB_ARG_TYPE_MAX,
           "wrong table structure in sysbench.cmdline.options")
    list[#list + 1] = { name = name, description = option[1], default = text_of(option[2], kind), kind = kind }
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function command_of(cmdline, name)
  local commands = cmdline.commands
  if type(commands) ~= "table" then return nil end
  local command = commands[name]
  if command == nil then return nil end
  assert(type(command) == "table" and type(command[1]) == "function",
         "wrong table structure in sysbench.cmdline.commands")
  return command
end

local shared = {}
for number, name in ipairs(NAMES) do shared["ARG_" .. name] = number - 1 end
shared.ARG_MAX = #NAMES
shared.PARALLEL_COMMAND = true

local function new(facts)
  local cmdline = { argv = facts.argv, command = facts.command, script_path = facts.script_path }
  for name, value in pairs(shared) do cmdline[name] = value end
  function cmdline.read_cmdline_options()
    if cmdline.options == nil then return true end
    return host.declare(declared(cmdline.options))
  end
  function cmdline.command_defined(name) return command_of(cmdline, name) ~= nil end
  function cmdline.command_parallel(name)
    local command = command_of(cmdline, name)
    return command ~= nil and command[2] == true
  end
  function cmdline.call_command(name)
    local result = command_of(cmdline, name)[1]()
    if result == nil then return true end
    return result and true or false
  end
  function cmdline.print_test_options()
    if cmdline.options ~= nil then host.print_options(declared(cmdline.options)) end
  end
  return cmdline
end

return { new = new, declared = declared }
