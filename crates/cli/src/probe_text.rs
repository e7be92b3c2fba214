//! What a probe has seen, as text: a line a sample while it runs, and a table at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use truetps_analysis::{LiveProbe, LiveWait, RedoAge};
use truetps_record::{ProbeSample, ProbeSource, ProbeSummary};
use truetps_report::format;

use crate::args::TableFormat;

/// The last values, and when they were read.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    last: BTreeMap<String, f64>,
    at_ms: Option<f64>,
    live: LiveProbe,
}

/// Transactions a second, in the server's own words; the first that it has.
const COMMITS: [(&str, &str); 3] = [
    ("status.Binlog_commits", "Binlog_commits"),
    ("status.Handler_commit", "Handler_commit"),
    ("pg_stat_database.xact_commit", "xact_commit"),
];
const REDO: [&str; 2] = ["status.Innodb_os_log_written", "pg_lsn.insert_bytes"];

impl Meter {
    /// What has happened since the sample before; `None` for the first one, and for those of the host.
    pub(crate) fn line(&mut self, sample: &ProbeSample) -> Option<String> {
        if sample.source != ProbeSource::Server {
            return None;
        }
        self.live.sample(sample);
        let (before, before_ms) = (self.last.clone(), self.at_ms.replace(sample.at_ms));
        self.last.retain(|name, _| !sample.lost.iter().any(|signal| signal.is_about(name)));
        self.last.extend(sample.values.iter().map(|(name, value)| (name.clone(), *value)));
        let seconds = (sample.at_ms - before_ms?) / 1e3;
        // A counter that fell is that of another server.
        let rate = |name: &str| {
            let growth = self.last.get(name)? - before.get(name)?;
            (growth >= 0.0 && seconds > 0.0).then(|| growth / seconds)
        };
        let value = |name: &str| self.last.get(name).copied();
        let mut parts = vec![format!("{:.1}s", sample.at_ms / 1e3)];
        parts.extend(self.running().map(|n| format!("running {n:.0}")));
        let commits = COMMITS.iter().filter_map(|(name, word)| Some((rate(name)?, word)));
        // A server without a binlog counts none there.
        let commits = commits.reduce(|best, other| if best.0 > 0.0 { best } else { other });
        parts.extend(commits.map(|(rate, word)| format!("{word} {}/s", format::tps(rate))));
        let redo = REDO.iter().find_map(|name| rate(name));
        parts.extend(redo.map(|bytes| format!("redo {}/s", format::bytes(bytes as u64))));
        parts.extend(RedoAge::of(value).map(checkpoint_age));
        let waiting = value("status.Innodb_row_lock_current_waits").or_else(|| value("pg_locks.waiting"));
        parts.extend(waiting.map(|n| format!("lock waits {n:.0}")));
        parts.extend(self.top_wait(sample.at_ms, seconds));
        Some(parts.join("  "))
    }

    /// The probe's own session is one of those that the counter has.
    fn running(&self) -> Option<f64> {
        let threads = self.last.get("status.Threads_running").map(|n| (n - 1.0).max(0.0));
        let sessions = || self.last.iter().filter(|(name, _)| name.starts_with("session."));
        threads
            .or_else(|| self.last.contains_key("pg_locks.waiting").then(|| sessions().fold(0.0, |all, (_, n)| all + n)))
    }

    /// What was waited on for most of the time since the sample before; else what most sessions wait in.
    fn top_wait(&self, at_ms: f64, seconds: f64) -> Option<String> {
        let now = self.live.now(at_ms);
        let top = |waits: Option<Vec<LiveWait>>| waits?.into_iter().find(|wait| wait.sessions > 0.0);
        if let Some(wait) = top(now.timed) {
            return Some(format!("{} {}", wait.name, format::duration_us(wait.sessions * seconds * 1e6)));
        }
        top(now.states).map(|wait| format!("{} {:.0}", wait.name, wait.sessions))
    }
}

/// `checkpoint age 1.0 KiB (25 % of the redo log)`.
fn checkpoint_age(age: RedoAge) -> String {
    let share = age.share().map(|share| format!(" ({} of the redo log)", format::percent(share)));
    format!("checkpoint age {}{}", format::bytes(age.bytes as u64), share.unwrap_or_default())
}

/// Rates of what counts, and values of what goes up and down.
pub(crate) fn table(summary: &ProbeSummary, format: TableFormat) -> String {
    let rows = rows(summary);
    if format == TableFormat::Csv {
        let mut text = String::from("signal,kind,growth,per_second,mean,max,last\n");
        for row in &rows {
            let name = if row.name.contains([',', '"']) {
                format!("\"{}\"", row.name.replace('"', "\"\""))
            } else {
                row.name.to_owned()
            };
            let figures: Vec<_> =
                row.figures.iter().map(|figure| figure.map_or(String::new(), |f| f.to_string())).collect();
            let _ = writeln!(text, "{name},{},{}", row.kind, figures.join(","));
        }
        return text;
    }
    let mut text = head(summary);
    let titles = [["Counter", "grew by", "a second"].as_slice(), ["Gauge", "mean", "max", "last"].as_slice()];
    for (kind, titles) in ["counter", "gauge"].into_iter().zip(titles) {
        let cells: Vec<Vec<String>> = rows
            .iter()
            .filter(|row| row.kind == kind)
            .map(|row| {
                let figures = row.figures.iter().flatten().map(|figure| amount(*figure));
                [row.name.to_owned()].into_iter().chain(figures).collect()
            })
            .collect();
        if !cells.is_empty() {
            text += &if format == TableFormat::Md { markdown(titles, &cells) } else { columns(titles, &cells) };
        }
    }
    if !summary.absent.is_empty() {
        text += "\nAbsent\n";
    }
    for signal in &summary.absent {
        let mark = if format == TableFormat::Md { "- " } else { "  " };
        let _ = writeln!(text, "{mark}{}: {}", signal.what, signal.why);
    }
    text
}

struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    /// Growth, growth a second; mean, max, last.
    figures: [Option<f64>; 5],
}

fn rows(summary: &ProbeSummary) -> Vec<Row<'_>> {
    let counters = summary.counters.iter().map(|(name, counter)| Row {
        name,
        kind: "counter",
        figures: [Some(counter.growth), Some(counter.per_second), None, None, None],
    });
    let gauges = summary.gauges.iter().map(|(name, gauge)| Row {
        name,
        kind: "gauge",
        figures: [None, None, Some(gauge.mean), Some(gauge.max), Some(gauge.last)],
    });
    counters.chain(gauges).collect()
}

fn head(summary: &ProbeSummary) -> String {
    let run = &summary.run;
    let seconds = summary.length_ms / 1e3;
    let samples = format::plural(summary.samples as u64, "sample");
    format!(
        "{}: {} {}\n{seconds:.1} s from {}, {samples} of the server\n",
        run.target, run.server.flavour, run.server.version, run.started_at
    )
}

/// Whole numbers from a thousand on.
fn amount(value: f64) -> String {
    if value >= 1000.0 { format::count(value.round() as u64) } else { format!("{value:.1}") }
}

fn columns(titles: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([titles[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..titles.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<_> = cells
            .zip(&widths)
            .enumerate()
            .map(|(n, (cell, width))| if n == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            .collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = String::from("\n") + &line(&mut titles.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

fn markdown(titles: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("\n| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use truetps_record::{CounterSummary, GaugeSummary, ProbeRun, ServerFacts};

    use super::*;

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    #[test]
    fn a_line_is_about_the_time_since_the_one_before() {
        let mut meter = Meter::default();
        let first = [
            ("status.Threads_running", 3.0),
            ("status.Binlog_commits", 0.0),
            ("status.Handler_commit", 100.0),
            ("status.Innodb_os_log_written", 0.0),
            ("status.Innodb_redo_log_current_lsn", 9024.0),
            ("status.Innodb_redo_log_checkpoint_lsn", 8000.0),
            ("status.Innodb_redo_log_capacity_resized", 4096.0),
            ("status.Innodb_row_lock_current_waits", 0.0),
            ("wait.wait/io/file/sql/binlog.us", 5.0),
        ];
        assert_eq!(meter.line(&sample(0.0, &first)), None);
        let second = [
            ("status.Handler_commit", 300.0),
            ("status.Innodb_os_log_written", 8192.0),
            ("wait.wait/io/file/sql/binlog.us", 1_000_005.0),
        ];
        assert_eq!(
            meter.line(&sample(2000.0, &second)).unwrap(),
            "2.0s  running 2  Handler_commit 100.0/s  redo 4.0 KiB/s  checkpoint age 1.0 KiB (25 % of the redo log)  \
             lock waits 0  io/file/sql/binlog 1.00 s"
        );
    }

    #[test]
    fn postgres_has_other_words() {
        let mut meter = Meter::default();
        meter.line(&sample(
            0.0,
            &[("pg_stat_database.xact_commit", 5.0), ("pg_lsn.insert_bytes", 0.0), ("pg_locks.waiting", 1.0)],
        ));
        let line =
            meter.line(&sample(1000.0, &[("pg_stat_database.xact_commit", 9.0), ("session.LWLock:WALWrite", 2.0)]));
        assert_eq!(line.unwrap(), "1.0s  running 2  xact_commit 4.000/s  redo 0 B/s  lock waits 1  LWLock:WALWrite 2");
    }

    #[test]
    fn a_table_in_every_format() {
        let summary = ProbeSummary {
            schema_version: 1,
            run: ProbeRun {
                schema_version: 1,
                tool_version: "1".to_owned(),
                target: "mysql://root@?socket=/s".to_owned(),
                server: ServerFacts::from_version_text("8.0.36"),
                hostname: "h".to_owned(),
                started_at: "2026-11-21T20:34:38Z".to_owned(),
                ended_at: None,
            },
            length_ms: 2000.0,
            samples: 3,
            counters: BTreeMap::from([("status.a".to_owned(), CounterSummary { growth: 4000.0, per_second: 2000.0 })]),
            gauges: BTreeMap::from([("session.a, b".to_owned(), GaugeSummary { mean: 1.5, max: 3.0, last: 0.0 })]),
            absent: vec![truetps_record::AbsentSignal { what: "wait".to_owned(), why: "off".to_owned() }],
        };
        let text = table(&summary, TableFormat::Text);
        assert!(text.contains("status.a    4 000     2 000\n") && text.contains("Absent\n  wait: off\n"), "{text}");
        assert!(table(&summary, TableFormat::Md).contains("| session.a, b | 1.5 | 3.0 | 0.0 |"));
        let csv = table(&summary, TableFormat::Csv);
        assert!(csv.contains("status.a,counter,4000,2000,,,\n\"session.a, b\",gauge,,,1.5,3,0\n"), "{csv}");
    }
}
