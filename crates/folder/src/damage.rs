//! Data that the files of a trial have lost since they were written: truncated, emptied, deleted. A
//! malformed line is an error where it is read.

use std::io::{Read, Seek, SeekFrom};

use crate::error::FolderError;
use crate::file_names::{INTERVALS, LATENCY, PROBE};
use crate::folder::ExperimentFolder;
use crate::latency_log::LatencyLog;
use crate::run_file::{TEXT_MAX, open_below, read_bytes};
use truetps_record::{Interval, Phase, ProbeSeries, Trial};

/// Lengths are sums of floating-point numbers.
const ROUNDED_MS: f64 = 1.0;
/// Server and host are read when the measure phase ends. A machine without a free core reads them
/// later, or misses one reading.
const LATE_MS: f64 = 500.0;

/// What could be read of a trial's series. `None`: unreadable, which is reported elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeptSeries<'a> {
    pub intervals: Option<&'a [Interval]>,
    /// `Some(None)`: there is no such file.
    pub latency: Option<Option<&'a LatencyLog>>,
    /// `Some(None)`: there is no such file, or nothing in it.
    pub probe: Option<Option<&'a ProbeSeries>>,
}

impl ExperimentFolder {
    /// What is missing in the series of a trial, file by file. Two cases are not damage: a killed
    /// trial has only what it wrote before, and a trial of an older version lacks what that version
    /// did not record.
    pub fn damage(&self, trial: &Trial, kept: &KeptSeries<'_>) -> Vec<FolderError> {
        let folder = match self.trial_path(&trial.name) {
            Ok(folder) => folder,
            Err(error) => return vec![error],
        };
        let found = [
            (INTERVALS, kept.intervals.and_then(|intervals| self.of_intervals(trial, intervals))),
            (
                LATENCY,
                kept.latency
                    .and_then(|log| of_latency(trial, log, kept.intervals.unwrap_or_default())),
            ),
            (
                PROBE,
                kept.probe.and_then(|probe| {
                    self.of_probe(trial, probe, kept.intervals.unwrap_or_default())
                }),
            ),
        ];
        let named = found.into_iter().filter_map(|(name, problem)| Some((name, problem?)));
        named.map(|(name, problem)| FolderError::content(&folder.join(name), problem)).collect()
    }

    fn of_intervals(&self, trial: &Trial, intervals: &[Interval]) -> Option<String> {
        let figures = trial.measured.as_ref()?;
        let kept_ms = measured(intervals).fold(0.0, |sum, one| sum + one.length_ms);
        let kept_ok =
            measured(intervals).fold(0, |sum: u64, one| sum.saturating_add(one.counts.ok));
        if kept_ms + ROUNDED_MS < figures.length_ms || kept_ok < figures.counts.ok {
            let (kept_s, all_s) = (kept_ms / 1e3, figures.length_ms / 1e3);
            return Some(format!(
                "has {kept_s:.1} of the {all_s:.1} s that were measured: the rest is missing"
            ));
        }
        (trial.ended_at.is_some() && !self.ends_whole(&trial.name)).then(|| CUT.to_owned())
    }

    /// Whether the last line of the intervals is complete. Read errors are reported elsewhere.
    fn ends_whole(&self, trial: &str) -> bool {
        self.last_byte(trial).map_or(true, |byte| byte == *b"\n")
    }

    fn last_byte(&self, trial: &str) -> Result<[u8; 1], FolderError> {
        let path = self.trial_path(trial)?.join(INTERVALS);
        let mut file = open_below(self.path(), &path)?;
        let mut byte = [0];
        file.seek(SeekFrom::End(-1))
            .and_then(|_| file.read_exact(&mut byte))
            .map_err(FolderError::io(&path))?;
        Ok(byte)
    }

