-- sysbench.histogram: a histogram of a script's own.
local ffi = require("ffi")
local C = ffi.C
local methods = {}

function methods:update(value) C.sb_histogram_update(self, value) end
function methods:print() C.sb_histogram_print(self) end

ffi.metatype("sb_histogram_t", {
  __index = methods,
  __tostring = function() return "<sb_histogram>" end,
})

local histogram = {}

function histogram.new(size, range_min, range_max)
  local made = C.sb_histogram_new(size, range_min, range_max)
  if made == nil then error("a histogram needs a size above 1 and a range from above 0 upwards", 2) end
  return ffi.gc(made, C.sb_histogram_delete)
end

return histogram
