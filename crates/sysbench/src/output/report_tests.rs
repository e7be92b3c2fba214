//! Expected texts are what sysbench 1.0.20 prints for the same figures.

use super::*;

fn figures() -> Figures {
    Figures {
        threads_running: 7,
        time_interval_s: 2.0,
        time_total_s: 10.5,
        latency_pct_s: 0.012_345,
        latency_min_s: 0.000_123_4,
        latency_max_s: 1.5,
        latency_avg_s: 0.045_678_9,
        latency_sum_s: 12_345.678_901,
        events: 1_234_567,
        reads: 7_654_321,
        writes: 22,
        other: 333,
        errors: 5,
        reconnects: 6,
        queue_length: 71,
        concurrency: 82,
    }
}

const FAIRNESS: Fairness = Fairness {
    events_avg: 20.5,
    events_stddev: 0.5,
    seconds_avg: 12_345.678_9,
    seconds_stddev: 12_345.68,
};

const SQL: FigureStyle = FigureStyle {
    is_sql: true,
    is_cpu: false,
    compat: SysbenchRelease::V1_0,
    percentile: 95,
    has_rate: false,
    stamp_decimals: 0,
};
const PLAIN: FigureStyle = FigureStyle { is_sql: false, ..SQL };

const LATENCY_AND_FAIRNESS: &str = "
Latency (ms):
         min:                                    0.12
         avg:                                   45.68
         max:                                 1500.00
         95th percentile:                       12.35
         sum:                             12345678.90

Threads fairness:
    events (avg/stddev):           20.5000/0.50
    execution time (avg/stddev):   12345.6789/12345.68
";

const SQL_STATISTICS: &str = "\
SQL statistics:
    queries performed:
        read:                            7654321
        write:                           22
        other:                           333
        total:                           7654676
    transactions:                        1234567 (617283.50 per sec.)
    queries:                             7654676 (3827338.00 per sec.)
    ignored errors:                      5      (2.50 per sec.)
    reconnects:                          6      (3.00 per sec.)
";

const GENERAL: &str = "
General statistics:
    total time:                          10.5000s
    total number of events:              1234567
";

const THROUGHPUT: &str = "
Throughput:
    events/s (eps):                      617283.5000
    time elapsed:                        10.5000s
    total number of events:              1234567
";

#[test]
fn lines_of_sql_scripts() {
    let line = "[ 10s ] thds: 7 tps: 617283.50 qps: 3827338.00 (r/w/o: 3827160.50/11.00/166.50) \
                lat (ms,95%): 12.35 err/s: 2.50 reconn/s: 3.00";
    assert_eq!(intermediate(&figures(), &SQL), line);
    let with_rate = intermediate(&figures(), &FigureStyle { has_rate: true, ..SQL });
    assert_eq!(with_rate, format!("{line}\n[ 10s ] queue length: 71, concurrency: 82"));
}

#[test]
fn lines_of_other_scripts() {
    let line = "[ 10s ] thds: 7 eps: 617283.50 lat (ms,95%): 12.35";
    assert_eq!(intermediate(&figures(), &PLAIN), line);
    let with_rate = intermediate(&figures(), &FigureStyle { has_rate: true, ..PLAIN });
    assert_eq!(with_rate, format!("{line}\n[ 10s ] queue length: 71 concurrency: 82"));
    let no_percentile = intermediate(&figures(), &FigureStyle { percentile: 0, ..PLAIN });
    assert_eq!(no_percentile, "[ 10s ] thds: 7 eps: 617283.50 lat (ms,0%): 12.35");
}

#[test]
fn stamps_are_rounded_as_in_c_and_have_decimals_on_demand() {
    let at = |time_total_s, stamp_decimals| {
        let figures = Figures { time_total_s, time_interval_s: 0.5, ..Figures::default() };
        let line = intermediate(&figures, &FigureStyle { stamp_decimals, ..PLAIN });
        line.split_once(" thds").map(|(stamp, _)| stamp.to_owned()).unwrap()
    };
    assert_eq!(at(0.5, 0), "[ 0s ]");
    assert_eq!(at(1.5, 0), "[ 2s ]");
    assert_eq!(at(2.5, 0), "[ 2s ]");
    assert_eq!(at(0.500_2, 1), "[ 0.5s ]");
    assert_eq!(at(12.250_04, 2), "[ 12.25s ]");
}

