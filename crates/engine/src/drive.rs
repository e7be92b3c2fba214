//! The loop of a worker: it starts transactions when they are due and handles their results.

mod rows;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use truetps_driver::{DriverError, Link, Reply, SessionEvent};
use truetps_measure::{
    ARRIVALS_MAX, AttemptFailure, Recorder, Timeline, WorkerInterval, WorkerPace, ns,
};
use truetps_plan::ErrorPolicy;
use truetps_record::{ErrorClass, Phase, RowAnswer};

use crate::client::ClientState;
use crate::login::while_connecting;
use crate::outcome::ClientEnds;
use crate::policy::{self, FailureAction};
use crate::quota::CountedEnd;
use crate::reconnect::{ATTEMPT_MAX, Reconnects};
use crate::rows::{RowAttempts, RowKeeper};
use crate::worker::{EARLY_RATE_MAX, LOOK, SharedRun, Worker};

/// Time limit for counting the starts up to the very end.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Drive<'w, 'a> {
    worker: &'w mut Worker<'a>,
    timeline: Arc<Timeline>,
    recorder: Recorder,
    policy: &'a ErrorPolicy,
    pace: WorkerPace,
    reconnects: Reconnects,
    /// If the answers of rows are kept.
    rows: Option<RowKeeper<'a>>,
    /// Whether the worker has reported that it has nothing more to start.
    has_left_work: bool,
    /// Set when the drain begins.
    drain_ends_ns: Option<u64>,
    end: ClientEnds,
}

impl<'w, 'a> Drive<'w, 'a> {
    pub(crate) fn new(
        worker: &'w mut Worker<'a>,
        timeline: Arc<Timeline>,
        rows: Option<RowKeeper<'a>>,
        out: Sender<WorkerInterval>,
    ) -> Self {
        let shared = worker.shared;
        let numbers: Vec<_> = worker.clients.iter().map(|client| client.number).collect();
        let load = shared.load;
        let workers = load.workers_of_all_parts(shared.threads);
        let pace = WorkerPace::new(
            &load.pacing,
            &numbers,
            load.clients,
            load.part.worker(worker.number),
            workers,
        );
        let starts = load.pacing.starts_of(numbers.len(), workers);
        worker.wakes_early = pace.is_open() && starts <= EARLY_RATE_MAX;
        Self {
            reconnects: Reconnects::new(policy::patience(&load.errors)),
            recorder: Recorder::new(Arc::clone(&timeline), worker.number, pace.is_open(), out),
            policy: &load.errors,
            rows,
            worker,
            timeline,
            pace,
            has_left_work: false,
            drain_ends_ns: None,
            end: ClientEnds::default(),
        }
    }

    /// Drives the clients through all phases.
    pub(crate) fn run(mut self) -> io::Result<ClientEnds> {
        while let Some(left) = self.timeline.start().checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
        self.start_clients();
        while self.turn()? {}
        self.end_rows();
        let now_ns = self.timeline.now_ns();
        let absences = self.worker.clients.iter().filter_map(|client| client.absence.as_ref());
        self.end.lost += absences.filter(|absence| !absence.is_planned).count() as u32;
        self.end.unanswered = self.recorder.tally.in_flight() as u32;
        self.end.drain_answers = self.recorder.tally.sums.counts.statements;
        self.recorder.finish(now_ns);
        self.worker.quit();
        Ok(self.end)
    }

    /// One turn of the loop; returns whether another one follows.
    fn turn(&mut self) -> io::Result<bool> {
        let now_ns = self.timeline.now_ns();
        self.tick(now_ns);
        let due_ns = if self.recorder.phase() == Phase::Drain {
            if self.is_drained(now_ns) {
                return Ok(false);
            }
            u64::MAX
        } else {
            self.start_due(now_ns);
            self.wake(now_ns)?;
            self.look_at_rows(now_ns);
            self.end_with_the_schedule();
            self.next_due_ns()
        };
        let until_end = Duration::from_nanos(self.recorder.next_end_ns().saturating_sub(now_ns));
        self.worker.wait(until_end.min(LOOK), now_ns, due_ns)?;
        self.take_replies();
        self.write_answers();
        Ok(true)
    }

    /// Whether nothing is in flight any more, or the drain has lasted too long.
    fn is_drained(&mut self, now_ns: u64) -> bool {
        let patience_ns = ns(self.worker.shared.load.drain_timeout);
        let ends_ns = *self.drain_ends_ns.get_or_insert(now_ns.saturating_add(patience_ns));
        self.recorder.tally.in_flight() == 0 || now_ns >= ends_ns
    }

