-- A loop of the script's own in place of the usual one.
ffi.cdef([[
void sb_event_start(int thread_id);
void sb_event_stop(int thread_id);
bool sb_more_events(int thread_id);
]])

function event(id)
  print("never called", id)
end

function thread_run(id)
  local n = 0
  while ffi.C.sb_more_events(id) do
    ffi.C.sb_event_start(id)
    n = n + 1
    ffi.C.sb_event_stop(id)
  end
  print("events of the loop", n, id == sysbench.tid)
end

function thread_done(id)
  print("done", id)
end
