//! What a probe sees, as lines while it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use truetps_analysis::{LiveProbe, LiveWait, RedoAge};
use truetps_record::{
    ProbeDecoder, ProbeHeader, ProbeSample, ProbeSource, Responsiveness, SignalKind,
};
use truetps_report::{COMMITS, display_width, format, replica_lags};

const REDO: [(&str, &str); 2] =
    [("status.Innodb_os_log_written", "redo"), ("pg_lsn.insert_bytes", "WAL")];
/// Absent where the account does not see the sessions of others.
const SESSIONS: &str = "session";
/// An outage is reported at most this often.
const REPORT_AGAIN_MS: f64 = 500.0;

/// With a longer time between looks, truetps was stopped or had no CPU.
const LOOK_MAX_MS: f64 = 500.0;

/// Which counter has the commits, as the summary of the same readings chooses it: the first one
/// that has grown. A binlog that begins to count later replaces the handler's counter, which counts
/// each transaction several times.
#[derive(Debug, Default)]
pub(crate) struct CommitCounter {
    last: [Option<f64>; COMMITS.len()],
    has_grown: [bool; COMMITS.len()],
}

/// The counter of commits at one reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CommitReading {
    pub(crate) name: &'static str,
    pub(crate) now: f64,
    /// At the reading before.
    pub(crate) before: Option<f64>,
}

impl CommitCounter {
    /// As long as none has grown: the first one that has counted something, else the last one that
    /// the server has.
    pub(crate) fn read(&mut self, value: impl Fn(&str) -> Option<f64>) -> Option<CommitReading> {
        let now = COMMITS.map(value);
        let before = std::mem::replace(&mut self.last, now);
        for ((has_grown, now), before) in self.has_grown.iter_mut().zip(now).zip(before) {
            *has_grown |= now.zip(before).is_some_and(|(now, before)| now > before);
        }
        let known: Vec<_> = (0..COMMITS.len()).filter(|n| now[*n].is_some()).collect();
        let has_grown = known.iter().find(|n| self.has_grown[**n]);
        let has_counted = known.iter().find(|n| now[**n].is_some_and(|count| count > 0.0));
        let chosen = *has_grown.or(has_counted).or(known.last())?;
        Some(CommitReading { name: COMMITS[chosen], now: now[chosen]?, before: before[chosen] })
    }
}

/// All lines of a probe.
#[derive(Debug)]
pub(crate) struct ProbeLines {
    meter: ChangeMeter,
    answers: Responsiveness,
    interval_ms: f64,
    /// When the present outage was last reported.
    told_ms: Option<f64>,
    looked_ms: f64,
    /// Width of the terminal that they are shown on.
    columns: Option<usize>,
    /// Outages alone.
    is_quiet: bool,
}

impl ProbeLines {
    pub(crate) fn new(header: &ProbeHeader, columns: Option<usize>) -> Self {
        Self {
            meter: ChangeMeter::new(header.clone()),
            answers: Responsiveness::new(header.interval_ms),
            interval_ms: header.interval_ms,
            told_ms: None,
            looked_ms: 0.0,
            columns,
            is_quiet: false,
        }
    }

    /// Leaves out the line of each sample.
    pub(crate) fn quiet(self, is_quiet: bool) -> Self {
        Self { is_quiet, ..self }
    }

    /// Call before the samples of each moment. After a long time without a call, the server was not
    /// asked either.
    pub(crate) fn note_look(&mut self, now: Duration) {
        let now_ms = now.as_secs_f64() * 1e3;
        if now_ms - self.looked_ms > LOOK_MAX_MS {
            self.answers.not_asked_until(now_ms);
        }
        self.looked_ms = now_ms;
    }

    /// The line of a sample of the server; a sample of the host has none.
    pub(crate) fn sample(&mut self, sample: &ProbeSample) -> Vec<String> {
        if sample.source != ProbeSource::Server {
            return Vec::new();
        }
        let outage = self.answers.answered(sample.began_ms(), sample.ended_ms());
        self.told_ms = None;
        let again = outage.map(|outage| {
            let length = outage.length_ms() / 1e3;
            format!(
                "{}  the server answers again, after {length:.1} s without an answer",
                time(outage.to_ms)
            )
        });
        let line = self.meter.line(sample).filter(|_| !self.is_quiet);
        again.into_iter().chain(line).map(|line| in_columns(&line, self.columns)).collect()
    }

