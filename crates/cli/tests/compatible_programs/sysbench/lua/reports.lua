-- Hooks for reports, and the ready-made ones.
local FORMATS = { csv = sysbench.report_csv, json = sysbench.report_json, default = sysbench.report_default }

sysbench.cmdline.options = { format = { "how to report", "own" }, pause_us = { "how long an event takes", 0 } }
ffi.cdef("int usleep(unsigned int);")

local function own(stat)
  local names = {}
  for name in pairs(stat) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local is_count = ({ events = 1, reads = 1, writes = 1, other = 1, errors = 1, reconnects = 1 })[name]
    local is_state = name == "threads_running" or name == "latency_pct"
    print(name, type(stat[name]), (is_count or (is_state and name == "threads_running")) and stat[name] or "")
  end
  print("in order", stat.latency_min <= stat.latency_avg, stat.latency_avg <= stat.latency_max, stat.latency_max < 2)
end

function sysbench.hooks.report_cumulative(stat)
  print("cumulative in", sysbench.tid, sysbench.opt.format);
  (FORMATS[sysbench.opt.format] or own)(stat)
end

function sysbench.hooks.report_intermediate(stat)
  print("intermediate in", sysbench.tid, type(stat.queue_length), type(stat.concurrency), stat.threads_running);
  (FORMATS[sysbench.opt.format] or print)(stat)
end

function event()
  if sysbench.opt.pause_us > 0 then
    ffi.C.usleep(sysbench.opt.pause_us)
  end
end
