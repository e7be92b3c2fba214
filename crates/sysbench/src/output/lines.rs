//! Banner, version, and the fixed lines of a run, in order.
//!
//! Levels are noted unless they are NOTICE. Output of `init()` comes between [`version`] and
//! [`banner`].

use std::fmt::Write as _;
use std::io;

use crate::options::RunSettings;

/// Before the threads start; an empty line follows. Commands that run in parallel print it too.
pub(crate) const INITIALIZING_THREADS: &str = "Initializing worker threads...\n";
/// When all threads are ready; an empty line follows.
pub(crate) const THREADS_STARTED: &str = "Threads started!\n";
/// What became of a thread, for [`thread`].
pub(crate) const STARTED: &str = "started";
pub(crate) const INITIALIZED: &str = "initialized";
pub(crate) const NOT_INITIALIZED: &str = "failed to initialize!";

/// DEBUG, of each client.
pub(crate) fn thread(tid: u32, state: &str) -> String {
    format!("Worker thread (#{tid}) {state}")
}

/// INFO, once for each thread.
pub(crate) const TIME_LIMIT: &str = "Time limit exceeded, exiting...";
/// INFO, once for each thread.
pub(crate) const EVENT_LIMIT: &str = "Event limit exceeded, exiting...";
/// INFO, when all threads have ended; an empty line follows.
pub(crate) const DONE: &str = "Done.\n";
/// FATAL, before the report ([`super::cumulative_forced`]).
pub(crate) const FORCED_SHUTDOWN: &str = "The --max-time limit has expired, forcing shutdown...";

/// The first line, of every command; an empty line follows. It names a sysbench version: scripts
/// and parsers look for `sysbench 1.0.20 (…)`.
pub(crate) fn version(sysbench: &str, luajit: &str) -> String {
    format!("sysbench {sysbench} (using bundled LuaJIT {luajit})\n")
}

/// The lines between [`version`] and [`INITIALIZING_THREADS`]; an empty line follows.
pub(crate) fn banner(settings: &RunSettings) -> String {
    let mut text = format!(
        "Running the test with following options:\nNumber of threads: {}\n",
        settings.threads
    );
    if !settings.warmup.is_zero() {
        _ = writeln!(text, "Warmup time: {}s", settings.warmup.as_secs());
    }
    if let Some(rate) = settings.rate {
        _ = writeln!(text, "Target transaction rate: {rate}/sec");
    }
    if let Some(interval) = settings.report_interval {
        _ = writeln!(
            text,
            "Report intermediate results every {} second(s)",
            interval.as_secs_f64()
        );
    }
    if !settings.checkpoints.is_empty() {
        let times: Vec<String> = settings.checkpoints.iter().map(u32::to_string).collect();
        _ = writeln!(text, "Report checkpoint(s) at {} seconds", times.join(", "));
    }
    if settings.debug {
        text += "Debug mode enabled.\n\n";
    }
    if settings.validate {
        text += "Validation checks: on.\n\n";
    }
    text += "Initializing random number generator from ";
    text += &settings
        .rand
        .seed
        .map_or_else(|| "current time\n\n".to_owned(), |seed| format!("seed ({seed}).\n\n"));
    if let Some(time) = settings.forced_shutdown {
        _ = writeln!(text, "Forcing shutdown in {} seconds", time.as_secs());
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

/// Only the system's message, as C prints it.
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::settings_of;

    #[test]
    fn a_plain_run_has_two_empty_lines_before_its_threads() {
        let text = format!("{}\n{}\n", banner(&settings_of(&[])), INITIALIZING_THREADS);
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
        let options = settings_of(&[
            "--warmup-time=1",
            "--rate=5",
            "--report-interval=1",
            "--report-checkpoints=5,10,15",
            "--debug",
            "--validate",
            "--rand-seed=7",
            "--time=10",
            "--forced-shutdown=5",
        ]);
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
        let text = banner(&settings_of(&["--report-interval=0.5"]));
        assert!(text.contains("\nReport intermediate results every 0.5 second(s)\n"), "{text}");
    }

    #[test]
    fn lines_of_their_own() {
        assert_eq!(
            version("1.0.20", "2.1.0-beta3"),
            "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta3)\n"
        );
        assert_eq!(thread(7, STARTED), "Worker thread (#7) started");
        assert_eq!(warming_up(3), "Warming up for 3 seconds...\n");
        assert_eq!(no_initialization(30), "Worker threads failed to initialize within 30 seconds!");
    }
}