    /// While the server does not answer: for how long it has not, once an interval.
    pub(crate) fn outage(&mut self) -> Option<String> {
        let outage = self.answers.outage_at(self.looked_ms)?;
        let wait_ms = self.interval_ms.max(REPORT_AGAIN_MS);
        if self.told_ms.is_some_and(|told_ms| self.looked_ms - told_ms < wait_ms) {
            return None;
        }
        self.told_ms = Some(self.looked_ms);
        let length = outage.length_ms() / 1e3;
        Some(format!("{}  no answer from the server for {length:.1} s", time(self.looked_ms)))
    }
}

/// A line that is too long is wrapped between two of its parts.
fn in_columns(line: &str, columns: Option<usize>) -> String {
    const BETWEEN: &str = "  ";
    let mut out = String::new();
    let mut used = 0;
    for part in line.split(BETWEEN) {
        let needed = BETWEEN.len() + display_width(part);
        match used {
            0 => {}
            used_now if columns.is_some_and(|columns| used_now + needed > columns) => {
                out.push_str("\n      ");
                used = 6;
            }
            _ => {
                out.push_str(BETWEEN);
                used += BETWEEN.len();
            }
        }
        out.push_str(part);
        used += display_width(part);
    }
    out
}

fn time(at_ms: f64) -> String {
    format!("{:.1}s", at_ms / 1e3)
}

/// The last values, and what they were at the last line.
#[derive(Debug)]
struct ChangeMeter {
    header: ProbeHeader,
    live: LiveProbe,
    told: BTreeMap<String, f64>,
    told_ms: Option<f64>,
    commits: CommitCounter,
    /// Since the last line.
    is_restarted: bool,
}

impl ChangeMeter {
    fn new(header: ProbeHeader) -> Self {
        Self {
            header,
            live: LiveProbe::default(),
            told: BTreeMap::new(),
            told_ms: None,
            commits: CommitCounter::default(),
            is_restarted: false,
        }
    }

    /// What has happened since the line before; `None` for the first sample, for a late one, and
    /// for one that comes soon after a line.
    fn line(&mut self, sample: &ProbeSample) -> Option<String> {
        if !self.live.sample(&self.header, sample) {
            return None;
        }
        let decoder = self.live.decoder()?;
        if decoder.is_reset(ProbeSource::Server) {
            self.is_restarted = true;
            self.told.clear();
        }
        let commits = self.commits.read(|name| server_value(decoder, name));
        let commits = commits.map(|reading| reading.name);
        let line = match self.told_ms {
            // A reading of its own where something begins or ends.
            Some(told_ms) if sample.at_ms - told_ms < self.header.interval_ms / 2.0 => return None,
            Some(told_ms) => {
                Some(self.text(decoder, commits, sample.at_ms, (sample.at_ms - told_ms) / 1e3))
            }
            None => None,
        };
        self.told_ms = Some(sample.at_ms);
        let values = decoder.values(ProbeSource::Server);
        self.told = values.map(|(name, value)| (name.to_owned(), value.now.value)).collect();
        self.is_restarted = false;
        line
    }

    fn text(
        &self,
        decoder: &ProbeDecoder,
        commits: Option<&str>,
        at_ms: f64,
        seconds: f64,
    ) -> String {
        let mut parts = vec![time(at_ms)];
        parts.extend(self.is_restarted.then(|| "counters fell: restarted?".to_owned()));
        parts.extend(running(decoder).map(|n| format!("running {n:.0}")));
        let rate = commits.and_then(|name| self.rate(decoder, name, seconds));
        parts.extend(rate.map(|rate| format!("commits {}/s", format::tps(rate))));
        let redo =
            REDO.iter().find_map(|(name, word)| Some((self.rate(decoder, name, seconds)?, word)));
        parts.extend(redo.map(|(bytes, word)| format!("{word} {}/s", format::bytes(bytes as u64))));
        parts.extend(RedoAge::of(|name| server_value(decoder, name)).map(checkpoint_age));
        let waiting = ["status.Innodb_row_lock_current_waits", "pg_locks.waiting"]
            .into_iter()
            .find_map(|name| server_value(decoder, name));
        parts.extend(waiting.map(|n| format!("lock waits {n:.0}")));
        let names = decoder.values(ProbeSource::Server).map(|(name, _)| name);
        let lags = replica_lags(names, |name| server_value(decoder, name));
        parts.extend(lags.into_iter().map(behind));
        parts.extend(
            decoder
                .passed_ms(ProbeSource::Server)
                .and_then(|passed_ms| self.top_wait(at_ms, passed_ms / 1e3)),
        );
        parts.join("  ")
    }

