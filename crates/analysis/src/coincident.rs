//! Events at the time of a stall: waits of sessions, and other signals that differed from the rest
//! of the trial. They are not proven to be the cause.

use serde::Serialize;
use truetps_record::{ProbeSeries, ProbeSource, TimeSpan};

use crate::signs::{SignalChange, signs};
use crate::stretch::widened;
use crate::waits::{Wait, WaitSource, Waits};

/// A wait is unusual from this ratio on: smaller ratios are likely to be chance.
const MORE_RATIO: f64 = 1.5;
/// A wait is in the headline if at least so many more sessions waited.
const CLEAR_SESSIONS: f64 = 0.5;

/// Waits in a period, and other signals that differed from the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Coincident {
    /// Readings of the server within the stretch: without any, the activity of its sessions is
    /// unknown.
    pub readings: usize,
    /// The longest period in which the server did not answer the probe: all other readings were
    /// taken before and after.
    pub outage: Option<TimeSpan>,
    /// The largest change first.
    pub waits: Vec<Wait>,
    pub signs: Vec<SignalChange>,
}

/// The event that the headline names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Telling<'a> {
    Outage(TimeSpan),
    Wait(&'a Wait),
}

impl Coincident {
    /// The event that explains a stall, if one is clear.
    pub fn telling(&self) -> Option<Telling<'_>> {
        self.outage.map(Telling::Outage).or_else(|| {
            self.waits.iter().find(|wait| self.readings > 0 && wait.is_clear()).map(Telling::Wait)
        })
    }

    /// Waits of more sessions than usual, the largest change first.
    pub fn more_waits(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter().filter(|wait| wait.is_more())
    }

    /// Signs that rose, and signs that fell (as most do without load).
    pub fn risen_and_fallen(&self) -> (Vec<&SignalChange>, Vec<&SignalChange>) {
        self.signs.iter().partition(|sign| sign.has_risen())
    }
}

impl Wait {
    fn is_more(&self) -> bool {
        self.usual_sessions.is_none_or(|usual| self.sessions >= MORE_RATIO * usual)
    }

    fn is_clear(&self) -> bool {
        self.is_more()
            && self.usual_sessions.is_some_and(|usual| self.sessions - usual >= CLEAR_SESSIONS)
    }
}

/// `outages`: all of the trial.
pub(crate) fn coincident(
    probe: &ProbeSeries,
    outages: &[TimeSpan],
    waits: Option<&Waits<'_>>,
    stretch: (f64, f64),
    ordinary: &[(f64, f64)],
) -> Coincident {
    let times = probe.times(ProbeSource::Server);
    let readings = times.iter().filter(|at| (stretch.0..=stretch.1).contains(*at)).count();
    let changes = waits.map(|waits| waits.changes(stretch.0, stretch.1, ordinary));
    let mut waits = changes.unwrap_or_default();
    // Sessions counted before and after the stall do not show what they did in it; the waited time
    // does.
    waits.retain(|wait| readings > 0 || wait.source == WaitSource::Timed);
    Coincident {
        readings,
        outage: outage(probe, outages, stretch),
        waits,
        signs: signs(probe, stretch, ordinary),
    }
}

/// The longest outage between the answers around a stretch. `None` if the server never answered: it
/// was not watched.
fn outage(
    probe: &ProbeSeries,
    outages: &[TimeSpan],
    (from_ms, to_ms): (f64, f64),
) -> Option<TimeSpan> {
    let answers: Vec<f64> = probe.answers_ms(ProbeSource::Server).collect();
    let (before_ms, after_ms) = widened(&answers, from_ms, to_ms);
    let around = outages
        .iter()
        .filter(|one| one.from_ms < after_ms.max(to_ms) && one.to_ms > before_ms.min(from_ms));
    let longest = around.max_by(|a, b| a.length_ms().total_cmp(&b.length_ms()));
    longest.copied().filter(|_| !answers.is_empty())
}

#[cfg(test)]
mod tests {
    use truetps_record::{Family, ProbeHeader, ProbeSample};

    use super::*;
    use crate::wait_class::WaitClass;

    #[test]
    fn a_stretch_is_widened_to_the_readings_around_it() {
        let times = [0.0, 1000.0, 2000.0, 3000.0];
        assert_eq!(widened(&times, 1200.0, 1900.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, 1000.0, 2000.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, -50.0, 9000.0), (0.0, 3000.0));
        assert_eq!(widened(&[], 5.0, 6.0), (5.0, 6.0));
    }

