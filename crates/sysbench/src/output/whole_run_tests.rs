//! Whole runs, as sysbench 1.0.20 printed them.

use super::memory::Memory;
use super::*;
use crate::options::{SysbenchRelease, settings_of};

fn printed(verbosity: MessageLevel, run: impl Fn(&MessageLog)) -> String {
    let results = Memory::default();
    run(&MessageLog::new(verbosity, Box::new(results.clone()), None));
    results.text()
}

const PLAIN: FigureStyle = FigureStyle {
    is_sql: false,
    is_cpu: false,
    compat: SysbenchRelease::V1_0,
    percentile: 95,
    has_rate: false,
    stamp_decimals: 0,
};

#[test]
fn a_script_without_sql_and_with_debug_and_histogram() {
    let figures =
        Figures { time_interval_s: 0.0015, time_total_s: 0.0015, events: 3, ..Figures::default() };
    let mut histogram = LogHistogram::of_latency();
    (0..3).for_each(|_| histogram.add(0.0005, 1));
    let text = printed(MessageLevel::Debug, |log| {
        log.text(MessageLevel::Notice, &lines::version("1.0.20", "2.1.0-beta3"));
        log.text(MessageLevel::Notice, &banner(&settings_of(&["--debug"])));
        log.text(MessageLevel::Notice, lines::INITIALIZING_THREADS);
        log.text(MessageLevel::Debug, "Worker thread (#0) started");
        log.text(MessageLevel::Debug, "Worker thread (#0) initialized");
        log.text(MessageLevel::Notice, lines::THREADS_STARTED);
        log.text(MessageLevel::Info, lines::DONE);
        log.report(&histogram.report());
        let clients = [ClientFigures { events: 3, ..ClientFigures::default() }];
        log.report(&cumulative(&figures, &Fairness::of(&clients), &PLAIN, None));
        log.report(&per_client(&clients));
    });
    let expected = "\
sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Debug mode enabled.

Initializing random number generator from current time


Initializing worker threads...

DEBUG: Worker thread (#0) started
DEBUG: Worker thread (#0) initialized
Threads started!

Done.

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.001 |**************************************** 3
\x20

General statistics:
    total time:                          0.0015s
    total number of events:              3

Latency (ms):
         min:                                    0.00
         avg:                                    0.00
         max:                                    0.00
         95th percentile:                        0.00
         sum:                                    0.00

Threads fairness:
    events (avg/stddev):           3.0000/0.00
    execution time (avg/stddev):   0.0000/0.00

DEBUG: Verbose per-thread statistics:

DEBUG:     thread #  0: min: 0.0000s  avg: 0.0000s  max: 0.0000s  events: 3
DEBUG:                  total time taken by event execution: 0.0000s

";
    assert_eq!(text, expected);
}

#[test]
fn a_forced_shutdown() {
    let line = Figures {
        threads_running: 3,
        time_interval_s: 1.0,
        time_total_s: 1.0,
        ..Figures::default()
    };
    let end = Figures { time_interval_s: 2.0001, time_total_s: 2.0001, ..Figures::default() };
    let run = |log: &MessageLog| {
        let options =
            settings_of(&["--threads=3", "--report-interval=1", "--time=1", "--forced-shutdown=1"]);
        let clients = [ClientFigures { events: 1, ..ClientFigures::default() }; 3];
        log.text(MessageLevel::Notice, &banner(&options));
        log.text(MessageLevel::Notice, lines::INITIALIZING_THREADS);
        log.text(MessageLevel::Notice, lines::THREADS_STARTED);
        log.stamped(MessageLevel::Notice, &intermediate(&line, &PLAIN));
        log.text(MessageLevel::Fatal, lines::FORCED_SHUTDOWN);
        log.report(&cumulative(&end, &Fairness::of(&clients), &PLAIN, Some(3)));
    };
    let expected = "\
Running the test with following options:
Number of threads: 3
Report intermediate results every 1 second(s)
Initializing random number generator from current time

Forcing shutdown in 2 seconds

Initializing worker threads...

Threads started!

[ 1s ] thds: 3 eps: 0.00 lat (ms,95%): 0.00
FATAL: The --max-time limit has expired, forcing shutdown...

Number of unfinished transactions on forced shutdown: 3

General statistics:
    total time:                          2.0001s
    total number of events:              0

Latency (ms):
         min:                                    0.00
         avg:                                    0.00
         max:                                    0.00
         95th percentile:                        0.00
         sum:                                    0.00

Threads fairness:
    events (avg/stddev):           1.0000/0.00
    execution time (avg/stddev):   0.0000/0.00

";
    assert_eq!(printed(MessageLevel::Notice, run), expected);
    assert_eq!(
        printed(MessageLevel::Fatal, run),
        "FATAL: The --max-time limit has expired, forcing shutdown...\n"
    );
}

#[test]
fn threads_that_end_say_so_once() {
    let text = printed(MessageLevel::Info, |log| {
        log.text(MessageLevel::Warning, "endless");
        (0..3).for_each(|_| log.text(MessageLevel::Info, lines::TIME_LIMIT));
        (0..2).for_each(|_| log.text(MessageLevel::Info, lines::EVENT_LIMIT));
        log.text(MessageLevel::Info, lines::DONE);
    });
    let expected = "\
WARNING: endless
Time limit exceeded, exiting...
(last message repeated 2 times)
Event limit exceeded, exiting...
(last message repeated 1 times)
Done.

";
    assert_eq!(text, expected);
}
