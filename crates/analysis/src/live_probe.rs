//! The last readings of server and host, during a run.

use truetps_record::{
    ProbeDecoder, ProbeHeader, ProbeSample, ProbeSeries, ProbeSource, Responsiveness, SignalKind,
    Suspension, TimeSpan,
};

use crate::redo::RedoAge;
use crate::wait_class::of_state;
use crate::waits::top_timed_waits;

/// Waits reported, largest first.
const WAITS_MAX: usize = 8;
/// Fewer sessions count as none.
const SESSIONS_MIN: f64 = 0.05;
/// A reading is of now for so long, or for twice the time between two of them.
const FRESH_MS: f64 = 3000.0;

/// Something that sessions of the server wait on.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveWait {
    /// In the server's own words.
    pub name: String,
    /// Sessions in this state at the last reading; of timed waits the mean over the time since the
    /// reading before.
    pub sessions: f64,
}

/// Current values; values that are not read, or too old, are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeNow {
    /// The server does not answer the probe.
    pub outage: Option<TimeSpan>,
    /// Age of the checkpoint as a share of what the redo log has room for, 0 to 1.
    pub redo_share: Option<f64>,
    /// States in which sessions wait, most sessions first; eight at most. `None`: not read.
    pub states: Option<Vec<LiveWait>>,
    /// What the server has timed of its waits, most first; eight at most. `None`: it times none, or
    /// was read once.
    pub timed: Option<Vec<LiveWait>>,
    pub threads_running: Option<f64>,
    pub row_lock_waits: Option<f64>,
    /// Share of the time that the cores of the host were busy, 0 to 1.
    pub host_busy: Option<f64>,
    /// Share of the time in which something on the host waited for a disk, 0 to 1.
    pub io_pressure: Option<f64>,
}

/// Takes the samples of a trial as they come.
#[derive(Debug, Clone, Default)]
pub struct LiveProbe {
    /// `None` before the first sample.
    decoder: Option<ProbeDecoder>,
    header: Option<ProbeHeader>,
    /// `None`: the server is not watched.
    answers: Option<Responsiveness>,
}

impl LiveProbe {
    /// Takes the next sample of the probe with this header. Whether it is a point of its source.
    pub fn sample(&mut self, header: &ProbeHeader, sample: &ProbeSample) -> bool {
        if self.decoder.is_none() {
            self.header = Some(header.clone());
            let is_watched = header.signals.has(ProbeSource::Server);
            self.answers = is_watched.then(|| Responsiveness::new(header.interval_ms));
        }
        if let Some(answers) =
            self.answers.as_mut().filter(|_| sample.source == ProbeSource::Server)
        {
            answers.answered(sample.began_ms(), sample.ended_ms());
        }
        self.decoder.get_or_insert_with(|| ProbeDecoder::new(header)).decode(sample)
    }

    /// While the generator was suspended nothing was read.
    pub fn suspended(&mut self, suspension: Suspension) {
        if let Some(answers) = &mut self.answers {
            answers.not_asked_until(suspension.end_ms());
        }
    }

    /// All values; `None` before the first sample.
    pub fn decoder(&self) -> Option<&ProbeDecoder> {
        self.decoder.as_ref()
    }

    /// What is known at this time of the trial's clock.
    pub fn now(&self, at_ms: f64) -> ProbeNow {
        let mut now = ProbeNow::default();
        let Some(decoder) = &self.decoder else { return now };
        now.outage = self.answers.as_ref().and_then(|answers| answers.outage_at(at_ms));
        if is_fresh(decoder, ProbeSource::Server, at_ms) {
            let age = RedoAge::of(|name| server_value(decoder, name));
            now.redo_share = age.and_then(|age| age.share());
            now.threads_running = server_value(decoder, "status.Threads_running");
            now.row_lock_waits = server_value(decoder, "status.Innodb_row_lock_current_waits");
            now.timed = self.timed_waits(decoder);
            now.states = self.waiting_states(decoder);
        }
        if is_fresh(decoder, ProbeSource::Host, at_ms) {
            let [busy, idle, io] = ["host.cpu_busy_ms", "host.cpu_idle_ms", "psi.io.some_us"]
                .map(|name| decoder.value(ProbeSource::Host, name)?.growth_per_ms());
            now.host_busy = busy
                .zip(idle)
                .and_then(|(busy, idle)| (busy + idle > 0.0).then(|| busy / (busy + idle)));
            now.io_pressure = io.map(|us_per_ms| (us_per_ms / 1e3).min(1.0));
        }
        now
    }