    /// Growth of a counter per second since the line before; `None` where it was not known then, or
    /// fell: it was set back.
    fn rate(&self, decoder: &ProbeDecoder, name: &str, seconds: f64) -> Option<f64> {
        let growth = server_value(decoder, name)? - self.told.get(name)?;
        (growth >= 0.0).then(|| growth / seconds)
    }

    /// What was waited on for most of the time since the sample before; else what most sessions
    /// wait in.
    fn top_wait(&self, at_ms: f64, seconds: f64) -> Option<String> {
        let now = self.live.now(at_ms);
        if let Some(wait) = now.timed.and_then(first_waited_on) {
            return Some(format!(
                "{} {}",
                wait.name,
                format::duration_us(wait.sessions * seconds * 1e6)
            ));
        }
        let state = now.states.and_then(first_waited_on)?;
        Some(format!("{} {:.0}", state.name, state.sessions))
    }
}

/// A value of the server at the last reading.
pub(crate) fn server_value(decoder: &ProbeDecoder, name: &str) -> Option<f64> {
    decoder.value(ProbeSource::Server, name).map(|value| value.now.value)
}

fn first_waited_on(waits: Vec<LiveWait>) -> Option<LiveWait> {
    waits.into_iter().find(|wait| wait.sessions > 0.0)
}

/// `checkpoint age 1.0 KiB (25 % of the redo log)`.
fn checkpoint_age(age: RedoAge) -> String {
    let share = age.share().map(|share| format!(" ({} of the redo log)", format::percent(share)));
    format!("checkpoint age {}{}", format::bytes(age.bytes as u64), share.unwrap_or_default())
}

/// `behind 3 s`, of a replica.
fn behind((channel, lag_s): (String, Option<f64>)) -> String {
    match lag_s {
        Some(lag_s) => format!("behind {lag_s:.0} s{channel}"),
        None => format!("replication does not run{channel}"),
    }
}

/// Sessions at work. Where the account may not see them, the threads that the MySQL family counts:
/// the probe's own is one of them, and from MySQL 8.0 on the idle thread of the event scheduler.
fn running(decoder: &ProbeDecoder) -> Option<f64> {
    let source = ProbeSource::Server;
    if decoder.is_lost(source, SESSIONS) {
        return decoder
            .value(source, "status.Threads_running")
            .map(|threads| (threads.now.value - 1.0).max(0.0));
    }
    let states = decoder.values(source).filter(|(_, value)| value.signal.kind == SignalKind::State);
    Some(states.fold(0.0, |all, (_, value)| all + value.now.value))
}

#[cfg(test)]
mod tests {
    use truetps_record::{AbsentSignal, Family};

    use super::*;

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    fn no_sessions() -> AbsentSignal {
        AbsentSignal { what: "session".to_owned(), why: "no right".to_owned() }
    }

    fn header(absent: &[AbsentSignal]) -> ProbeHeader {
        ProbeHeader { absent: absent.to_vec(), ..ProbeHeader::of_version_1(1e3, None) }
    }

    fn meter(absent: &[AbsentSignal]) -> ChangeMeter {
        ChangeMeter::new(header(absent))
    }

    #[test]
    fn a_line_goes_on_between_its_parts() {
        let line = "1.0s  running 2  commits 4 000/s  redo 1.0 KiB/s";
        assert_eq!(in_columns(line, None), line);
        assert_eq!(
            in_columns(line, Some(40)),
            "1.0s  running 2  commits 4 000/s\n      redo 1.0 KiB/s"
        );
    }

