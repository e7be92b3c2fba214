//! All samples of a trial or a probe: the points of each value, by name.

use std::collections::BTreeMap;

use crate::{
    AbsentSignal, Family, Flavour, ProbeDecoder, ProbeHeader, ProbePoint, ProbeSample, ProbeSource,
    SCHEMA_VERSION, Signal, SignalKind, TimeSpan,
};

/// All points of one value.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalSeries {
    pub signal: Signal,
    /// The event or state that the value is about; else its name.
    pub subject: String,
    /// A point for each reading of its source that had it.
    pub points: Vec<ProbePoint>,
}

/// All samples of a trial, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeSeries {
    pub interval_ms: f64,
    pub family: Option<Family>,
    flavour: Option<Flavour>,
    /// Written by a truetps that recorded suspensions.
    pub(crate) has_suspensions: bool,
    pub absent: Vec<AbsentSignal>,
    /// When the points of a source were read.
    times: BTreeMap<ProbeSource, Vec<f64>>,
    /// All readings of a source, from question to answer, late ones included.
    readings: BTreeMap<ProbeSource, Vec<TimeSpan>>,
    values: BTreeMap<String, SignalSeries>,
    /// Readings at which the server's counters had fallen: it was restarted, or they were reset.
    pub(crate) resets_ms: Vec<f64>,
    /// Number of the first complete line that is malformed, from 1.
    pub first_unread_line: Option<usize>,
    /// The last line is incomplete.
    pub is_cut: bool,
}

impl ProbeSeries {
    /// Parses the lines of a file. A last line that was cut off is ignored, as is a malformed line:
    /// its values are measured again a second later. `None` if the header is malformed.
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

    /// Time of the last point of any source.
    pub fn last_ms(&self) -> Option<f64> {
        self.times.values().filter_map(|times| times.last().copied()).reduce(f64::max)
    }

    /// Whether the server is a MariaDB. Where the file has no flavour, a value that MariaDB alone
    /// has decides.
    pub fn is_mariadb(&self) -> bool {
        const OF_MARIADB: &str = "status.Binlog_group_commit_trigger_count";
        self.flavour.map_or_else(
            || !self.points(OF_MARIADB).is_empty(),
            |flavour| flavour == Flavour::Mariadb,
        )
    }

    /// Keeps all points of the samples.
    pub fn of(header: &ProbeHeader, samples: impl IntoIterator<Item = ProbeSample>) -> Self {
        let mut series = Self {
            interval_ms: header.interval_ms,
            family: header.family,
            flavour: header.flavour,
            has_suspensions: header.schema_version > 1,
            absent: header.absent.clone(),
            ..Self::default()
        };
        let mut decoder = ProbeDecoder::new(header);
        for sample in samples {
            let reading = TimeSpan { from_ms: sample.began_ms(), to_ms: sample.ended_ms() };
            series.readings.entry(sample.source).or_default().push(reading);
            if decoder.decode(&sample) {
                series.add_points(sample.source, sample.at_ms, &decoder);
            }
            for signal in sample.lost {
                if !series.absent.contains(&signal) {
                    series.absent.push(signal);
                }
            }
        }
        series
    }

    /// The last two points of each value of the server, during a probe. `None` before its second
    /// reading.
    pub fn of_last_points(header: &ProbeHeader, decoder: &ProbeDecoder) -> Option<Self> {
        let source = ProbeSource::Server;
        let at_ms = decoder.at_ms(source)?;
        let before_ms = at_ms - decoder.passed_ms(source)?;
        let mut series = Self::of(header, []);
        series.times.insert(source, vec![before_ms]);
        series.add_points(source, at_ms, decoder);
        Some(series)
    }

    fn add_points(&mut self, source: ProbeSource, at_ms: f64, decoder: &ProbeDecoder) {
        self.times.entry(source).or_default().push(at_ms);
        self.resets_ms.extend(decoder.is_reset(source).then_some(at_ms));
        for (name, value) in decoder.values(source) {
            if let Some(series) = self.values.get_mut(name) {
                series.points.push(value.now);
                continue;
            }
            let points = value.before.into_iter().chain([value.now]).collect();
            let series =
                SignalSeries { signal: value.signal, subject: value.subject.clone(), points };
            self.values.insert(name.to_owned(), series);
        }
    }

    /// When a source was read in time.
    pub fn times(&self, source: ProbeSource) -> &[f64] {
        self.times.get(&source).map_or(&[], Vec::as_slice)
    }

    /// When a source answered, late answers included.
    pub fn answers_ms(&self, source: ProbeSource) -> impl Iterator<Item = f64> {
        self.readings(source).iter().map(|reading| reading.to_ms)
    }

    pub(crate) fn readings(&self, source: ProbeSource) -> &[TimeSpan] {
        self.readings.get(&source).map_or(&[], Vec::as_slice)
    }

