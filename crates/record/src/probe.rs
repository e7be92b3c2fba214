//! `probe.jsonl`: what server and host did during a trial, on the engine's clock.
//!
//! The first line is the [`ProbeHeader`]; each further line is a [`ProbeSample`]. Values have the server's own names,
//! prefixed with their source (`status.Innodb_os_log_written`, `host.context_switches`); readers interpret them.
//! Counters grow; gauges (`session.…`) go up and down. A sample holds only the values that changed since the previous
//! sample of the same [`ProbeSource`]; [`ProbeSeries`] fills in the others. A value that could be read before and no
//! longer can is named in [`ProbeSample::lost`], so that it is not taken for unchanged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Family, SCHEMA_VERSION};

/// First line of `probe.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeHeader {
    pub schema_version: u32,
    pub interval_ms: f64,
    /// `None`: only the host is read.
    pub family: Option<Family>,
    /// What this server, this account or this host does not offer, and why.
    #[serde(default)]
    pub absent: Vec<AbsentSignal>,
}

/// Values that cannot be read. They are absent from all samples, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentSignal {
    /// The source prefix of the names: `file`, `wait`, `psi`.
    pub what: String,
    pub why: String,
}

impl AbsentSignal {
    /// Whether a value of this name is absent: it has this name, or a name below it.
    pub fn is_about(&self, name: &str) -> bool {
        name.strip_prefix(self.what.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// What was read: server or host. Each has its own readings: a server that hangs must not keep the host from being
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeSource {
    Server,
    Host,
}

/// One reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeSample {
    pub source: ProbeSource,
    /// Middle of the reading, on the clock of [`Interval::start_ms`](crate::Interval::start_ms); negative before the first
    /// transaction.
    pub at_ms: f64,
    /// How long the reading took.
    pub took_ms: f64,
    /// What has changed since the last sample of this source; the first sample has all values.
    pub values: BTreeMap<String, f64>,
    /// Sources (or single names) whose values are absent from this sample on, until a later sample has them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<AbsentSignal>,
}

impl ProbeSample {
    /// Whether the reading took so long that the time of its values is unknown.
    pub fn is_late(&self) -> bool {
        self.took_ms > SLOW_MS
    }
}

/// A name that first appears with a value had been zero until then: long lists of zeros are not written.
const FROM_ZERO: [&str; 2] = ["wait.", "session."];

/// A reading that took longer is not a point of a series.
pub(crate) const SLOW_MS: f64 = 500.0;

/// One value at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbePoint {
    pub at_ms: f64,
    pub value: f64,
}

/// All samples of a trial, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeSeries {
    pub interval_ms: f64,
    pub family: Option<Family>,
    pub absent: Vec<AbsentSignal>,
    /// When the samples of a source were taken.
    times: BTreeMap<ProbeSource, Vec<f64>>,
    /// When the readings of a source ended that are not points.
    slow_ends: BTreeMap<ProbeSource, Vec<f64>>,
    /// A point for each sample of its source from the first one that had it.
    values: BTreeMap<String, Vec<ProbePoint>>,
    first_unread_line: Option<usize>,
    is_cut: bool,
}

