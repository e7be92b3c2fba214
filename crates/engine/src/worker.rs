//! One OS thread that drives its share of the clients.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use truetps_driver::{Connector, DriverError, Event};
use truetps_record::{ErrorTally, Phase};
use truetps_workload::Workload;

use crate::connection::{Connection, Scratch, State};
use crate::recorder::{Cell, Recorder};
use crate::timeline::Timeline;

/// Logins under way at once in one worker: enough to keep the server busy, few enough not to be a storm.
const LOGINS_MAX: usize = 32;
/// A worker looks this often whether the run was ended early.
const LOOK_MS: u64 = 50;
const EVENTS_MAX: usize = 256;

/// What all workers know.
pub(crate) struct Shared<'a> {
    pub(crate) connector: &'a Connector,
    pub(crate) workload: &'a dyn Workload,
    pub(crate) connect_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    /// The user wants the run to end.
    pub(crate) stop: &'a AtomicBool,
    /// Transactions that may still end before the measure phase is over; none are counted where it is `None`.
    pub(crate) transactions_left: Option<AtomicU64>,
    pub(crate) clients_alive: AtomicU32,
}

/// How connecting went.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    pub(crate) ok: u32,
    pub(crate) failed: u32,
    pub(crate) errors: ErrorTally,
}

/// How a worker ended.
#[derive(Debug, Default)]
pub(crate) struct WorkerEnd {
    /// Clients whose connection broke.
    pub(crate) lost: u32,
    /// Clients that had no answer when the drain was over.
    pub(crate) unanswered: u32,
}