    /// `None` where it is absent.
    pub fn signal(&self, name: &str) -> Option<&SignalSeries> {
        self.values.get(name)
    }

    /// The values of one name in order of time; empty where it is absent.
    pub fn points(&self, name: &str) -> &[ProbePoint] {
        self.signal(name).map_or(&[], |series| series.points.as_slice())
    }

    /// All values, by name.
    pub fn signals(&self) -> impl Iterator<Item = (&str, &SignalSeries)> {
        self.values.iter().map(|(name, series)| (name.as_str(), series))
    }

    /// All names that begin with this, with their values.
    pub fn with_prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [ProbePoint])> {
        let from = self
            .values
            .range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, series)| (name.as_str(), series.points.as_slice()))
    }

    /// All values of a kind.
    pub fn of_kind(&self, kind: SignalKind) -> impl Iterator<Item = &SignalSeries> {
        self.values.values().filter(move |series| series.signal.kind == kind)
    }

    /// Growth of a counter from one time to another, interpolated between samples. `None` if it was
    /// not read before (or at) the first time or after (or at) the second one, within `slack_ms`,
    /// or if it fell because the server was restarted.
    pub fn growth(&self, name: &str, from_ms: f64, to_ms: f64, slack_ms: f64) -> Option<f64> {
        let points = self.points(name);
        let growth = value_at(points, to_ms, slack_ms)? - value_at(points, from_ms, slack_ms)?;
        (growth >= 0.0).then_some(growth)
    }
}

/// A value between two samples. Up to `slack_ms` before the first or after the last sample, the
/// value of that sample.
fn value_at(points: &[ProbePoint], at_ms: f64, slack_ms: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.at_ms < at_ms);
    let (before, after) =
        (after.checked_sub(1).map(|index| points[index]), points.get(after).copied());
    match (before, after) {
        (Some(one), Some(next)) => {
            let share = (at_ms - one.at_ms) / (next.at_ms - one.at_ms);
            Some(one.value + (next.value - one.value) * share)
        }
        (Some(edge), None) | (None, Some(edge)) => {
            ((edge.at_ms - at_ms).abs() <= slack_ms).then_some(edge.value)
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(source: ProbeSource, at_ms: f64, values: &[(&str, f64)]) -> String {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        serde_json::to_string(&ProbeSample {
            source,
            at_ms,
            took_ms: 1.0,
            values,
            lost: Vec::new(),
        })
        .unwrap()
            + "\n"
    }

    #[test]
    fn the_flavour_decides_and_without_it_a_value() {
        let reading =
            sample(ProbeSource::Server, 0.0, &[("status.Binlog_group_commit_trigger_count", 0.0)]);
        let is_mariadb = |flavour, readings: &str| {
            let header =
                ProbeHeader { flavour, ..ProbeHeader::of_version_1(1e3, Some(Family::Mysql)) };
            ProbeSeries::parse(&format!("{}\n{readings}", serde_json::to_string(&header).unwrap()))
                .unwrap()
                .is_mariadb()
        };
        assert!(is_mariadb(Some(Flavour::Mariadb), "") && is_mariadb(None, &reading));
        assert!(!is_mariadb(Some(Flavour::Percona), &reading) && !is_mariadb(None, ""));
    }

    fn text() -> String {
        let header = ProbeHeader::of_version_1(1e3, Some(Family::Mysql));
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
        let values =
            |name: &str| series.points(name).iter().map(|point| point.value).collect::<Vec<_>>();
        assert_eq!(values("status.b"), [5.0, 5.0, 5.0]);
        assert_eq!(
            (values("wait.c"), values("host.x")),
            (vec![0.0, 3.0], vec![1.0]),
            "a wait was zero before it was seen"
        );
        assert_eq!(series.times(ProbeSource::Server), [0.0, 1000.0, 2000.0]);
        assert_eq!(
            series.with_prefix("status.").map(|(name, _)| name).collect::<Vec<_>>(),
            ["status.a", "status.b"]
        );
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
        let series =
            ProbeSeries::parse(&(text() + &serde_json::to_string(&line).unwrap() + "\n" + &back))
                .unwrap();
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
        let mut text =
            text() + "nonsense\n" + &sample(ProbeSource::Server, 3000.0, &[("status.a", 50.0)]);
        text.truncate(text.len() - 4);
        let series = ProbeSeries::parse(&text).unwrap();
        assert_eq!(series.times(ProbeSource::Server).len(), 3);
        assert_eq!((series.first_unread_line, series.is_cut), (Some(6), true));
        assert_eq!(ProbeSeries::parse(""), None);
        assert_eq!(
            ProbeSeries::parse(
                "{\"schema_version\": 99, \"interval_ms\": 1.0, \"family\": null}\n"
            ),
            None
        );
    }
}