impl ProbeSeries {
    /// Parses the lines of a file. A last line that was cut off is ignored, as is a malformed line: its values are
    /// measured again a second later. `None` if the header is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].lines();
        let header: ProbeHeader = serde_json::from_str(lines.next()?).ok()?;
        if header.schema_version > SCHEMA_VERSION {
            return None;
        }
        let mut first_unread_line = None;
        let samples = lines.enumerate().filter_map(|(at, line)| {
            let sample = serde_json::from_str(line).ok().filter(ProbeSample::is_possible);
            if sample.is_none() {
                // The header is the first line.
                first_unread_line.get_or_insert(at + 2);
            }
            sample
        });
        let series = Self::of(&header, samples);
        Some(Self { first_unread_line, is_cut: whole < text.len(), ..series })
    }

    /// Number of the first complete line that is malformed, from 1.
    pub(crate) fn first_unread_line(&self) -> Option<usize> {
        self.first_unread_line
    }

    /// Whether the last line is incomplete.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Time of the last reading of any source.
    pub(crate) fn last_ms(&self) -> Option<f64> {
        self.times.values().filter_map(|times| times.last().copied()).reduce(f64::max)
    }

    /// Fills in the values that samples omit.
    pub fn of(header: &ProbeHeader, samples: impl IntoIterator<Item = ProbeSample>) -> Self {
        let mut series = Self {
            interval_ms: header.interval_ms,
            family: header.family,
            absent: header.absent.clone(),
            ..Self::default()
        };
        let mut last: BTreeMap<ProbeSource, BTreeMap<String, f64>> = BTreeMap::new();
        for sample in samples {
            let times = series.times.entry(sample.source).or_default();
            let before = times.last().copied();
            // Readings follow each other; an edited file may say otherwise.
            if before.is_some_and(|before| sample.at_ms <= before) {
                continue;
            }
            let is_point = !sample.is_late();
            if is_point {
                times.push(sample.at_ms);
            }
            let known = last.entry(sample.source).or_default();
            series.lose(sample.lost, known);
            known.extend(sample.values);
            if !is_point {
                series.slow_ends.entry(sample.source).or_default().push(sample.at_ms + sample.took_ms / 2.0);
                continue;
            }
            for (name, value) in known.iter() {
                let point = ProbePoint { at_ms: sample.at_ms, value: *value };
                if let Some(points) = series.values.get_mut(name) {
                    points.push(point);
                    continue;
                }
                let zero = before.filter(|_| FROM_ZERO.iter().any(|place| name.starts_with(place)));
                let zero = zero.map(|at_ms| ProbePoint { at_ms, value: 0.0 });
                series.values.insert(name.clone(), zero.into_iter().chain([point]).collect());
            }
        }
        series
    }

    fn lose(&mut self, lost: Vec<AbsentSignal>, known: &mut BTreeMap<String, f64>) {
        for signal in lost {
            known.retain(|name, _| !signal.is_about(name));
            if !self.absent.contains(&signal) {
                self.absent.push(signal);
            }
        }
    }

    /// When a source was read.
    pub fn times(&self, source: ProbeSource) -> &[f64] {
        self.times.get(&source).map_or(&[], Vec::as_slice)
    }

    /// When a source answered, including answers too late to be a point.
    pub fn answers(&self, source: ProbeSource) -> Vec<f64> {
        let slow = self.slow_ends.get(&source).map_or(&[][..], Vec::as_slice);
        let mut answers = [self.times(source), slow].concat();
        answers.sort_by(f64::total_cmp);
        answers
    }

    /// The values of one name in order of time; empty where it is absent.
    pub fn points(&self, name: &str) -> &[ProbePoint] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// All names that begin with this, with their values.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a [ProbePoint])> {
        let from = self.values.range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, points)| (name.as_str(), points.as_slice()))
    }

    /// Growth of a counter from one time to another, interpolated between samples. `None` if it was not read before (or
    /// at) the first time or after (or at) the second one, within `slack_ms`, or if it fell because the server was
    /// restarted.
    pub fn growth(&self, name: &str, from_ms: f64, to_ms: f64, slack_ms: f64) -> Option<f64> {
        let points = self.points(name);
        let growth = value_at(points, to_ms, slack_ms)? - value_at(points, from_ms, slack_ms)?;
        (growth >= 0.0).then_some(growth)
    }
}