    /// Assigns each client its share of the quota, and starts the clients. Those without a share
    /// are finished at once, even in the warm-up.
    fn start_clients(&mut self) {
        let SharedRun { quota, load, .. } = self.worker.shared;
        for client in &mut self.worker.clients {
            client.share_left = quota.share(client.number, load.clients);
        }
        for slot in 0..self.worker.clients.len() {
            let client = &self.worker.clients[slot];
            match (client.state, client.share_left) {
                (ClientState::Idle, Some(0)) => self.finish(slot),
                (ClientState::Idle, _) => self.is_free(slot, self.timeline.now_ns()),
                _ => {}
            }
        }
    }

    /// Time of the next action that needs no event from a socket.
    fn next_due_ns(&self) -> u64 {
        let wake_ns = self.reconnects.next_ns();
        // A start that is scheduled after the end does not count.
        let start_ns = self.pace.next_due_ns();
        if start_ns < self.timeline.end_ns() && !self.schedule_is_over() {
            wake_ns.min(start_ns)
        } else {
            wake_ns
        }
    }

    /// Ends all intervals whose time is over. Each has the starts that were scheduled in it.
    fn tick(&mut self, now_ns: u64) {
        loop {
            let end_ns = self.recorder.next_end_ns();
            if now_ns < end_ns {
                return;
            }
            self.arrive(end_ns);
            let before = self.recorder.phase();
            self.write_answers();
            self.recorder.rotate(end_ns, now_ns);
            match (before, self.recorder.phase()) {
                (Phase::WarmUp, Phase::Measure) => self.count_carried_in(),
                (Phase::Measure, Phase::Drain) => self.measure_phase_ended(end_ns),
                _ => {}
            }
        }
    }

    fn measure_phase_ended(&mut self, end_ns: u64) {
        let busy = self.worker.clients.iter().filter(|client| client.is_busy());
        let oldest_ns = busy.map(|client| end_ns.saturating_sub(client.scheduled_ns)).max();
        self.end.oldest_in_flight = oldest_ns.map(Duration::from_nanos);
        for client in &self.worker.clients {
            self.end.finished += u32::from(client.has_finished);
            self.end.unfinished += u32::from(!client.has_finished && client.is_busy());
        }
        self.abandon_resends();
    }

    /// Counts the starts that are scheduled until the end of an interval. A schedule may be faster
    /// than a worker can count: the rest waits for the next interval, and is dropped at the end of
    /// the run. A worker that is so far behind is always busy, which the run reports.
    fn arrive(&mut self, until_ns: u64) {
        let began = Instant::now();
        while !self.arrive_some(until_ns) {
            let patience = if until_ns >= self.timeline.end_ns() { LAST_PATIENCE } else { LOOK };
            if began.elapsed() >= patience {
                return;
            }
        }
    }

    /// Open loop: makes the starts that are due, on free clients.
    fn start_due(&mut self, now_ns: u64) {
        if !self.pace.is_open() {
            return;
        }
        // The remaining ones are due at once, so that this runs again before any wait.
        self.arrive_some(now_ns + 1);
        while let Some(slot) = self.pace.next_candidate() {
            if self.worker.clients[slot as usize].state == ClientState::Idle {
                self.take_start(slot as usize, now_ns);
            }
        }
    }

    /// The client in this slot has finished its transaction: decides what it does next.
    fn is_free(&mut self, slot: usize, now_ns: u64) {
        self.worker.clients[slot].state = ClientState::Idle;
        self.worker.clients[slot].free_since_ns = now_ns;
        if now_ns < self.timeline.end_ns() {
            self.take_start(slot, now_ns);
        }
    }

    fn take_start(&mut self, slot: usize, now_ns: u64) {
        let taken = self.pace.claim_start(slot, now_ns);
        self.recorder.tally.skipped(taken.skipped);
        self.settle_starts(taken.skipped);
        let Some(scheduled_ns) = taken.scheduled_ns else { return };
        let client = &mut self.worker.clients[slot];
        self.recorder.tally.dequeued();
        self.recorder.tally.started(scheduled_ns, client.free_since_ns, now_ns);
        client.scheduled_ns = scheduled_ns;
        client.started_ns = now_ns;
        client.retries = 0;
        client.row = RowAttempts { sent_ns: now_ns, ..RowAttempts::default() };
        client.at_first = true;
        client.rows_changed = 0;
        client.stream.next_transaction();
        self.send_next(slot);
    }

