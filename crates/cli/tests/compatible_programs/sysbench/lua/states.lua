-- What a state has from the beginning.
print("body", sysbench.tid, sysbench.opt == nil, sysbench.cmdline.command)
print(_VERSION, type(jit), type(bit), type(ffi), type(require("ffi")), arg, type(unpack), type(setfenv))
for _, name in ipairs({ "tid", "version", "version_string", "error", "cmdline", "rand", "sql", "histogram", "hooks",
  "report_csv", "report_json", "report_default", "nonsense" }) do
  print("sysbench." .. name, type(sysbench[name]))
end
print(sysbench.version_string, sysbench.version, sysbench.error.NONE, sysbench.error.RESTART_EVENT)

for _, kind in ipairs({ "type", "error" }) do
  local names = {}
  for name, value in pairs(sysbench.sql[kind]) do
    names[#names + 1] = name .. "=" .. tonumber(value)
  end
  table.sort(names)
  print(kind, table.concat(names, " "))
end
print(type(thread_run), type(event), type(init), type(prepare), type(thread_id), type(test))

-- Declared already, and once more by scripts.
for _, text in ipairs({
  "bool sb_more_events(int thread_id);",
  "void sb_event_start(int thread_id); void sb_event_stop(int thread_id);",
  "int usleep(unsigned int); unsigned int sleep(unsigned int);",
  "double sb_rand_uniform_double(void);",
  "typedef struct timeval { long tv_sec; long tv_usec; } timeval; int gettimeofday(struct timeval*, void*);",
}) do
  print(pcall(ffi.cdef, text))
end
print(pcall(function() return ffi.C.no_such_function end))
print(tonumber(ffi.C.sb_rand_uniform(6, 6)), ffi.sizeof("sql_value") > 0)

function event()
  kept = (kept or 0) + 1
  print("event", kept, sysbench.tid)
end
