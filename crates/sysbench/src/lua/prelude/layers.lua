-- Tables that clients of a state share until one of them changes its own.
--
-- A layer is a table that reads missing fields from the shared table below it. To a script it looks like a plain table:
-- every function that could show the difference (pairs, next, rawget, getmetatable, setmetatable) first copies the
-- shared part into it.
local layers = {}
local below = {}

local function flatten(layer)
  local shared = below[getmetatable(layer)]
  if shared then
    setmetatable(layer, nil)
    for name, value in pairs(shared) do
      if type(rawget(layer, name)) == "nil" then rawset(layer, name, value) end
    end
  end
  return layer
end

-- A function that makes layers over this table, or turns a table into one.
function layers.over(shared)
  local metatable = { __index = shared }
  function metatable.__newindex(layer, name, value)
    -- A null pointer equals nil, but is a value.
    if type(value) == "nil" then
      flatten(layer)[name] = nil
    else
      rawset(layer, name, value)
    end
  end
  below[metatable] = shared
  return function(layer) return setmetatable(layer or {}, metatable) end
end

-- The functions of the base library that could show the difference.
layers.base = {}

function layers.base.pairs(t)
  if below[getmetatable(t)] then flatten(t) end
  return pairs(t)
end

function layers.base.next(t, name)
  if name == nil and below[getmetatable(t)] then flatten(t) end
  return next(t, name)
end

function layers.base.rawget(t, name)
  if below[getmetatable(t)] then flatten(t) end
  return rawget(t, name)
end

function layers.base.setmetatable(t, metatable)
  if below[getmetatable(t)] then flatten(t) end
  return setmetatable(t, metatable)
end

function layers.base.getmetatable(t)
  local metatable = getmetatable(t)
  if below[metatable] then return nil end
  return metatable
end

-- Whether two tables of plain values and nested tables have the same content.
local function same(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" or getmetatable(a) or getmetatable(b) then return false end
  for name, value in pairs(a) do
    if not same(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end
layers.same = same

return layers
