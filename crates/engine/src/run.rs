//! One run: connect, warm up, measure, drain.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use thiserror::Error;
use truetps_driver::Connector;
use truetps_measure::{
    CollectedRun, Collector, Pacing, Quota, Timeline, WorkerInterval, WorkerUse,
};
use truetps_plan::ErrorPolicy;
use truetps_record::{
    Counts, DriveMode, ErrorCount, ErrorTally, Histogram, Interval, LatencyFigures, OpenLoop, Part,
    Phase,
};
use truetps_workload::Workload;

use crate::drive::{Drive, RowKeeper};
use crate::login::Connected;
use crate::mode::Threads;
use crate::quota::QuotaCount;
use crate::rows::LoggedRows;
use crate::worker::{SharedRun, Worker};

/// The load of one trial.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// Of all parts together.
    pub clients: u32,
    /// The part of the load that this process makes: its clients, their share of the schedule and of the quota.
    pub part: Part,
    /// OS threads of a multiplexed run; at most one a client is used. A blocking run has one a client.
    pub workers: u32,
    pub mode: DriveMode,
    /// Cores that the workers are bound to, in turn; empty: the kernel decides.
    pub pin: Vec<u32>,
    pub pacing: Pacing,
    pub errors: ErrorPolicy,
    pub warm_up: Duration,
    /// `Duration::MAX`: no time limit.
    pub measure: Duration,
    /// End the measure phase after a number of transactions, if that is sooner.
    pub quota: Option<Quota>,
    /// After this number of transactions on one connection (successful or not, warm-up included) a client disconnects,
    /// connects and logs in again, and only then starts its next transaction. This takes measured time, but is in no
    /// response time. A client that has finished keeps its connection.
    ///
    /// A connection that cannot be restored is lost, and [`ErrorPolicy::reconnect_s`] applies. A server at its
    /// connection limit refuses the new connection until it has processed the goodbye: for one second that is not a
    /// failure.
    pub reconnect_every: Option<NonZeroU64>,
    /// Transactions save rows, and each answer is kept.
    pub rows: Option<LoggedRows>,
    /// For all clients together.
    pub connect_timeout: Duration,
    /// Time limit for the transactions in flight at the end.
    pub drain_timeout: Duration,
}

impl LoadSpec {
    /// A closed loop without warm-up, with the default timeouts.
    pub fn closed(clients: u32, workers: u32, measure: Duration) -> Self {
        Self {
            clients,
            part: Part::WHOLE,
            workers,
            mode: DriveMode::Auto,
            pin: Vec::new(),
            pacing: Pacing::Closed,
            errors: ErrorPolicy::default(),
            warm_up: Duration::ZERO,
            measure,
            quota: None,
            reconnect_every: None,
            rows: None,
            connect_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
        }
    }

    /// The number of workers of all parts, which have equally many.
    pub(crate) fn workers_of_all_parts(&self, threads: Threads) -> usize {
        self.part.of as usize * threads.workers as usize
    }

    /// The quota of this part.
    fn own_quota(&self) -> Option<Quota> {
        self.quota.map(|quota| match quota {
            Quota::Together(all) => Quota::Together(self.part.share(all)),
            Quota::Each(all) => Quota::Each(all),
        })
    }
}

/// Observes a run from the thread that called [`run`]: workers never wait for it.
pub trait Observer {
    /// All clients have connected: when the first transaction starts; `None`: at once. An error ends the run before it.
    fn start(&mut self) -> Result<Option<Instant>, String> {
        Ok(None)
    }
    /// All times of the run count from this moment, at which the first transaction starts.
    fn clock(&mut self, _zero: Instant) {}
    /// A phase begins.
    fn phase(&mut self, phase: Phase);
    /// An interval is over. An error ends the run.
    fn interval(&mut self, interval: &Interval, histogram: &Histogram) -> Result<(), String>;
}

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
    /// The age of the oldest transaction in flight when the measure phase ended ([`Counts::in_flight`]), from its
    /// scheduled start. Transactions in flight are in no response time.
    pub oldest_in_flight: Option<Duration>,
    /// If the number of transactions is limited ([`Quota::Each`], and any quota of an open loop): from the start of the
    /// measure phase to the end of its last transaction. The phase itself is a few milliseconds longer, so that no
    /// thread misses its end.
    pub last_end: Option<Duration>,
}

impl ClientEnds {
    fn add(&mut self, other: &Self) {
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

/// The result of a run. The counts of the measure phase are `None` if it was never reached.
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
    pub measured: Option<Counts>,
    pub measure_length: Duration,
    pub response: LatencyFigures,
    /// Figures of an open loop; `None` in a closed one.
    pub open_loop: Option<OpenLoop>,
    pub errors: Vec<ErrorCount>,
    /// Errors in warm-up and drain.
    pub errors_elsewhere: Vec<ErrorCount>,
    /// Of the measure phase.
    pub workers_used: WorkerUse,
}

#[derive(Debug, Error)]
pub enum EngineError {
    #[error(
        "a number of transactions that is split between the clients needs a closed loop: with a rate, \
         any free client takes the next one"
    )]
    SplitOpenLoop,
    #[error("the engine could not watch its connections: {0}")]
    Epoll(#[from] io::Error),
    #[error(
        "a thread for the engine could not be started ({source}): {workers} threads may be too many for this system"
    )]
    Thread { workers: u32, source: io::Error },
    #[error("the log of answers cannot be created: {0}")]
    AnswerLog(io::Error),
    #[error("workers cannot be bound to core {core}: {source}")]
    Pin { core: u32, source: io::Error },
}

