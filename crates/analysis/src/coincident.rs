//! What happened beside a stall: what sessions waited on, and other signals that were unlike the rest of the trial. It
//! is not shown to be the cause.

use serde::Serialize;
use truetps_record::{Interval, Phase, ProbeSeries, ProbeSource};

use crate::signs::{SignalChange, signs};
use crate::stalls::Stall;
use crate::waits::{Wait, Waits};

/// A wait is more than usual from this ratio on: less is as likely to be chance.
const MORE_RATIO: f64 = 1.5;
/// … and clear enough for a headline where so many more sessions waited.
const CLEAR_SESSIONS: f64 = 0.5;

/// What the server waited on in a stretch of time, and what else was unlike the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Coincident {
    /// Readings of the server within the stretch: without any, the activity of its sessions is unknown.
    pub readings: usize,
    /// The largest change first.
    pub waits: Vec<Wait>,
    pub signs: Vec<SignalChange>,
}

/// The one thing that a headline names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Telling<'a> {
    /// The server did not answer the probe: all other readings were taken before and after.
    Silence(&'a SignalChange),
    Wait(&'a Wait),
}

impl Coincident {
    /// What a stall was, where that is clear.
    pub fn telling(&self) -> Option<Telling<'_>> {
        let wait = || self.waits.iter().find(|wait| self.readings > 0 && wait.is_clear()).map(Telling::Wait);
        self.silence().map(Telling::Silence).or_else(wait)
    }

    pub fn silence(&self) -> Option<&SignalChange> {
        self.signs.iter().find(|sign| sign.is_silence())
    }

    /// Waits of more sessions than usual, the largest change first.
    pub fn more_waits(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter().filter(|wait| wait.is_more())
    }

    /// Signs that rose, and signs that fell, as most do where nothing runs; without the silence.
    pub fn risen_and_fallen(&self) -> (Vec<&SignalChange>, Vec<&SignalChange>) {
        self.signs.iter().filter(|sign| !sign.is_silence()).partition(|sign| sign.has_risen())
    }
}

impl Wait {
    fn is_more(&self) -> bool {
        self.usual_sessions.is_none_or(|usual| self.sessions >= MORE_RATIO * usual)
    }

    fn is_clear(&self) -> bool {
        self.is_more() && self.usual_sessions.is_some_and(|usual| self.sessions - usual >= CLEAR_SESSIONS)
    }
}

/// The measure phase without its stalls and dips.
pub(crate) fn ordinary(intervals: &[Interval], stalls: &[Stall]) -> Vec<(f64, f64)> {
    let measured: Vec<_> = intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
    let Some((first, last)) = measured.first().zip(measured.last()) else { return Vec::new() };
    let mut parts = Vec::new();
    let mut from_ms = first.start_ms;
    for stall in stalls {
        parts.push((from_ms, stall.start_ms));
        from_ms = stall.end_ms();
    }
    parts.push((from_ms, last.start_ms + last.length_ms));
    parts.retain(|(from, to)| to > from);
    parts
}

pub(crate) fn coincident(
    probe: &ProbeSeries,
    waits: Option<&Waits<'_>>,
    stretch: (f64, f64),
    ordinary: &[(f64, f64)],
) -> Coincident {
    let times = probe.times(ProbeSource::Server);
    let readings = times.iter().filter(|at| (stretch.0..=stretch.1).contains(*at)).count();
    let changes = waits.map(|waits| waits.changes(stretch.0, stretch.1, ordinary));
    let mut waits = changes.unwrap_or_default();
    // Sessions that were counted before and after it say nothing of what they did in it; time that was waited does.
    waits.retain(|wait| readings > 0 || !is_counted(probe, wait));
    Coincident { readings, waits, signs: signs(probe, stretch, ordinary) }
}

/// The sessions were counted at each reading: no time was added up.
fn is_counted(probe: &ProbeSeries, wait: &Wait) -> bool {
    ["session", "status"].iter().any(|place| !probe.points(&format!("{place}.{}", wait.name)).is_empty())
        && wait.name != ROW_LOCK_TIME
}

/// The one wait of the status that is time.
const ROW_LOCK_TIME: &str = "Innodb_row_lock_time";

