-- Reports that a script may choose as its hooks.
local runtime = ...
local format = string.format
local reports = {}

-- Rates, latency and counts of a report, in the order of all formats.
local function figures(stat)
  local seconds = stat.time_interval
  return stat.time_total, stat.threads_running, stat.events / seconds,
         (stat.reads + stat.writes + stat.other) / seconds, stat.reads / seconds, stat.writes / seconds,
         stat.other / seconds, stat.latency_pct * 1000, stat.errors / seconds, stat.reconnects / seconds
end

function reports.report_default(stat)
  print(format("[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) " ..
               "lat (ms," .. format("%d", runtime.percentile) .. "%%): %4.2f err/s %4.2f reconn/s: %4.2f", figures(stat)))
end

function reports.report_csv(stat)
  print(format("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f", figures(stat)))
end

local JSON = [[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

-- The array is opened by the first report of a state and closed together with the state.
local closes_the_array

function reports.report_json(stat)
  if closes_the_array then
    io.write(",\n")
  else
    io.write("[\n")
    closes_the_array = newproxy(true)
    getmetatable(closes_the_array).__gc = function() io.write("\n]\n") end
  end
  io.write(format(JSON, figures(stat)))
end

return reports
