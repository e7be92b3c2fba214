-- Counters that a script adds to by itself.
ffi.cdef([[
void sb_counter_inc(int, sb_counter_type);
void sb_counter_add(int, sb_counter_type, uint64_t);
]])

function thread_init()
  con = sysbench.sql.driver():connect()
end

local times = { SB_CNT_READ = 3, SB_CNT_WRITE = 5, SB_CNT_OTHER = 7, SB_CNT_ERROR = 2, SB_CNT_RECONNECT = 1 }

function event()
  for name, n in pairs(times) do
    for _ = 1, n do
      ffi.C.sb_counter_inc(sysbench.tid, ffi.C[name])
    end
  end
  print(tonumber(ffi.C.SB_CNT_OTHER), tonumber(ffi.C.SB_CNT_READ), tonumber(ffi.C.SB_CNT_WRITE))
end
