//! What sessions waited on over a whole trial, longest first, whether or not it stalled.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::{Interval, Phase, ProbePoint, ProbeSeries, ProbeSource, SignalKind};

use super::sessions::{WaitMeasure, WaitSource, Waits, growth, mean};
use crate::wait_class::WaitClass;

/// Waits of a configuration that a document has.
const SHOWN_MAX: usize = 6;

/// One thing that sessions waited on, in the server's own words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopWait {
    pub name: String,
    pub class: WaitClass,
    pub source: WaitSource,
    /// Sessions that waited on it at a time, on average.
    pub sessions: f64,
    /// Share of all sessions that were counted at work; `None` of a wait that the server has timed.
    pub share: Option<f64>,
    /// Waits that have ended, where the server counts them; of sessions that were counted by state,
    /// how many were seen in it.
    pub count: Option<f64>,
    /// Sessions that waited, over transactions a second: how long a transaction waited on it.
    /// `None` without transactions.
    pub us_per_tx: Option<f64>,
}

/// Waits of a stretch of time, longest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopWaits {
    pub list: Vec<TopWait>,
    /// Waits that are not in the list.
    pub more: usize,
    /// How often the server was read.
    pub readings: usize,
}

/// Sessions of a state that were seen fewer times than this say that they were there, and not for
/// how long.
const SIGHTINGS_MIN: f64 = 10.0;

impl TopWait {
    /// Whether it was seen too seldom to say how long transactions waited.
    pub fn is_rarely_seen(&self) -> bool {
        self.source == WaitSource::Sampled && self.count.unwrap_or(0.0) < SIGHTINGS_MIN
    }

    /// No session of a client waits for longer than a transaction takes. Waits that the server has
    /// timed include its own threads.
    fn bound_by(&mut self, response_us_mean: Option<f64>) {
        if self.source == WaitSource::Sampled
            && let (Some(us), Some(most)) = (self.us_per_tx, response_us_mean)
        {
            self.us_per_tx = Some(us.min(most));
        }
    }
}

impl TopWaits {
    fn ranked(mut list: Vec<TopWait>, readings: usize) -> Option<Self> {
        list.sort_by(|one, other| other.sessions.total_cmp(&one.sessions));
        (!list.is_empty()).then_some(Self { list, more: 0, readings })
    }

    /// The first few, as they are shown: a wait that was seen seldom has no length.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let mut list = self.list.clone();
        list.truncate(SHOWN_MAX);
        for rare in list.iter_mut().filter(|wait| wait.is_rarely_seen()) {
            rare.us_per_tx = None;
        }
        Self { more: self.more + self.list.len() - list.len(), list, readings: self.readings }
    }

    /// Several parts of a load work on the server: a wait has no length for each transaction of one
    /// part.
    #[must_use]
    pub(crate) fn of_all_parts(mut self) -> Self {
        self.list.iter_mut().for_each(|wait| wait.us_per_tx = None);
        self
    }

    /// Means over the trials of a configuration; a trial in which a wait was not seen counts as
    /// none of it.
    pub(crate) fn of_trials<'a>(trials: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let trials: Vec<_> = trials.collect();
        let n = trials.len() as f64;
        let mut by_name: BTreeMap<&str, Vec<&TopWait>> = BTreeMap::new();
        for wait in trials.iter().flat_map(|one| &one.list) {
            by_name.entry(&wait.name).or_default().push(wait);
        }
        let list = by_name.into_values().map(|waits| TopWait {
            sessions: waits.iter().map(|wait| wait.sessions).sum::<f64>() / n,
            share: sum(&waits, |wait| wait.share).map(|sum| sum / n),
            count: sum(&waits, |wait| wait.count),
            us_per_tx: sum(&waits, |wait| wait.us_per_tx).map(|sum| sum / n),
            ..waits[0].clone()
        });
        Self::ranked(list.collect(), trials.iter().map(|one| one.readings).sum())
    }
}

/// `None` where no wait has the figure.
fn sum(waits: &[&TopWait], figure: fn(&TopWait) -> Option<f64>) -> Option<f64> {
    waits.iter().filter_map(|wait| figure(wait)).reduce(|sum, one| sum + one)
}

/// One wait on two sides; `None` where it was not seen on that side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedWait {
    pub name: String,
    pub class: WaitClass,
    pub source: WaitSource,
    pub us_per_tx_a: Option<f64>,
    pub us_per_tx_b: Option<f64>,
}

impl ComparedWait {
    fn longer_us(&self) -> f64 {
        self.us_per_tx_a.unwrap_or(0.0).max(self.us_per_tx_b.unwrap_or(0.0))
    }
}

fn us_per_tx(side: &[TopWait], name: &str) -> Option<f64> {
    side.iter().find(|wait| wait.name == name)?.us_per_tx
}

/// The longest waits of either side.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ComparedWaits {
    pub list: Vec<ComparedWait>,
    pub more: usize,
}

