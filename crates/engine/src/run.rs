//! One run: connect, warm up, measure, drain.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use thiserror::Error;
use truetps_driver::Connector;
use truetps_measure::{CollectedRun, Collector, Pacing, Quota, Timeline, WorkerInterval};
use truetps_record::{Histogram, Interval, Phase};
use truetps_workload::Workload;

use crate::drive::Drive;
use crate::load::LoadSpec;
use crate::login::Connected;
use crate::mode::Threads;
use crate::outcome::{ClientEnds, RunEnding, RunOutcome, measured_load};
use crate::quota::QuotaCount;
use crate::rows::RowKeeper;
use crate::worker::{SharedRun, Worker};

/// Observes a run from the thread that called [`run`]: workers never wait for it.
pub trait Observer {
    /// All clients have connected: when the first transaction starts; `None`: at once. An error
    /// ends the run before it.
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

#[derive(Debug, Error)]
pub enum EngineError {
    #[error(
        "a number of transactions that is split between the clients needs a closed loop: with a \
         rate, any free client takes the next one"
    )]
    SplitOpenLoop,
    #[error("the engine could not watch its connections: {0}")]
    Epoll(#[from] io::Error),
    #[error(
        "a thread for the engine could not be started ({source}): {workers} threads may be too \
         many for this system"
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
        let began = Instant::now();
        let WorkerThreads { connected, cells, go, handles } = WorkerThreads::spawn(scope, &shared)?;
        let connected = add_up(connected.iter());
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
        let CollectedRun { measured, used } = collector.finish();
        let (measured, errors_elsewhere) = measured_load(load, connected.ok, &end, measured, &used);
        let ending = match (ending, shared.fatal.get()) {
            (RunEnding::Complete, Some(error)) => RunEnding::Fatal(error.clone()),
            (RunEnding::Complete, None) if end.lost == connected.ok => RunEnding::AllClientsLost,
            (ending, _) => ending,
        };
        Ok(RunOutcome {
            ending,
            workers: threads.workers,
            mode: threads.mode(),
            connect_ms,
            clients_connected: connected.ok,
            clients_not_connected: connected.failed,
            connect_errors: connected.errors.into_sorted(),
            at_session_limit: connected.at_session_limit,
            measured,
            errors_elsewhere: errors_elsewhere.into_sorted(),
            end,
        })
    })
}

/// The workers of a run, and what they wait for and send.
struct WorkerThreads<'scope> {
    connected: Receiver<Connected>,
    cells: Receiver<WorkerInterval>,
    /// The start time, for each of them.
    go: Vec<Sender<Arc<Timeline>>>,
    handles: Vec<ScopedJoinHandle<'scope, Result<ClientEnds, EngineError>>>,
}

impl<'scope> WorkerThreads<'scope> {
    /// After an error the workers that were started end, because they receive no timeline.
    fn spawn(
        scope: &'scope Scope<'scope, '_>,
        shared: &'scope SharedRun<'_>,
    ) -> Result<Self, EngineError> {
        let (connected_out, connected) = channel();
        let (cell_out, cells) = channel();
        let (mut go, mut handles) = (Vec::new(), Vec::new());
        let workers = shared.threads.workers;
        for number in 0..workers as usize {
            let (timeline_out, timeline_in) = channel();
            let (connected_out, cell_out) = (connected_out.clone(), cell_out.clone());
            let builder =
                thread::Builder::new().name(format!("worker-{number}")).stack_size(STACK_BYTES);
            let spawned = builder.spawn_scoped(scope, move || {
                work(number, shared, connected_out, &timeline_in, cell_out)
            });
            handles.push(spawned.map_err(|source| EngineError::Thread { workers, source })?);
            go.push(timeline_out);
        }
        Ok(Self { connected, cells, go, handles })
    }
}

/// Sends all workers the start time: slightly in the future, so that none is late, unless it was
/// chosen.
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
    // The receiver is gone only if the run as a whole has failed; it waits until the last sender is
    // gone.
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
