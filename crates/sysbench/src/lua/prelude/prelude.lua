-- The start of every state. The host gives each part its text; `host` is the table of the host's functions.
local host, part = ...
local ffi = require("ffi")
ffi.cdef(part("declarations"))

local request = part("request", host)
local chunks = part("chunks", host)
local layers = part("layers")
local parts = {
  rand = part("rand"),
  histogram = part("histogram"),
  cmdline = part("cmdline", host, layers),
  reports = part("reports", host),
  sql = part("sql", host, request),
}
local environments = part("environment", host, request, chunks, layers, parts)
local legacy = part("legacy", host, request, parts.sql, parts.rand)
local clients = part("client", host, request, chunks, environments, legacy)
clients.inspection = part("inspection", host, request, chunks, clients)
io.stdout:setvbuf("no")
return clients