impl ComparedWaits {
    pub(crate) fn of(a: Option<&TopWaits>, b: Option<&TopWaits>) -> Self {
        let [a, b] = [a, b].map(|side| side.map_or(&[][..], |waits| &waits.list));
        let only_b = b.iter().filter(|wait| !a.iter().any(|other| other.name == wait.name));
        let both = a.iter().chain(only_b).map(|wait| ComparedWait {
            name: wait.name.clone(),
            class: wait.class,
            source: wait.source,
            us_per_tx_a: us_per_tx(a, &wait.name),
            us_per_tx_b: us_per_tx(b, &wait.name),
        });
        let mut list: Vec<_> = both.filter(|wait| wait.longer_us() > 0.0).collect();
        list.sort_by(|one, other| other.longer_us().total_cmp(&one.longer_us()));
        let more = list.len().saturating_sub(SHOWN_MAX);
        list.truncate(SHOWN_MAX);
        Self { list, more }
    }
}

/// The waits of a server that was watched without a load, from the first reading to the last one.
pub fn top_waits(probe: &ProbeSeries) -> Option<TopWaits> {
    let times = probe.times(ProbeSource::Server);
    Waits::of(probe)?.top(probe, (*times.first()?, *times.last()?), None)
}

/// Waits from the first reading to the last one that the server has timed. `None`: it times none.
pub(crate) fn top_timed_waits(probe: &ProbeSeries) -> Option<Vec<TopWait>> {
    let waits = Waits::of(probe).filter(|waits| waits.source == WaitSource::Timed)?;
    let top = waits.top(probe, (*waits.times.first()?, *waits.times.last()?), None);
    let list = top.into_iter().flat_map(|top| top.list);
    Some(list.filter(|wait| wait.source == WaitSource::Timed).collect())
}

impl Waits<'_> {
    /// The waits of the measure phase.
    pub(crate) fn of_measured(
        &self,
        probe: &ProbeSeries,
        intervals: &[Interval],
        response_us_mean: Option<f64>,
    ) -> Option<TopWaits> {
        let measured: Vec<_> =
            intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
        let (first, last) = measured.first().zip(measured.last())?;
        let ok: u64 = measured.iter().map(|interval| interval.counts.ok).sum();
        let length_ms: f64 = measured.iter().map(|interval| interval.length_ms).sum();
        let tps = (ok > 0 && length_ms > 0.0).then(|| ok as f64 / length_ms * 1e3);
        let mut top = self.top(probe, (first.start_ms, last.start_ms + last.length_ms), tps)?;
        top.list.iter_mut().for_each(|wait| wait.bound_by(response_us_mean));
        Some(top)
    }

    fn top(&self, probe: &ProbeSeries, stretch: (f64, f64), tps: Option<f64>) -> Option<TopWaits> {
        let stretch = self.within(&[stretch]).into_iter().next()?;
        let mut edges: Vec<f64> =
            self.times.iter().copied().filter(|at| *at > stretch.0 && *at < stretch.1).collect();
        edges.insert(0, stretch.0);
        edges.push(stretch.1);
        let at_work: f64 = probe
            .of_kind(SignalKind::State)
            .map(|state| sessions_seen(&state.points, stretch))
            .sum();
        let list = self.signals.iter().filter_map(|signal| {
            let (sessions, share, count) = match signal.kind {
                WaitMeasure::Time { unit_ms } => {
                    let waited_ms = grown(signal.points, &edges) * unit_ms;
                    let count =
                        (!signal.counted.is_empty()).then(|| grown(signal.counted, &edges).round());
                    let sessions = waited_ms / (stretch.1 - stretch.0);
                    let unfinished = mean(signal.unfinished, stretch.0, stretch.1).unwrap_or(0.0);
                    (if sessions > 0.0 { sessions } else { unfinished }, None, count)
                }
                WaitMeasure::Sessions => {
                    let seen = sessions_seen(signal.points, stretch);
                    let sessions = mean(signal.points, stretch.0, stretch.1)?;
                    (sessions, (at_work > 0.0).then(|| seen / at_work), Some(seen))
                }
            };
            (sessions > 0.0).then(|| TopWait {
                name: signal.name.clone(),
                class: signal.class,
                source: signal.kind.source(),
                sessions,
                share,
                count,
                us_per_tx: tps.map(|tps| sessions / tps * 1e6),
            })
        });
        let readings = self.times.iter().filter(|at| (stretch.0..=stretch.1).contains(*at)).count();
        TopWaits::ranked(list.collect(), readings)
    }
}

/// Without the steps in which a counter fell, or was not read: a restart is no wait.
fn grown(points: &[ProbePoint], edges: &[f64]) -> f64 {
    edges.windows(2).filter_map(|edge| growth(points, edge[0], edge[1])).sum()
}

