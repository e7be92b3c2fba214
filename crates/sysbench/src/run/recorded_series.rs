//! The intervals of the run folder, from the tallies of all threads and the counters of all
//! clients.

use truetps_measure::{IntervalSeries, MeasuredSums, Tally};
use truetps_record::{Counts, Histogram, Interval, Phase, StartCounts};

use crate::command::SlotCounts;

/// State of a run at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunReading {
    pub(crate) now_ns: u64,
    pub(crate) counts: SlotCounts,
    /// Starts that are due and that no client has taken.
    pub(crate) queued: u64,
}

pub(crate) struct RecordedSeries {
    series: IntervalSeries,
    /// The current interval, so far.
    tally: Tally,
    phase: Phase,
    /// When it began.
    began: RunReading,
    /// Counters of the measured time.
    pub(crate) script: SlotCounts,
}

impl RecordedSeries {
    /// The first events begin at this moment. `early`: what was counted before it.
    pub(crate) fn begin(now: RunReading, phase: Phase, early: &Tally) -> Self {
        let has_rate = early.sums.open.is_some();
        let mut tally = Tally::new(now.now_ns, has_rate);
        tally.sums.append(&early.sums);
        tally.restart(now.now_ns);
        tally.sums.errors.merge(&early.sums.errors);
        Self {
            series: IntervalSeries::new(now.now_ns, has_rate),
            tally,
            phase,
            began: now,
            script: SlotCounts::default(),
        }
    }

    /// When the current interval began.
    pub(crate) fn began_ns(&self) -> u64 {
        self.began.now_ns
    }

    /// Adds what all threads counted in the current interval.
    pub(crate) fn add(&mut self, tally: &Tally) {
        self.tally.append(tally);
    }

    /// The current interval ends. `None`: it was empty.
    pub(crate) fn end_interval(&mut self, now: RunReading) -> Option<(Interval, Histogram)> {
        self.end(now, false)
    }

    /// The warm-up ends with the current interval: starts that no client has taken so far are
    /// dropped.
    pub(crate) fn end_warm_up(&mut self, now: RunReading) -> Option<(Interval, Histogram)> {
        let last = self.end(now, true);
        self.phase = Phase::Measure;
        last
    }

    fn end(&mut self, now: RunReading, drops_queue: bool) -> Option<(Interval, Histogram)> {
        let began = std::mem::replace(&mut self.began, now);
        let seen = now.counts.since(began.counts);
        let counts = &mut self.tally.sums.counts;
        counts.statements = seen.reads + seen.writes + seen.other;
        counts.retried = seen.errors;
        let Counts { started, ok, failed, statements, retried, .. } = *counts;
        if let Some(open) = &mut self.tally.sums.open {
            // The queue was read a moment after the events.
            let queued = now.queued.max(began.queued.saturating_sub(started));
            let scheduled = started + queued - began.queued;
            let skipped = if drops_queue { queued } else { 0 };
            self.began.queued = queued - skipped;
            open.starts = StartCounts {
                queued_in: began.queued,
                scheduled,
                skipped,
                queued: self.began.queued,
            };
        }
        let tally = self.tally.replace_at(now.now_ns);
        if now.now_ns <= began.now_ns && started + ok + failed + statements + retried == 0 {
            return None;
        }
        tally.sums.assert_consistent();
        if self.phase == Phase::Measure {
            self.script = self.script.plus(seen);
        }
        let interval = self.series.append(self.phase, began.now_ns, now.now_ns, &tally);
        Some((interval, tally.sums.response))
    }

    /// The measured time; `None` if it was not reached.
    pub(crate) fn measured(&self) -> Option<&MeasuredSums> {
        Some(&self.series.measured).filter(|measured| measured.has_begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{EventStart, EventTally};

    const MS: u64 = 1_000_000;

    fn at(now_ms: u64, reads: u64, queued: u64) -> RunReading {
        RunReading {
            now_ns: now_ms * MS,
            counts: SlotCounts { reads, ..SlotCounts::default() },
            queued,
        }
    }

    /// A series that begins at 100 ms, and a thread's tally.
    fn series(phase: Phase) -> (RecordedSeries, EventTally) {
        let mut events = EventTally::new(true);
        events.tally.started(0, 0, 0);
        let series = RecordedSeries::begin(at(100, 7, 0), phase, &events.tally);
        events.restart(100 * MS);
        (series, events)
    }

    fn run_event(events: &mut EventTally, scheduled_ms: u64, now_ms: u64) {
        let event =
            EventStart { scheduled_ns: scheduled_ms * MS, started_ns: (scheduled_ms + 1) * MS };
        events.tally.started(event.scheduled_ns, 0, event.started_ns);
        events.ok(event, now_ms * MS);
    }

    #[test]
    fn the_queue_of_a_warm_up_is_not_carried_on() {
        let (mut series, mut events) = series(Phase::WarmUp);
        run_event(&mut events, 120, 130);
        series.add(&events.tally);
        events.restart(200 * MS);
        let (warm_up, _) = series.end_warm_up(at(200, 7, 7)).unwrap();
        let starts = |interval: &Interval| interval.open_loop.as_ref().unwrap().starts;
        assert_eq!(
            starts(&warm_up),
            StartCounts { queued_in: 0, scheduled: 8, skipped: 7, queued: 0 }
        );
        assert!(series.measured().is_none());
        run_event(&mut events, 210, 220);
        series.add(&events.tally);
        let (first, _) = series.end_interval(at(300, 7, 1)).unwrap();
        assert_eq!(
            starts(&first),
            StartCounts { queued_in: 0, scheduled: 2, skipped: 0, queued: 1 }
        );
        assert_eq!(first.phase, Phase::Measure);
    }

    #[test]
    fn intervals_have_the_counts_buckets_and_gaps_of_their_time() {
        let (mut series, mut events) = series(Phase::Measure);
        run_event(&mut events, 110, 130);
        series.add(&events.tally);
        events.restart(100 * MS);
        run_event(&mut events, 390, 400);
        series.add(&events.tally);
        let (interval, histogram) = series.end_interval(at(450, 11, 0)).unwrap();
        assert_eq!(
            (interval.start_ms, interval.length_ms, interval.counts.carried_in),
            (0.0, 350.0, 1)
        );
        assert_eq!(
            (interval.counts.started, interval.counts.ok, interval.counts.statements),
            (2, 2, 4)
        );
        assert_eq!((interval.buckets, histogram.len()), (vec![1, 0, 0, 1], 2));
        assert_eq!(
            interval.gaps.iter().map(|gap| (gap.start_ms, gap.length_ms)).collect::<Vec<_>>(),
            [(30.0, 270.0)]
        );
        assert!(
            interval
                .open_loop
                .unwrap()
                .lag_us_p50
                .is_some_and(|lag| (990.0..1_010.0).contains(&lag))
        );
        // The last interval ends where it began.
        assert!(series.end_interval(at(450, 11, 0)).is_none());
        assert_eq!(
            series.measured().map(|measured| (measured.sums.counts.ok, measured.length_ns)),
            Some((2, 350 * MS))
        );
        assert_eq!(series.script.reads, 4);
    }
}
