//! When events may start and when they must stop: state that all clients of a run read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::event_tally::EventStart;
use super::pace::RatePace;

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextEvent {
    Go(EventStart),
    /// Nothing until then: it has claimed the start at that time.
    Wait {
        due_ns: u64,
    },
    Stop(StopReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    Time,
    Events,
    /// An error occurred, or the user interrupted the run.
    Ended,
}

/// Why the events are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventsEnding {
    /// All clients have ended.
    Complete,
    /// A client failed: the figures are meaningless.
    Failed,
    /// `--forced-shutdown`.
    Forced,
    /// Events had not ended long after `--time`.
    Hanging,
    Interrupted,
}

#[derive(Debug)]
pub(crate) struct Control {
    zero: Instant,
    ended: AtomicBool,
    /// The run no longer waits for clients that are still running.
    abandoned: AtomicBool,
    /// Threads that were allowed to start.
    awake: AtomicU32,
    /// Clients that have not ended.
    running: AtomicU32,
    /// u64::MAX: none.
    deadline_ns: AtomicU64,
    /// When the run stops waiting for unfinished events; u64::MAX: never.
    gives_up_ns: AtomicU64,
    /// 0: no limit.
    events_max: u64,
    /// Started events that count against the limit.
    events_started: AtomicU64,
    /// A warm-up is not limited.
    is_warming_up: AtomicBool,
    pace: Option<Mutex<RatePace>>,
}

/// No start is claimed.
pub(crate) const UNCLAIMED: u64 = u64::MAX;

impl Control {
    pub(crate) fn new(events_max: u64, is_warming_up: bool) -> Self {
        Self {
            zero: Instant::now(),
            ended: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            awake: AtomicU32::new(0),
            running: AtomicU32::new(0),
            deadline_ns: AtomicU64::new(u64::MAX),
            gives_up_ns: AtomicU64::new(u64::MAX),
            events_max,
            events_started: AtomicU64::new(0),
            is_warming_up: AtomicBool::new(is_warming_up),
            pace: None,
        }
    }

    #[must_use]
    pub(crate) fn with_pace(mut self, pace: Option<RatePace>) -> Self {
        self.pace = pace.map(Mutex::new);
        self
    }

    /// Nanoseconds since the control was made. Never 0.
    pub(crate) fn now_ns(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64 + 1
    }

