//! One life: clients, replicas of the gateway, connections and the table, from the first row to the
//! last answer.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::Duration;

use truetps_batch::{
    BatchLimits, BatchRun, ExecutorAction, FaultClass, FoundVerdict, QueueHealth, QueueLane,
    QueueLimits, QueueRefusal, QueuedRow, RowQueue, SeenRow, StatementOutcome,
};
use truetps_random::RandomStream;

use crate::clients::{Inbox, ModelClient, ModelReply, clients};
use crate::ledger::{Ledger, Seen};
use crate::table::{InsertFailure, ModelRow, ModelTable, ServerMode};

const MS: Duration = Duration::from_millis(1);
/// Faults happen until then.
const FAULTS_END: Duration = Duration::from_secs(20);
/// All rows are answered long before.
const WORLD_END: Duration = Duration::from_secs(400);
const LIMITS: QueueLimits = QueueLimits {
    rows: 24,
    peer_rows: 24,
    bytes: 900,
    wait: Duration::from_millis(2500),
    batch: BatchLimits { rows: 10, bytes: 400 },
};

/// A statement that was sent: it may take effect although its gateway does not wait any more.
struct SentStatement {
    action: ExecutorAction,
    rows: Vec<ModelRow>,
    /// Numbers of the rows in the batch.
    numbers: Vec<usize>,
    columns_version: u64,
}

enum Event {
    ClientSends(usize),
    ClientGivesUp {
        client: usize,
        ticket: u64,
    },
    Worker(WorkerId),
    /// The statement takes effect; the reply follows.
    Effect(WorkerId, SentStatement),
    /// The statement takes effect, and no reply follows.
    LateEffect(SentStatement),
    Outcome(WorkerId, StatementOutcome),
    Mode(ServerMode),
    KillGateway(usize),
}

/// A commit connection of a replica, in one life of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WorkerId {
    replica: usize,
    connection: usize,
    life: u64,
}

struct ModelWorker {
    run: Option<BatchRun<ModelReply>>,
    began: Duration,
    columns_version: u64,
    is_connected: bool,
    is_scheduled: bool,
    /// Batches of other connections since the last outcome.
    stored_elsewhere: u32,
}

struct Replica {
    queue: RowQueue<ModelReply>,
    workers: Vec<ModelWorker>,
    life: u64,
    lives: Rc<Cell<bool>>,
    columns_version: u64,
}

struct World {
    now: Duration,
    random: RandomStream,
    events: BinaryHeap<Reverse<(Duration, u64)>>,
    waiting: BTreeMap<u64, Event>,
    next_event: u64,
    next_ticket: u64,
    table: ModelTable,
    clients: Vec<ModelClient>,
    replicas: Vec<Replica>,
    inbox: Inbox,
    ledger: Ledger,
}

