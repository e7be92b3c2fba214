use std::io::ErrorKind;

use super::*;
use crate::output::memory::Memory;

/// A pipe without a reader.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn log(verbosity: MessageLevel) -> (MessageLog, Memory) {
    let results = Memory::default();
    (MessageLog::new(verbosity, Box::new(results.clone()), None), results)
}

#[test]
fn an_empty_line_between_two_reports_is_a_repeat() {
    let (log, results) = log(MessageLevel::Notice);
    log.text(MessageLevel::Notice, "Threads started!\n");
    log.report("\nfirst\n");
    log.stamped(MessageLevel::Notice, "[ 2s ] Checkpoint report:");
    log.report("\nsecond\n");
    log.report("SQL\n");
    let expected = "\
Threads started!


first

[ 2s ] Checkpoint report:
(last message repeated 1 times)
second

SQL

";
    assert_eq!(results.text(), expected);
}

#[test]
fn repeats_are_counted_as_sysbench_counts_them() {
    let (log, results) = log(MessageLevel::Info);
    log.script(b"A\n");
    for _ in 0..3 {
        log.text(MessageLevel::Notice, "same");
    }
    log.script(b"B\n");
    log.text(MessageLevel::Notice, "other");
    log.text(MessageLevel::Warning, "warn");
    log.text(MessageLevel::Warning, "warn");
    log.text(MessageLevel::Info, "info");
    log.text(MessageLevel::Notice, "warn");
    log.text(MessageLevel::Notice, "warn");
    log.text(MessageLevel::Warning, "warn");
    log.text(MessageLevel::Fatal, "fatal");
    log.text(MessageLevel::Fatal, "fatal");
    log.text(MessageLevel::Alert, "alert");
    log.text(MessageLevel::Debug, "dbg");
    log.text(MessageLevel::Notice, "x");
    log.text(MessageLevel::Debug, "hidden");
    log.text(MessageLevel::Notice, "x");
    for message in ["", "", "", "x\n", "x\n", "x\n", "y", "z", "z"] {
        log.text(MessageLevel::Notice, message);
    }
    log.stamped(MessageLevel::Notice, "[ 0s ] stamp");
    log.stamped(MessageLevel::Notice, "[ 2s ] stamp");
    log.stamped(MessageLevel::Notice, "[ 2s ] stamp");
    log.text(MessageLevel::Notice, "stamp");
    log.text(MessageLevel::Notice, "end");
    log.text(MessageLevel::Notice, "end");
    let expected = "\
A
same
B
(last message repeated 2 times)
other
WARNING: warn
(last message repeated 1 times)
info
warn
(last message repeated 2 times)
FATAL: fatal
(last message repeated 1 times)
ALERT: alert
x
(last message repeated 1 times)

(last message repeated 2 times)
x

(last message repeated 2 times)
y
z
[ 0s ] stamp
[ 2s ] stamp
[ 2s ] stamp
(last message repeated 1 times)
stamp
end
";
    assert_eq!(results.text(), expected);
}

#[test]
fn a_report_ends_a_series_and_starts_none() {
    let (log, results) = log(MessageLevel::Notice);
    log.text(MessageLevel::Notice, "limit");
    log.text(MessageLevel::Notice, "limit");
    log.report("report");
    log.report("report");
    log.text(MessageLevel::Notice, "limit");
    assert_eq!(results.text(), "limit\n(last message repeated 1 times)\nreport\nreport\nlimit\n");
}

#[test]
fn verbosity_hides_what_is_less_important() {
    let (log, results) = log(MessageLevel::Fatal);
    for number in 0..6 {
        let level = MessageLevel::from_number(number).unwrap();
        log.text(level, &format!("level {number}"));
        log.stamped(level, "[ 2s ] stamp");
        assert_eq!(log.shows(level), number == 0);
    }
    log.report("report");
    log.script(b"script\n");
    assert_eq!(results.text(), "FATAL: level 0\nFATAL: [ 2s ] stamp\nscript\n");
    assert_eq!(MessageLevel::from_number(6), None);
}

#[test]
fn json_has_its_results_for_itself() {
    let (results, aside) = (Memory::default(), Memory::default());
    let log = MessageLog::new(
        MessageLevel::Notice,
        Box::new(results.clone()),
        Some(Box::new(aside.clone())),
    );
    log.text(MessageLevel::Notice, "Threads started!\n");
    log.stamped(MessageLevel::Notice, "[ 1s ] line");
    log.script(b"from the script");
    log.document("{}").unwrap();
    assert_eq!(results.text(), "{}\n");
    assert_eq!(aside.text(), "Threads started!\n\n[ 1s ] line\nfrom the script");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let log = MessageLog::new(MessageLevel::Notice, Box::new(Closed), None);
    log.text(MessageLevel::Notice, "nothing reads it");
    log.document("{}").unwrap();
}

#[test]
fn lines_of_threads_stay_whole() {
    let (log, results) = log(MessageLevel::Notice);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..500 {
                    log.text(MessageLevel::Notice, &format!("thread {thread} message {n}"));
                }
            });
        }
    });
    let text = results.text();
    assert_eq!(text.lines().count(), 2_000);
    assert!(text.lines().all(|line| line.starts_with("thread ") && line.split(' ').count() == 4));
}

#[test]
fn a_terminal_obeys_no_line() {
    let hostile = "a\u{1b}[2J\r\u{7}\u{9b}31m\u{202e}b\tc";
    let shown = "a [2J   31m b\tc\n";
    let (log, results) = log(MessageLevel::Notice);
    log.text(MessageLevel::Notice, hostile);
    log.stamped(MessageLevel::Notice, hostile);
    log.report(hostile);
    assert_eq!(results.text(), shown.repeat(3));
}