/// All sessions of all readings.
fn sessions_seen(points: &[ProbePoint], (from_ms, to_ms): (f64, f64)) -> f64 {
    points
        .iter()
        .filter(|point| (from_ms..=to_ms).contains(&point.at_ms))
        .map(|point| point.value)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::series_for_tests::{BINLOG, REDO, series};
    use super::*;

    #[test]
    fn timed_waits_are_ranked_by_time() {
        let count = "wait.wait/io/file/sql/binlog.count";
        let probe = series(&[
            (
                0.0,
                &[(REDO, 7e6), ("wait.wait/io/table/sql/handler.us", 1e9), ("wait.idle.us", 5e9)],
            ),
            (1000.0, &[(REDO, 7.5e6), (BINLOG, 3e6), (count, 30.0)]),
            (2000.0, &[(REDO, 8e6), (BINLOG, 6e6), (count, 50.0), ("wait.idle.us", 9e9)]),
        ]);
        let top = top_waits(&probe).unwrap();
        let got: Vec<_> =
            top.list.iter().map(|one| (one.name.as_str(), one.sessions, one.count)).collect();
        let expect = [
            ("wait/io/file/sql/binlog", 3.0, Some(50.0)),
            ("wait/io/file/innodb/innodb_log_file", 0.5, None),
        ];
        assert_eq!((got.as_slice(), top.readings), (&expect[..], 3));
        assert!(top.list.iter().all(|one| one.source == WaitSource::Timed && one.share.is_none()));
        // A restart sets all counters back: that step is left out.
        let probe =
            series(&[(0.0, &[(REDO, 7e6)]), (1000.0, &[(REDO, 1e5)]), (2000.0, &[(REDO, 6e5)])]);
        assert!((top_waits(&probe).unwrap().list[0].sessions - 0.25).abs() < 1e-9);
    }

    #[test]
    fn sampled_sessions_are_a_share_of_those_at_work() {
        let probe = series(&[
            (0.0, &[("session.Commit", 2.0), ("session.Update", 2.0)]),
            (1000.0, &[("session.Commit", 4.0), ("session.Update", 0.0)]),
        ]);
        let [wait] = &top_waits(&probe).unwrap().list[..] else { panic!("an update is at work") };
        assert_eq!(
            (wait.sessions, wait.share, wait.count, wait.us_per_tx),
            (3.0, Some(0.75), Some(6.0), None)
        );
    }

    #[test]
    fn a_state_that_was_seen_seldom_has_no_length_and_none_is_longer_than_a_response() {
        let state = |count: f64, us: f64| TopWait {
            name: "session.Commit".to_owned(),
            class: WaitClass::Commit,
            source: WaitSource::Sampled,
            sessions: 1.0,
            share: Some(0.5),
            count: Some(count),
            us_per_tx: Some(us),
        };
        let shown = |count, us, mean| {
            let mut wait = state(count, us);
            wait.bound_by(mean);
            TopWaits::ranked(vec![wait], 20).unwrap().bounded().list[0].us_per_tx
        };
        assert_eq!(shown(9.0, 100.0, Some(500.0)), None);
        assert_eq!(shown(10.0, 100.0, Some(500.0)), Some(100.0));
        assert_eq!(shown(30.0, 8_330.0, Some(4_730.0)), Some(4_730.0));
        let mut timed = TopWait { source: WaitSource::Timed, ..state(1.0, 9_000.0) };
        timed.bound_by(Some(500.0));
        assert_eq!(timed.us_per_tx, Some(9_000.0), "threads of the server wait, too");
    }

    #[test]
    fn a_few_of_many_and_means_over_trials() {
        let wait = |n: u32| TopWait {
            name: format!("w{n}"),
            class: WaitClass::Latch,
            source: WaitSource::Timed,
            sessions: f64::from(n),
            share: None,
            count: Some(1.0),
            us_per_tx: Some(f64::from(n) * 10.0),
        };
        let of =
            |list: &[u32]| TopWaits::ranked(list.iter().map(|n| wait(*n)).collect(), 5).unwrap();
        let many = of(&[1, 2, 3, 4, 5, 6, 7, 8]).bounded();
        assert_eq!((many.list[0].name.as_str(), many.list.len(), many.more), ("w8", 6, 2));
        let mean = TopWaits::of_trials([of(&[2, 4]), of(&[2])].iter()).unwrap();
        let got: Vec<_> =
            mean.list.iter().map(|one| (one.name.as_str(), one.us_per_tx, one.count)).collect();
        assert_eq!(got, [("w2", Some(20.0), Some(2.0)), ("w4", Some(20.0), Some(1.0))]);
        assert_eq!(TopWaits::of_trials(std::iter::empty()), None);
        let compared = ComparedWaits::of(Some(&of(&[1, 3])), Some(&of(&[2, 3])));
        let got: Vec<_> = compared
            .list
            .iter()
            .map(|one| (one.name.as_str(), one.us_per_tx_a, one.us_per_tx_b))
            .collect();
        let expect =
            [("w3", Some(30.0), Some(30.0)), ("w2", None, Some(20.0)), ("w1", Some(10.0), None)];
        assert_eq!(got, expect);
        assert_eq!(ComparedWaits::of(None, None), ComparedWaits::default());
    }
}
