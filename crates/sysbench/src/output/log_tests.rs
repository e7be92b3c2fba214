use std::io::ErrorKind;

use super::*;
use crate::output::memory::Memory;

/// A pipe that nobody reads.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn log(verbosity: Level, messages_to: MessagesTo) -> (Log, Memory, Memory) {
    let (results, aside) = (Memory::default(), Memory::default());
    let log = Log::new(verbosity, messages_to, Box::new(results.clone()), Box::new(aside.clone()));
    (log, results, aside)
}

#[test]
fn an_empty_line_between_two_reports_is_a_repeat() {
    let (log, results, _) = log(Level::Notice, MessagesTo::Results);
    log.text(Level::Notice, "Threads started!\n");
    log.report("\nfirst\n");
    log.stamped(Level::Notice, "[ 2s ] Checkpoint report:");
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
    let (log, results, _) = log(Level::Info, MessagesTo::Results);
    log.script(b"A\n");
    for _ in 0..3 {
        log.text(Level::Notice, "same");
    }
    log.script(b"B\n");
    log.text(Level::Notice, "other");
    log.text(Level::Warning, "warn");
    log.text(Level::Warning, "warn");
    log.text(Level::Info, "info");
    log.text(Level::Notice, "warn");
    log.text(Level::Notice, "warn");
    log.text(Level::Warning, "warn");
    log.text(Level::Fatal, "fatal");
    log.text(Level::Fatal, "fatal");
    log.text(Level::Alert, "alert");
    log.text(Level::Debug, "dbg");
    log.text(Level::Notice, "x");
    log.text(Level::Debug, "hidden");
    log.text(Level::Notice, "x");
    for message in ["", "", "", "x\n", "x\n", "x\n", "y", "z", "z"] {
        log.text(Level::Notice, message);
    }
    log.stamped(Level::Notice, "[ 0s ] stamp");
    log.stamped(Level::Notice, "[ 2s ] stamp");
    log.stamped(Level::Notice, "[ 2s ] stamp");
    log.text(Level::Notice, "stamp");
    log.text(Level::Notice, "end");
    log.text(Level::Notice, "end");
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
    let (log, results, _) = log(Level::Notice, MessagesTo::Results);
    log.text(Level::Notice, "limit");
    log.text(Level::Notice, "limit");
    log.report("report");
    log.report("report");
    log.text(Level::Notice, "limit");
    assert_eq!(results.text(), "limit\n(last message repeated 1 times)\nreport\nreport\nlimit\n");
}

#[test]
fn verbosity_hides_what_is_less_important() {
    let (log, results, _) = log(Level::Fatal, MessagesTo::Results);
    for number in 0..6 {
        let level = Level::from_number(number).unwrap();
        log.text(level, &format!("level {number}"));
        log.stamped(level, "[ 2s ] stamp");
        assert_eq!(log.shows(level), number == 0);
    }
    log.report("report");
    log.script(b"script\n");
    assert_eq!(results.text(), "FATAL: level 0\nFATAL: [ 2s ] stamp\nscript\n");
    assert_eq!(Level::from_number(6), None);
}

#[test]
fn json_has_its_results_for_itself() {
    let (log, results, aside) = log(Level::Notice, MessagesTo::Aside);
    log.text(Level::Notice, "Threads started!\n");
    log.stamped(Level::Notice, "[ 1s ] line");
    log.script(b"from the script");
    log.document("{}").unwrap();
    assert_eq!(results.text(), "{}\n");
    assert_eq!(aside.text(), "Threads started!\n\n[ 1s ] line\nfrom the script");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let log = Log::new(Level::Notice, MessagesTo::Results, Box::new(Closed), Box::new(Closed));
    log.text(Level::Notice, "nobody hears it");
    log.document("{}").unwrap();
}

#[test]
fn lines_of_threads_stay_whole() {
    let (log, results, _) = log(Level::Notice, MessagesTo::Results);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..500 {
                    log.text(Level::Notice, &format!("thread {thread} message {n}"));
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
    let (log, results, _) = log(Level::Notice, MessagesTo::Results);
    log.text(Level::Notice, hostile);
    log.stamped(Level::Notice, hostile);
    log.report(hostile);
    assert_eq!(results.text(), shown.repeat(3));
}
