//! One run: connect, warm up, measure, drain.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;
use truetps_driver::Connector;
use truetps_record::{Counts, ErrorCount, ErrorTally, Histogram, Interval, LatencyFigures, Phase};
use truetps_workload::Workload;

use crate::collect::{Collector, Totals};
use crate::recorder::Cell;
use crate::timeline::Timeline;
use crate::worker::{Connected, Shared, Worker, WorkerEnd};

/// The load of one trial.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    pub clients: u32,
    /// OS threads; at most one a client is used.
    pub workers: u32,
    pub warm_up: Duration,
    pub measure: Duration,
    /// End the measure phase after this many transactions, if that is sooner.
    pub measure_transactions: Option<u64>,
    /// For all clients together.
    pub connect_timeout: Duration,
    /// How long the transactions in flight at the end may take.
    pub drain_timeout: Duration,
}

/// Watches a run from the thread that called [`run`]: workers never wait for it.
pub trait Observer {
    /// A phase begins.
    fn phase(&mut self, phase: Phase);
    /// An interval is over. An error ends the run.
    fn interval(&mut self, interval: &Interval, histogram: &Histogram) -> Result<(), String>;
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// The caller asked for it.
    Interrupted,
    /// Every client had lost its connection.
    AllClientsLost,
    /// No client could connect: nothing was sent.
    NobodyConnected,
    /// The observer could not keep an interval.
    ObserverFailed(String),
}

/// What came out. The counts of the measure phase are `None` where it was never reached.
#[derive(Debug)]
pub struct Outcome {
    pub ending: Ending,
    pub workers: u32,
    pub connect_ms: f64,
    pub clients_connected: u32,
    pub clients_failed: u32,
    pub connect_errors: Vec<ErrorCount>,
    /// Clients whose connection broke.
    pub clients_lost: u32,
    /// Clients without an answer when the drain was over.
    pub clients_unanswered: u32,
    pub measured: Option<Counts>,
    pub measure_length: Duration,
    pub response: LatencyFigures,
    pub errors: Vec<ErrorCount>,
    /// Errors in warm-up and drain.
    pub errors_elsewhere: Vec<ErrorCount>,
    /// CPU time of all workers in the measure phase.
    pub client_cpu: Duration,
    /// Largest share of the measure phase that one worker spent on a CPU.
    pub worker_busy_max: f64,
}

