-- The globals of one client. A state has one such table for each client: a script's globals are invisible to other
-- clients.
local runtime, request, chunks, layers, parts = ...
local ffi = require("ffi")

-- What a state has before scripts run.
local base = {}
for name, value in pairs(_G) do base[name] = value end
for name, value in pairs(layers.base) do base[name] = value end
base._G, base.package = nil, nil
base.coroutine = request.coroutine

-- A client's data besides its globals: its `package`.
local packages = setmetatable({}, { __mode = "k" })

-- The library's dofile is a C function, through which no coroutine can yield.
function base.dofile(path)
  local chunk, problem = base.loadfile(path)
  if not chunk then error(problem, 0) end
  return chunk()
end

-- Files are read and compiled once for all clients of a state, and inspected like the script itself.
function base.loadfile(path)
  if path == nil then return loadfile() end
  return chunks.of_file(path, getfenv(0))
end

if runtime.inspects or runtime.is_shared then
  local function looked_into(chunk, ...)
    if chunk then chunks.loaded(chunk) end
    return chunk, ...
  end
  function base.loadstring(...) return looked_into(loadstring(...)) end
  function base.load(...) return looked_into(load(...)) end
end

-- Declarations belong to a state. If clients share one, each runs the same script, and only the first declares.
local shared_ffi = {}
for name, value in pairs(ffi) do shared_ffi[name] = value end
local declared, types = {}, {}

function shared_ffi.cdef(text, ...)
  if not runtime.is_shared then return ffi.cdef(text, ...) end
  if declared[text] then return end
  ffi.cdef(text, ...)
  declared[text] = true
end

function shared_ffi.metatype(ctype, metatable)
  runtime.finds("gives methods to its own C types (ffi.metatype)")
  if not runtime.is_shared then return ffi.metatype(ctype, metatable) end
  local key = tostring(ctype)
  if not types[key] then types[key] = ffi.metatype(ctype, metatable) end
  return types[key]
end

function shared_ffi.load(...)
  runtime.finds("calls a C library of its own (ffi.load)")
  return ffi.load(...)
end
base.ffi = shared_ffi

local function find_and_load(name, package, environment)
  local path, tried = package.searchpath(name, package.path)
  if path then
    local chunk, problem = chunks.of_file(path, environment, name)
    if chunk then return chunk end
    error("error loading module '" .. name .. "' from file '" .. path .. "':\n\t" .. problem, 3)
  end
  local native, tried_native = package.searchpath(name, package.cpath)
  if native then
    runtime.finds("uses the C module `" .. name .. "`")
    local open, problem = package.loadlib(native, "luaopen_" .. name:gsub("^.*%-", ""):gsub("%.", "_"))
    if open then
      runtime.note_module(name, native)
      return open
    end
    error("error loading module '" .. name .. "' from file '" .. native .. "':\n\t" .. problem, 3)
  end
  error("module '" .. name .. "' not found:\n\tno field package.preload['" .. name .. "']" .. tried .. tried_native, 3)
end

local LOADING = newproxy()

function base.require(name)
  local environment = getfenv(0)
  local package = packages[environment]
  local loaded = package.loaded
  local value = loaded[name]
  if value == LOADING then error("loop or previous error loading module '" .. name .. "'", 2) end
  if value ~= nil then return value end
  local load = package.preload[name]
  if load then runtime.note_module(name) else load = find_and_load(name, package, environment) end
  loaded[name] = LOADING
  local made = load(name)
  if made ~= nil then
    loaded[name] = made
  elseif loaded[name] == LOADING then
    loaded[name] = true
  end
  return loaded[name]
end

function base.module(name, ...)
  local environment = getfenv(0)
  local loaded = packages[environment].loaded
  local made = loaded[name]
  if type(made) ~= "table" then
    made = environment
    for part in name:gmatch("[^.]+") do
      if made[part] == nil then made[part] = {} end
      made = made[part]
    end
    loaded[name] = made
  end
  if made._NAME == nil then
    made._M, made._NAME, made._PACKAGE = made, name, name:match("^(.*%.)[^.]*$") or ""
  end
  setfenv(2, made)
  for _, option in ipairs({ ... }) do option(made) end
end

local shared_loaded = {}
for name, value in pairs(package.loaded) do shared_loaded[name] = value end
shared_loaded.ffi, shared_loaded.coroutine = shared_ffi, request.coroutine
local over_loaded = layers.over(shared_loaded)

local over_package = layers.over({
  path = runtime.package_path, cpath = runtime.package_cpath, config = package.config, searchpath = package.searchpath,
  loadlib = package.loadlib, seeall = package.seeall,
})

local over_base = layers.over(base)
local over_sysbench
local environments = { base = base }

-- Globals for the client number `tid`.
function environments.new(tid, facts)
  if not over_sysbench then
    over_sysbench = layers.over({
      version = facts.version, version_string = facts.version_string, error = { NONE = 0, RESTART_EVENT = 1 },
      rand = parts.rand, sql = parts.sql.api, histogram = parts.histogram,
      report_default = parts.reports.report_default, report_csv = parts.reports.report_csv,
      report_json = parts.reports.report_json,
    })
  end
  local environment = over_base()
  local loaded = over_loaded()
  local package = over_package({ preload = {}, loaded = loaded })
  loaded._G, loaded.package = environment, package
  packages[environment] = package
  environment._G, environment.package = environment, package
  environment.sysbench = over_sysbench({ tid = tid, cmdline = parts.cmdline.new(environment, facts), hooks = {} })
  parts.sql.sysbench_of[tid] = environment.sysbench
  return environment
end

local options_before, over_options

-- Fills sysbench.opt. Scripts that declare no options are of the older kind, and find all options among their globals.
function environments.set_options(environment, options, exports)
  if options ~= options_before then
    options_before, over_options = options, layers.over(options)
  end
  local opt = over_options()
  for name, value in pairs(options) do
    if type(value) == "table" then opt[name] = { unpack(value) } end
  end
  environment.sysbench.opt = opt
  parts.cmdline.share_options(environment)
  if exports and environment.sysbench.cmdline.options == nil then
    for name, value in pairs(options) do
      if type(environment[name]) ~= "function" then environment[name] = opt[name] end
    end
  end
end

return environments
