//! What `truetps probe` leaves: which server was watched, and the summary of its samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    AbsentSignal, ProbePoint, ProbeSeries, ProbeSource, SCHEMA_VERSION, ServerFacts, SignalSeries,
    Suspension, TimeSpan,
};

/// `probe.json`: which server was probed, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeRun {
    pub schema_version: u32,
    pub tool_version: String,
    /// The server's address, without a password.
    pub target: String,
    pub server: ServerFacts,
    /// Name of the managed or distributed server that its settings show. `None`: an ordinary one,
    /// or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Name of the host that truetps ran on.
    pub hostname: String,
    /// UTC, RFC 3339. All times of the samples count from here.
    pub started_at: String,
    /// `None`: the probe was killed, or some of its readings could not be written.
    pub ended_at: Option<String>,
    /// Length of `probe.jsonl` at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes: Option<u64>,
    /// Periods in which truetps itself did not run: the server's state then is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspensions: Vec<Suspension>,
}

/// A summary of the samples, from the first to the last one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeSummary {
    pub schema_version: u32,
    pub run: ProbeRun,
    /// From the start of the probe to the last reading.
    pub length_ms: f64,
    /// Samples of the server; 0 if it could not be queried. Late samples, whose time is unknown,
    /// are not counted.
    pub samples: usize,
    /// When the server did not answer, in order.
    pub outages: Vec<TimeSpan>,
    /// Their total length.
    pub no_answer_ms: f64,
    /// Whether it answered when the probe ended.
    pub answers_at_end: bool,
    /// Readings at which its counters had fallen: the server was restarted, or the counters were
    /// reset.
    pub resets_ms: Vec<f64>,
    /// Counters that have grown.
    pub counters: BTreeMap<String, CounterSummary>,
    /// Gauges.
    pub gauges: BTreeMap<String, GaugeSummary>,
    pub absent: Vec<AbsentSignal>,
    /// Data that `probe.jsonl` has lost since it was written.
    pub damage: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CounterSummary {
    /// From its first sample to its last one, without the steps in which counters were reset.
    pub growth: f64,
    pub per_second: f64,
}

/// The values of a gauge at its samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GaugeSummary {
    pub mean: f64,
    pub max: f64,
    pub last: f64,
}

impl ProbeSummary {
    /// `has_bytes`: the current length of `probe.jsonl`.
    pub fn of(run: ProbeRun, series: &ProbeSeries, has_bytes: u64) -> Self {
        let outages = series.outages(&run.suspensions);
        let damage = damage(&run, series, has_bytes);
        // A probe that was killed did not query once more, and a lost line may have been the
        // answer.
        let was_asked = run.ended_at.is_some() && damage.is_none();
        let mut summary = Self {
            schema_version: SCHEMA_VERSION,
            length_ms: series.length_ms(),
            samples: series.times(ProbeSource::Server).len(),
            no_answer_ms: outages.iter().fold(0.0, |all, one| all + one.length_ms()),
            outages,
            resets_ms: series.resets_ms.clone(),
            answers_at_end: series.answers_at_end(&run.suspensions, was_asked),
            damage,
            run,
            counters: BTreeMap::new(),
            gauges: BTreeMap::new(),
            absent: series.absent.clone(),
        };
        for (name, SignalSeries { signal, points, .. }) in series.signals() {
            if signal.kind.is_gauge() {
                summary.gauges.extend(gauge(points).map(|gauge| (name.to_owned(), gauge)));
            } else {
                let counter = counter(points, &series.resets_ms);
                summary.counters.extend(counter.map(|counter| (name.to_owned(), counter)));
            }
        }
        summary
    }
}

fn gauge(points: &[ProbePoint]) -> Option<GaugeSummary> {
    Some(GaugeSummary {
        mean: points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64,
        max: points.iter().map(|point| point.value).reduce(f64::max)?,
        last: points.last()?.value,
    })
}