    /// Sends the next statement of the client's transaction.
    fn send_next(&mut self, slot: usize) {
        let Worker { clients, scratch, .. } = &mut *self.worker;
        let client = &mut clients[slot];
        let Some(link) = &mut client.link else { return };
        scratch.params.clear();
        let step = client.stream.next_statement(&mut scratch.params);
        client.at_last = step.is_last;
        client.state = ClientState::InFlight;
        match link.send(step.statement, scratch) {
            Ok(()) => self.worker.watch_for_more(slot),
            Err(error) => self.lose(slot, error),
        }
    }

    /// Queues starts of the current phase that are scheduled before `until_ns`, at most some
    /// thousands; returns whether these were all. The end may have moved closer in between.
    fn arrive_some(&mut self, until_ns: u64) -> bool {
        let quota = &self.worker.shared.quota;
        let is_limited = quota.counts_starts() && self.recorder.phase() == Phase::Measure;
        let until_ns = until_ns.min(self.timeline.end_ns());
        let arrived = self.pace.arrive(until_ns, || !is_limited || quota.take_starts(1) == 1);
        self.recorder.tally.scheduled(arrived);
        arrived < ARRIVALS_MAX
    }

    /// The measure phase begins: transactions in flight or waiting are part of its number.
    fn count_carried_in(&self) {
        let tally = &self.recorder.tally;
        self.worker.shared.quota.take_starts(tally.in_flight() + tally.queued());
    }

    /// Whether all requested starts have been scheduled.
    fn schedule_is_over(&self) -> bool {
        self.recorder.phase() != Phase::WarmUp && self.worker.shared.quota.schedule_is_over()
    }

    /// This number of starts of an open loop have ended, or were skipped. Ends the measure phase
    /// with the last one.
    fn settle_starts(&self, starts: u64) {
        if starts > 0
            && self.recorder.phase() == Phase::Measure
            && self.worker.shared.quota.settle_starts(starts)
        {
            self.timeline.end_now();
        }
    }

    /// Ends the measure phase when the schedule is over and no worker has a start to make or to
    /// wait for: starts that wait for lost clients never end.
    fn end_with_the_schedule(&mut self) {
        if self.has_left_work || !self.schedule_is_over() || self.recorder.tally.in_flight() > 0 {
            return;
        }
        // Waiting starts are for clients that reconnect: connected clients have been asked already.
        let mut states = self.worker.clients.iter().map(|client| client.state);
        if self.recorder.tally.queued() > 0
            && states.any(|state| matches!(state, ClientState::Connecting | ClientState::Away))
        {
            return;
        }
        self.has_left_work = true;
        if self.worker.shared.quota.leave_worker() {
            self.timeline.end_now();
        }
    }

    fn take_replies(&mut self) {
        let events = std::mem::take(&mut self.worker.events);
        for event in &events {
            let slot = event.data.u64() as usize;
            let Worker { clients, scratch, .. } = &mut *self.worker;
            let Some(link) = &mut clients[slot].link else { continue };
            match link.receive(scratch) {
                Ok(Some(SessionEvent::Reply(reply))) => self.on_reply(slot, reply),
                Ok(Some(SessionEvent::Ready)) => self.on_ready(slot),
                Ok(None | Some(SessionEvent::Pending | SessionEvent::Prepared(_))) => {
                    self.worker.watch_for_more(slot);
                }
                Err(error) => self.lose(slot, error),
            }
        }
        self.worker.events = events;
    }

    fn on_reply(&mut self, slot: usize, reply: Reply) {
        let client = &mut self.worker.clients[slot];
        client.rows_changed += reply.affected_rows;
        match (client.state, reply.error) {
            (ClientState::InFlight, None) if client.at_last => self.end_well(slot),
            (ClientState::InFlight, None) => {
                client.at_first = false;
                self.recorder.tally.answered();
                self.send_next(slot);
            }
            (ClientState::InFlight, Some(error)) => {
                client.row.retry_after = reply.retry_after;
                let failure = AttemptFailure {
                    class: error.class(),
                    code: error.code,
                    message: error.message,
                };
                self.attempt_failed(slot, failure);
            }
            (ClientState::RollingBack, _) => {
                let failure = client.failure.take();
                let failure = failure
                    .map_or_else(|| unreachable!("a rollback has its reason"), |failure| *failure);
                self.settle(slot, &failure);
            }
            (
                ClientState::Connecting
                | ClientState::Idle
                | ClientState::Paused
                | ClientState::Away
                | ClientState::Done
                | ClientState::Lost,
                _,
            ) => {
                self.lose(slot, DriverError::Protocol("an unexpected reply"));
            }
        }
    }

