//! What `truetps probe` leaves: a folder that says who was watched, with the same `probe.jsonl` as that of a trial.
//!
//! ```text
//! runs/probe-<time>/           probe.json  probe.jsonl
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::folder::{PROBE, create_unused, read_json, write_json};
use crate::{
    AbsentSignal, FolderError, ProbeHeader, ProbePoint, ProbeSeries, ProbeSource, ProbeWriter, SCHEMA_VERSION,
    ServerFacts, is_gauge,
};

const ABOUT: &str = "probe.json";

/// `probe.json`: who was watched, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeRun {
    pub schema_version: u32,
    pub tool_version: String,
    /// The server's address, without a password.
    pub target: String,
    pub server: ServerFacts,
    /// Of the host that truetps ran on.
    pub hostname: String,
    /// UTC, RFC 3339. All times of the samples count from here.
    pub started_at: String,
    /// `None`: it was killed.
    pub ended_at: Option<String>,
}

/// The folder of one `truetps probe`.
#[derive(Debug, Clone)]
pub struct ProbeFolder {
    path: PathBuf,
}

impl ProbeFolder {
    /// Makes `runs/<name>`, or `runs/<name>-2`, … where that exists.
    pub fn create(runs: &Path, name: &str, run: &ProbeRun) -> Result<Self, FolderError> {
        fs::create_dir_all(runs).map_err(FolderError::io(runs))?;
        let folder = Self { path: create_unused(runs, name)? };
        folder.write(run)?;
        Ok(folder)
    }

    /// One that was made earlier; `None` where the folder is no such one.
    pub fn open(path: &Path) -> Option<Self> {
        path.join(ABOUT).is_file().then(|| Self { path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self) -> Result<ProbeRun, FolderError> {
        read_json(&self.path.join(ABOUT))
    }

    pub fn write(&self, run: &ProbeRun) -> Result<(), FolderError> {
        write_json(&self.path.join(ABOUT), run)
    }

    pub fn begin(&self, header: &ProbeHeader) -> Result<ProbeWriter, FolderError> {
        ProbeWriter::create(&self.path.join(PROBE), header)
    }

    /// What was seen. A last line that was cut off is left out.
    pub fn series(&self) -> Result<ProbeSeries, FolderError> {
        let path = self.path.join(PROBE);
        let text = fs::read(&path).map_err(FolderError::io(&path))?;
        let series = ProbeSeries::parse(&String::from_utf8_lossy(&text));
        series.ok_or_else(|| FolderError::content(&path, "its first line is no header of a probe"))
    }
}

/// What was seen, from the first sample to the last one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeSummary {
    pub schema_version: u32,
    pub run: ProbeRun,
    /// Between the first and the last sample.
    pub length_ms: f64,
    /// Samples of the server; 0 where it could not be asked.
    pub samples: usize,
    /// What counts, as far as it has grown.
    pub counters: BTreeMap<String, CounterSummary>,
    /// What goes up and down.
    pub gauges: BTreeMap<String, GaugeSummary>,
    pub absent: Vec<AbsentSignal>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CounterSummary {
    /// From its first sample to its last one.
    pub growth: f64,
    pub per_second: f64,
}

/// Of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GaugeSummary {
    pub mean: f64,
    pub max: f64,
    pub last: f64,
}

impl ProbeSummary {
    pub fn of(run: ProbeRun, series: &ProbeSeries) -> Self {
        let times = || [ProbeSource::Server, ProbeSource::Host].into_iter().flat_map(|source| series.times(source));
        let first = times().copied().reduce(f64::min);
        let last = times().copied().reduce(f64::max);
        let mut summary = Self {
            schema_version: SCHEMA_VERSION,
            run,
            length_ms: first.zip(last).map_or(0.0, |(first, last)| last - first),
            samples: series.times(ProbeSource::Server).len(),
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            absent: series.absent.clone(),
        };
        for (name, points) in series.with_prefix("") {
            if is_gauge(name) {
                summary.gauges.extend(gauge(points).map(|gauge| (name.to_owned(), gauge)));
            } else {
                summary.counters.extend(counter(points).map(|counter| (name.to_owned(), counter)));
            }
        }
        summary
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers have a JSON form") + "\n"
    }
}

fn gauge(points: &[ProbePoint]) -> Option<GaugeSummary> {
    let values = || points.iter().map(|point| point.value);
    let max = values().reduce(f64::max)?;
    Some(GaugeSummary { mean: values().sum::<f64>() / points.len() as f64, max, last: points.last()?.value })
}

/// `None` where it has not grown, or fell: the server was restarted.
fn counter(points: &[ProbePoint]) -> Option<CounterSummary> {
    let (first, last) = (points.first()?, points.last()?);
    if points.windows(2).any(|pair| pair[1].value < pair[0].value) {
        return None;
    }
    let (growth, seconds) = (last.value - first.value, (last.at_ms - first.at_ms) / 1e3);
    (growth > 0.0 && seconds > 0.0).then(|| CounterSummary { growth, per_second: growth / seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, ProbeSample};

    fn run() -> ProbeRun {
        ProbeRun {
            schema_version: SCHEMA_VERSION,
            tool_version: "1".to_owned(),
            target: "mysql://root@?socket=/s".to_owned(),
            server: ServerFacts::from_version_text("8.0.36"),
            hostname: "h".to_owned(),
            started_at: "2026-11-21T20:34:38Z".to_owned(),
            ended_at: None,
        }
    }

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    #[test]
    fn counters_have_rates_and_gauges_have_none() {
        let header =
            ProbeHeader { schema_version: 1, interval_ms: 1e3, family: Some(Family::Mysql), absent: Vec::new() };
        let first = [("status.a", 10.0), ("status.b", 5.0), ("status.c", 7.0), ("session.Update", 3.0)];
        let series = ProbeSeries::of(
            &header,
            [
                sample(0.0, &first),
                sample(1000.0, &[("status.a", 20.0), ("status.c", 1.0)]),
                sample(2000.0, &[("status.a", 50.0), ("status.c", 9.0), ("session.Update", 0.0)]),
            ],
        );
        let summary = ProbeSummary::of(run(), &series);
        assert_eq!(summary.counters.keys().collect::<Vec<_>>(), ["status.a"], "c fell, b did not grow");
        assert_eq!(summary.counters["status.a"], CounterSummary { growth: 40.0, per_second: 20.0 });
        assert_eq!(summary.gauges["session.Update"], GaugeSummary { mean: 2.0, max: 3.0, last: 0.0 });
        assert!(summary.to_json().contains("\"per_second\": 20.0"));
    }

    #[test]
    fn a_folder_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ProbeFolder::create(dir.path(), "probe-x", &run()).unwrap();
        let header = ProbeHeader { schema_version: 1, interval_ms: 1e3, family: None, absent: Vec::new() };
        folder.begin(&header).unwrap().append(&sample(5.0, &[("host.x", 1.0)])).unwrap();
        let again = ProbeFolder::open(folder.path()).unwrap();
        assert_eq!((again.run().unwrap(), again.series().unwrap().times(ProbeSource::Server)), (run(), &[5.0][..]));
        assert!(ProbeFolder::open(dir.path()).is_none());
    }
}
