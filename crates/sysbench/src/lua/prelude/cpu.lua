-- sysbench's test of the processor, which needs no server: an event counts prime numbers.
ffi.cdef("unsigned int truetps_count_primes(unsigned int);")

sysbench.cmdline.options = {
  ["cpu-max-prime"] = { "Largest number that is tested", 10000, sysbench.cmdline.ARG_INT },
}

-- A loop of its own, so that each client has a thread, and uses a processor of its own.
function thread_run(tid)
  local C, limit = ffi.C, sysbench.opt.cpu_max_prime
  while C.sb_more_events(tid) do
    C.sb_event_start(tid)
    C.truetps_count_primes(limit)
    C.sb_event_stop(tid)
  end
end

function event() end