    fn end_well(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        self.tick(now_ns);
        let client = &self.worker.clients[slot];
        self.recorder.tally.answered();
        self.recorder.tally.ok(client.scheduled_ns, client.started_ns, now_ns, client.rows_changed);
        self.row_ended(slot, RowAnswer::Acknowledged, 0, now_ns);
        self.transaction_ended(slot, now_ns);
    }

    /// A statement failed. The transaction's changes must be undone before anything else is sent.
    fn attempt_failed(&mut self, slot: usize, failure: AttemptFailure) {
        let Worker { clients, scratch, .. } = &mut *self.worker;
        let client = &mut clients[slot];
        if client.at_first && client.at_last {
            self.settle(slot, &failure);
            return;
        }
        let Some(link) = &mut client.link else { return };
        self.recorder.tally.answered();
        client.failure = Some(Box::new(failure));
        client.state = ClientState::RollingBack;
        if let Err(error) = link.send_sql("ROLLBACK", scratch) {
            self.lose(slot, error);
        }
    }

    /// The server has undone the attempt: retry it, or go on to the next transaction.
    fn settle(&mut self, slot: usize, failure: &AttemptFailure) {
        let now_ns = self.timeline.now_ns();
        self.tick(now_ns);
        self.recorder.tally.answered();
        if self.rows.is_some() {
            self.settle_row(slot, failure, now_ns);
            return;
        }
        let client = &mut self.worker.clients[slot];
        let action = policy::action(self.policy, failure.class, client.retries);
        if action == FailureAction::Retry && now_ns < self.timeline.end_ns() {
            self.recorder.tally.retried(failure);
            client.retries += 1;
            client.at_first = true;
            client.rows_changed = 0;
            client.stream.rewind();
            self.send_next(slot);
            return;
        }
        self.recorder.tally.failed(failure, action == FailureAction::Ignore);
        self.end_run_if(action, failure);
        self.transaction_ended(slot, now_ns);
    }