/// Interval at which the collector checks whether the run should end.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the load. `stop` ends it early, with the results so far.
pub fn run(
    load: &LoadSpec,
    connector: &Connector,
    workload: &dyn Workload,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, EngineError> {
    let threads = Threads::choose(
        load.mode,
        &load.pacing,
        load.part.largest_share(load.clients),
        load.workers,
    );
    if matches!((&load.quota, &load.pacing), (Some(Quota::Each(_)), Pacing::Open(_))) {
        return Err(EngineError::SplitOpenLoop);
    }
    let quota = QuotaCount::new(load.own_quota(), load.pacing != Pacing::Closed, threads.workers);
    let shared =
        SharedRun { load, threads, connector, workload, stop, quota, fatal: OnceLock::new() };
    thread::scope(|scope| {
        let (connected_out, connected_in) = channel();
        let (cell_out, cells) = channel();
        let mut go = Vec::new();
        let mut handles = Vec::new();
        let began = Instant::now();
        for number in 0..threads.workers as usize {
            let (timeline_out, timeline_in) = channel();
            let (connected_out, cell_out) = (connected_out.clone(), cell_out.clone());
            let shared = &shared;
            let body = move || work(number, shared, connected_out, &timeline_in, cell_out);
            let builder =
                thread::Builder::new().name(format!("worker-{number}")).stack_size(STACK_BYTES);
            // The other workers end when they receive no timeline.
            let failed = |source| EngineError::Thread { workers: threads.workers, source };
            handles.push(builder.spawn_scoped(scope, body).map_err(failed)?);
            go.push(timeline_out);
        }
        drop((connected_out, cell_out));
        let connected = add_up(connected_in.iter());
        let connect_ms = began.elapsed().as_secs_f64() * 1e3;
        shared.quota.set_clients(connected.ok);
        let mut collector = Collector::new(threads.workers as usize, load.pacing != Pacing::Closed);
        let ending = if stop.load(Ordering::Relaxed) {
            drop(go);
            RunEnding::Interrupted
        } else if connected.ok == 0 {
            drop(go);
            RunEnding::NoClientConnected
        } else {
            match observer.start() {
                Ok(at) => {
                    let timeline = start(load, at, go);
                    collect(&timeline, &cells, &mut collector, stop, observer)
                }
                Err(reason) => {
                    drop(go);
                    if stop.load(Ordering::Relaxed) {
                        RunEnding::Interrupted
                    } else {
                        RunEnding::NotStarted(reason)
                    }
                }
            }
        };
        let end = join(handles)?;
        let ending = match (ending, shared.fatal.get()) {
            (RunEnding::Complete, Some(error)) => RunEnding::Fatal(error.clone()),
            (RunEnding::Complete, None) if end.lost == connected.ok => RunEnding::AllClientsLost,
            (ending, _) => ending,
        };
        Ok(outcome(ending, threads, connect_ms, connected, end, collector.finish()))
    })
}

/// Sends all workers the start time: slightly in the future, so that none is late, unless it was chosen.
fn start(
    load: &LoadSpec,
    at: Option<Instant>,
    workers: Vec<Sender<Arc<Timeline>>>,
) -> Arc<Timeline> {
    let start = at.unwrap_or_else(|| Instant::now() + Duration::from_millis(1));
    let timeline = Arc::new(Timeline::new(start, load.warm_up, load.measure));
    for worker in workers {
        // A worker that does not receive it has failed: joining it returns the reason.
        let _ = worker.send(Arc::clone(&timeline));
    }
    timeline
}

/// Waits for all workers, and adds up how they ended.
fn join(
    workers: Vec<ScopedJoinHandle<'_, Result<ClientEnds, EngineError>>>,
) -> Result<ClientEnds, EngineError> {
    workers.into_iter().try_fold(ClientEnds::default(), |mut sum, worker| {
        sum.add(&worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(sum)
    })
}

/// Workers have shallow call stacks, and there may be thousands of them.
const STACK_BYTES: usize = 256 << 10;

/// The whole life of one worker.
fn work(
    number: usize,
    shared: &SharedRun<'_>,
    connected_out: Sender<Connected>,
    timeline: &Receiver<Arc<Timeline>>,
    cells: Sender<WorkerInterval>,
) -> Result<ClientEnds, EngineError> {
    pin(number, &shared.load.pin)?;
    let mut worker = Worker::new(number, shared)?;
    let rows = shared.load.rows.as_ref().map(|rows| RowKeeper::new(rows, number));
    let rows = rows.transpose().map_err(EngineError::AnswerLog)?;
    let load = shared.load;
    let first = load.part.worker(number) as u32;
    let mine: Vec<_> =
        (first..load.clients).step_by(load.workers_of_all_parts(shared.threads)).collect();
    let connected = worker.connect(&mine)?;
    // The receiver is gone only if the run as a whole has failed; it waits until the last sender is gone.
    let _ = connected_out.send(connected);
    drop(connected_out);
    // No timeline arrives if the run was cancelled.
    let Ok(timeline) = timeline.recv() else {
        worker.quit();
        return Ok(ClientEnds::default());
    };
    Ok(Drive::new(&mut worker, timeline, rows, cells).run()?)
}

/// Binds the calling thread to its core.
fn pin(worker: usize, cores: &[u32]) -> Result<(), EngineError> {
    let Some(core) = cores.get(worker % cores.len().max(1)).copied() else { return Ok(()) };
    let mut set = CpuSet::new();
    if core as usize >= CpuSet::MAX_CPU {
        return Err(EngineError::Pin { core, source: io::ErrorKind::InvalidInput.into() });
    }
    set.set(core as usize);
    sched_setaffinity(None, &set).map_err(|source| EngineError::Pin { core, source: source.into() })
}

fn add_up(all: impl Iterator<Item = Connected>) -> Connected {
    all.fold(Connected::default(), |mut sum, one| {
        sum.ok += one.ok;
        sum.failed += one.failed;
        sum.at_session_limit |= one.at_session_limit;
        sum.errors.merge(&one.errors);
        sum
    })
}

/// Passes intervals and phases to the observer until all workers are done.
fn collect(
    timeline: &Timeline,
    cells: &Receiver<WorkerInterval>,
    collector: &mut Collector,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> RunEnding {
    let mut ending = RunEnding::Complete;
    let mut shown = None;
    observer.clock(timeline.start());
    loop {
        show_phase(timeline, &mut shown, observer);
        if ending == RunEnding::Complete
            && stop.load(Ordering::Relaxed)
            && timeline.now_ns() < timeline.end_ns()
        {
            ending = RunEnding::Interrupted;
            timeline.end_now();
        }
        let all_done = match cells.recv_timeout(until_next_look(timeline)) {
            Ok(cell) => {
                collector.add(cell);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        while let Some((interval, histogram)) =
            if all_done { collector.take_first() } else { collector.take_complete() }
        {
            let kept = observer.interval(&interval, &histogram);
            if let (Err(error), RunEnding::Complete | RunEnding::Interrupted) = (kept, &ending) {
                ending = RunEnding::ObserverFailed(error);
                timeline.end_now();
            }
        }
        if all_done {
            show_phase(timeline, &mut shown, observer);
            return ending;
        }
    }
}

fn phase_now(timeline: &Timeline) -> Phase {
    let now_ns = timeline.now_ns();
    if now_ns >= timeline.end_ns() {
        Phase::Drain
    } else if now_ns >= timeline.measure_start_ns() {
        Phase::Measure
    } else {
        Phase::WarmUp
    }
}

fn show_phase(timeline: &Timeline, shown: &mut Option<Phase>, observer: &mut dyn Observer) {
    let phase = phase_now(timeline);
    if *shown != Some(phase) {
        *shown = Some(phase);
        observer.phase(phase);
    }
}

/// Time until the next change of phase, so that the observer sees it in time.
fn until_next_look(timeline: &Timeline) -> Duration {
    let now_ns = timeline.now_ns();
    let changes = [timeline.measure_start_ns(), timeline.end_ns()];
    let next_ns = changes.into_iter().filter(|change| *change > now_ns).min().unwrap_or(u64::MAX);
    LOOK.min(Duration::from_nanos(next_ns - now_ns.min(next_ns)))
}

fn outcome(
    ending: RunEnding,
    threads: Threads,
    connect_ms: f64,
    connected: Connected,
    end: ClientEnds,
    run: CollectedRun,
) -> RunOutcome {
    let CollectedRun { measured, used } = run;
    let sorted = ErrorTally::into_sorted;
    RunOutcome {
        ending,
        workers: threads.workers,
        mode: threads.mode(),
        connect_ms,
        clients_connected: connected.ok,
        clients_not_connected: connected.failed,
        connect_errors: sorted(connected.errors),
        at_session_limit: connected.at_session_limit,
        end,
        open_loop: measured.sums.open_loop().filter(|_| measured.has_begun),
        measured: measured.has_begun.then_some(measured.sums.counts),
        measure_length: Duration::from_nanos(measured.length_ns),
        response: LatencyFigures::of(&measured.sums.response),
        errors: sorted(measured.sums.errors),
        errors_elsewhere: sorted(measured.errors_elsewhere),
        workers_used: WorkerUse::of(&used, measured.length_ns),
    }
}
