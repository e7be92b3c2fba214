//! The result of a run.

use std::time::Duration;

use truetps_measure::{MeasuredLoad, MeasuredSums, Pacing, ThreadTime, WorkerUse};
use truetps_record::{DriveMode, ErrorCount, ErrorTally, LatencyFigures};

use crate::load::LoadSpec;

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    Complete,
    /// The caller ended it.
    Interrupted,
    /// Every client had lost its connection.
    AllClientsLost,
    /// An error that the policy declares fatal.
    Fatal(String),
    /// No client could connect: nothing was sent.
    NoClientConnected,
    /// The observer refused the start.
    NotStarted(String),
    /// The observer could not store an interval.
    ObserverFailed(String),
}

/// How the clients of one worker ended, or of all.
#[derive(Debug, Clone, Default)]
pub struct ClientEnds {
    /// Clients whose connection broke, and was not restored although they had work left.
    pub lost: u32,
    /// Clients without an answer when the drain ended.
    pub unanswered: u32,
    /// Clients that ended at least one transaction in the measure phase, successfully or not.
    pub finished: u32,
    /// Clients whose first transaction was still in flight when the measure phase ended.
    pub unfinished: u32,
    /// Statements that were answered in the drain.
    pub drain_answers: u64,
    /// Connections that broke (or could not be renewed at once) and were restored.
    pub reconnects: u64,
    /// Connections that were renewed as planned: see [`LoadSpec::reconnect_every`]. In all phases.
    pub renewed: u64,
    /// The age of the oldest transaction in flight when the measure phase ended, from its
    /// scheduled start. Transactions in flight are in no response time.
    pub oldest_in_flight: Option<Duration>,
    /// If the number of transactions is limited ([`truetps_measure::Quota::Each`], and any quota of
    /// an open loop): from the start of the measure phase to the end of its last transaction. The
    /// phase itself is a few milliseconds longer, so that no thread misses its end.
    pub last_end: Option<Duration>,
}

impl ClientEnds {
    pub(crate) fn add(&mut self, other: &Self) {
        self.lost += other.lost;
        self.unanswered += other.unanswered;
        self.finished += other.finished;
        self.unfinished += other.unfinished;
        self.drain_answers += other.drain_answers;
        self.reconnects += other.reconnects;
        self.renewed += other.renewed;
        self.oldest_in_flight = self.oldest_in_flight.max(other.oldest_in_flight);
        self.last_end = self.last_end.max(other.last_end);
    }
}

/// The result of a run. The measured load is `None` if the measure phase was never reached.
#[derive(Debug)]
pub struct RunOutcome {
    pub ending: RunEnding,
    pub workers: u32,
    /// How the workers waited: never [`DriveMode::Auto`].
    pub mode: DriveMode,
    pub connect_ms: f64,
    pub clients_connected: u32,
    pub clients_not_connected: u32,
    pub connect_errors: Vec<ErrorCount>,
    /// A session limit of the server or the account kept a client out.
    pub at_session_limit: bool,
    /// How the clients ended.
    pub end: ClientEnds,
    pub measured: Option<MeasuredLoad>,
    /// Errors in warm-up and drain.
    pub errors_elsewhere: Vec<ErrorCount>,
}

impl RunOutcome {
    /// The errors of all phases, first the ones of the measure phase.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorCount> {
        self.measured.iter().flat_map(|measured| &measured.errors).chain(&self.errors_elsewhere)
    }
}

/// The measured load, unless its phase was never reached, and the errors outside of it.
pub(crate) fn measured_load(
    load: &LoadSpec,
    clients: u32,
    end: &ClientEnds,
    measured: MeasuredSums,
    used: &[ThreadTime],
) -> (Option<MeasuredLoad>, ErrorTally) {
    let MeasuredSums { sums, has_begun, length_ns, errors_elsewhere } = measured;
    let schedule_length = Duration::from_nanos(length_ns);
    let measured = has_begun.then(|| MeasuredLoad {
        // If each client has its share, the end of the last one counts.
        length: end.last_end.unwrap_or(schedule_length),
        schedule_length,
        counts: sums.counts,
        response: LatencyFigures::of(&sums.response),
        open_loop: sums.open_loop(),
        constant_clients: has_constant_clients(load, end).then_some(clients),
        workers_used: WorkerUse::of(used, length_ns),
        errors: sums.errors.into_sorted(),
    });
    (measured, errors_elsewhere)
}

/// Whether each client had one transaction in flight at any moment of the measure phase.
fn has_constant_clients(load: &LoadSpec, end: &ClientEnds) -> bool {
    let is_whole = end.lost == 0 && end.reconnects == 0 && end.renewed == 0;
    load.pacing == Pacing::Closed && load.quota.is_none() && is_whole
}
