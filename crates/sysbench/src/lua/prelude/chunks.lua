-- Scripts as functions. A state that serves thousands of clients compiles each file once, and gives each client its own
-- closure of it.
local runtime = ...
-- `functions` is the code that the inspection reads; `has_run` has the globals of clients whose body has run.
local chunks = { functions = {}, has_run = setmetatable({}, { __mode = "k" }) }
local makers = {}

-- Called for all code that the script loads.
function chunks.loaded(chunk)
  if runtime.inspects then chunks.functions[#chunks.functions + 1] = chunk end
end

-- A first line that begins with `#` is for the shell; it keeps its line number.
local function without_shell_line(source)
  if source:sub(1, 1) == "#" then return (source:gsub("^[^\n]*", "", 1)) end
  return source
end

local function maker_of(source, name)
  local plain, problem = loadstring(source, name)
  if not plain then return nil, problem end
  local wrapped = source:sub(1, 1) ~= "\27" and loadstring("return function(...) " .. source .. "\nend", name)
  if wrapped then return wrapped end
  return function() return (loadstring(source, name)) end
end

-- The function of a source text, with the globals `environment`; or nil and the error.
function chunks.of_text(source, name, environment)
  local key = name .. "\0" .. source
  local maker = makers[key]
  local is_new = not maker
  if is_new then
    local problem
    maker, problem = maker_of(without_shell_line(source), name)
    if not maker then return nil, problem end
    makers[key] = maker
  end
  local chunk = maker()
  if is_new then chunks.loaded(chunk) end
  return setfenv(chunk, environment)
end

local files = {}

-- The function of a file. Each named file (the script, and the modules) is read only once for all states, so that all
-- clients run the same text.
function chunks.of_file(path, environment, name)
  local source = files[path]
  if not source then
    local problem
    source, problem = runtime.read_source(path, name)
    if not source then return nil, problem end
    files[path] = source
  end
  return chunks.of_text(source, "@" .. path, environment)
end

return chunks
