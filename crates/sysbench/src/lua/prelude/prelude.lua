-- The start of every state. truetps gives each part its text; `runtime` is the table of its functions.
local runtime, part = ...
local ffi = require("ffi")
ffi.cdef(part("declarations"))

local request = part("request", runtime)
local chunks = part("chunks", runtime)
local layers = part("layers")
local parts = {
  rand = part("rand"),
  histogram = part("histogram"),
  cmdline = part("cmdline", runtime, layers),
  reports = part("reports", runtime),
  sql = part("sql", runtime, request),
}
local environments = part("environment", runtime, request, chunks, layers, parts)
local legacy = part("legacy", runtime, request, parts.sql, parts.rand)
local clients = part("client", runtime, request, chunks, environments, legacy)
if runtime.inspects or runtime.is_shared then
  clients.inspection = part("inspection", runtime, request, chunks, clients, part("turns"))
end
io.stdout:setvbuf("no")
return clients