#[derive(Debug, Error)]
pub enum EngineError {
    #[error("the engine could not watch its connections: {0}")]
    Epoll(#[from] io::Error),
}

/// The collector looks this often whether the run should end.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the load. `stop` ends it early, with what has been measured.
pub fn run(
    load: &LoadSpec,
    connector: &Connector,
    workload: &dyn Workload,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, EngineError> {
    let shared = Shared {
        connector,
        workload,
        connect_timeout: load.connect_timeout,
        drain_timeout: load.drain_timeout,
        stop,
        transactions_left: load.measure_transactions.map(AtomicU64::new),
        clients_alive: AtomicU32::new(0),
    };
    let workers = load.workers.clamp(1, load.clients.max(1)) as usize;
    thread::scope(|scope| {
        let (connected_out, connected_in) = channel();
        let (cell_out, cells) = channel();
        let mut go = Vec::new();
        let mut threads = Vec::new();
        let began = Instant::now();
        for number in 0..workers {
            let (timeline_out, timeline_in) = channel();
            go.push(timeline_out);
            let (connected_out, cell_out) = (connected_out.clone(), cell_out.clone());
            let (shared, clients) = (&shared, load.clients);
            threads.push(scope.spawn(move || -> io::Result<WorkerEnd> {
                let mut worker = Worker::new(number, shared)?;
                let mine: Vec<_> = (number as u32..clients).step_by(workers).collect();
                let connected = worker.connect(&mine)?;
                // The receiver goes only where the run has failed as a whole; it waits until the last sender is gone.
                let _ = connected_out.send(connected);
                drop(connected_out);
                worker.drive(&timeline_in, cell_out)
            }));
        }
        drop((connected_out, cell_out));
        let connected = add_up(connected_in.iter());
        let connect_ms = began.elapsed().as_secs_f64() * 1e3;
        shared.clients_alive.store(connected.ok, Ordering::Relaxed);
        let mut collector = Collector::new(workers);
        let ending = if stop.load(Ordering::Relaxed) {
            drop(go);
            Ending::Interrupted
        } else if connected.ok == 0 {
            drop(go);
            Ending::NobodyConnected
        } else {
            let start = Instant::now() + Duration::from_millis(1);
            let timeline = Arc::new(Timeline::new(start, load.warm_up, load.measure));
            // A worker that does not take it has failed: joining it says why.
            for go in go {
                let _ = go.send(Arc::clone(&timeline));
            }
            collect(&timeline, &cells, &mut collector, stop, observer)
        };
        let mut end = WorkerEnd::default();
        for thread in threads {
            let one = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            end.lost += one.lost;
            end.unanswered += one.unanswered;
        }
        let all_lost = end.lost == connected.ok && ending == Ending::Complete && connected.ok > 0;
        let ending = if all_lost { Ending::AllClientsLost } else { ending };
        Ok(outcome(ending, workers as u32, connect_ms, connected, &end, collector.totals))
    })
}

fn add_up(all: impl Iterator<Item = Connected>) -> Connected {
    all.fold(Connected::default(), |mut sum, one| {
        sum.ok += one.ok;
        sum.failed += one.failed;
        sum.errors.merge(&one.errors);
        sum
    })
}

/// Shows intervals and phases to the observer until all workers are done.
fn collect(
    timeline: &Timeline,
    cells: &Receiver<Cell>,
    collector: &mut Collector,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Ending {
    let mut ending = Ending::Complete;
    let mut shown = None;
    loop {
        show_phase(timeline, &mut shown, observer);
        if ending == Ending::Complete && stop.load(Ordering::Relaxed) && timeline.now_ns() < timeline.end_ns() {
            ending = Ending::Interrupted;
            timeline.end_now();
        }
        let all_done = match cells.recv_timeout(until_next_look(timeline)) {
            Ok(cell) => {
                collector.add(&cell);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        while let Some((interval, whole)) = if all_done { collector.take_first() } else { collector.take_complete() } {
            let kept = observer.interval(&interval, &whole.histogram);
            if let (Err(error), Ending::Complete | Ending::Interrupted) = (kept, &ending) {
                ending = Ending::ObserverFailed(error);
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

/// Up to the next change of phase, so that the observer sees it in time.
fn until_next_look(timeline: &Timeline) -> Duration {
    let now_ns = timeline.now_ns();
    let changes = [timeline.measure_start_ns(), timeline.end_ns()];
    let next_ns = changes.into_iter().filter(|change| *change > now_ns).min().unwrap_or(u64::MAX);
    LOOK.min(Duration::from_nanos(next_ns - now_ns.min(next_ns)))
}

fn outcome(
    ending: Ending,
    workers: u32,
    connect_ms: f64,
    connected: Connected,
    end: &WorkerEnd,
    totals: Totals,
) -> Outcome {
    let length_ns = totals.length_ns;
    let busiest_ns = totals.cpu_ns.iter().copied().max().unwrap_or(0);
    let sorted = ErrorTally::into_sorted;
    Outcome {
        ending,
        workers,
        connect_ms,
        clients_connected: connected.ok,
        clients_failed: connected.failed,
        connect_errors: sorted(connected.errors),
        clients_lost: end.lost,
        clients_unanswered: end.unanswered,
        measured: totals.counts,
        measure_length: Duration::from_nanos(length_ns),
        response: LatencyFigures::of(&totals.histogram),
        errors: sorted(totals.errors),
        errors_elsewhere: sorted(totals.errors_elsewhere),
        client_cpu: Duration::from_nanos(totals.cpu_ns.iter().sum()),
        worker_busy_max: if length_ns > 0 { busiest_ns as f64 / length_ns as f64 } else { 0.0 },
    }
}