    /// `None`: they are not read.
    fn waiting_states(&self, decoder: &ProbeDecoder) -> Option<Vec<LiveWait>> {
        let values = decoder
            .values(ProbeSource::Server)
            .filter(|(_, value)| value.signal.kind == SignalKind::State);
        let family = self.header.as_ref().and_then(|header| header.family);
        let mut read = values.peekable();
        read.peek()?;
        Some(most_first(read.filter_map(|(_, value)| {
            of_state(family, &value.subject)?;
            Some(LiveWait { name: value.subject.clone(), sessions: value.now.value })
        })))
    }

    /// As the report selects them. `None`: the server does not time its waits, or was read once.
    fn timed_waits(&self, decoder: &ProbeDecoder) -> Option<Vec<LiveWait>> {
        let last = ProbeSeries::of_last_points(self.header.as_ref()?, decoder)?;
        Some(most_first(top_timed_waits(&last)?.into_iter().map(|wait| LiveWait {
            name: wait.name.trim_start_matches("wait/").to_owned(),
            sessions: wait.sessions,
        })))
    }
}

fn server_value(decoder: &ProbeDecoder, name: &str) -> Option<f64> {
    decoder.value(ProbeSource::Server, name).map(|value| value.now.value)
}

fn is_fresh(decoder: &ProbeDecoder, source: ProbeSource, now_ms: f64) -> bool {
    let limit_ms = FRESH_MS.max(2.0 * decoder.passed_ms(source).unwrap_or(0.0));
    decoder.at_ms(source).is_some_and(|at_ms| now_ms - at_ms <= limit_ms)
}

fn most_first(waits: impl Iterator<Item = LiveWait>) -> Vec<LiveWait> {
    let mut waits: Vec<_> = waits.filter(|wait| wait.sessions >= SESSIONS_MIN).collect();
    waits.sort_by(|a, b| b.sessions.total_cmp(&a.sessions).then_with(|| a.name.cmp(&b.name)));
    waits.truncate(WAITS_MAX);
    waits
}

#[cfg(test)]
mod tests {
    use truetps_record::{AbsentSignal, Family, SignalRegistry};

    use super::*;

