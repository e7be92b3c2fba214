//! Clients whose connection broke, or is to be renewed, and how they reconnect.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

use truetps_driver::DriverError;
use truetps_measure::{AttemptFailure, ns};
use truetps_record::ErrorClass;

use crate::client::{Absence, ClientState};
use crate::drive::Drive;
use crate::login::while_connecting;
use crate::policy::FailureAction;
use crate::worker::Worker;

/// Pause before the first new attempt; each further pause is twice as long, up to the second value.
const BACK_OFF_FIRST: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// Pause before a renewal is tried again if a server's queue of new connections is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);
/// A server at its connection limit still counts a connection after its goodbye, until it has processed it. For this
/// long a renewal is retried before it has failed.
const FULL_MAX: Duration = Duration::from_secs(1);
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// Time limit of one attempt.
const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// When clients without a connection have their next action.
#[derive(Default)]
pub(crate) struct WakeQueue(BinaryHeap<Reverse<(u64, usize)>>);

impl WakeQueue {
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    fn push(&mut self, at_ns: u64, slot: usize) {
        self.0.push(Reverse((at_ns, slot)));
    }

    /// Takes a client whose action is due, with the time that was set.
    #[inline]
    fn pop_due(&mut self, now_ns: u64) -> Option<(u64, usize)> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}

impl Drive<'_, '_> {
    /// The connection is lost, and its transaction with it. Whether it was committed is unknown, so it counts as failed
    /// and is never retried.
    pub(crate) fn lose(&mut self, slot: usize, error: DriverError) {
        let now_ns = self.timeline.now_ns();
        self.tick(now_ns);
        if self.waits_for_room(slot, &error, now_ns) {
            return;
        }
        let client = &mut self.worker.clients[slot];
        let endpoint = self.worker.shared.connector.endpoint(client.number);
        let error = if client.state == ClientState::Connecting { while_connecting(error, endpoint) } else { error };
        let failure = AttemptFailure { class: error.class(), code: error.code(), message: error.to_string() };
        let (was_busy, was_done) = (client.is_busy(), client.state == ClientState::Done);
        let is_attempt = client.state == ClientState::Connecting;
        if client.state == ClientState::Idle {
            self.pace.forget(slot);
        }
        client.link = None;
        client.failure = None;
        let action = self.policy.action(failure.class, u32::MAX);
        if was_busy {
            self.recorder.tally.failed(&failure, action == FailureAction::Ignore);
            self.count_down(slot, now_ns);
        } else {
            self.recorder.tally.note(&failure);
        }
        self.end_run_if(action, &failure);
        if was_done {
            // The client had no work left.
            self.worker.clients[slot].give_up();
        } else if was_busy && self.worker.clients[slot].share_left == Some(0) {
            self.finish(slot);
        } else if is_attempt {
            self.attempt_ended(slot);
        } else {
            self.go_away(slot);
        }
    }

    /// Starts the client's absence, if clients may reconnect.
    fn go_away(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        let Some(patience) = self.policy.reconnect().filter(|_| now_ns < self.timeline.end_ns()) else {
            self.lose_for_good(slot);
            return;
        };
        let client = &mut self.worker.clients[slot];
        client.state = ClientState::Away;
        client.absence = Some(Box::new(Absence {
            ends_ns: now_ns.saturating_add(ns(patience)),
            back_off: BACK_OFF_FIRST,
            wakes_ns: u64::MAX,
            is_planned: false,
            full_until_ns: None,
        }));
        let pause_ns = spread(BACK_OFF_FIRST, client.number);
        self.wake_at(slot, now_ns + pause_ns);
    }

    /// Whether the connection has reached its number of transactions with the one that has just ended.
    pub(crate) fn is_worn(&mut self, slot: usize) -> bool {
        let Some(most) = self.worker.shared.reconnect_every else { return false };
        let client = &mut self.worker.clients[slot];
        client.on_connection += 1;
        client.on_connection >= most.get()
    }

    /// Sends the goodbye, and reconnects as soon as the current events are handled.
    pub(crate) fn renew(&mut self, slot: usize, now_ns: u64) {
        let Worker { clients, scratch, .. } = &mut *self.worker;
        let client = &mut clients[slot];
        if let Some(link) = client.link.take() {
            link.quit(scratch);
        }
        client.state = ClientState::Away;
        client.absence = Some(Box::new(Absence {
            ends_ns: now_ns + ns(ATTEMPT_MAX),
            back_off: QUEUE_PAUSE,
            wakes_ns: u64::MAX,
            is_planned: true,
            full_until_ns: None,
        }));
        self.wake_at(slot, now_ns);
    }

    /// Sets the only wake-up of a disconnected client: an earlier one is void.
    fn wake_at(&mut self, slot: usize, at_ns: u64) {
        if let Some(absence) = &mut self.worker.clients[slot].absence {
            absence.wakes_ns = at_ns;
            self.wakes.push(at_ns, slot);
        }
    }