    /// On a primary that was just started, `Handler_commit` grows by two a transaction and more.
    #[test]
    fn lines_count_the_commits_of_a_binlog_from_its_first_one_on() {
        let mut meter = meter(&[no_sessions()]);
        let of = |at_ms, binlog, handler| {
            sample(at_ms, &[("status.Binlog_commits", binlog), ("status.Handler_commit", handler)])
        };
        assert_eq!(meter.line(&of(1000.0, 0.0, 100.0)), None);
        for (at_ms, binlog, handler, per_second) in [
            (2000.0, 0.0, 104.0, "4.000"),
            (3000.0, 2000.0, 4104.0, "2 000"),
            (4000.0, 4000.0, 8104.0, "2 000"),
        ] {
            let line = meter.line(&of(at_ms, binlog, handler)).unwrap();
            assert!(line.ends_with(&format!("commits {per_second}/s")), "{line}");
        }
        let line = meter.line(&of(5000.0, 4000.0, 8200.0)).unwrap();
        assert!(line.ends_with("commits 0/s"), "no commit of the binlog: {line}");
    }

    #[test]
    fn the_counter_of_commits_is_the_one_of_the_summary() {
        let mut counter = CommitCounter::default();
        let mut read = |binlog, handler| {
            let reading = counter.read(|name| match name {
                "status.Binlog_commits" => binlog,
                "status.Handler_commit" => Some(handler),
                _ => None,
            });
            reading.map(|reading| (reading.name, reading.now, reading.before)).unwrap()
        };
        assert_eq!(read(Some(7.0), 9.0), ("status.Binlog_commits", 7.0, None));
        assert_eq!(
            read(Some(7.0), 12.0),
            ("status.Handler_commit", 12.0, Some(9.0)),
            "of a server that only reads"
        );
        assert_eq!(read(Some(8.0), 14.0), ("status.Binlog_commits", 8.0, Some(7.0)));
        assert_eq!(read(Some(1.0), 3.0), ("status.Binlog_commits", 1.0, Some(8.0)), "restarted");
        assert_eq!(read(None, 4.0), ("status.Handler_commit", 4.0, Some(3.0)));
        assert_eq!(CommitCounter::default().read(|_| None), None);
    }

