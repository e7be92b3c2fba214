//! A number of transactions that ends the measure phase, and what a client does after each of its transactions.

use std::sync::atomic::{AtomicU64, Ordering};

use truetps_measure::{ARRIVALS_MAX, Quota};
use truetps_record::Phase;

use crate::client::{ClientState, EngineClient};
use crate::drive::Drive;

impl Drive<'_, '_> {
    /// The client in this slot has just ended a transaction, successfully or not: decides what it does next.
    pub(crate) fn transaction_ended(&mut self, slot: usize, now_ns: u64) {
        self.worker.clients[slot].has_finished |= self.recorder.phase() == Phase::Measure;
        let is_reached = self.count_down(slot, now_ns);
        let has_share = self.worker.clients[slot].share_left.is_some();
        let is_worn = self.is_worn(slot);
        if is_reached && (has_share || is_worn) {
            self.finish(slot);
        } else if is_worn && now_ns < self.timeline.end_ns() {
            self.renew(slot, now_ns);
        } else {
            self.is_free(slot, now_ns);
        }
    }

    /// Counts a transaction that has ended, if its number matters; returns whether the client need not start another
    /// one. Ends the measure phase when all clients together have reached the number.
    pub(crate) fn count_down(&mut self, slot: usize, now_ns: u64) -> bool {
        let Some(quota) = self.worker.shared.quota else { return false };
        // The current interval contains `now_ns`: the quota and the recorder count in the same phase.
        if self.recorder.phase() != Phase::Measure {
            return false;
        }
        match (quota, &mut self.worker.clients[slot].share_left) {
            (Quota::Together(_), _) if self.pace.is_open() => {
                self.end.last_end_ns = Some(now_ns - self.timeline.measure_start_ns());
                self.settle_starts(1);
                self.schedule_is_over() && self.recorder.tally.queued() == 0
            }
            (Quota::Together(all), _) => {
                let left = self.worker.shared.transactions_left.fetch_sub(1, Ordering::Relaxed);
                if left == 1 {
                    self.timeline.end_now();
                }
                // Below 0 it wraps to the largest number.
                left <= 1 || left > all
            }
            (Quota::Each(_), Some(left)) => {
                *left = left.saturating_sub(1);
                self.end.last_end_ns = Some(now_ns - self.timeline.measure_start_ns());
                *left == 0
            }
            (Quota::Each(_), None) => false,
        }
    }

    /// Whether all requested starts have been scheduled.
    pub(crate) fn schedule_is_over(&self) -> bool {
        let shared = self.worker.shared;
        let is_limited = matches!(shared.quota, Some(Quota::Together(_))) && self.pace.is_open();
        is_limited && self.recorder.phase() != Phase::WarmUp && shared.starts_left.load(Ordering::Relaxed) == 0
    }

    /// Queues starts of the current phase that are scheduled before `until_ns`, at most some thousands; returns whether
    /// these were all. The end may have moved closer in between.
    pub(crate) fn arrive_some(&mut self, until_ns: u64) -> bool {
        let shared = self.worker.shared;
        let is_limited = matches!(shared.quota, Some(Quota::Together(_))) && self.recorder.phase() == Phase::Measure;
        let until_ns = until_ns.min(self.timeline.end_ns());
        let arrived = self.pace.arrive(until_ns, || !is_limited || take_up_to(&shared.starts_left, 1) == 1);
        self.recorder.tally.scheduled(arrived);
        arrived < ARRIVALS_MAX
    }

    /// The measure phase begins: transactions in flight or waiting are part of its number.
    pub(crate) fn count_carried_in(&self) {
        if self.worker.shared.quota.is_some() && self.pace.is_open() {
            let carried_in = self.recorder.tally.in_flight() + self.recorder.tally.queued();
            take_up_to(&self.worker.shared.starts_left, carried_in);
        }
    }

    /// This number of starts of an open loop have ended, or were skipped. Ends the measure phase with the last one.
    pub(crate) fn settle_starts(&self, starts: u64) {
        let is_counted = matches!(self.worker.shared.quota, Some(Quota::Together(_)));
        if starts == 0 || !is_counted || self.recorder.phase() != Phase::Measure {
            return;
        }
        let left = &self.worker.shared.transactions_left;
        if take_up_to(left, starts) > 0 && left.load(Ordering::Relaxed) == 0 {
            self.timeline.end_now();
        }
    }

    /// Ends the measure phase when the schedule is over and no worker has a start to make or to wait for: starts that
    /// wait for lost clients never end.
    pub(crate) fn end_with_the_schedule(&mut self) {
        if self.has_left_work || !self.schedule_is_over() || self.recorder.tally.in_flight() > 0 {
            return;
        }
        // Waiting starts are for clients that reconnect: connected clients have been asked already.
        let may_come_back = |client: &EngineClient| matches!(client.state, ClientState::Connecting | ClientState::Away);
        if self.recorder.tally.queued() > 0 && self.worker.clients.iter().any(may_come_back) {
            return;
        }
        self.has_left_work = true;
        if self.worker.shared.workers_at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.timeline.end_now();
        }
    }

    /// Assigns each client its share. Clients without a share are finished at once, even in the warm-up.
    pub(crate) fn hand_out_shares(&mut self) {
        let (Some(quota), all) = (self.worker.shared.quota, self.worker.shared.clients) else { return };
        for client in &mut self.worker.clients {
            client.share_left = quota.share(client.number, all);
        }
    }

    /// The client has finished: it stays connected until the end.
    pub(crate) fn finish(&mut self, slot: usize) {
        self.worker.clients[slot].state = ClientState::Done;
        self.leave_work();
    }

    /// One client less has work left. Ends the measure phase if it was the last one.
    pub(crate) fn leave_work(&self) {
        if self.worker.shared.clients_at_work.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.timeline.end_now();
        }
    }
}

/// Takes up to `wanted`; returns the number taken.
fn take_up_to(left: &AtomicU64, wanted: u64) -> u64 {
    let take = |left: u64| Some(left.saturating_sub(wanted));
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or_default().min(wanted)
}
