//! Events that wait without a statement, by any means: no client of ours stops another one.

use crate::common::Place;
use crate::sysbench::program::Program;

const CLIENTS: u32 = 8;

/// Events that take a quarter of a second, or the rest of a second.
const WAITS: &[(&str, &str)] = &[
    ("os_time", "function event() local now = os.time() repeat until os.time() ~= now end"),
    ("os_date", "function event() local now = os.date('%S') while os.date('%S') == now do end end"),
    (
        "gettimeofday",
        "ffi.cdef('struct at { long s; long us; }; int gettimeofday(struct at *, void *);')
         local at, C = ffi.new('struct at[1]'), ffi.C
         local function now() C.gettimeofday(at, nil) return tonumber(at[0].s) + tonumber(at[0].us) / 1e6 end
         function event() local start = now() while now() < start + 0.25 do end end",
    ),
    (
        "clock_gettime_in_a_for_loop",
        "ffi.cdef('struct at { long s; long ns; }; int clock_gettime(int, struct at *);')
         local at = ffi.new('struct at[1]')
         local function now() ffi.C.clock_gettime(1, at) return tonumber(at[0].s) + tonumber(at[0].ns) / 1e9 end
         function event() local start = now() for n = 1, math.huge do if now() > start + 0.25 then return end end end",
    ),
    (
        "a_name_made_as_it_runs",
        "ffi.cdef('int usleep(unsigned int);') function event() ffi.C['us' .. 'leep'](250000) end",
    ),
    (
        "another_function_of_c",
        "ffi.cdef('int pselect(int, void *, void *, void *, const long *, void *); int poll(void *, long, int);')
         local wait, nothing = ffi.C.poll, ffi.new('int[1]') function event() wait(nothing, 0, 250) end",
    ),
    ("io_popen", "function event() io.popen('sleep 0.25'):close() end"),
    // Of the whole process: clients that run together use up their times together.
    ("os_clock", "function event() local start = os.clock() while os.clock() < start + 0.2 do end \
                  end"),
];

/// Runs a script for a time with both programs: how many events each had.
fn events(place: &Place, script: &str) -> [u64; 2] {
    let (threads, path) = (format!("--threads={CLIENTS}"), format!("./{script}.lua"));
    [Program::reference(), Program::ours()].map(|program| {
        let ran = program.run(place.path(), &[&path, &threads, "--time=1", "run"], "");
        let count =
            ran.stdout.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
        let count = count.unwrap_or_else(|| panic!("{script}: {}{}", ran.stdout, ran.stderr));
        count.trim().parse().unwrap()
    })
}

#[test]
fn an_event_that_waits_by_any_means_stops_no_other_client() {
    let place = Place::new();
    for (script, text) in WAITS {
        place.write(&format!("{script}.lua"), text);
        let [there, here] = events(&place, script);
        // Clients that wait for each other have an eighth of the events, or a fourth with a thread
        // for each of two cores.
        assert!(here * 2 > there, "{script}: {here} events, sysbench has {there}");
    }
}

/// An event that does nothing takes no time: what it has of latency is the generator's.
#[test]
fn the_latency_under_a_rate_is_not_the_generators() {
    let place = Place::new();
    place.write("nothing.lua", "function event() end");
    for threads in ["--threads=1", "--threads=4", "--threads=16", "--threads=64"] {
        let medians = [Program::reference(), Program::ours()].map(|program| {
            let flags =
                ["./nothing.lua", threads, "--rate=200", "--percentile=50", "--time=1", "run"];
            let ran = program.run(place.path(), &flags, "");
            let median =
                ran.stdout.lines().find_map(|line| line.trim().strip_prefix("50th percentile:"));
            median
                .unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr))
                .trim()
                .parse::<f64>()
                .unwrap()
        });
        let [there, here] = medians;
        assert!(here < there + 0.05, "{threads}: a median of {here} ms, sysbench has {there} ms");
    }
}