pub(crate) struct Worker<'a> {
    number: usize,
    shared: &'a Shared<'a>,
    epoll: rustix::fd::OwnedFd,
    events: Vec<epoll::Event>,
    /// Slot = place in the worker's list of clients; `None` where the client failed.
    connections: Vec<Option<Connection>>,
    scratch: Scratch,
    lost: u32,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(number: usize, shared: &'a Shared<'a>) -> io::Result<Self> {
        Ok(Self {
            number,
            shared,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
            connections: Vec::new(),
            scratch: Scratch::new(),
            lost: 0,
        })
    }

    /// Connects and logs in the clients with these numbers. Those that fail are counted and named.
    pub(crate) fn connect(&mut self, clients: &[u32]) -> io::Result<Connected> {
        let deadline = Instant::now() + self.shared.connect_timeout;
        let mut connected = Connected::default();
        let (mut opened, mut logging_in) = (0, 0);
        while opened < clients.len() || logging_in > 0 {
            let mut queue_full = false;
            while opened < clients.len() && logging_in < LOGINS_MAX && !queue_full {
                match self.open(clients[opened]) {
                    Ok(()) => logging_in += 1,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        queue_full = true;
                        continue;
                    }
                    Err(source) => {
                        let error = DriverError::Connect {
                            endpoint: self.shared.connector.endpoint(clients[opened]).clone(),
                            source,
                        };
                        self.connections.push(None);
                        connected.count_failure(&error);
                    }
                }
                opened += 1;
            }
            self.wait(Duration::from_millis(if queue_full { 1 } else { LOOK_MS }))?;
            logging_in -= self.take_logins(&mut connected);
            if self.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if Instant::now() >= deadline {
                self.give_up_on_logins(clients.len(), &mut connected);
                break;
            }
        }
        Ok(connected)
    }

    fn open(&mut self, client: u32) -> io::Result<()> {
        let Shared { connector, workload, .. } = self.shared;
        let mut connection =
            Connection::new(connector.begin(client)?, connector.session(client), workload.client(client));
        let slot = self.connections.len() as u64;
        epoll::add(&self.epoll, &connection, epoll::EventData::new_u64(slot), epoll::EventFlags::IN)?;
        // An error now is seen again, with its cause, when the socket is read.
        let _ = connection.begin(&mut self.scratch);
        let has_more = connection.wants_to_write();
        self.connections.push(Some(connection));
        if has_more {
            self.watch_for_room(slot as usize);
        }
        Ok(())
    }

    fn wait(&mut self, longest: Duration) -> io::Result<()> {
        self.events.clear();
        let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Handles the events of logins; returns how many logins have ended.
    fn take_logins(&mut self, connected: &mut Connected) -> usize {
        let mut ended = 0;
        let events = std::mem::take(&mut self.events);
        for event in &events {
            let slot = event.data.u64() as usize;
            let Some(connection) = &mut self.connections[slot] else { continue };
            match connection.receive(&mut self.scratch) {
                Ok(Some(Event::Ready)) => {
                    connection.state = State::Idle;
                    connected.ok += 1;
                    ended += 1;
                }
                Ok(_) => {}
                Err(error) => {
                    // One that had logged in already has been counted as that.
                    let had_logged_in = connection.state != State::Connecting;
                    connected.ok -= u32::from(had_logged_in);
                    ended += usize::from(!had_logged_in);
                    connected.count_failure(&error);
                    self.connections[slot] = None;
                }
            }
        }
        self.events = events;
        ended
    }

    fn give_up_on_logins(&mut self, clients: usize, connected: &mut Connected) {
        let is_late = |slot: &Option<Connection>| slot.as_ref().is_some_and(|c| c.state == State::Connecting);
        let mut late = clients - self.connections.len();
        for slot in &mut self.connections {
            if is_late(slot) {
                *slot = None;
                late += 1;
            }
        }
        let message = format!("no answer to the login within {} s", self.shared.connect_timeout.as_secs());
        for _ in 0..late {
            connected.failed += 1;
            connected.errors.add("connect_failed", 0, &message);
        }
    }

    /// Drives the clients through all phases. `timeline` comes when all workers are connected; none comes where the
    /// run was called off.
    pub(crate) fn drive(mut self, timeline: &Receiver<Arc<Timeline>>, out: Sender<Cell>) -> io::Result<WorkerEnd> {
        let Ok(timeline) = timeline.recv() else {
            self.quit();
            return Ok(WorkerEnd::default());
        };
        while let Some(left) = timeline.start().checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
        let mut recorder = Recorder::new(Arc::clone(&timeline), self.number, out);
        self.start_all(&timeline, &mut recorder);
        let mut drain_ends_ns = None;
        loop {
            let now_ns = timeline.now_ns();
            recorder.tick(now_ns);
            if recorder.phase() == Phase::Drain {
                let ends_ns = *drain_ends_ns.get_or_insert(now_ns + self.shared.drain_timeout.as_nanos() as u64);
                if recorder.in_flight() == 0 || now_ns >= ends_ns {
                    break;
                }
            }
            let until_end = Duration::from_nanos(recorder.next_end_ns().saturating_sub(now_ns));
            self.wait(until_end.min(Duration::from_millis(LOOK_MS)))?;
            self.take_replies(&timeline, &mut recorder);
        }
        let end = WorkerEnd { lost: self.lost, unanswered: recorder.in_flight() as u32 };
        recorder.finish(timeline.now_ns());
        self.quit();
        Ok(end)
    }

    fn start_all(&mut self, timeline: &Timeline, recorder: &mut Recorder) {
        for slot in 0..self.connections.len() {
            if self.connections[slot].is_some() {
                self.start(slot, timeline.now_ns(), timeline, recorder);
            }
        }
    }

    fn start(&mut self, slot: usize, now_ns: u64, timeline: &Timeline, recorder: &mut Recorder) {
        let Some(connection) = &mut self.connections[slot] else { return };
        recorder.started();
        match connection.start(now_ns, &mut self.scratch) {
            Ok(()) if connection.wants_to_write() => self.watch_for_room(slot),
            Ok(()) => {}
            Err(error) => self.lose(slot, &error, timeline, recorder),
        }
    }

    /// The socket took only a part: the rest goes when there is room. It is watched from then on for as long as it
    /// lives; a wake-up too many is cheaper than taking the watch back.
    fn watch_for_room(&mut self, slot: usize) {
        if let Some(connection) = &self.connections[slot] {
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            // It is registered since it was opened, so that this cannot fail.
            let _ = epoll::modify(&self.epoll, connection, epoll::EventData::new_u64(slot as u64), flags);
        }
    }

    fn take_replies(&mut self, timeline: &Timeline, recorder: &mut Recorder) {
        let events = std::mem::take(&mut self.events);
        for event in &events {
            let slot = event.data.u64() as usize;
            let Some(connection) = &mut self.connections[slot] else { continue };
            match connection.receive(&mut self.scratch) {
                Ok(Some(Event::Reply(reply))) if connection.state == State::InFlight => {
                    connection.state = State::Idle;
                    let now_ns = timeline.now_ns();
                    match reply.error {
                        None => recorder.ok(connection.started_ns, now_ns),
                        Some(error) => {
                            let class = truetps_driver::ErrorClass::of_code(error.code).to_string();
                            recorder.failed(now_ns, true, &class, error.code, &error.message);
                        }
                    }
                    self.count_down(now_ns, timeline);
                    if now_ns < timeline.end_ns() {
                        self.start(slot, now_ns, timeline, recorder);
                    }
                }
                Ok(None | Some(Event::Pending)) => {}
                Ok(Some(Event::Reply(_) | Event::Ready)) => {
                    self.lose(slot, &DriverError::Protocol("a reply that nobody asked for"), timeline, recorder);
                }
                Err(error) => self.lose(slot, &error, timeline, recorder),
            }
        }
        self.events = events;
    }

    /// Ends the measure phase when the wanted number of transactions has been reached.
    fn count_down(&self, now_ns: u64, timeline: &Timeline) {
        let Some(left) = &self.shared.transactions_left else { return };
        if now_ns >= timeline.measure_start_ns() && left.fetch_sub(1, Ordering::Relaxed) == 1 {
            timeline.end_now();
        }
    }

    /// The connection is gone: its transaction has failed, and the client with it.
    fn lose(&mut self, slot: usize, error: &DriverError, timeline: &Timeline, recorder: &mut Recorder) {
        let Some(connection) = self.connections[slot].take() else { return };
        if connection.state == State::InFlight {
            let class = error.class().to_string();
            recorder.failed(timeline.now_ns(), false, &class, error.code(), &error.to_string());
        }
        self.lost += 1;
        if self.shared.clients_alive.fetch_sub(1, Ordering::Relaxed) == 1 {
            timeline.end_now();
        }
    }

    fn quit(&mut self) {
        for connection in self.connections.drain(..).flatten() {
            connection.quit(&mut self.scratch);
        }
    }
}

impl Connected {
    fn count_failure(&mut self, error: &DriverError) {
        self.failed += 1;
        self.errors.add(&error.class().to_string(), error.code(), &error.to_string());
    }
}