    #[test]
    fn a_line_is_about_the_time_since_the_one_before() {
        let mut meter = meter(&[no_sessions()]);
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
            "2.0s  running 2  commits 100.0/s  redo 4.0 KiB/s  checkpoint age 1.0 KiB (25 % of the \
             redo log)  lock waits 0  io/file/sql/binlog 1.00 s"
        );
        assert_eq!(
            meter.line(&sample(2100.0, &[("status.Handler_commit", 999.0)])),
            None,
            "too soon for a line"
        );
        let line = meter.line(&sample(3000.0, &[("status.Handler_commit", 1300.0)])).unwrap();
        assert!(line.contains("commits 1 000/s"), "since the last line: {line}");
    }

    #[test]
    fn a_late_reading_is_at_no_time() {
        let mut meter = meter(&[no_sessions()]);
        let commits = |at_ms, n, took_ms| ProbeSample {
            took_ms,
            ..sample(at_ms, &[("status.Handler_commit", n)])
        };
        assert_eq!(meter.line(&commits(0.0, 0.0, 1.0)), None);
        assert_eq!(meter.line(&commits(2000.0, 500.0, 2000.0)), None);
        assert_eq!(meter.line(&commits(4000.0, 800.0, 1.0)).unwrap(), "4.0s  commits 200.0/s");
    }

    #[test]
    fn a_restart_has_no_rates() {
        let mut meter = meter(&[no_sessions()]);
        let of = |at_ms, commits, redo, more| {
            let values = [
                ("status.Handler_commit", commits),
                ("status.Innodb_os_log_written", redo),
                ("status.x", more),
            ];
            sample(at_ms, &values)
        };
        meter.line(&of(0.0, 50.0, 9e6, 70.0));
        let line = meter.line(&of(1000.0, 60.0, 512.0, 2.0)).unwrap();
        assert_eq!(
            line, "1.0s  counters fell: restarted?",
            "a counter may already be beyond what it was"
        );
        assert_eq!(
            meter.line(&of(2000.0, 61.0, 512.0, 2.0)).unwrap(),
            "2.0s  commits 1.000/s  redo 0 B/s"
        );
    }

    /// What `SHOW REPLICA STATUS` has as NULL is lost: never the lag of the reading before.
    #[test]
    fn a_replica_says_how_far_it_is_behind() {
        let mut meter = meter(&[no_sessions()]);
        let lag = [("replica.Last_Errno", 0.0), ("replica.Seconds_Behind_Master", 0.0)];
        meter.line(&sample(0.0, &lag));
        let line = meter.line(&sample(1000.0, &[("replica.Seconds_Behind_Master", 3.0)])).unwrap();
        assert!(line.ends_with("  behind 3 s"), "{line}");
        let stopped = AbsentSignal {
            what: "replica.Seconds_Behind_Master".to_owned(),
            why: "NULL".to_owned(),
        };
        let line = meter.line(&ProbeSample { lost: vec![stopped], ..sample(2000.0, &[]) }).unwrap();
        assert!(line.ends_with("  replication does not run"), "{line}");
    }

    #[test]
    fn postgres_has_other_words() {
        let first = [
            ("pg_stat_database.xact_commit", 5.0),
            ("pg_lsn.insert_bytes", 0.0),
            ("pg_locks.waiting", 1.0),
        ];
        let second = [("pg_stat_database.xact_commit", 9.0)];
        let family = Some(Family::Postgresql);
        let mut all = ChangeMeter::new(ProbeHeader { family, ..header(&[]) });
        all.line(&sample(0.0, &first));
        let line = all.line(&sample(1000.0, &second)).unwrap();
        assert_eq!(
            line, "1.0s  running 0  commits 4.000/s  WAL 0 B/s  lock waits 1",
            "no session is active"
        );
        let line = all.line(&sample(2000.0, &[("session.LWLock:WALWrite", 2.0)])).unwrap();
        assert_eq!(
            line,
            "2.0s  running 2  commits 0/s  WAL 0 B/s  lock waits 1  LWLock:WALWrite 2"
        );
        let mut own = meter(&[no_sessions()]);
        own.line(&sample(0.0, &first));
        let line = own.line(&sample(1000.0, &second)).unwrap();
        assert_eq!(line, "1.0s  commits 4.000/s  WAL 0 B/s  lock waits 1", "absent, and not zero");
    }

    #[test]
    fn an_outage_is_reported_while_it_lasts() {
        let mut lines = ProbeLines::new(&header(&[no_sessions()]), None);
        let mut reported = Vec::new();
        let mut wait = |lines: &mut ProbeLines, from: u64, to: u64| {
            for ms in (from..to).step_by(20) {
                lines.note_look(Duration::from_millis(ms));
                reported.extend(lines.outage());
            }
        };
        lines.sample(&sample(1.0, &[("status.Handler_commit", 1.0)]));
        wait(&mut lines, 20, 1000);
        lines.sample(&sample(1001.0, &[("status.Handler_commit", 2.0)]));
        wait(&mut lines, 1020, 4600);
        assert_eq!(
            reported,
            [
                "2.5s  no answer from the server for 0.5 s",
                "3.5s  no answer from the server for 1.5 s",
                "4.5s  no answer from the server for 2.5 s"
            ]
        );
        let late =
            ProbeSample { took_ms: 2600.0, ..sample(3300.0, &[("status.Handler_commit", 2.0)]) };
        assert_eq!(
            lines.sample(&late),
            ["4.6s  the server answers again, after 2.6 s without an answer"]
        );
        assert_eq!(lines.sample(&sample(5001.0, &[])), ["5.0s  commits 0/s"]);
        // truetps itself was stopped.
        lines.note_look(Duration::from_secs(5));
        lines.note_look(Duration::from_mins(1));
        assert_eq!(lines.outage(), None);
        assert_eq!(lines.sample(&sample(60_001.0, &[])), ["60.0s  commits 0/s"]);
    }
}
