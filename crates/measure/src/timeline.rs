//! Phases and intervals on one monotonic clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use truetps_record::Phase;

const INTERVAL_NS: u64 = 1_000_000_000;

/// If this many intervals have passed before any worker opens the next one, they become one:
/// otherwise, after a pause of hours, each worker would deliver thousands of empty ones.
const MISSED_MAX: u64 = 3;

/// An early end is set this far ahead, so that no worker has already passed it, even if the thread
/// that sets it has to wait for a core. The length of the phase is exact in any case.
const END_LEAD_NS: u64 = 10_000_000;

/// The times of all phases, in nanoseconds from the first transaction. The end of the measure phase
/// can be moved forward while it runs: because a count is reached, by the user, or because no
/// client is left.
#[derive(Debug)]
pub struct Timeline {
    start: Instant,
    warm_up_ns: u64,
    end_ns: AtomicU64,
    opened: Mutex<Opened>,
}

/// The slices opened so far: the same for all workers.
#[derive(Debug, Default)]
struct Opened {
    /// Start of the latest.
    latest_ns: u64,
    /// Start and planned end of slices that are longer than an interval.
    long: Vec<(u64, u64)>,
}

/// One period with one set of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub phase: Phase,
    pub start_ns: u64,
    /// The planned end; `u64::MAX` for the drain, which ends when nothing is in flight.
    pub end_ns: u64,
}