/// Missing readings of a killed probe are not damage.
fn damage(run: &ProbeRun, series: &ProbeSeries, has_bytes: u64) -> Option<String> {
    if let Some(line) = series.first_unread_line {
        return Some(format!("line {line} cannot be understood"));
    }
    let kept_bytes = run.kept_bytes.filter(|kept| has_bytes < *kept)?;
    Some(format!("has {has_bytes} of {kept_bytes} bytes: the rest is missing"))
}

/// `None` if it has not grown, or fell on its own.
fn counter(points: &[ProbePoint], resets_ms: &[f64]) -> Option<CounterSummary> {
    let (mut growth, mut seconds) = (0.0, 0.0);
    for pair in points.windows(2) {
        // No two sources are read at the same time.
        if resets_ms.iter().any(|reset_ms| reset_ms.total_cmp(&pair[1].at_ms).is_eq()) {
            continue;
        }
        let step = pair[1].value - pair[0].value;
        if step < 0.0 {
            return None;
        }
        growth += step;
        seconds += (pair[1].at_ms - pair[0].at_ms) / 1e3;
    }
    (growth > 0.0 && seconds > 0.0).then(|| CounterSummary { growth, per_second: growth / seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, ProbeHeader, ProbeSample};

    fn run() -> ProbeRun {
        ProbeRun {
            schema_version: SCHEMA_VERSION,
            tool_version: "1".to_owned(),
            target: "mysql://root@?socket=/s".to_owned(),
            server: ServerFacts::from_version_text("8.0.36"),
            platform: None,
            hostname: "h".to_owned(),
            started_at: "2026-11-21T20:34:38Z".to_owned(),
            ended_at: None,
            kept_bytes: None,
            suspensions: Vec::new(),
        }
    }

    fn sample(at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source: ProbeSource::Server, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    #[test]
    fn counters_have_rates_and_gauges_have_none() {
        let header = ProbeHeader::of_version_1(1e3, Some(Family::Mysql));
        let first =
            [("status.a", 10.0), ("status.b", 5.0), ("status.c", 7.0), ("session.Update", 3.0)];
        let series = ProbeSeries::of(
            &header,
            [
                sample(0.0, &first),
                sample(1000.0, &[("status.a", 20.0), ("status.c", 1.0)]),
                sample(2000.0, &[("status.a", 50.0), ("status.c", 9.0), ("session.Update", 0.0)]),
            ],
        );
        let summary = ProbeSummary::of(run(), &series, 0);
        assert_eq!(
            summary.counters.keys().collect::<Vec<_>>(),
            ["status.a"],
            "c fell, b did not grow"
        );
        assert_eq!(summary.counters["status.a"], CounterSummary { growth: 40.0, per_second: 20.0 });
        assert_eq!(
            summary.gauges["session.Update"],
            GaugeSummary { mean: 2.0, max: 3.0, last: 0.0 }
        );
        assert_eq!(
            serde_json::to_value(&summary).unwrap()["counters"]["status.a"]["per_second"],
            20.0
        );
    }

    #[test]
    fn a_restart_is_no_growth_and_hides_none() {
        let header = ProbeHeader::of_version_1(1e3, None);
        let series = ProbeSeries::of(
            &header,
            [
                sample(0.0, &[("status.a", 100.0), ("status.b", 50.0), ("status.c", 1.0)]),
                sample(1000.0, &[("status.a", 110.0)]),
                sample(3000.0, &[("status.a", 4.0), ("status.b", 0.0), ("status.c", 9.0)]),
                sample(4000.0, &[("status.a", 34.0)]),
            ],
        );
        let summary = ProbeSummary::of(run(), &series, 0);
        assert_eq!(summary.resets_ms, [3000.0]);
        assert_eq!(
            summary.counters.keys().collect::<Vec<_>>(),
            ["status.a"],
            "c grew in the step that is left out"
        );
        assert_eq!(summary.counters["status.a"], CounterSummary { growth: 40.0, per_second: 20.0 });
    }
}