    fn of_probe(
        &self,
        trial: &Trial,
        probe: Option<&ProbeSeries>,
        intervals: &[Interval],
    ) -> Option<String> {
        let has_ended = trial.ended_at.is_some();
        let Some(probe) = probe else {
            let is_there = self.trial_files(&trial.name).contains(&PROBE);
            let is_expected =
                trial.measured.is_some() && self.plan_says_probe() && self.has_first_part();
            return match (has_ended, is_there) {
                (true, true) => Some("has no complete line".to_owned()),
                (true, false) if is_expected => Some(
                    "is missing, although the plan says that the server was watched".to_owned(),
                ),
                _ => None,
            };
        };
        if let Some(line) = probe.first_unread_line {
            return Some(format!("line {line} cannot be understood"));
        }
        let ends_ms = measured(intervals).last().map(|last| last.start_ms + last.length_ms);
        let Some(last_ms) = probe.last_ms() else {
            return has_ended.then(|| "has no reading".to_owned());
        };
        let missing_ms = ends_ms.map_or(0.0, |ends_ms| ends_ms - last_ms);
        if has_ended && missing_ms > probe.interval_ms + LATE_MS {
            let missing_s = missing_ms / 1e3;
            return Some(format!(
                "its readings end {missing_s:.1} s before the measure phase does"
            ));
        }
        (has_ended && probe.is_cut).then(|| CUT.to_owned())
    }

    /// Whether the part that watches the server is here: the first one of a load.
    fn has_first_part(&self) -> bool {
        let Ok(experiment) = self.experiment() else { return true };
        experiment.part.is_none_or(|of| of.part.is_first())
            && !experiment.parts_missing.contains(&0)
    }

    /// Plans of versions before the probe do not mention it.
    fn plan_says_probe(&self) -> bool {
        let bytes =
            read_bytes(self.path(), &self.path().join("plan.toml"), TEXT_MAX).unwrap_or_default();
        let plan: toml::Table = toml::from_slice(&bytes).unwrap_or_default();
        let enabled = plan.get("probe").and_then(|probe| probe.get("enabled"));
        enabled.and_then(toml::Value::as_bool).unwrap_or(false)
    }
}

const CUT: &str = "its last line is cut off";

fn measured(intervals: &[Interval]) -> impl Iterator<Item = &Interval> {
    intervals.iter().filter(|interval| interval.phase == Phase::Measure)
}