/// To the last reading before a stretch and the first one after it: between two readings nothing is known.
pub(crate) fn widened(times: &[f64], from_ms: f64, to_ms: f64) -> (f64, f64) {
    let before = times.partition_point(|at| *at <= from_ms).saturating_sub(1);
    let after = times.partition_point(|at| *at < to_ms).min(times.len().saturating_sub(1));
    (times.get(before).copied().unwrap_or(from_ms), times.get(after).copied().unwrap_or(to_ms))
}

#[cfg(test)]
mod tests {
    use truetps_record::{Family, ProbeHeader, ProbeSample};

    use super::*;
    use crate::signs::SignUnit;
    use crate::wait_class::WaitClass;

    #[test]
    fn a_stretch_is_widened_to_the_readings_around_it() {
        let times = [0.0, 1000.0, 2000.0, 3000.0];
        assert_eq!(widened(&times, 1200.0, 1900.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, 1000.0, 2000.0), (1000.0, 2000.0));
        assert_eq!(widened(&times, -50.0, 9000.0), (0.0, 3000.0));
        assert_eq!(widened(&[], 5.0, 6.0), (5.0, 6.0));
    }

    /// From 2 s on one session at a time waits for the redo log, which is timed, and eight in place of two are in their commit.
    fn probe(times_ms: &[f64]) -> ProbeSeries {
        let header =
            ProbeHeader { schema_version: 1, interval_ms: 1e3, family: Some(Family::Mysql), absent: Vec::new() };
        let sample = |at_ms: &f64| {
            let redo_us = (at_ms - 2000.0).max(0.0) * 1e3;
            let commit = if *at_ms >= 2000.0 { 8.0 } else { 2.0 };
            let values = [("wait.wait/io/file/innodb/innodb_log_file.us", redo_us), ("session.Commit", commit)];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            ProbeSample { source: ProbeSource::Server, at_ms: *at_ms, took_ms: 1.0, values, lost: Vec::new() }
        };
        ProbeSeries::of(&header, times_ms.iter().map(sample))
    }

    #[test]
    fn sessions_that_were_counted_at_its_edges_are_not_coincident() {
        let at = |times_ms: &[f64]| {
            let probe = probe(times_ms);
            let waits = Waits::of(&probe);
            let found = coincident(&probe, waits.as_ref(), (2100.0, 2900.0), &[(0.0, 2000.0)]);
            (found.readings, found.waits.iter().map(|wait| wait.name.clone()).collect::<Vec<_>>())
        };
        let redo = "wait/io/file/innodb/innodb_log_file".to_owned();
        assert_eq!(at(&[0.0, 1000.0, 2000.0, 3000.0]), (0, vec![redo.clone()]));
        let (readings, waits) = at(&[0.0, 1000.0, 2000.0, 2500.0, 3000.0]);
        assert_eq!((readings, waits.len()), (1, 2), "{waits:?}");
    }

    #[test]
    fn a_headline_names_what_is_clear_and_nothing_else() {
        let silence = SignalChange { name: "silence", unit: SignUnit::Seconds, value: 12.2, usual: None };
        let told = |readings, sessions, usual, signs: &[SignalChange]| {
            let wait = Wait { name: "Commit".to_owned(), class: WaitClass::Commit, sessions, usual_sessions: usual };
            let coincident = Coincident { readings, waits: vec![wait], signs: signs.to_vec() };
            coincident.telling().map(|telling| matches!(telling, Telling::Wait(_)))
        };
        assert_eq!(told(3, 12.0, Some(2.9), &[]), Some(true));
        assert_eq!(told(0, 12.0, Some(2.9), &[]), None, "not read within it");
        assert_eq!(told(3, 3.3, Some(2.9), &[]), None, "as usual");
        assert_eq!(told(3, 4.0, Some(3.8), &[]), None, "next to the usual");
        assert_eq!(told(3, 0.4, Some(0.0), &[]), None, "less than half a session");
        assert_eq!(told(3, 4.0, None, &[]), None, "nothing to compare it with");
        assert_eq!(told(3, 12.0, Some(2.9), &[silence]), Some(false));
        assert_eq!(told(0, 0.0, None, &[silence]), Some(false));
    }
}
