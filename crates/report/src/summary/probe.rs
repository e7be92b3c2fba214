//! What a probe saw, on one screen: sentences, and the signals that tell most.

use truetps_analysis::TopWaits;
use truetps_record::{CounterSummary, ProbeSummary};

use super::layout::{ScreenPart, Screenful};
use crate::document::DocumentTable;
use crate::probe_list::{self, amount};
use crate::{TextScreen, format, names, printable, replica_lags, waits};

/// Waits that the screen names.
const WAITS_MAX: usize = 5;

/// Counters with their words, in the order of the table. The first name that the server has is
/// taken; the words never change.
const RATES: [(&str, &[&str], RateUnit); 12] = [
    ("commits", &COMMITS, RateUnit::Count),
    ("statements", &["status.Questions"], RateUnit::Count),
    (
        "rows inserted",
        &["status.Innodb_rows_inserted", "pg_stat_database.tup_inserted"],
        RateUnit::Count,
    ),
    (
        "rows updated",
        &["status.Innodb_rows_updated", "pg_stat_database.tup_updated"],
        RateUnit::Count,
    ),
    (
        "rows deleted",
        &["status.Innodb_rows_deleted", "pg_stat_database.tup_deleted"],
        RateUnit::Count,
    ),
    ("redo log written", &["status.Innodb_os_log_written", "pg_lsn.insert_bytes"], RateUnit::Bytes),
    ("redo log syncs", &["status.Innodb_os_log_fsyncs", "pg_stat_wal.wal_sync"], RateUnit::Count),
    ("binlog written", &["status.Binlog_bytes_written"], RateUnit::Bytes),
    ("pages written", &["status.Innodb_pages_written"], RateUnit::Count),
    ("row-lock waits", &["status.Innodb_row_lock_waits"], RateUnit::Count),
    ("disk flushes", &["disk.flushes"], RateUnit::Count),
    ("server CPU", &["server.cpu_us"], RateUnit::CpuMicroseconds),
];
/// Counters of commits, the best first. The counter of the binlog has transactions of users alone,
/// and counts nothing in a server without a binlog; the handler's counts statements of a
/// transaction, too.
pub const COMMITS: [&str; 3] =
    ["status.Binlog_commits", "status.Handler_commit", "pg_stat_database.xact_commit"];
/// A transaction of several statements counts several times.
const OF_HANDLERS: &str = COMMITS[1];
const REDO: &[&str] = &["status.Innodb_os_log_written", "pg_lsn.insert_bytes"];

#[derive(Debug, Clone, Copy)]
enum RateUnit {
    Count,
    Bytes,
    /// Shown as cores.
    CpuMicroseconds,
}

impl RateUnit {
    fn text(self, per_second: f64) -> String {
        match self {
            Self::Count => format!("{}/s", amount(per_second)),
            Self::Bytes => format!("{}/s", format::bytes(per_second.max(0.0) as u64)),
            Self::CpuMicroseconds => format!("{:.2} cores", per_second / 1e6),
        }
    }
}

pub(crate) fn probe_summary(
    summary: &ProbeSummary,
    waits: Option<&TopWaits>,
    screen: TextScreen,
) -> String {
    let mut parts: Vec<_> = ScreenPart::table(rates(summary)).into_iter().collect();
    let top = waits.iter().flat_map(|waits| &waits.list).take(WAITS_MAX);
    let top: Vec<_> = top.map(waits::watched_in_short).collect();
    let hidden = waits.map_or(0, |waits| waits.list.len() + waits.more).saturating_sub(top.len());
    // The answer has the first one.
    if top.len() > 1 {
        parts.extend(ScreenPart::facts("Waits", top).map(|part| part.leaving_out(hidden)));
    }
    parts.extend(
        probe_list::facts(summary).into_iter().map(|(word, text)| ScreenPart::fact(word, text)),
    );
    let signals = summary.counters.len() + summary.gauges.len();
    let absent = match summary.absent.len() {
        0 => String::new(),
        n => format!(", {n} could not be read"),
    };
    parts.push(ScreenPart::fact(
        "Signals",
        format!("{signals} recorded{absent}: --full lists them"),
    ));
    let run = &summary.run;
    let title = format!("Probe of {}", run.target);
    let platform =
        run.platform.as_ref().map(|name| format!(" ({})", printable(name))).unwrap_or_default();
    let source = format!(
        "{} {}{platform}, watched from {}",
        run.server.flavour, run.server.version, run.hostname
    );
    Screenful { title, source, answer: answer(summary, waits), parts }.draw(screen)
}

