-- The globals of one client. A state has one such table a client: what a script makes global is seen by no other.
local host, request, chunks, parts = ...
local ffi = require("ffi")

-- What a state has before scripts run.
local base = {}
for name, value in pairs(_G) do base[name] = value end
base._G, base.package, base.require, base.module = nil, nil, nil, nil
base.coroutine = request.coroutine

-- dofile of the library is a C function, through which nothing can yield.
function base.dofile(path)
  local chunk, problem = loadfile(path)
  if not chunk then error(problem, 0) end
  return chunk()
end

-- Declarations belong to a state. Where clients share one, each runs the same script, and only the first declares.
local shared_ffi = {}
for name, value in pairs(ffi) do shared_ffi[name] = value end
local declared, types = {}, {}

function shared_ffi.cdef(text, ...)
  if not host.is_shared then return ffi.cdef(text, ...) end
  if declared[text] then return end
  ffi.cdef(text, ...)
  declared[text] = true
end

function shared_ffi.metatype(ctype, metatable)
  host.finds("gives methods to its own C types (ffi.metatype)")
  if not host.is_shared then return ffi.metatype(ctype, metatable) end
  local key = tostring(ctype)
  if not types[key] then types[key] = ffi.metatype(ctype, metatable) end
  return types[key]
end

function shared_ffi.load(...)
  host.finds("calls a C library of its own (ffi.load)")
  return ffi.load(...)
end
base.ffi = shared_ffi

local function find_and_load(name, package, environment)
  local path, tried = package.searchpath(name, package.path)
  if path then
    local chunk, problem = chunks.of_file(path, environment)
    if chunk then return chunk end
    error("error loading module '" .. name .. "' from file '" .. path .. "':\n\t" .. problem, 3)
  end
  local native, tried_native = package.searchpath(name, package.cpath)
  if native then
    host.finds("uses the C module `" .. name .. "`")
    local open, problem = package.loadlib(native, "luaopen_" .. name:gsub("^.*%-", ""):gsub("%.", "_"))
    if open then return open end
    error("error loading module '" .. name .. "' from file '" .. native .. "':\n\t" .. problem, 3)
  end
  error("module '" .. name .. "' not found:\n\tno field package.preload['" .. name .. "']" .. tried .. tried_native, 3)
end

local function new_package(environment)
  local package = {
    path = host.package_path, cpath = host.package_cpath, preload = {}, loaded = {}, config = _G.package.config,
    searchpath = _G.package.searchpath, loadlib = _G.package.loadlib, seeall = _G.package.seeall,
  }
  for name, value in pairs(_G.package.loaded) do package.loaded[name] = value end
  package.loaded._G, package.loaded.package, package.loaded.ffi = environment, package, shared_ffi
  package.loaded.coroutine = request.coroutine
  return package
end

local LOADING = newproxy()

local function require_function(environment, package)
  return function(name)
    local loaded = package.loaded
    local value = loaded[name]
    if value == LOADING then error("loop or previous error loading module '" .. name .. "'", 2) end
    if value ~= nil then return value end
    local load = package.preload[name] or find_and_load(name, package, environment)
    loaded[name] = LOADING
    local made = load(name)
    if made ~= nil then
      loaded[name] = made
    elseif loaded[name] == LOADING then
      loaded[name] = true
    end
    return loaded[name]
  end
end

local function module_function(environment, package)
  return function(name, ...)
    local made = package.loaded[name]
    if type(made) ~= "table" then
      made = environment
      for part in name:gmatch("[^.]+") do
        if made[part] == nil then made[part] = {} end
        made = made[part]
      end
      package.loaded[name] = made
    end
    if made._NAME == nil then
      made._M, made._NAME, made._PACKAGE = made, name, name:match("^(.*%.)[^.]*$") or ""
    end
    setfenv(2, made)
    for _, option in ipairs({ ... }) do option(made) end
  end
end

local environments = {}

-- Globals for the client number `tid`.
function environments.new(tid, facts)
  local environment = {}
  for name, value in pairs(base) do environment[name] = value end
  environment._G = environment
  local package = new_package(environment)
  environment.package = package
  environment.require = require_function(environment, package)
  environment.module = module_function(environment, package)
  local hooks = {}
  parts.sql.hooks_of[tid] = hooks
  environment.sysbench = {
    tid = tid, version = facts.version, version_string = facts.version_string,
    error = { NONE = 0, RESTART_EVENT = 1 }, cmdline = parts.cmdline.new(facts), rand = parts.rand,
    sql = parts.sql.api, histogram = parts.histogram, hooks = hooks, report_default = parts.reports.report_default,
    report_csv = parts.reports.report_csv, report_json = parts.reports.report_json,
  }
  return environment
end

-- Fills sysbench.opt. Scripts that declare no options are of the older kind, and find all of them among their globals.
function environments.set_options(environment, options, exports)
  local opt = {}
  for name, value in pairs(options) do
    if type(value) == "table" then
      local list = {}
      for i, item in ipairs(value) do list[i] = item end
      value = list
    end
    opt[name] = value
  end
  environment.sysbench.opt = opt
  if exports and environment.sysbench.cmdline.options == nil then
    for name, value in pairs(opt) do
      if type(environment[name]) ~= "function" then environment[name] = value end
    end
  end
end

return environments
