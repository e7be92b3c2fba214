//! Banner, version, and the fixed lines of a run, in order.
//!
//! Levels are noted unless they are NOTICE. Output of `init()` comes between [`version`] and [`banner`].

use std::fmt::Write as _;

/// Before the threads start; an empty line follows. Commands that run in parallel print it too.
pub(crate) const INITIALIZING_THREADS: &str = "Initializing worker threads...\n";
/// When all threads are ready; an empty line follows.
pub(crate) const THREADS_STARTED: &str = "Threads started!\n";
/// The state of a thread in a DEBUG message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadIs {
    Started,
    Initialized,
    Failed,
}

/// DEBUG, of each client.
pub(crate) fn thread(tid: u32, state: ThreadIs) -> String {
    let what = match state {
        ThreadIs::Started => "started",
        ThreadIs::Initialized => "initialized",
        ThreadIs::Failed => "failed to initialize!",
    };
    format!("Worker thread (#{tid}) {what}")
}

/// INFO, once for each thread.
pub(crate) const TIME_LIMIT: &str = "Time limit exceeded, exiting...";
/// INFO, once for each thread.
pub(crate) const EVENT_LIMIT: &str = "Event limit exceeded, exiting...";
/// INFO, when all threads have ended; an empty line follows.
pub(crate) const DONE: &str = "Done.\n";
/// FATAL, before the report ([`super::cumulative_forced`]).
pub(crate) const FORCED_SHUTDOWN: &str = "The --max-time limit has expired, forcing shutdown...";

/// Facts known before a run starts. Times in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Banner<'a> {
    pub(crate) threads: u32,
    /// 0 for none.
    pub(crate) warmup_s: u32,
    /// Events a second; 0 for no limit.
    pub(crate) rate: u32,
    /// 0 for no reports; sysbench accepts no fractions.
    pub(crate) report_interval_s: f64,
    pub(crate) checkpoints_s: &'a [u32],
    pub(crate) debug: bool,
    pub(crate) validate: bool,
    /// `None` if it is taken from the clock.
    pub(crate) seed: Option<i32>,
    /// From the start of the run: `--time` and the grace period after it.
    pub(crate) forced_shutdown_s: Option<u32>,
}

/// The first line, of every command; an empty line follows. It names a sysbench version: scripts and parsers look for
/// `sysbench 1.0.20 (…)`.
pub(crate) fn version(sysbench: &str, luajit: &str) -> String {
    format!("sysbench {sysbench} (using bundled LuaJIT {luajit})\n")
}

/// The lines between [`version`] and [`INITIALIZING_THREADS`]; an empty line follows.
pub(crate) fn banner(banner: &Banner) -> String {
    let mut text = format!("Running the test with following options:\nNumber of threads: {}\n", banner.threads);
    if banner.warmup_s > 0 {
        _ = writeln!(text, "Warmup time: {}s", banner.warmup_s);
    }
    if banner.rate > 0 {
        _ = writeln!(text, "Target transaction rate: {}/sec", banner.rate);
    }
    if banner.report_interval_s > 0.0 {
        _ = writeln!(text, "Report intermediate results every {} second(s)", banner.report_interval_s);
    }
    if !banner.checkpoints_s.is_empty() {
        let times: Vec<String> = banner.checkpoints_s.iter().map(u32::to_string).collect();
        _ = writeln!(text, "Report checkpoint(s) at {} seconds", times.join(", "));
    }
    if banner.debug {
        text += "Debug mode enabled.\n\n";
    }
    if banner.validate {
        text += "Validation checks: on.\n\n";
    }
    text += "Initializing random number generator from ";
    text += &banner.seed.map_or_else(|| "current time\n\n".to_owned(), |seed| format!("seed ({seed}).\n\n"));
    if let Some(seconds) = banner.forced_shutdown_s {
        _ = writeln!(text, "Forcing shutdown in {seconds} seconds");
    }
    text
}

/// After [`THREADS_STARTED`], with `--warmup-time`; an empty line follows.
pub(crate) fn warming_up(seconds: u32) -> String {
    format!("Warming up for {seconds} seconds...\n")
}

/// FATAL: the time limit for connecting and running `thread_init` has passed.
pub(crate) fn no_initialization(seconds: u32) -> String {
    format!("Worker threads failed to initialize within {seconds} seconds!")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_has_two_empty_lines_before_its_threads() {
        let text = format!("{}\n{}\n", banner(&Banner { threads: 1, ..Banner::default() }), INITIALIZING_THREADS);
        let expected = "\
Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Initializing worker threads...

";
        assert_eq!(text, expected);
    }

    #[test]
    fn every_conditional_line_has_its_place() {
        let options = Banner {
            threads: 1,
            warmup_s: 1,
            rate: 5,
            report_interval_s: 1.0,
            checkpoints_s: &[5, 10, 15],
            debug: true,
            validate: true,
            seed: Some(7),
            forced_shutdown_s: Some(15),
        };
        let expected = "\
Running the test with following options:
Number of threads: 1
Warmup time: 1s
Target transaction rate: 5/sec
Report intermediate results every 1 second(s)
Report checkpoint(s) at 5, 10, 15 seconds
Debug mode enabled.

Validation checks: on.

Initializing random number generator from seed (7).

Forcing shutdown in 15 seconds
";
        assert_eq!(banner(&options), expected);
    }

    #[test]
    fn a_fraction_of_a_second_is_written_as_it_was_typed() {
        let text = banner(&Banner { threads: 1, report_interval_s: 0.5, ..Banner::default() });
        assert!(text.contains("\nReport intermediate results every 0.5 second(s)\n"), "{text}");
    }

    #[test]
    fn lines_of_their_own() {
        assert_eq!(version("1.0.20", "2.1.0-beta3"), "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta3)\n");
        assert_eq!(thread(7, ThreadIs::Started), "Worker thread (#7) started");
        assert_eq!(warming_up(3), "Warming up for 3 seconds...\n");
        assert_eq!(no_initialization(30), "Worker threads failed to initialize within 30 seconds!");
    }
}