    /// The client in this slot has just ended a transaction, successfully or not: decides what it
    /// does next.
    fn transaction_ended(&mut self, slot: usize, now_ns: u64) {
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

    /// Counts a transaction that has ended, if its number matters; returns whether the client need
    /// not start another one. Ends the measure phase when all clients together have reached the
    /// number.
    fn count_down(&mut self, slot: usize, now_ns: u64) -> bool {
        let quota = &self.worker.shared.quota;
        // The current interval contains `now_ns`: the quota and the recorder count in the same
        // phase.
        if !quota.is_limited() || self.recorder.phase() != Phase::Measure {
            return false;
        }
        if quota.counts_starts() {
            self.end.last_end = Some(self.since_measure_start(now_ns));
            self.settle_starts(1);
            return self.schedule_is_over() && self.recorder.tally.queued() == 0;
        }
        if let Some(left) = &mut self.worker.clients[slot].share_left {
            *left = left.saturating_sub(1);
            let is_done = *left == 0;
            self.end.last_end = Some(self.since_measure_start(now_ns));
            return is_done;
        }
        let counted = quota.count_end();
        if counted == CountedEnd::Last {
            self.timeline.end_now();
        }
        counted != CountedEnd::MoreLeft
    }

    /// The client has finished: it stays connected until the end.
    fn finish(&mut self, slot: usize) {
        self.worker.clients[slot].state = ClientState::Done;
        self.leave_work();
    }

    /// One client less has work left. Ends the measure phase if it was the last one.
    fn leave_work(&self) {
        if self.worker.shared.quota.leave_client() {
            self.timeline.end_now();
        }
    }

    fn end_run_if(&self, action: FailureAction, failure: &AttemptFailure) {
        if action == FailureAction::EndRun {
            // Another worker may have been the first.
            let _ = self.worker.shared.fatal.set(format!("{}: {}", failure.class, failure.message));
            self.timeline.end_now();
        }
    }
    /// The connection is lost, and its transaction with it. Whether it was committed is unknown, so
    /// it counts as failed and is never retried.
    fn lose(&mut self, slot: usize, error: DriverError) {
        let now_ns = self.timeline.now_ns();
        self.tick(now_ns);
        let client = &mut self.worker.clients[slot];
        if self.reconnects.waits_for_room(slot, client, &error, now_ns) {
            return;
        }
        let endpoint = self.worker.shared.connector.endpoint(client.number);
        let error = if client.state == ClientState::Connecting {
            while_connecting(error, endpoint)
        } else {
            error
        };
        let failure =
            AttemptFailure { class: error.class(), code: error.code(), message: error.to_string() };
        let (was_busy, was_done) = (client.is_busy(), client.state == ClientState::Done);
        if client.state == ClientState::Idle {
            self.pace.forget(slot);
        }
        client.link = None;
        client.failure = None;
        let action = policy::action(self.policy, failure.class, u32::MAX);
        if was_busy {
            if !self.row_lost(slot, &failure, &error, now_ns) {
                self.recorder.tally.failed(&failure, action == FailureAction::Ignore);
                self.count_down(slot, now_ns);
            }
        } else {
            self.recorder.tally.note(&failure);
        }
        self.end_run_if(action, &failure);
        if was_done {
            // The client had no work left.
            self.worker.clients[slot].give_up();
        } else if was_busy && self.worker.clients[slot].share_left == Some(0) {
            self.finish(slot);
        } else {
            self.retry(slot);
        }
    }

    /// The client has no connection: it retries later, or is lost.
    fn retry(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        let client = &mut self.worker.clients[slot];
        if !self.reconnects.retry(slot, client, now_ns, now_ns >= self.timeline.end_ns()) {
            client.give_up();
            self.abandon_resend(slot);
            self.end.lost += 1;
            self.leave_work();
        }
    }

    /// Whether the connection has reached its number of transactions with the one that has just
    /// ended, or the server closes it.
    fn is_worn(&mut self, slot: usize) -> bool {
        let client = &mut self.worker.clients[slot];
        let is_closing = client.link.as_ref().is_some_and(Link::is_closing);
        let Some(most) = self.worker.shared.load.reconnect_every else { return is_closing };
        client.on_connection += 1;
        is_closing || client.on_connection >= most.get()
    }

    /// Sends the goodbye; a new connection follows.
    fn renew(&mut self, slot: usize, now_ns: u64) {
        let Worker { clients, scratch, .. } = &mut *self.worker;
        if let Some(link) = clients[slot].link.take() {
            link.quit(scratch);
        }
        self.reconnects.renew(slot, &mut clients[slot], now_ns);
    }

    /// Wakes the clients without a connection whose next action is due.
    fn wake(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(slot) = self.reconnects.pop_due(&self.worker.clients, now_ns) {
            match self.worker.clients[slot].state {
                ClientState::Away => self.connect(slot, now_ns)?,
                ClientState::Connecting => {
                    let message =
                        format!("no answer to the login within {} s", ATTEMPT_MAX.as_secs());
                    self.worker.clients[slot].link = None;
                    self.connect_failed(slot, ErrorClass::ConnectFailed, message);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn connect(&mut self, slot: usize, now_ns: u64) -> io::Result<()> {
        let number = self.worker.clients[slot].number;
        let opened = self.worker.open_link(number);
        let client = &mut self.worker.clients[slot];
        match opened {
            Ok(link) => {
                client.link = Some(link);
                self.reconnects.attempt_began(slot, client, now_ns);
                self.worker.watch(slot)?;
            }
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    && self.reconnects.waits_in_queue(slot, client, now_ns) => {}
            Err(source) => {
                let endpoint = self.worker.shared.connector.endpoint(number).clone();
                let error = DriverError::Connect { endpoint, source };
                self.connect_failed(slot, error.class(), error.to_string());
            }
        }
        Ok(())
    }

    /// An attempt to connect failed without a session that could say why.
    fn connect_failed(&mut self, slot: usize, class: ErrorClass, message: String) {
        let failure = AttemptFailure { class, code: 0, message };
        self.recorder.tally.note(&failure);
        self.end_run_if(policy::action(self.policy, failure.class, u32::MAX), &failure);
        self.retry(slot);
    }

    /// A login is done: the client is connected again.
    fn on_ready(&mut self, slot: usize) {
        let now_ns = self.timeline.now_ns();
        let client = &mut self.worker.clients[slot];
        client.on_connection = 0;
        let is_planned = client.absence.take().is_some_and(|absence| absence.is_planned);
        *if is_planned { &mut self.end.renewed } else { &mut self.end.reconnects } += 1;
        if client.row.resend_ns.is_some() {
            client.state = ClientState::Paused;
        } else {
            self.is_free(slot, now_ns);
        }
    }

    fn since_measure_start(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(now_ns - self.timeline.measure_start_ns())
    }
}
