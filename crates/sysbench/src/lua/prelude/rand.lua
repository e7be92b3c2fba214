-- sysbench.rand: random numbers, from the generator of the client that runs.
local ffi = require("ffi")
local C = ffi.C
local rand = {}

function rand.default(a, b) return C.sb_rand_default(a, b) end
function rand.uniform(a, b) return C.sb_rand_uniform(a, b) end
function rand.gaussian(a, b) return C.sb_rand_gaussian(a, b) end
function rand.special(a, b) return C.sb_rand_special(a, b) end
function rand.pareto(a, b) return C.sb_rand_pareto(a, b) end
function rand.zipfian(a, b) return C.sb_rand_zipfian(a, b) end
function rand.unique() return C.sb_rand_unique() end
function rand.uniform_double() return C.sb_rand_uniform_double() end
function rand.uniform_uint64() return C.sb_rand_uniform_uint64() end

-- Most texts are short: one buffer serves them all, since no other code runs between filling and reading it.
local BUFFER_BYTES = 4096
local buffer = ffi.new("char[?]", BUFFER_BYTES)

local function room(bytes)
  if bytes < BUFFER_BYTES then return buffer end
  return ffi.new("char[?]", bytes + 1)
end

function rand.string(fmt)
  local length = #fmt
  local text = room(length)
  -- Filling stops at this byte; the buffer's old content must not show.
  if fmt:find("\0", 1, true) then ffi.fill(text, length) end
  C.sb_rand_str(fmt, text)
  return ffi.string(text, length)
end

function rand.varstring(min_len, max_len)
  assert(min_len <= max_len, "the shortest length is above the longest one")
  assert(max_len > 0, "the longest length must be above 0")
  local text = room(max_len)
  return ffi.string(text, C.sb_rand_varstr(text, min_len, max_len))
end

return rand