/// Nanoseconds of a duration. More than 584 years mean never.
pub fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Timeline {
    /// `Duration::MAX` means no time limit.
    pub fn new(start: Instant, warm_up: Duration, measure: Duration) -> Self {
        let (warm_up_ns, measure_ns) = (ns(warm_up), ns(measure));
        let end_ns = AtomicU64::new(warm_up_ns.saturating_add(measure_ns));
        Self { start, warm_up_ns, end_ns, opened: Mutex::default() }
    }

    pub fn start(&self) -> Instant {
        self.start
    }

    /// Nanoseconds since the first transaction; 0 before it.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        Instant::now().saturating_duration_since(self.start).as_nanos() as u64
    }

    /// End of the measure phase.
    #[inline]
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn measure_start_ns(&self) -> u64 {
        self.warm_up_ns.min(self.end_ns())
    }

    /// Ends the measure phase (and the warm-up before it) now, if it is not over yet.
    pub fn end_now(&self) {
        self.end_ns.fetch_min(self.now_ns() + END_LEAD_NS, Ordering::Relaxed);
    }

    /// The slice after one that ended at `start_ns`, opened at `now_ns`; both are 0 for the first
    /// one.
    pub(crate) fn next_slice(&self, start_ns: u64, now_ns: u64) -> Slice {
        let end_ns = self.end_ns();
        let (phase, phase_end_ns) = if start_ns >= end_ns {
            return Slice { phase: Phase::Drain, start_ns, end_ns: u64::MAX };
        } else if start_ns < self.warm_up_ns {
            (Phase::WarmUp, self.warm_up_ns)
        } else {
            (Phase::Measure, end_ns)
        };
        Slice { phase, start_ns, end_ns: self.planned_end_ns(start_ns, now_ns).min(phase_end_ns) }
    }

    /// The end of a slice that no phase cuts short. The worker that opens it first decides.
    fn planned_end_ns(&self, start_ns: u64, now_ns: u64) -> u64 {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let missed = now_ns.saturating_sub(start_ns) / INTERVAL_NS;
        if start_ns > opened.latest_ns && missed > MISSED_MAX {
            opened.long.push((start_ns, start_ns + missed * INTERVAL_NS));
        }
        opened.latest_ns = opened.latest_ns.max(start_ns);
        let long = opened.long.iter().find(|(long_ns, _)| *long_ns == start_ns);
        long.map_or(start_ns + INTERVAL_NS, |(_, end_ns)| *end_ns)
    }

    /// The current end of this slice: the measure phase may have been cut short since it was made.
    #[inline]
    pub fn slice_end_ns(&self, slice: &Slice) -> u64 {
        if slice.phase == Phase::Drain {
            u64::MAX
        } else {
            slice.end_ns.min(self.end_ns()).max(slice.start_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(warm_up_ms: u64, measure_ms: u64) -> Vec<(Phase, u64, u64)> {
        let timeline = Timeline::new(
            Instant::now(),
            Duration::from_millis(warm_up_ms),
            Duration::from_millis(measure_ms),
        );
        let mut slice = timeline.next_slice(0, 0);
        let mut list = Vec::new();
        while slice.phase != Phase::Drain {
            list.push((slice.phase, slice.start_ns / 1_000_000, slice.end_ns / 1_000_000));
            slice = timeline.next_slice(slice.end_ns, slice.end_ns);
        }
        list
    }

    #[test]
    fn phases_do_not_share_an_interval() {
        use Phase::{Measure, WarmUp};
        assert_eq!(
            slices(1500, 2200),
            [
                (WarmUp, 0, 1000),
                (WarmUp, 1000, 1500),
                (Measure, 1500, 2500),
                (Measure, 2500, 3500),
                (Measure, 3500, 3700)
            ]
        );
        assert_eq!(slices(0, 1000), [(Measure, 0, 1000)]);
    }

    #[test]
    fn a_phase_without_end_can_be_ended() {
        for (warm_up, phase) in [(Duration::ZERO, Phase::Measure), (Duration::MAX, Phase::WarmUp)] {
            let timeline = Timeline::new(Instant::now(), warm_up, Duration::MAX);
            let slice = timeline.next_slice(0, 0);
            assert_eq!((slice.phase, slice.end_ns), (phase, INTERVAL_NS));
            assert_eq!(
                timeline.next_slice(5 * INTERVAL_NS, 5 * INTERVAL_NS).end_ns,
                6 * INTERVAL_NS
            );
            assert_eq!(timeline.end_ns(), u64::MAX);
            timeline.end_now();
            assert_eq!(timeline.next_slice(timeline.slice_end_ns(&slice), 0).phase, Phase::Drain);
        }
    }

    /// Two workers at different positions when everything stops for four hours.
    #[test]
    fn hours_without_a_running_worker_are_one_interval_for_all() {
        const S: u64 = INTERVAL_NS;
        let timeline =
            Timeline::new(Instant::now(), Duration::from_secs(2), Duration::from_hours(2));
        let now_ns = 4 * 3600 * S;
        // The first is in [3, 4), the second still in [2, 3).
        timeline.next_slice(2 * S, 2 * S);
        timeline.next_slice(3 * S, 3 * S);
        let slices = |mut start_ns| {
            let mut list = Vec::new();
            loop {
                let slice = timeline.next_slice(start_ns, now_ns);
                list.push((slice.phase, slice.start_ns / S, slice.end_ns / S));
                if slice.phase == Phase::Drain {
                    return list;
                }
                start_ns = slice.end_ns;
            }
        };
        let second = slices(3 * S);
        assert_eq!(second[..2], [(Phase::Measure, 3, 4), (Phase::Measure, 4, 7202)]);
        assert_eq!(slices(4 * S), second[1..]);
        assert_eq!(second.len(), 3);
    }

    #[test]
    fn an_end_in_the_warm_up_leaves_no_measure_phase() {
        let timeline =
            Timeline::new(Instant::now(), Duration::from_secs(5), Duration::from_secs(5));
        let slice = timeline.next_slice(0, 0);
        timeline.end_now();
        let end = timeline.slice_end_ns(&slice);
        assert!(end < 1_000_000_000);
        assert_eq!(timeline.next_slice(end, end).phase, Phase::Drain);
        assert_eq!(timeline.measure_start_ns(), timeline.end_ns());
    }
}
