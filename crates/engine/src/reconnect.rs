//! Clients whose connection broke, or is renewed: when each tries to connect again, and when it
//! gives up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use truetps_driver::DriverError;
use truetps_measure::ns;

use crate::client::{Absence, ClientState, EngineClient};

/// Pause before the first new attempt; each further pause is twice as long, up to the second value.
const BACK_OFF_FIRST: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// Pause before a renewal is tried again if a server's queue of new connections is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);
/// A server at its connection limit still counts a connection after its goodbye, until it has
/// processed it. For this long a renewal is retried before it has failed.
const FULL_MAX: Duration = Duration::from_secs(1);
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// Time limit of one attempt.
pub(crate) const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// The clients of a worker that have no connection.
pub(crate) struct Reconnects {
    /// How long a client tries to restore its connection; `None`: not at all.
    patience: Option<Duration>,
    /// When clients have their next action.
    wakes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Reconnects {
    pub(crate) fn new(patience: Option<Duration>) -> Self {
        Self { patience, wakes: BinaryHeap::new() }
    }

    /// Time of the next action.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.wakes.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// Takes a client whose action is due: its next attempt, or the end of the current one.
    #[inline]
    pub(crate) fn pop_due(&mut self, clients: &[EngineClient], now_ns: u64) -> Option<usize> {
        while self.next_ns() <= now_ns {
            let Reverse((at_ns, slot)) = self.wakes.pop()?;
            // An attempt that ended early leaves the wake-up of its time limit behind.
            if clients[slot].absence.as_ref().is_some_and(|absence| absence.wakes_ns == at_ns) {
                return Some(slot);
            }
        }
        None
    }

    /// Sets the only wake-up of a client: an earlier one is void.
    fn wake_at(&mut self, slot: usize, client: &mut EngineClient, at_ns: u64) {
        if let Some(absence) = &mut client.absence {
            absence.wakes_ns = at_ns;
            self.wakes.push(Reverse((at_ns, slot)));
        }
    }

    /// The client has closed its connection, and reconnects as soon as the current events are
    /// handled.
    pub(crate) fn renew(&mut self, slot: usize, client: &mut EngineClient, now_ns: u64) {
        client.state = ClientState::Away;
        client.absence = Some(Box::new(Absence::new(now_ns + ns(ATTEMPT_MAX), QUEUE_PAUSE, true)));
        self.wake_at(slot, client, now_ns);
    }

    /// The connection broke, or an attempt to connect failed: sets the next attempt, after a longer
    /// pause each time. `false`: there is none. `is_over`: no client starts to reconnect any more.
    pub(crate) fn retry(
        &mut self,
        slot: usize,
        client: &mut EngineClient,
        now_ns: u64,
        is_over: bool,
    ) -> bool {
        let number = client.number;
        let at_ns = match client.absence.as_mut().filter(|absence| !absence.is_planned) {
            Some(absence) if now_ns >= absence.ends_ns => return false,
            Some(absence) => {
                absence.back_off = (absence.back_off * 2).min(BACK_OFF_MAX);
                (now_ns + spread(absence.back_off, number)).min(absence.ends_ns)
            }
            // A renewal that failed is treated like a broken connection from here on.
            None => {
                let Some(patience) = self.patience.filter(|_| !is_over) else { return false };
                let ends_ns = now_ns.saturating_add(ns(patience));
                client.absence = Some(Box::new(Absence::new(ends_ns, BACK_OFF_FIRST, false)));
                now_ns + spread(BACK_OFF_FIRST, number)
            }
        };
        client.state = ClientState::Away;
        self.wake_at(slot, client, at_ns);
        true
    }

    /// An attempt has begun: the client has a connection that is not logged in yet.
    pub(crate) fn attempt_began(&mut self, slot: usize, client: &mut EngineClient, now_ns: u64) {
        client.state = ClientState::Connecting;
        self.wake_at(slot, client, now_ns + ns(ATTEMPT_MAX));
    }

    /// A renewal waits for a server whose queue of new connections is full: this is not a failure.
    /// Returns whether it does.
    pub(crate) fn waits_in_queue(
        &mut self,
        slot: usize,
        client: &mut EngineClient,
        now_ns: u64,
    ) -> bool {
        let waits = client
            .absence
            .as_ref()
            .is_some_and(|absence| absence.is_planned && now_ns < absence.ends_ns);
        if waits {
            self.wake_at(slot, client, now_ns + ns(QUEUE_PAUSE));
        }
        waits
    }

    /// A renewal also waits for a server that has no free connection yet; returns whether it does.
    pub(crate) fn waits_for_room(
        &mut self,
        slot: usize,
        client: &mut EngineClient,
        error: &DriverError,
        now_ns: u64,
    ) -> bool {
        let is_attempt = client.state == ClientState::Connecting && error.is_session_limit();
        let Some(absence) =
            client.absence.as_mut().filter(|absence| is_attempt && absence.is_planned)
        else {
            return false;
        };
        if now_ns >= *absence.full_until_ns.get_or_insert(now_ns + ns(FULL_MAX)) {
            return false;
        }
        client.link = None;
        client.state = ClientState::Away;
        let at_ns = now_ns + spread(FULL_PAUSE, client.number);
        self.wake_at(slot, client, at_ns);
        true
    }
}

/// The pause, shortened by up to a half, differently for each client, so that they do not all
/// reconnect at once.
pub(crate) fn spread(pause: Duration, number: u32) -> u64 {
    let share = f64::from(number.wrapping_mul(0x9e37_79b9) >> 16) / 65_536.0;
    pause.mul_f64(1.0 - share / 2.0).as_nanos() as u64
}
