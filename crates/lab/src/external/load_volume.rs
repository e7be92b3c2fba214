//! Estimates how much the load writes to the logs of an external server, during its first trial:
//! from the counters that the probe reads anyway, or at the end of the trial if the probe does not
//! have them.

use truetps_plan::Plan;
use truetps_record::{
    ExternalFacts, LogVolume, ProbeDecoder, ProbeHeader, ProbeSample, ProbeSource,
};

use super::log_volume::volume_text;

/// Length of load that is measured before the rest is estimated. Probe readings are milliseconds
/// early or late.
const FIRST_LOOK_MS: f64 = 950.0;
/// A load that writes this many times the reported rate, and this much more a second, is reported
/// again.
const MUCH_MORE: u64 = 2;
const MUCH_MORE_BYTES: u64 = 1 << 20;

/// The counter in the MySQL family, and in PostgreSQL.
const REDO: [&str; 2] = ["status.Innodb_os_log_written", "pg_lsn.insert_bytes"];
/// The counter in MariaDB, and in other servers.
const BINLOG: [&str; 2] =
    ["status.Binlog_bytes_written", "file.wait/io/file/sql/binlog.write_bytes"];

/// Estimates how much will be written, and warns.
#[derive(Debug)]
pub(crate) struct LoadVolume {
    /// `None`: the account may not read it.
    log_bin: Option<bool>,
    /// The warning before the first load.
    note: Option<String>,
    /// Seconds of load in a trial; `None`: a number of transactions ends it.
    load_s: Option<f64>,
    /// Including the running trial; `None`: the experiment plans as it goes.
    trials_left: Option<usize>,
    /// The reported rate, in bytes a second.
    reported: Option<LogVolume>,
    trial: TrialVolume,
}

/// State of one trial.
#[derive(Debug, Default)]
struct TrialVolume {
    /// Read by the log reader before the load.
    before: Option<LogVolume>,
    /// `None` before the first sample.
    probe: Option<ProbeDecoder>,
    /// When the load, or its probe, began, and the counters at that time.
    first: Option<(f64, LogVolume)>,
}

impl LoadVolume {
    pub(crate) fn new(plan: &Plan, facts: &ExternalFacts) -> Self {
        let load = &plan.load;
        Self {
            log_bin: facts.replication.log_bin,
            note: (!plan.probe.enabled).then(|| {
                "the probe is off: the load's writes to the server's logs are known after the \
                 first trial"
                    .to_owned()
            }),
            load_s: load.measure_transactions.is_none().then_some(load.warm_up_s + load.measure_s),
            trials_left: None,
            reported: None,
            trial: TrialVolume::default(),
        }
    }

    /// The remaining trials, including the one that begins.
    pub(crate) fn expect(&mut self, trials: usize) {
        self.trials_left = Some(trials);
    }

    /// A load is about to begin. `logged_so_far`: what the log reader has read.
    pub(crate) fn begin(
        &mut self,
        logged_so_far: &mut dyn FnMut() -> Option<LogVolume>,
    ) -> Option<String> {
        self.trial = TrialVolume::default();
        if self.reported.is_some() {
            return None;
        }
        self.trial.before = logged_so_far();
        self.note.take()
    }

    /// The probe has read the server during the load.
    pub(crate) fn sample(&mut self, header: &ProbeHeader, sample: &ProbeSample) -> Option<String> {
        let probe = self.trial.probe.get_or_insert_with(|| ProbeDecoder::new(header));
        if !probe.decode(sample) || sample.source != ProbeSource::Server {
            return None;
        }
        let now = self.counters();
        let at_ms = sample.at_ms.max(0.0);
        let Some((first_ms, first)) = self.trial.first.filter(|_| at_ms > 0.0) else {
            self.trial.first = Some((at_ms, now));
            return None;
        };
        let took_ms = at_ms - first_ms;
        let written = now.since(&first);
        let is_unseen = written.redo_bytes.is_none() && written.binlog_bytes.unwrap_or(0) == 0;
        if took_ms < FIRST_LOOK_MS || is_unseen {
            return None;
        }
        self.tell(written.times(1e3 / took_ms), "the load writes about")
    }

    /// The load has ended, and the server has written this much since the last one. Reports what
    /// the probe did not see.
    pub(crate) fn end(&mut self, logged: Option<&LogVolume>) -> Option<String> {
        let left = self.trials_left.map(|trials| trials.saturating_sub(1));
        self.trials_left = left;
        let before = self.trial.before.take()?;
        let load_s = self.load_s.filter(|load_s| *load_s > 0.0 && left != Some(0))?;
        self.tell(logged?.since(&before).times(1.0 / load_s), "the load has written about")
    }

    fn counters(&self) -> LogVolume {
        LogVolume {
            binlog_bytes: if self.log_bin == Some(false) { Some(0) } else { self.counter(&BINLOG) },
            redo_bytes: self.counter(&REDO),
        }
    }

    /// The first of these values that the probe has read.
    fn counter(&self, names: &[&str]) -> Option<u64> {
        let probe = self.trial.probe.as_ref()?;
        let read = names.iter().find_map(|name| probe.value(ProbeSource::Server, name))?;
        Some(read.now.value as u64)
    }