    fn sample(source: ProbeSource, at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    fn header(family: Family) -> ProbeHeader {
        ProbeHeader::of_version_1(1e3, Some(family))
    }

    fn probe_of(
        family: Family,
        source: ProbeSource,
        samples: &[(f64, &[(&str, f64)])],
    ) -> LiveProbe {
        let mut probe = LiveProbe::default();
        for (at_ms, values) in samples {
            probe.sample(&header(family), &sample(source, *at_ms, values));
        }
        probe
    }

    fn probe(source: ProbeSource, samples: &[(f64, &[(&str, f64)])]) -> LiveProbe {
        probe_of(Family::Mysql, source, samples)
    }

    fn pairs(waits: Option<&Vec<LiveWait>>) -> Option<Vec<(&str, f64)>> {
        waits.map(|waits| waits.iter().map(|wait| (wait.name.as_str(), wait.sessions)).collect())
    }

    #[test]
    fn nothing_is_known_before_it_is_read_nor_long_after() {
        assert_eq!(LiveProbe::default().now(0.0), ProbeNow::default());
        let probe = probe(
            ProbeSource::Server,
            &[(
                0.0,
                &[
                    ("status.Innodb_checkpoint_age", 61.0),
                    ("status.Innodb_checkpoint_max_age", 100.0),
                ],
            )],
        );
        assert_eq!(probe.now(900.0).redo_share, Some(0.61));
        let outage = Some(TimeSpan { from_ms: 1000.0, to_ms: 9000.0 });
        assert_eq!(probe.now(9000.0), ProbeNow { outage, ..ProbeNow::default() });
    }

    #[test]
    fn a_mysql_tells_its_redo_log_by_positions() {
        let values =
            [("current_lsn", 1050.0), ("checkpoint_lsn", 1000.0), ("capacity_resized", 200.0)]
                .map(|(name, value)| (format!("status.Innodb_redo_log_{name}"), value));
        let values: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(probe(ProbeSource::Server, &[(0.0, &values)]).now(1.0).redo_share, Some(0.25));
    }

    #[test]
    fn states_that_wait_are_listed_and_states_at_work_are_not() {
        let first: &[_] =
            &[("session.Commit", 12.0), ("session.Update", 30.0), ("session.(none)", 3.0)];
        let second: &[_] = &[("session.Commit", 0.0)];
        let now = probe(ProbeSource::Server, &[(0.0, first)]).now(1.0);
        assert_eq!((pairs(now.states.as_ref()), now.timed), (Some(vec![("Commit", 12.0)]), None));
        let now = probe(ProbeSource::Server, &[(0.0, first), (1000.0, second)]).now(1500.0);
        assert_eq!(pairs(now.states.as_ref()), Some(vec![]));
        let postgres: &[_] = &[("session.IO:WALSync", 4.0), ("session.Client:ClientRead", 9.0)];
        let now = probe_of(Family::Postgresql, ProbeSource::Server, &[(0.0, postgres)]).now(1.0);
        assert_eq!(pairs(now.states.as_ref()), Some(vec![("IO:WALSync", 4.0)]));
    }

    #[test]
    fn waits_that_are_timed_are_sessions_over_the_time_that_passed() {
        let (log, binlog) =
            ("wait.wait/io/file/innodb/innodb_log_file.us", "wait.wait/io/file/sql/binlog.us");
        let both: &[_] = &[(log, 1e6), (binlog, 5e6), ("session.Commit", 7.0)];
        let now = probe(ProbeSource::Server, &[(0.0, both)]).now(1.0);
        assert_eq!((pairs(now.states.as_ref()), now.timed), (Some(vec![("Commit", 7.0)]), None));
        // The binlog has not changed.
        let now = probe(ProbeSource::Server, &[(0.0, both), (2000.0, &[(log, 4e6)])]).now(2001.0);
        assert_eq!(pairs(now.timed.as_ref()), Some(vec![("io/file/innodb/innodb_log_file", 1.5)]));
        // What has not happened before was not read before.
        let now = probe(ProbeSource::Server, &[(0.0, &[(log, 1e6)]), (2000.0, &[(binlog, 1e6)])])
            .now(2001.0);
        assert_eq!(pairs(now.timed.as_ref()), Some(vec![("io/file/sql/binlog", 0.5)]));
        // After a restart counters begin anew.
        let now = probe(ProbeSource::Server, &[(0.0, both), (2000.0, &[(log, 10.0)])]).now(2001.0);
        assert_eq!(pairs(now.timed.as_ref()), Some(vec![]));
    }

    /// Row locks that are still waited for, and reads and writes of data files apart.
    #[test]
    fn a_live_view_selects_the_waits_that_the_report_has() {
        let file = "wait/io/file/innodb/innodb_data_file";
        let names = [
            format!("wait.{file}.us"),
            format!("file.{file}.write_us"),
            format!("file.{file}.read_us"),
        ];
        let values = |all: f64, write: f64, read: f64, locked: f64| {
            let of_files = names.iter().map(String::as_str).zip([all, write, read]);
            let redo = ("wait.wait/io/file/innodb/innodb_log_file.us", all / 6.0);
            let locks = [
                ("status.Innodb_row_lock_time", 7.0),
                ("status.Innodb_row_lock_current_waits", locked),
                redo,
            ];
            of_files.chain(locks).collect::<Vec<_>>()
        };
        let samples = [(0.0, values(0.0, 0.0, 0.0, 2.0)), (1000.0, values(3e6, 1e6, 2e6, 4.0))];
        let mut live = LiveProbe::default();
        let samples = samples.map(|(at_ms, values)| sample(ProbeSource::Server, at_ms, &values));
        for sample in &samples {
            live.sample(&header(Family::Mysql), sample);
        }
        let now = live.now(1001.0);
        let expect = vec![
            ("Innodb_row_lock_time", 3.0),
            ("io/file/innodb/innodb_data_file (read)", 2.0),
            ("io/file/innodb/innodb_data_file (write)", 1.0),
            ("io/file/innodb/innodb_log_file", 0.5),
        ];
        assert_eq!(pairs(now.timed.as_ref()), Some(expect.clone()));
        let recorded = crate::top_waits(&ProbeSeries::of(&header(Family::Mysql), samples)).unwrap();
        let recorded =
            recorded.list.iter().map(|wait| (wait.name.trim_start_matches("wait/"), wait.sessions));
        assert_eq!(recorded.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn an_outage_lasts_until_the_server_answers() {
        let mut probe = probe(ProbeSource::Server, &[(0.0, &[]), (1000.0, &[])]);
        assert_eq!(
            (probe.now(2400.0).outage, probe.now(3000.0).outage.map(TimeSpan::length_ms)),
            (None, Some(1000.0))
        );
        probe.suspended(Suspension { start_ms: 2000.0, length_ms: 900.0 });
        assert_eq!(probe.now(3000.0).outage, None, "it was not asked");
        assert_eq!(probe.now(4000.0).outage.map(TimeSpan::length_ms), Some(1100.0));
        probe.sample(&header(Family::Mysql), &sample(ProbeSource::Server, 4100.0, &[]));
        assert_eq!(probe.now(4200.0).outage, None);
        // Only the host is watched.
        let header = ProbeHeader { signals: SignalRegistry::default(), ..header(Family::Mysql) };
        let mut host = LiveProbe::default();
        host.sample(&header, &sample(ProbeSource::Host, 0.0, &[]));
        assert_eq!(host.now(9000.0), ProbeNow::default());
    }

    #[test]
    fn lost_signals_are_not_shown() {
        let lost = AbsentSignal { what: "session".to_owned(), why: "refused".to_owned() };
        let mut probe = probe(
            ProbeSource::Server,
            &[(0.0, &[("session.Commit", 7.0), ("status.Threads_running", 8.0)])],
        );
        let sample = ProbeSample { lost: vec![lost], ..sample(ProbeSource::Server, 1000.0, &[]) };
        probe.sample(&header(Family::Mysql), &sample);
        assert_eq!(
            (probe.now(1000.0).states, probe.now(1000.0).threads_running),
            (None, Some(8.0))
        );
    }

    #[test]
    fn a_host_is_busy_for_a_share_of_the_time() {
        let first: &[_] =
            &[("host.cpu_busy_ms", 100.0), ("host.cpu_idle_ms", 0.0), ("psi.io.some_us", 0.0)];
        let second: &[_] = &[
            ("host.cpu_busy_ms", 1600.0),
            ("host.cpu_idle_ms", 500.0),
            ("psi.io.some_us", 250_000.0),
        ];
        let now = probe(ProbeSource::Host, &[(0.0, first), (1000.0, second)]).now(1000.0);
        assert_eq!(
            (now.host_busy, now.io_pressure, now.redo_share),
            (Some(0.75), Some(0.25), None)
        );
        assert_eq!(probe(ProbeSource::Host, &[(0.0, first)]).now(1.0).host_busy, None);
    }
}