    /// Whether a failed event may be retried: only for a limited time after the run's end.
    pub(crate) fn may_restart(&self) -> bool {
        const LONGER_NS: u64 = 1_000_000_000;
        !self.has_ended() && self.now_ns() < self.deadline_ns().saturating_add(LONGER_NS)
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn abandon(&self) {
        self.end();
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Waits until all these threads have arrived, so that none has run all events before the
    /// others are awake. The wait for a missing thread is short.
    pub(crate) fn start_together(&self, threads: u32) {
        const PATIENCE: Duration = Duration::from_millis(20);
        let began = Instant::now();
        self.awake.fetch_add(1, Ordering::Relaxed);
        while self.awake.load(Ordering::Relaxed) < threads && began.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }

    pub(crate) fn set_running(&self, clients: u32) {
        self.running.store(clients, Ordering::Relaxed);
    }

    pub(crate) fn client_ended(&self) {
        let _ = self
            .running
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |running| running.checked_sub(1));
    }

    pub(crate) fn running(&self) -> u32 {
        self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn set_deadline_ns(&self, deadline_ns: u64) {
        self.deadline_ns.store(deadline_ns, Ordering::Relaxed);
    }

    pub(crate) fn set_gives_up_ns(&self, gives_up_ns: u64) {
        self.gives_up_ns.store(gives_up_ns, Ordering::Relaxed);
    }

    /// Whether unfinished events are abandoned now.
    pub(crate) fn gives_up(&self) -> bool {
        self.is_abandoned() || self.now_ns() >= self.gives_up_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn deadline_ns(&self) -> u64 {
        self.deadline_ns.load(Ordering::Relaxed)
    }

    /// The time of a moment after the control was made.
    pub(crate) fn ns_at(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.zero).as_nanos() as u64 + 1
    }

    /// The schedule begins at this moment.
    pub(crate) fn begin_pace(&self, at_ns: u64) {
        self.with_pace_of(|pace| pace.begin(at_ns));
    }

    /// The warm-up was to end at `at_ns`: the starts before it are over.
    pub(crate) fn end_warm_up(&self, at_ns: u64) {
        self.is_warming_up.store(false, Ordering::Relaxed);
        self.with_pace_of(|pace| pace.skip_to(at_ns));
    }

    pub(crate) fn has_pace(&self) -> bool {
        self.pace.is_some()
    }

    /// Starts that are due and wait for a client.
    pub(crate) fn queued(&self) -> u64 {
        self.queued_at(self.now_ns())
    }

    /// The number at this moment, which is no earlier than the moment of any former call.
    pub(crate) fn queued_at(&self, at_ns: u64) -> u64 {
        self.with_pace_of(|pace| pace.queued(at_ns.min(self.deadline_ns()))).unwrap_or(0)
    }

    fn with_pace_of<R>(&self, f: impl FnOnce(&mut RatePace) -> R) -> Option<R> {
        let pace = self.pace.as_ref()?;
        Some(f(&mut pace.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }

    /// The next action of a free client. `claimed_ns` is the start that it has claimed, or
    /// [`UNCLAIMED`]; it is kept between calls.
    pub(crate) fn next(&self, claimed_ns: &mut u64) -> NextEvent {
        if self.has_ended() {
            return NextEvent::Stop(StopReason::Ended);
        }
        let (now_ns, deadline_ns) = (self.now_ns(), self.deadline_ns());
        if now_ns >= deadline_ns {
            if std::mem::replace(claimed_ns, UNCLAIMED) < deadline_ns {
                // It was due, but no client will make it.
                self.with_pace_of(RatePace::give_back);
            }
            return NextEvent::Stop(StopReason::Time);
        }
        // With a schedule, a claimed event counts: no client waits for a start that would not be
        // made.
        let is_claimed = *claimed_ns != UNCLAIMED;
        if !is_claimed && !self.takes_one() {
            return NextEvent::Stop(StopReason::Events);
        }
        let mut start_ns = now_ns;
        if let Some(due_ns) = self.due(claimed_ns) {
            if due_ns >= deadline_ns {
                return NextEvent::Wait { due_ns: deadline_ns };
            }
            if due_ns > now_ns {
                return NextEvent::Wait { due_ns };
            }
            start_ns = due_ns;
        }
        *claimed_ns = UNCLAIMED;
        NextEvent::Go(EventStart { scheduled_ns: start_ns, started_ns: now_ns })
    }

    fn due(&self, claimed_ns: &mut u64) -> Option<u64> {
        if self.pace.is_some() && *claimed_ns == UNCLAIMED {
            *claimed_ns = self.with_pace_of(RatePace::claim)?;
        }
        (*claimed_ns != UNCLAIMED).then_some(*claimed_ns)
    }

    fn takes_one(&self) -> bool {
        if self.events_max == 0 || self.is_warming_up.load(Ordering::Relaxed) {
            return true;
        }
        self.events_started.fetch_add(1, Ordering::Relaxed) < self.events_max
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::Part;

    use super::*;
    use crate::rand::Xoroshiro;

    fn next(control: &Control) -> NextEvent {
        control.next(&mut UNCLAIMED.clone())
    }

    #[test]
    fn events_are_limited_after_the_warm_up() {
        let control = Control::new(2, true);
        for _ in 0..5 {
            assert!(matches!(next(&control), NextEvent::Go(_)));
        }
        control.end_warm_up(0);
        assert!(matches!(next(&control), NextEvent::Go(_)));
        assert!(matches!(next(&control), NextEvent::Go(_)));
        assert_eq!(next(&control), NextEvent::Stop(StopReason::Events));
    }

    #[test]
    fn time_and_end_stop_all_clients() {
        let control = Control::new(0, false);
        control.set_deadline_ns(control.now_ns());
        assert_eq!(next(&control), NextEvent::Stop(StopReason::Time));
        control.end();
        assert_eq!(next(&control), NextEvent::Stop(StopReason::Ended));
    }

    #[test]
    fn a_claimed_start_is_kept_until_it_is_due() {
        let control = Control::new(0, false).with_pace(Some(RatePace::new(
            1.0,
            Xoroshiro::from_seed(1, 0),
            1 << 40,
            Part::WHOLE,
        )));
        let mut claimed_ns = UNCLAIMED;
        let first = control.next(&mut claimed_ns);
        assert_eq!(first, NextEvent::Wait { due_ns: claimed_ns });
        assert_eq!(control.next(&mut claimed_ns), first);
        claimed_ns = 5;
        assert!(matches!(
            control.next(&mut claimed_ns),
            NextEvent::Go(EventStart { scheduled_ns: 5, .. })
        ));
        assert_eq!(claimed_ns, UNCLAIMED);
    }
}