    /// From 2 s on one session at a time waits for the redo log, which is timed, and eight in place
    /// of two are in their commit.
    fn probe(times_ms: &[f64]) -> ProbeSeries {
        let header = ProbeHeader::of_version_1(1e3, Some(Family::Mysql));
        let sample = |at_ms: &f64| {
            let redo_us = (at_ms - 2000.0).max(0.0) * 1e3;
            let commit = if *at_ms >= 2000.0 { 8.0 } else { 2.0 };
            let values = [
                ("wait.wait/io/file/innodb/innodb_log_file.us", redo_us),
                ("session.Commit", commit),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            ProbeSample {
                source: ProbeSource::Server,
                at_ms: *at_ms,
                took_ms: 1.0,
                values,
                lost: Vec::new(),
            }
        };
        ProbeSeries::of(&header, times_ms.iter().map(sample))
    }

    #[test]
    fn sessions_that_were_counted_at_its_edges_are_not_coincident() {
        let at = |times_ms: &[f64]| {
            let probe = probe(times_ms);
            let waits = Waits::of(&probe);
            let found = coincident(&probe, &[], waits.as_ref(), (2100.0, 2900.0), &[(0.0, 2000.0)]);
            (found.readings, found.waits.iter().map(|wait| wait.name.clone()).collect::<Vec<_>>())
        };
        let redo = "wait/io/file/innodb/innodb_log_file".to_owned();
        assert_eq!(at(&[0.0, 1000.0, 2000.0, 3000.0]), (0, vec![redo.clone()]));
        let (readings, waits) = at(&[0.0, 1000.0, 2000.0, 2500.0, 3000.0]);
        assert_eq!((readings, waits.len()), (1, 2), "{waits:?}");
    }

    /// Length of the outage beside a stretch.
    fn beside(series: &ProbeSeries, from_ms: f64, to_ms: f64) -> Option<f64> {
        outage(series, &series.outages(&[]), (from_ms, to_ms)).map(TimeSpan::length_ms)
    }

    #[test]
    fn an_outage_begins_when_a_query_was_due() {
        let header = ProbeHeader::of_version_1(100.0, None);
        let sample = |at_ms: f64, took_ms: f64| ProbeSample {
            source: ProbeSource::Server,
            at_ms,
            took_ms,
            lost: Vec::new(),
            values: std::collections::BTreeMap::new(),
        };
        let of = |times: &[f64], more: Option<ProbeSample>, (from_ms, to_ms): (f64, f64)| {
            let series =
                ProbeSeries::of(&header, times.iter().map(|at| sample(*at, 1.0)).chain(more));
            beside(&series, from_ms, to_ms)
        };
        let silent = |times: &[f64], from_ms: f64, to_ms: f64| of(times, None, (from_ms, to_ms));
        let answered: Vec<_> = (0..30).map(|tenth| f64::from(tenth) * 100.0).collect();
        assert_eq!(silent(&answered, 1000.0, 2500.0), None, "it answered all the time");
        assert_eq!(silent(&[0.0, 900.0, 2600.0, 2700.0], 1000.0, 2500.0), Some(1600.5));
        assert_eq!(silent(&[0.0, 900.0, 1500.0, 2600.0], 1000.0, 2500.0), Some(1000.5));
        let host = ProbeSample { source: ProbeSource::Host, ..sample(3000.0, 1.0) };
        assert_eq!(
            of(&[0.0, 900.0], Some(host), (1000.0, 3000.0)),
            Some(2000.5),
            "it never answered again"
        );
        assert_eq!(silent(&[0.0, 900.0], 1000.0, 3000.0), None, "it may not have been asked");
        assert_eq!(silent(&[], 1000.0, 3000.0), None, "it was not asked");
        // Asked at 1.0 s and answered at 2.4 s: that is the time of the answer; when its values
        // were true is unknown.
        let samples = [sample(900.0, 1.0), sample(1700.0, 1400.0), sample(2900.0, 1.0)];
        let series = ProbeSeries::of(&header, samples);
        assert_eq!(beside(&series, 1000.0, 2500.0), Some(1400.0));
    }

    #[test]
    fn a_server_that_answers_in_time_is_not_silent() {
        let header = ProbeHeader::of_version_1(1e3, None);
        let sample = |at_ms: f64| ProbeSample {
            source: ProbeSource::Server,
            at_ms,
            took_ms: 1.0,
            lost: Vec::new(),
            values: [("status.x".to_owned(), at_ms)].into(),
        };
        let series = ProbeSeries::of(&header, [0.0, 1e3, 2e3, 3e3, 5.5e3].map(sample));
        let check = |from_ms, to_ms, expect: Option<f64>| {
            assert_eq!(beside(&series, from_ms, to_ms), expect);
        };
        check(900.0, 2100.0, None);
        check(2900.0, 3100.0, Some(1500.5));
    }

    #[test]
    fn a_headline_names_what_is_clear_and_nothing_else() {
        let long = Some(TimeSpan { from_ms: 0.0, to_ms: 12_200.0 });
        let told = |readings, sessions, usual_sessions, outage| {
            let (name, class, source) =
                ("Commit".to_owned(), WaitClass::Commit, WaitSource::Sampled);
            let waits = vec![Wait { name, class, source, sessions, usual_sessions }];
            let coincident = Coincident { readings, outage, waits, signs: Vec::new() };
            coincident.telling().map(|telling| matches!(telling, Telling::Wait(_)))
        };
        assert_eq!(told(3, 12.0, Some(2.9), None), Some(true));
        assert_eq!(told(0, 12.0, Some(2.9), None), None, "not read within it");
        assert_eq!(told(3, 3.3, Some(2.9), None), None, "as usual");
        assert_eq!(told(3, 4.0, Some(3.8), None), None, "next to the usual");
        assert_eq!(told(3, 0.4, Some(0.0), None), None, "less than half a session");
        assert_eq!(told(3, 4.0, None, None), None, "nothing to compare it with");
        assert_eq!(told(3, 12.0, Some(2.9), long), Some(false));
        assert_eq!(told(0, 0.0, None, long), Some(false));
    }
}