/// What the server did, whether it answered, how far a replica was behind, and what sessions waited
/// on.
fn answer(summary: &ProbeSummary, waits: Option<&TopWaits>) -> Vec<String> {
    let seconds = format::duration(std::time::Duration::from_millis(summary.length_ms as u64));
    let answers = match (summary.no_answer_ms > 0.0, summary.answers_at_end) {
        (false, true) => "it always answered".to_owned(),
        (_, false) => "at the end it did not answer".to_owned(),
        (true, true) => format!("it did not answer for {:.1} s", summary.no_answer_ms / 1e3),
    };
    let top = waits.and_then(|waits| waits.list.first());
    let wait =
        top.map(|wait| format!("Sessions waited most on {}.", waits::watched_in_short(wait)));
    let first = names::capital(&format!("in {seconds} {}; {answers}.", work(summary)));
    std::iter::once(first).chain(lags(summary)).chain(wait).collect()
}

/// `the server did 20 commits/s, 4.0 KiB/s of redo log`. A counter that has not grown is not in the
/// summary.
fn work(summary: &ProbeSummary) -> String {
    if summary.samples < 2 {
        return "too few readings came to tell what the server did".to_owned();
    }
    let commits = growing(summary, &COMMITS).map(|(name, counter)| {
        let whose = if name == OF_HANDLERS { "handler " } else { "" };
        format!("{} {whose}commits/s", amount(counter.per_second))
    });
    let redo =
        rate(summary, REDO).map(|n| format!("{}/s of redo log", format::bytes(n.max(0.0) as u64)));
    match (commits, redo) {
        (Some(commits), Some(redo)) => format!("the server did {commits}, {redo}"),
        (Some(commits), None) => format!("the server did {commits}"),
        (None, Some(redo)) => format!("the server committed nothing, and wrote {redo}"),
        (None, None) => "the server committed nothing".to_owned(),
    }
}

fn lags(summary: &ProbeSummary) -> impl Iterator<Item = String> {
    let channels = replica_lags(summary.gauges.keys().map(String::as_str), |name| {
        let is_lost = summary.absent.iter().any(|absent| absent.what == name);
        Some((*summary.gauges.get(name)?, is_lost))
    });
    channels.into_iter().map(|(channel, lag)| match lag {
        Some((lag, was_lost)) => {
            let mean = amount(lag.mean);
            let stopped =
                if was_lost { "; for a part of the time replication did not run" } else { "" };
            let (most, last) = (amount(lag.max), amount(lag.last));
            format!(
                "The replica{channel} was at most {most} s behind its source, {mean} s on \
                     average, {last} s in the last reading{stopped}."
            )
        }
        None => format!(
            "The replica{channel} says nothing of how far it is behind its source: \
                         replication does not run."
        ),
    })
}

fn rates(summary: &ProbeSummary) -> DocumentTable {
    let rows: Vec<_> = RATES
        .iter()
        .filter_map(|(word, signals, unit)| {
            let (name, counter) =
                growing(summary, signals).filter(|(_, counter)| counter.growth != 0.0)?;
            Some([(*word).to_owned(), unit.text(counter.per_second), name.to_owned()])
        })
        .take(TOP)
        .collect();
    DocumentTable::new(["", "a second", "signal"], rows)
}

/// Rows of the table.
const TOP: usize = 10;

fn rate(summary: &ProbeSummary, names: &[&str]) -> Option<f64> {
    growing(summary, names).map(|(_, counter)| counter.per_second)
}

/// The first of these counters that has grown, else the last one that the server has.
fn growing<'s>(
    summary: &'s ProbeSummary,
    names: &[&'s str],
) -> Option<(&'s str, &'s CounterSummary)> {
    let mut known = names.iter().filter_map(|name| Some((*name, summary.counters.get(*name)?)));
    known.clone().find(|(_, counter)| counter.growth != 0.0).or_else(|| known.next_back())
}