    fn lose_for_good(&mut self, slot: usize) {
        self.worker.clients[slot].give_up();
        self.end.lost += 1;
        self.leave_work();
    }

    /// Wakes the disconnected clients whose next action is due.
    pub(crate) fn wake(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some((at_ns, slot)) = self.wakes.pop_due(now_ns) {
            let client = &mut self.worker.clients[slot];
            // An attempt that ended early leaves the wake-up of its time limit behind.
            if client.absence.as_ref().is_none_or(|absence| absence.wakes_ns != at_ns) {
                continue;
            }
            match client.state {
                ClientState::Away => self.try_again(slot, now_ns)?,
                ClientState::Connecting => {
                    let message = format!("no answer to the login within {} s", ATTEMPT_MAX.as_secs());
                    client.link = None;
                    self.attempt_failed_to_connect(slot, ErrorClass::ConnectFailed, message);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn try_again(&mut self, slot: usize, now_ns: u64) -> io::Result<()> {
        let number = self.worker.clients[slot].number;
        match self.worker.open_link(number) {
            Ok(link) => {
                let client = &mut self.worker.clients[slot];
                client.link = Some(link);
                client.state = ClientState::Connecting;
                self.wake_at(slot, now_ns + ns(ATTEMPT_MAX));
                self.worker.watch(slot)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.waits_in_queue(slot, now_ns) => {
                self.wake_at(slot, now_ns + ns(QUEUE_PAUSE));
                Ok(())
            }
            Err(source) => {
                let error =
                    DriverError::Connect { endpoint: self.worker.shared.connector.endpoint(number).clone(), source };
                self.attempt_failed_to_connect(slot, error.class(), error.to_string());
                Ok(())
            }
        }
    }

    /// A renewal waits for a server whose queue of new connections is full: this is not a failure.
    fn waits_in_queue(&self, slot: usize, now_ns: u64) -> bool {
        let absence = &self.worker.clients[slot].absence;
        absence.as_ref().is_some_and(|absence| absence.is_planned && now_ns < absence.ends_ns)
    }

    /// A renewal also waits for a server that has no free connection yet; returns whether it does.
    fn waits_for_room(&mut self, slot: usize, error: &DriverError, now_ns: u64) -> bool {
        let client = &mut self.worker.clients[slot];
        let is_renewal =
            client.state == ClientState::Connecting && client.absence.as_ref().is_some_and(|one| one.is_planned);
        let Some(absence) = client.absence.as_mut().filter(|_| is_renewal && is_for_want_of_room(error)) else {
            return false;
        };
        let until_ns = *absence.full_until_ns.get_or_insert(now_ns + ns(FULL_MAX));
        if now_ns >= until_ns {
            return false;
        }
        client.link = None;
        client.state = ClientState::Away;
        let pause_ns = spread(FULL_PAUSE, client.number);
        self.wake_at(slot, now_ns + pause_ns);
        true
    }

    /// An attempt to connect failed without a session that could say why.
    fn attempt_failed_to_connect(&mut self, slot: usize, class: ErrorClass, message: String) {
        let failure = AttemptFailure { class, code: 0, message };
        self.recorder.tally.note(&failure);
        self.end_run_if(self.policy.action(failure.class, u32::MAX), &failure);
        self.attempt_ended(slot);
    }

    /// An attempt to connect failed: retry after a longer pause, or give up.
    fn attempt_ended(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        let client = &mut self.worker.clients[slot];
        let number = client.number;
        match &mut client.absence {
            // From here on it is treated like a broken connection.
            Some(absence) if absence.is_planned => self.go_away(slot),
            Some(absence) if now_ns < absence.ends_ns => {
                absence.back_off = (absence.back_off * 2).min(BACK_OFF_MAX);
                client.state = ClientState::Away;
                let at_ns = (now_ns + spread(absence.back_off, number)).min(absence.ends_ns);
                self.wake_at(slot, at_ns);
            }
            _ => self.lose_for_good(slot),
        }
    }

    /// A login is done: the client is connected again.
    pub(crate) fn on_ready(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        let client = &mut self.worker.clients[slot];
        client.on_connection = 0;
        let is_planned = client.absence.take().is_some_and(|absence| absence.is_planned);
        *if is_planned { &mut self.end.renewed } else { &mut self.end.reconnects } += 1;
        self.is_free(slot, now_ns);
    }
}

/// The server, or the account, has reached its connection limit.
fn is_for_want_of_room(error: &DriverError) -> bool {
    matches!(error, DriverError::Server(said) if matches!(said.code, 1040 | 1203 | 1226) || said.sqlstate == "53300")
}

/// The pause, shortened by up to a half, differently for each client, so that they do not all reconnect at once.
fn spread(pause: Duration, number: u32) -> u64 {
    let share = f64::from(number.wrapping_mul(0x9e37_79b9) >> 16) / 65_536.0;
    pause.mul_f64(1.0 - share / 2.0).as_nanos() as u64
}