#[test]
fn reports_of_sql_scripts() {
    let report = cumulative(&figures(), &FAIRNESS, &SQL, None);
    assert_eq!(report, format!("{SQL_STATISTICS}{GENERAL}{LATENCY_AND_FAIRNESS}"));
    let newer = cumulative(
        &figures(),
        &FAIRNESS,
        &FigureStyle { compat: SysbenchRelease::V1_1, ..SQL },
        None,
    );
    assert_eq!(newer, format!("{SQL_STATISTICS}{THROUGHPUT}{LATENCY_AND_FAIRNESS}"));
}

#[test]
fn reports_of_other_scripts_start_with_an_empty_line() {
    let report = cumulative(&figures(), &FAIRNESS, &PLAIN, None);
    assert_eq!(report, format!("{GENERAL}{LATENCY_AND_FAIRNESS}"));
    let newer = cumulative(
        &figures(),
        &FAIRNESS,
        &FigureStyle { compat: SysbenchRelease::V1_1, ..PLAIN },
        None,
    );
    assert_eq!(newer, format!("{THROUGHPUT}{LATENCY_AND_FAIRNESS}"));
}

#[test]
fn a_forced_shutdown_says_what_it_left_after_the_statements() {
    let line = "\nNumber of unfinished transactions on forced shutdown: 3\n";
    let report = cumulative(&figures(), &FAIRNESS, &PLAIN, Some(3));
    assert_eq!(report, format!("{line}{GENERAL}{LATENCY_AND_FAIRNESS}"));
    let report = cumulative(&figures(), &FAIRNESS, &SQL, Some(3));
    assert_eq!(report, format!("{SQL_STATISTICS}{line}{GENERAL}{LATENCY_AND_FAIRNESS}"));
}

#[test]
fn percentiles_of_one_and_three_digits_and_none() {
    let line = |percentile| {
        let report = cumulative(&figures(), &FAIRNESS, &FigureStyle { percentile, ..PLAIN }, None);
        report.lines().find(|line| line.contains("percentile")).unwrap().to_owned()
    };
    assert_eq!(line(100), "        100th percentile:                       12.35");
    assert_eq!(line(5), "          5th percentile:                       12.35");
    assert_eq!(line(0), "         percentile stats:               disabled");
}

#[test]
fn nothing_done_is_no_division_by_zero() {
    let report = cumulative(&Figures::default(), &Fairness::default(), &SQL, None);
    assert!(
        report.contains("    transactions:                        0      (0.00 per sec.)\n"),
        "{report}"
    );
    assert!(report.contains("    execution time (avg/stddev):   0.0000/0.00\n"), "{report}");
    let line = intermediate(&Figures::default(), &SQL);
    assert!(
        line.contains(" qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 0.00 err/s: 0.00"),
        "{line}"
    );
}

#[test]
fn a_checkpoint_has_a_line_before_its_report() {
    assert_eq!(checkpoint(&figures(), &SQL), "[ 10s ] Checkpoint report:");
}

#[test]
fn debug_adds_a_block_with_two_lines_for_each_thread() {
    let client = |events, busy_s, latency_min_s, latency_max_s| ClientFigures {
        events,
        busy_s,
        latency_min_s,
        latency_max_s,
    };
    let clients = [client(20, 0.0053, 0.0002, 0.0003), client(0, 0.0, 0.0, 0.0)];
    let expected = "\
DEBUG: Verbose per-thread statistics:

DEBUG:     thread #  0: min: 0.0002s  avg: 0.0003s  max: 0.0003s  events: 20
DEBUG:                  total time taken by event execution: 0.0053s
DEBUG:     thread #  1: min: 0.0000s  avg: 0.0000s  max: 0.0000s  events: 0
DEBUG:                  total time taken by event execution: 0.0000s
";
    assert_eq!(per_client(&clients), expected);
}

#[test]
fn the_test_of_the_processor_has_its_events_a_second_first() {
    let text = cumulative(&figures(), &FAIRNESS, &FigureStyle { is_cpu: true, ..PLAIN }, None);
    let plain = cumulative(&figures(), &FAIRNESS, &PLAIN, None);
    let rate = figures().per_second(figures().events);
    assert_eq!(text, format!("CPU speed:\n    events per second: {rate:8.2}\n{plain}"));
}