    fn tell(&mut self, a_second: LogVolume, verb: &str) -> Option<String> {
        // With innodb_flush_log_at_trx_commit=0 or 2 the redo log of a binlog that grows is written
        // later.
        let is_later = a_second.redo_bytes == Some(0) && a_second.binlog_bytes > Some(0);
        let a_second =
            LogVolume { redo_bytes: a_second.redo_bytes.filter(|_| !is_later), ..a_second };
        if self.reported.is_some_and(|reported| !is_much_more(&a_second, &reported)) {
            return None;
        }
        self.reported = Some(a_second);
        let trials_left = self.trials_left.unwrap_or(1);
        let until = match self.trials_left {
            None => "in this trial".to_owned(),
            Some(_) => "until the end of the experiment".to_owned(),
        };
        let rest = self.load_s.map(|load_s| {
            let rest = a_second.times(load_s * trials_left as f64);
            format!(": about {} {until}, in addition to the refills", volume_text(&rest))
        });
        Some(format!("{verb} {} a second{}", volume_text(&a_second), rest.unwrap_or_default()))
    }
}

fn is_much_more(now: &LogVolume, reported: &LogVolume) -> bool {
    are_many_more(now.binlog_bytes, reported.binlog_bytes)
        || are_many_more(now.redo_bytes, reported.redo_bytes)
}

fn are_many_more(now: Option<u64>, reported: Option<u64>) -> bool {
    match (now, reported) {
        (Some(now), Some(reported)) => {
            now > reported.saturating_mul(MUCH_MORE) && now - reported > MUCH_MORE_BYTES
        }
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{Family, Replication};

    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn volume(log_bin: bool) -> LoadVolume {
        let toml = "name = \"p\"\nabout = \"a\"\n[workload]\nname = \"insert\"\n[load]\nwarm_up_s \
                    = 2\nmeasure_s = 8\n\
                    [factors]\nconnections = [1]\n";
        let replication = Replication { log_bin: Some(log_bin), ..Replication::default() };
        let facts = ExternalFacts { replication, ..ExternalFacts::default() };
        let mut volume = LoadVolume::new(&Plan::parse(toml).unwrap(), &facts);
        volume.expect(3);
        volume
    }

    fn header() -> ProbeHeader {
        ProbeHeader::of_version_1(1e3, Some(Family::Mysql))
    }

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, mib)| ((*name).to_owned(), mib * MIB));
        ProbeSample {
            source: ProbeSource::Server,
            at_ms,
            took_ms: 1.0,
            values: values.collect(),
            lost: Vec::new(),
        }
    }

    #[test]
    fn the_first_second_of_the_load_says_what_is_to_come() {
        let mut volume = volume(true);
        let both = |binlog, redo| [(BINLOG[0], binlog), (REDO[0], redo)];
        assert_eq!(volume.sample(&header(), &sample(-1500.0, &both(90.0, 900.0))), None);
        // Bytes written before the load begins are not counted.
        assert_eq!(volume.sample(&header(), &sample(0.0, &both(100.0, 1000.0))), None);
        assert_eq!(volume.sample(&header(), &sample(500.0, &both(101.0, 1002.0))), None);
        let text = "the load writes about 2.0 MiB of binlog and 4.0 MiB of redo log or WAL a \
                    second: about 60.0 MiB of binlog and 120.0 MiB of redo log or WAL until the \
                    end of the experiment, in addition to the refills";
        assert_eq!(
            volume.sample(&header(), &sample(1000.0, &both(102.0, 1004.0))).as_deref(),
            Some(text)
        );
        assert_eq!(
            volume.sample(&header(), &sample(2000.0, &both(104.0, 1008.0))),
            None,
            "it is reported once"
        );
        // A later trial that writes much more.
        volume.trial = TrialVolume::default();
        volume.end(None);
        assert_eq!(volume.sample(&header(), &sample(-10.0, &both(200.0, 2000.0))), None);
        let more = volume.sample(&header(), &sample(1000.0, &[(REDO[0], 2012.0)])).unwrap();
        assert!(more.contains("about 12.0 MiB of redo log or WAL a second"), "{more}");
        assert!(
            more.contains("240.0 MiB of redo log or WAL until the end"),
            "two trials are left: {more}"
        );
    }

    #[test]
    fn what_the_probe_does_not_see_is_unknown_or_reported_at_the_end_of_the_trial() {
        let mut with_binlog = volume(true);
        with_binlog.sample(&header(), &sample(0.0, &[(REDO[0], 1.0)]));
        let text = with_binlog.sample(&header(), &sample(1000.0, &[(REDO[0], 5.0)])).unwrap();
        assert!(text.contains("an unknown volume of binlog and 4.0 MiB"), "{text}");
        let mut unwritten = volume(true);
        unwritten.sample(&header(), &sample(0.0, &[(BINLOG[0], 1.0), (REDO[0], 1.0)]));
        let text = unwritten
            .sample(&header(), &sample(1000.0, &[(BINLOG[0], 5.0), (REDO[0], 1.0)]))
            .unwrap();
        assert!(
            text.contains("4.0 MiB of binlog and an unknown volume of redo log or WAL a second"),
            "{text}"
        );
        let mut postgres = volume(false);
        postgres.sample(&header(), &sample(0.0, &[(REDO[1], 1.0)]));
        let text = postgres.sample(&header(), &sample(1000.0, &[(REDO[1], 5.0)])).unwrap();
        assert!(
            text.starts_with("the load writes about 4.0 MiB of redo log or WAL a second"),
            "{text}"
        );
        // Without a probe: the log reader has read the counters before and after the load.
        let read = |mib: u64| LogVolume { binlog_bytes: Some(0), redo_bytes: Some(mib << 20) };
        let mut unseen = volume(false);
        unseen.trial.before = Some(read(10));
        let text = unseen.end(Some(&read(110))).unwrap();
        assert!(
            text.contains("about 10.0 MiB of redo log or WAL a second: about 200.0 MiB"),
            "{text}"
        );
        unseen.trial.before = Some(read(10));
        assert_eq!(unseen.end(Some(&read(110))), None, "it is reported once");
    }
}