fn of_latency(trial: &Trial, log: Option<&LatencyLog>, intervals: &[Interval]) -> Option<String> {
    // The histogram of an interval is written after its line: a kill may have come between.
    trial.ended_at.as_ref()?;
    let Some(log) = log else {
        return (!intervals.is_empty())
            .then(|| "is missing, although other files of the trial exist".to_owned());
    };
    let (kept, all) = (log.lines(), intervals.len());
    (kept < all).then(|| format!("has {kept} of {all} intervals: the rest is missing"))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use truetps_record::{Counts, Measured, Validity, new_histogram};

    const HEADER: &str = "{\"schema_version\": 1, \"interval_ms\": 100.0, \"family\": \"mysql\"}\n";

    /// A valid trial without figures.
    pub(crate) fn trial() -> Trial {
        serde_json::from_str(
            r#"{"schema_version": 1, "tool_version": "", "name": "trial-0001", "block": 0, "position": 0, "role": "cell",
                "configuration": {}, "workload": "insert", "seed": 1, "server": null, "started_at": "", "ended_at": "",
                "validity": {"state": "valid"}, "engine": null, "measured": null, "notes": []}"#,
        )
        .unwrap()
    }

    /// A folder with one trial of three measured seconds, as they were written.
    struct Kept {
        dir: tempfile::TempDir,
        trial: Trial,
    }

    impl Kept {
        fn new(plan: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("experiment.json"), "{}").unwrap();
            fs::write(dir.path().join("plan.toml"), plan).unwrap();
            let counts = Counts { started: 6, ok: 6, ..Counts::default() };
            let measured = Measured { length_ms: 3000.0, counts, ..Measured::default() };
            let kept = Self { dir, trial: Trial { measured: Some(measured), ..trial() } };
            let mut writer = kept.folder().begin_trial(&kept.trial).unwrap();
            for second in 0..3_u8 {
                let counts = Counts { started: 2, ok: 2, ..Counts::default() };
                let interval =
                    Interval::of_counts(Phase::Measure, f64::from(second) * 1e3, 1e3, counts);
                writer.append(&interval, &new_histogram()).unwrap();
            }
            let samples = (0..=30).map(|tenth| {
                let reading = format!("\"at_ms\": {}.0, \"took_ms\": 1.0", tenth * 100);
                format!("{{\"source\": \"host\", {reading}, \"values\": {{\"a\": {tenth}.0}}}}\n")
            });
            let samples: String = samples.collect();
            fs::write(kept.path(PROBE), HEADER.to_owned() + &samples).unwrap();
            kept
        }

        fn folder(&self) -> ExperimentFolder {
            ExperimentFolder::open(self.dir.path()).unwrap()
        }

        fn path(&self, file: &str) -> std::path::PathBuf {
            self.folder().path().join("trial-0001").join(file)
        }

        fn cut(&self, file: &str, share: f64) -> &Self {
            let bytes = fs::read(self.path(file)).unwrap();
            fs::write(self.path(file), &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
            self
        }

        fn without(&self, file: &str) -> &Self {
            fs::remove_file(self.path(file)).unwrap();
            self
        }

        fn check(&self, expect: &[&str]) {
            let folder = self.folder();
            let intervals = folder.intervals("trial-0001").ok();
            let (latency, probe) =
                (folder.latency("trial-0001").ok(), folder.probe("trial-0001").ok());
            let kept = KeptSeries {
                intervals: intervals.as_deref(),
                latency: latency.as_ref().map(Option::as_ref),
                probe: probe.as_ref().map(Option::as_ref),
            };
            let found: Vec<_> =
                folder.damage(&self.trial, &kept).iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), expect.len(), "{found:?}");
            for (found, expect) in found.iter().zip(expect) {
                assert!(found.ends_with(expect), "{found} should end with {expect}");
            }
        }
    }

    const WATCHED: &str = "[probe]\nenabled = true\n";

    fn kept() -> Kept {
        Kept::new(WATCHED)
    }

    #[test]
    fn what_was_cut_off_emptied_or_deleted_is_named() {
        kept().check(&[]);
        kept().cut(INTERVALS, 0.5).check(&[
            "intervals.jsonl: has 1.0 of the 3.0 s that were measured: the rest is missing",
        ]);
        kept().cut(INTERVALS, 0.0).check(&[
            "intervals.jsonl: has 0.0 of the 3.0 s that were measured: the rest is missing",
        ]);
        kept().cut(LATENCY, 0.8).check(&["latency.hdr: has 2 of 3 intervals: the rest is missing"]);
        kept().cut(LATENCY, 0.0).check(&["latency.hdr: has 0 of 3 intervals: the rest is missing"]);
        kept()
            .without(LATENCY)
            .check(&["latency.hdr: is missing, although other files of the trial exist"]);
        kept()
            .cut(PROBE, 0.5)
            .check(&["probe.jsonl: its readings end 1.6 s before the measure phase does"]);
        kept().cut(PROBE, 0.99).check(&["probe.jsonl: its last line is cut off"]);
        kept().cut(PROBE, 0.0).check(&["probe.jsonl: has no complete line"]);
        kept().without(PROBE).check(&[
            "probe.jsonl: is missing, although the plan says that the server was watched",
        ]);
        let edited = kept();
        let text = fs::read_to_string(edited.path(PROBE)).unwrap().replace("500.0", "\u{0}");
        fs::write(edited.path(PROBE), text).unwrap();
        edited.check(&["probe.jsonl: line 7 cannot be understood"]);
        let edited = kept();
        let text = fs::read_to_string(edited.path(PROBE)).unwrap().replace("900.0", "1e300");
        fs::write(edited.path(PROBE), text).unwrap();
        edited.check(&["probe.jsonl: line 11 cannot be understood"]);
        // A drain that was cut off loses no measured data, but is reported all the same.
        let drained = kept();
        let text = fs::read_to_string(drained.path(INTERVALS)).unwrap() + "{\"phase\":\"drain\"";
        fs::write(drained.path(INTERVALS), text).unwrap();
        drained.check(&["intervals.jsonl: its last line is cut off"]);
    }

    #[test]
    fn what_was_never_written_is_no_damage() {
        Kept::new("").without(PROBE).check(&[]);
        Kept::new("[probe]\nenabled = false\n").without(PROBE).check(&[]);
        let mut killed = Kept::new(WATCHED);
        killed.trial = Trial {
            measured: None,
            ended_at: None,
            validity: Validity::partial(truetps_record::NoEvidence::NotEnded),
            ..killed.trial
        };
        killed.cut(INTERVALS, 0.9).cut(LATENCY, 0.7).cut(PROBE, 0.5).check(&[]);
        killed.without(PROBE).check(&[]);
    }
}