/// Lives one life and checks all of it.
pub(crate) fn live(seed: u64) -> Seen {
    let mut world = World::new(seed);
    while let Some(Reverse((at, number))) = world.events.pop() {
        world.now = at;
        let event = world.waiting.remove(&number).expect("each event is once in the heap");
        world.happen(event);
        world.take_answers();
        let seen = &world.ledger.seen;
        assert!(world.now < WORLD_END, "rows are sent for ever: {seen:?}, {:?}", world.table);
    }
    for client in &world.clients {
        assert!(client.rows.is_empty() && client.waits.is_none(), "a client was forgotten");
    }
    world.ledger.check(&world.table);
    world.ledger.seen
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = RandomStream::new(seed, 0);
        let replica_count = 1 + random.below(2);
        let clients = clients(&mut random, replica_count);
        let connections = 1 + random.below(3);
        let mut world = Self {
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            next_event: 0,
            next_ticket: 0,
            table: ModelTable::new(random.below(2) == 0),
            replicas: (0..replica_count).map(|_| Replica::new(connections)).collect(),
            clients,
            inbox: Rc::default(),
            ledger: Ledger::default(),
            random,
        };
        for client in 0..world.clients.len() {
            let at = world.within(2000);
            world.at(at, Event::ClientSends(client));
        }
        world.plan_faults();
        world
    }

    fn plan_faults(&mut self) {
        for _ in 0..self.random.below(6) {
            const MODES: [ServerMode; 5] = [
                ServerMode::Dead,
                ServerMode::ReadOnly,
                ServerMode::DiskFull,
                ServerMode::ColumnRemoved,
                ServerMode::ColumnAdded,
            ];
            let mode = MODES[self.random.below(5) as usize];
            let begins = self.within(10_000);
            let ends = begins + self.within(6_000);
            self.at(begins, Event::Mode(mode));
            self.at(ends.min(FAULTS_END), Event::Mode(ServerMode::Up));
        }
        for _ in 0..self.random.below(3) {
            let (at, replica) = (self.within(5_000), self.random.below(self.replicas.len() as u64));
            self.at(at, Event::KillGateway(replica as usize));
        }
    }

    fn within(&mut self, ms: u64) -> Duration {
        Duration::from_micros(1 + self.random.below(ms * 1000))
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.at(self.now + wait, event);
    }

    fn at(&mut self, at: Duration, event: Event) {
        self.events.push(Reverse((at, self.next_event)));
        self.waiting.insert(self.next_event, event);
        self.next_event += 1;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ClientSends(client) => self.client_sends(client),
            Event::ClientGivesUp { client, ticket } => self.client_gives_up(client, ticket),
            Event::Worker(id) => self.worker_acts(id),
            Event::Effect(id, statement) => {
                let outcome = self.take_effect(&statement);
                let wait = self.within(5);
                self.after(wait, Event::Outcome(id, outcome));
            }
            Event::LateEffect(statement) => {
                if matches!(self.take_effect(&statement), StatementOutcome::Inserted { .. }) {
                    self.ledger.seen.count("committed late", 1);
                }
            }
            Event::Outcome(id, outcome) => self.worker_hears(id, outcome),
            Event::Mode(mode) => self.table.set_mode(mode),
            Event::KillGateway(replica) => self.kill_gateway(replica),
        }
    }

    fn client_sends(&mut self, number: usize) {
        let Some(row) = self.clients[number].rows.last().copied() else { return };
        let wait = self.within(4_000) + 200 * MS;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let is_gone = Rc::new(Cell::new(false));
        let client = &mut self.clients[number];
        let replica = &mut self.replicas[client.replica];
        let reply = ModelReply {
            ticket,
            is_gone: Rc::clone(&is_gone),
            inbox: Rc::clone(&self.inbox),
            gateway_lives: Rc::clone(&replica.lives),
            has_answered: Cell::new(false),
        };
        let queued = QueuedRow {
            row: row.encode(replica.columns_version),
            reply,
            deadline: self.now + wait,
            queued_at: self.now,
            source: row.key >> 32,
            peer: 0,
        };
        let pushed = replica.queue.check_row(&queued, self.now);
        let (word, retry_after) = match pushed {
            Ok(()) => {
                replica.queue.push(queued, self.now).expect("the queue has just been asked");
                assert!(
                    replica.queue.rows() <= LIMITS.rows * 5 / 4
                        && replica.queue.bytes() <= LIMITS.bytes * 5 / 4
                );
                client.waits = Some((ticket, is_gone));
                let patience = wait + self.within(1_000);
                self.after(patience, Event::ClientGivesUp { client: number, ticket });
                // Some clients leave early.
                if self.random.below(20) == 0 {
                    let soon = self.within(30);
                    self.after(soon, Event::ClientGivesUp { client: number, ticket });
                }
                self.wake_workers(self.clients[number].replica);
                return;
            }
            Err(QueueRefusal::Busy { retry_after }) => ("busy", retry_after),
            Err(QueueRefusal::Down { retry_after }) => ("down", retry_after),
            Err(QueueRefusal::Closed) => panic!("no gateway of the model stops"),
        };
        queued.reply.has_answered.set(true);
        self.ledger.seen.count(word, 1);
        self.send_again(number, retry_after);
    }

    /// Sends the row again, perhaps to another replica.
    fn send_again(&mut self, number: usize, wait: Duration) {
        self.clients[number].replica = self.random.below(self.replicas.len() as u64) as usize;
        let wait = wait + self.within(100);
        self.after(wait, Event::ClientSends(number));
    }

    fn client_gives_up(&mut self, number: usize, ticket: u64) {
        let client = &mut self.clients[number];
        if let Some((_, is_gone)) = client.waits.take_if(|(waits_for, _)| *waits_for == ticket) {
            is_gone.set(true);
            self.ledger.seen.count("gave up waiting", 1);
            self.send_again(number, MS);
        }
    }

    fn take_answers(&mut self) {
        let answers: Vec<_> = self.inbox.borrow_mut().drain(..).collect();
        for (ticket, answer) in answers {
            let waits_for =
                |client: &ModelClient| client.waits.as_ref().is_some_and(|(of, _)| *of == ticket);
            // A client that has gone does not receive its answer.
            let Some(number) = self.clients.iter().position(waits_for) else { continue };
            let client = &mut self.clients[number];
            client.waits = None;
            let row = *client.rows.last().expect("the row that it has sent");
            // A row that is refused with an error that passes would be sent for ever.
            let is_hopeless = row.bad > 0 && self.random.below(4) == 0;
            if self.ledger.answer(row, &answer, &self.table) && !is_hopeless {
                self.send_again(number, MS);
            } else {
                client.rows.pop();
                let pause = self.within(50);
                self.after(pause, Event::ClientSends(number));
            }
        }
    }

    fn wake_workers(&mut self, replica: usize) {
        let life = self.replicas[replica].life;
        for connection in 0..self.replicas[replica].workers.len() {
            let worker = &mut self.replicas[replica].workers[connection];
            if !std::mem::replace(&mut worker.is_scheduled, true) {
                self.after(
                    Duration::from_micros(10),
                    Event::Worker(WorkerId { replica, connection, life }),
                );
            }
        }
    }

    fn worker_acts(&mut self, id: WorkerId) {
        let replica = &mut self.replicas[id.replica];
        if replica.life != id.life {
            return;
        }
        let lane = replica.lane(id.connection);
        let worker = &mut replica.workers[id.connection];
        if worker.run.is_none() {
            if !replica.queue.has_work_for(lane) {
                worker.is_scheduled = false;
                return;
            }
            let taken = replica.queue.take(lane, self.now);
            self.ledger.seen.count("abandoned", taken.abandoned as u64);
            replica.queue.commits.begin(self.now);
            worker.began = self.now;
            worker.columns_version = taken.batch.first().map_or(0, |row| row.row.columns_version);
            let seed = self.random.next_u64();
            worker.run = Some(BatchRun::new(taken, worker.is_connected, seed));
        }
        let run = worker.run.as_mut().expect("made above");
        match run.next_action(self.now) {
            ExecutorAction::Done => {
                self.ledger.seen.add_batch(run.counts());
                let is_down = run.executor().is_server_failing();
                let until = self.now + 50 * MS;
                replica.queue.health =
                    if is_down { QueueHealth::DownUntil(until) } else { QueueHealth::Good };
                replica.queue.commits.end(worker.began, self.now);
                worker.run = None;
                self.after(Duration::from_micros(1), Event::Worker(id));
            }
            ExecutorAction::Pause(pause) => {
                replica.queue.commits.forget(worker.began);
                self.after(pause, Event::Outcome(id, StatementOutcome::Paused));
            }
            ExecutorAction::Connect => {
                let fails = self.table.mode == ServerMode::Dead || self.random.below(10) == 0;
                let outcome = if fails {
                    StatementOutcome::ConnectFailed
                } else {
                    StatementOutcome::Connected
                };
                worker.is_connected = !fails;
                let wait = self.within(20);
                self.after(wait, Event::Outcome(id, outcome));
            }
            action => {
                assert!(worker.is_connected, "{action:?} without a connection");
                let (numbers, rows) = match action {
                    ExecutorAction::Inspect => (Vec::new(), Vec::new()),
                    _ => run.group().map(|(number, row)| (number, ModelRow::decode(row))).unzip(),
                };
                let columns_version = worker.columns_version;
                self.send(id, SentStatement { action, rows, numbers, columns_version });
            }
        }
    }

    /// A statement is on its way. It may get lost, or its reply, or it may take effect long after
    /// its gateway has given it up.
    fn send(&mut self, id: WorkerId, statement: SentStatement) {
        let wait = self.within(15);
        let faults = self.now < FAULTS_END;
        match self.random.below(100) {
            _ if !faults => self.after(wait, Event::Effect(id, statement)),
            0..6 => self.lose(id, wait),
            6..12 => {
                if matches!(self.take_effect(&statement), StatementOutcome::Inserted { .. }) {
                    self.ledger.seen.count("committed and lost", 1);
                }
                self.lose(id, wait);
            }
            12..16 => {
                let late = wait + self.within(500);
                self.after(late, Event::LateEffect(statement));
                self.lose(id, wait);
            }
            _ => self.after(wait, Event::Effect(id, statement)),
        }
    }

    fn lose(&mut self, id: WorkerId, wait: Duration) {
        self.after(wait, Event::Outcome(id, StatementOutcome::Lost { was_sent: true }));
    }

    fn take_effect(&mut self, statement: &SentStatement) -> StatementOutcome {
        if self.table.mode == ServerMode::Dead {
            return StatementOutcome::Lost { was_sent: true };
        }
        if statement.action == ExecutorAction::Inspect {
            return StatementOutcome::Inspected {
                has_changed: statement.columns_version != self.table.version,
            };
        }
        if statement.action == ExecutorAction::Compare {
            let found =
                self.table.find(&statement.rows).into_iter().map(|(at, is_equal)| SeenRow {
                    row: statement.numbers[at],
                    verdict: if is_equal { FoundVerdict::Equal } else { FoundVerdict::Differs },
                });
            return StatementOutcome::Compared { found: found.collect() };
        }
        match self.table.insert(&statement.rows, statement.columns_version, &mut self.random) {
            Ok(()) => StatementOutcome::Inserted {
                new_rows: statement.rows.len() as u64,
                told: Vec::new(),
            },
            Err(InsertFailure::Refused(error)) => StatementOutcome::Refused(error),
            Err(InsertFailure::Changed(rows)) => StatementOutcome::Changed {
                rows: rows.into_iter().map(|at| (statement.numbers[at], None)).collect(),
            },
        }
    }

    fn worker_hears(&mut self, id: WorkerId, outcome: StatementOutcome) {
        let replica = &mut self.replicas[id.replica];
        if replica.life != id.life {
            return;
        }
        let worker = &mut replica.workers[id.connection];
        if matches!(outcome, StatementOutcome::Lost { .. }) {
            worker.is_connected = false;
        }
        let may_have_changed = match &outcome {
            StatementOutcome::Refused(error) => FaultClass::of(error) == FaultClass::Configuration,
            outcome => *outcome == StatementOutcome::Inspected { has_changed: true },
        };
        if may_have_changed {
            replica.columns_version = self.table.version;
        }
        let lane = replica.lane(id.connection);
        let worker = &mut replica.workers[id.connection];
        if let Some(run) = &mut worker.run {
            let stored = std::mem::take(&mut worker.stored_elsewhere);
            (0..stored).for_each(|_| run.note_success_elsewhere());
            if outcome == StatementOutcome::Paused
                && replica.queue.next_columns(lane) == run.columns_version()
            {
                let taken = replica.queue.take(lane, self.now);
                self.ledger.seen.count("joined", taken.batch.len() as u64);
                self.ledger.seen.count("abandoned", taken.abandoned as u64);
                run.add(taken);
            }
            let is_stored = matches!(outcome, StatementOutcome::Inserted { .. });
            if outcome != StatementOutcome::Paused || run.executor().is_waiting() {
                run.record(outcome);
            }
            for source in run.take_blamed_sources() {
                replica.queue.blame(source, self.now);
            }
            if is_stored {
                let others =
                    replica.workers.iter_mut().enumerate().filter(|(at, _)| *at != id.connection);
                others.for_each(|(_, other)| other.stored_elsewhere += 1);
            }
        }
        self.worker_acts(id);
    }

    /// `kill -9`: queue and batches are gone, statements that were sent are not. Clients notice it,
    /// and the next life begins at once.
    fn kill_gateway(&mut self, number: usize) {
        let connections = self.replicas[number].workers.len() as u64 - 1;
        let old = &mut self.replicas[number];
        old.lives.set(false);
        let life = old.life + 1;
        self.replicas[number] =
            Replica { life, columns_version: self.table.version, ..Replica::new(connections) };
        self.ledger.seen.count("gateway killed", 1);
        for client in 0..self.clients.len() {
            if self.clients[client].replica == number
                && let Some((_, is_gone)) = self.clients[client].waits.take()
            {
                is_gone.set(true);
                self.send_again(client, MS);
            }
        }
    }
}

impl Replica {
    fn lane(&self, connection: usize) -> QueueLane {
        if connection + 1 == self.workers.len() {
            QueueLane::Apart
        } else {
            QueueLane::Main(connection)
        }
    }

    fn new(connections: u64) -> Self {
        let worker = |_| ModelWorker {
            run: None,
            began: Duration::ZERO,
            columns_version: 0,
            is_connected: false,
            is_scheduled: false,
            stored_elsewhere: 0,
        };
        Self {
            queue: RowQueue::new(LIMITS),
            // The last one is for rows that go apart.
            workers: (0..=connections).map(worker).collect(),
            life: 0,
            lives: Rc::new(Cell::new(true)),
            columns_version: 0,
        }
    }
}