/// A value between two samples. Up to `slack_ms` before the first or after the last sample, the value of that sample.
fn value_at(points: &[ProbePoint], at_ms: f64, slack_ms: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.at_ms < at_ms);
    let (before, after) = (after.checked_sub(1).map(|index| points[index]), points.get(after).copied());
    match (before, after) {
        (Some(one), Some(next)) => {
            let share = (at_ms - one.at_ms) / (next.at_ms - one.at_ms);
            Some(one.value + (next.value - one.value) * share)
        }
        (Some(edge), None) | (None, Some(edge)) => ((edge.at_ms - at_ms).abs() <= slack_ms).then_some(edge.value),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(source: ProbeSource, at_ms: f64, values: &[(&str, f64)]) -> String {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        serde_json::to_string(&ProbeSample { source, at_ms, took_ms: 1.0, values, lost: Vec::new() }).unwrap() + "\n"
    }

    fn text() -> String {
        let header =
            ProbeHeader { schema_version: 1, interval_ms: 1e3, family: Some(Family::Mysql), absent: Vec::new() };
        [
            serde_json::to_string(&header).unwrap() + "\n",
            sample(ProbeSource::Server, 0.0, &[("status.a", 10.0), ("status.b", 5.0)]),
            sample(ProbeSource::Host, 1.0, &[("host.x", 1.0)]),
            sample(ProbeSource::Server, 1000.0, &[("status.a", 20.0)]),
            sample(ProbeSource::Server, 2000.0, &[("status.a", 40.0), ("wait.c", 3.0)]),
        ]
        .concat()
    }

    #[test]
    fn what_has_not_changed_is_filled_in() {
        let series = ProbeSeries::parse(&text()).unwrap();
        let values = |name: &str| series.points(name).iter().map(|point| point.value).collect::<Vec<_>>();
        assert_eq!(values("status.b"), [5.0, 5.0, 5.0]);
        assert_eq!(
            (values("wait.c"), values("host.x")),
            (vec![0.0, 3.0], vec![1.0]),
            "a wait was zero before it was seen"
        );
        assert_eq!(series.times(ProbeSource::Server), [0.0, 1000.0, 2000.0]);
        assert_eq!(series.with_prefix("status.").map(|(name, _)| name).collect::<Vec<_>>(), ["status.a", "status.b"]);
    }

    #[test]
    fn what_is_lost_has_no_value_until_it_is_back() {
        let lost = AbsentSignal { what: "status".to_owned(), why: "refused".to_owned() };
        let line = ProbeSample {
            source: ProbeSource::Server,
            at_ms: 3000.0,
            took_ms: 1.0,
            values: BTreeMap::new(),
            lost: vec![lost.clone()],
        };
        let back = sample(ProbeSource::Server, 4000.0, &[("status.a", 60.0)]);
        let series = ProbeSeries::parse(&(text() + &serde_json::to_string(&line).unwrap() + "\n" + &back)).unwrap();
        assert_eq!(series.points("status.a").len(), 4);
        assert_eq!((series.points("status.b").len(), series.points("wait.c").len()), (3, 4));
        assert_eq!(series.absent, [lost]);
    }

    #[test]
    fn growth_is_interpolated_and_not_guessed() {
        let series = ProbeSeries::parse(&text()).unwrap();
        assert_eq!(series.growth("status.a", 500.0, 1500.0, 0.0), Some(15.0));
        assert_eq!(series.growth("status.a", -5.0, 2005.0, 10.0), Some(30.0));
        assert_eq!(series.growth("status.a", -5.0, 2005.0, 1.0), None);
        assert_eq!(series.growth("status.z", 0.0, 2000.0, 0.0), None);
    }

    #[test]
    fn a_line_that_was_cut_off_or_edited_is_left_out() {
        let mut text = text() + "nonsense\n" + &sample(ProbeSource::Server, 3000.0, &[("status.a", 50.0)]);
        text.truncate(text.len() - 4);
        let series = ProbeSeries::parse(&text).unwrap();
        assert_eq!(series.times(ProbeSource::Server).len(), 3);
        assert_eq!((series.first_unread_line(), series.is_cut()), (Some(6), true));
        assert_eq!(ProbeSeries::parse(""), None);
        assert_eq!(ProbeSeries::parse("{\"schema_version\": 99, \"interval_ms\": 1.0, \"family\": null}\n"), None);
    }
}
