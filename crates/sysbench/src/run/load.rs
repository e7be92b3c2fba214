//! The command `run`: threads start, clients get ready, events run, reports are printed, the run
//! ends.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mlua::Table;
use truetps_probe::RunPresence;
use truetps_record::{CommonStart, NoEvidence, OtherRun};
use truetps_recording::LiveView;

use super::LuaThread;
use super::count::Count;
use super::ticks::Ticks;
use super::worker::{self, WorkerContext, WorkerEvent, groups};
use crate::command::{EventsEnding, ServerWarning, tell};
use crate::exit_code::{FAILED, INTERRUPTED, ProgramExit, UNFINISHED};
use crate::lua::ProcedureFailure;
use crate::output::{MessageLevel, lines};
use crate::parts::RunningPart;
use crate::recording::ScriptRecording;

/// Maximum interval between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// A run from its start to its report.
pub(crate) struct LoadRun<'a> {
    pub(crate) context: WorkerContext,
    /// The main thread's state, with the script loaded, and its client.
    pub(crate) main: &'a mut LuaThread,
    pub(crate) main_client: Table,
    /// The state for intermediate reports.
    pub(crate) reporter: Option<(LuaThread, Table)>,
    /// Until the recording takes it.
    pub(crate) view: Option<LiveView>,
    /// `None`: this process makes the whole load.
    pub(crate) part: Option<RunningPart<'a>>,
    /// `None`: the run is neither recorded nor shown, or has not begun.
    pub(crate) recording: Option<ScriptRecording>,
    /// Detects other runs of truetps, with those detected so far.
    pub(crate) presence: RunPresence,
    pub(crate) server_warning: ServerWarning,
    /// Whether the standard error gets remarks: see [`is_remarked`].
    pub(crate) is_remarked: bool,
    pub(crate) beside: Vec<OtherRun>,
}

/// Times of a run, in nanoseconds of its clock; u64::MAX: never.
struct Moments {
    warm_up_ends_ns: u64,
    forced_ns: u64,
    gives_up_ns: u64,
    reports: Ticks,
    seconds: Ticks,
    checkpoints_ns: Vec<u64>,
}

impl LoadRun<'_> {
    /// Runs it, and returns the exit status.
    pub(crate) fn run(mut self) -> u8 {
        let (news_out, news) = channel();
        let began_ns = self.context.run.control.now_ns();
        let started = self.start_threads(&news_out);
        drop(news_out);
        let ready = started.and_then(|go| self.wait_for_clients(&news, go.len()).map(|()| go));
        let go = match ready {
            Ok(go) => go,
            Err(status) => {
                self.context.run.control.abandon();
                return status;
            }
        };
        let connect_ms = self.context.run.control.now_ns().saturating_sub(began_ns) as f64 / 1e6;
        // Before the measurement: a slow disk must not delay any event.
        let part = self.part.as_ref().map(|part| &part.of);
        self.recording = ScriptRecording::begin(&self.context, connect_ms, self.view.take(), part);
        self.context.run.warn_of_server(self.server_warning);
        self.meet(self.presence.others());
        let start = match self.common_start() {
            Ok(start) => start,
            Err(status) => {
                self.context.run.control.abandon();
                return status;
            }
        };
        let (mut moments, mut count) = self.begin(start);
        self.context.run.log.text(MessageLevel::Notice, lines::THREADS_STARTED);
        let warmup_s = self.context.run.settings.warmup.as_secs() as u32;
        if warmup_s > 0 {
            self.context.run.log.text(MessageLevel::Notice, &lines::warming_up(warmup_s));
        }
        for one in &go {
            // A thread that is gone has reported why.
            let _ = one.send(true);
        }
        let ending = self.watch(&news, go.len(), &mut moments, &mut count);
        self.finish(ending, &mut count)
    }

    /// A remark about new ones; the run folder names them in any case.
    pub(super) fn meet(&mut self, runs: Vec<OtherRun>) {
        let others: Vec<_> =
            self.presence.meet(runs, &mut self.beside).iter().map(ToString::to_string).collect();
        match others.as_slice() {
            [] => {}
            [other] => self.remark(&format!("{other} puts load on this host, too")),
            several => self.remark(&format!("{} put load on this host, too", several.join(", "))),
        }
    }

    /// One line on the standard error for an interactive user; the output that programs parse stays
    /// as in sysbench.
    pub(super) fn remark(&self, line: &str) {
        if self.is_remarked {
            tell(line);
        }
    }

    /// # Errors
    ///
    /// The exit status, if the system has no room for all of them.
    fn start_threads(&self, news: &Sender<WorkerEvent>) -> Result<Vec<Sender<bool>>, ProgramExit> {
        let (settings, log) = (&self.context.run.settings, &self.context.run.log);
        log.text(MessageLevel::Notice, lines::INITIALIZING_THREADS);
        self.context.run.control.set_running(settings.threads);
        let mut go = Vec::new();
        for group in groups(settings.ours.part, settings.threads, self.context.threads) {
            let (go_out, go_in) = channel();
            go.push(go_out);
            if let Err(problem) = worker::start(&self.context, group, news, go_in) {
                log.text(MessageLevel::Fatal, &problem);
                log.text(MessageLevel::Fatal, "too many threads for this system");
                return Err(FAILED);
            }
        }
        Ok(go)
    }

    /// Waits until all threads are ready.
    ///
    /// # Errors
    ///
    /// The exit status, if they do not become ready.
    fn wait_for_clients(
        &self,
        news: &Receiver<WorkerEvent>,
        threads: usize,
    ) -> Result<(), ProgramExit> {
        let run = &self.context.run;
        let timeout = run.settings.thread_init_timeout;
        let until_ns = run.control.now_ns().saturating_add(timeout.as_nanos() as u64);
        let (mut ready, mut has_failed) = (0, false);
        while ready < threads {
            if run.interrupt.hear() {
                return Err(INTERRUPTED);
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(run.control.now_ns()));
            match news.recv_timeout(left.min(LOOK)) {
                Ok(WorkerEvent::Failed(tid, failure)) => {
                    self.say_failed(&failure);
                    if let Some(tid) = tid {
                        run.log
                            .text(MessageLevel::Debug, &lines::thread(tid, lines::NOT_INITIALIZED));
                    }
                    // The other clients say why they cannot begin, too.
                    has_failed = true;
                }
                // A thread may end successfully before the first event.
                Ok(WorkerEvent::Ready | WorkerEvent::Ended) => ready += 1,
                Err(_) if left.is_zero() && has_failed => break,
                Err(_) if left.is_zero() => {
                    run.log.text(
                        MessageLevel::Fatal,
                        &lines::no_initialization(timeout.as_secs() as u32),
                    );
                    return Err(UNFINISHED);
                }
                Err(_) => {}
            }
        }
        if has_failed {
            run.log.text(MessageLevel::Fatal, "Thread initialization failed!");
            return Err(FAILED);
        }
        Ok(())
    }

    pub(super) fn say_failed(&self, failure: &ProcedureFailure) {
        self.context.run.log.text(MessageLevel::Fatal, &failure.line());
    }

    /// Waits for the other parts, and for the start that is common to all. `None`: there are no
    /// other parts.
    ///
    /// # Errors
    ///
    /// The exit status, if the load does not start.
    fn common_start(&mut self) -> Result<Option<(Instant, CommonStart)>, ProgramExit> {
        let Some(part) = &mut self.part else { return Ok(None) };
        match part.meeting.start() {
            Ok(start) => {
                std::thread::sleep(start.0.saturating_duration_since(Instant::now()));
                Ok(Some(start))
            }
            Err(problem) => {
                let is_interrupted = self.context.run.interrupt.hear();
                self.context
                    .run
                    .log
                    .text(MessageLevel::Fatal, &format!("the load did not start: {problem}"));
                let reason = if is_interrupted {
                    NoEvidence::Interrupted
                } else {
                    NoEvidence::PartsApart { problem }
                };
                self.recording
                    .take()
                    .into_iter()
                    .for_each(|recording| recording.not_started(reason.clone()));
                Err(if is_interrupted { INTERRUPTED } else { FAILED })
            }
        }
    }

    fn begin(&mut self, start: Option<(Instant, CommonStart)>) -> (Moments, Count) {
        let run = &self.context.run;
        let settings = &run.settings;
        let at = start.map_or_else(Instant::now, |(at, _)| at);
        let now_ns = run.control.ns_at(at);
        let zero_ns = ns_after(now_ns, settings.warmup);
        let deadline_ns = settings.time.map_or(u64::MAX, |time| ns_after(zero_ns, time));
        run.control.set_deadline_ns(deadline_ns);
        run.control.begin_pace(now_ns);
        let drain = settings.ours.drain_timeout;
        let gives_up_ns = drain.map_or(u64::MAX, |drain| ns_after(deadline_ns, drain));
        run.control.set_gives_up_ns(gives_up_ns);
        let moments = Moments {
            warm_up_ends_ns: if settings.warmup.is_zero() { u64::MAX } else { zero_ns },
            forced_ns: settings.forced_shutdown.map_or(u64::MAX, |time| ns_after(zero_ns, time)),
            gives_up_ns,
            reports: Ticks::new(
                zero_ns,
                settings.report_interval.map_or(0, |time| time.as_nanos() as u64),
            ),
            seconds: Ticks::new(now_ns, SECOND_NS),
            checkpoints_ns: settings
                .checkpoints
                .iter()
                .rev()
                // At the start of the run there is nothing to report.
                .filter(|at| **at > 0)
                .map(|at| ns_after(zero_ns, Duration::from_secs((*at).into())))
                .collect(),
        };
        let has_warm_up = !settings.warmup.is_zero();
        if !has_warm_up {
            run.usage.next_round();
        }
        if let Some(recording) = &mut self.recording {
            recording.start(at, start.map(|(_, common)| common), has_warm_up);
        }
        (
            moments,
            Count::begin(&self.context.run, now_ns, if has_warm_up { zero_ns } else { now_ns }),
        )
    }

    /// Reports until the events are over.
    fn watch(
        &mut self,
        news: &Receiver<WorkerEvent>,
        threads: usize,
        moments: &mut Moments,
        count: &mut Count,
    ) -> EventsEnding {
        let run = Arc::clone(&self.context.run);
        let control = &run.control;
        let mut ended = 0;
        let mut has_failed = false;
        let mut interrupted = false;
        while ended < threads {
            let now_ns = control.now_ns();
            if now_ns >= moments.forced_ns {
                return EventsEnding::Forced;
            }
            if now_ns >= moments.gives_up_ns {
                return if interrupted { EventsEnding::Interrupted } else { EventsEnding::Hanging };
            }
            if run.interrupt.hear() && !interrupted {
                interrupted = true;
                control.end();
                moments.gives_up_ns = now_ns + INTERRUPT_PATIENCE_NS;
            }
            let due_ns = moments.next_ns();
            let left = Duration::from_nanos(due_ns.saturating_sub(now_ns)).min(LOOK);
            match news.recv_timeout(left) {
                Ok(WorkerEvent::Failed(_, failure)) => {
                    has_failed = true;
                    control.end();
                    self.say_failed(&failure);
                    if let Some(recording) = &mut self.recording {
                        recording.client_failed(&failure.line());
                    }
                }
                Ok(WorkerEvent::Ended) => ended += 1,
                Ok(WorkerEvent::Ready) | Err(_) => {}
            }
            if ended < threads && !has_failed {
                self.tick(moments, count);
            }
        }
        match (has_failed, interrupted) {
            (true, _) => EventsEnding::Failed,
            (false, true) => EventsEnding::Interrupted,
            (false, false) => EventsEnding::Complete,
        }
    }

    /// Performs the actions that are due.
    fn tick(&mut self, moments: &mut Moments, count: &mut Count) {
        let run = Arc::clone(&self.context.run);
        let now_ns = run.control.now_ns();
        if now_ns >= moments.warm_up_ends_ns {
            moments.warm_up_ends_ns = u64::MAX;
            let last = count.end_warm_up(&run, now_ns);
            moments.seconds = Ticks::new(now_ns, SECOND_NS);
            self.record(last);
            run.usage.next_round();
            if let Some(recording) = &mut self.recording {
                recording.begin_measured_time();
            }
        }
        if moments.warm_up_ends_ns == u64::MAX {
            self.report_what_is_due(moments, count, now_ns);
        }
        // After the reports: a slow disk must not delay them.
        if moments.seconds.advance_if_due(now_ns) {
            self.record_second(count, run.control.now_ns());
            self.meet(self.presence.arrivals());
        }
    }

    fn report_what_is_due(&mut self, moments: &mut Moments, count: &mut Count, now_ns: u64) {
        if moments.reports.advance_if_due(now_ns) {
            self.report_interval(count, now_ns);
        }
        while moments.checkpoints_ns.last().is_some_and(|at| *at <= now_ns) {
            moments.checkpoints_ns.pop();
            self.report_checkpoint(count, now_ns);
        }
    }
}

/// A later time, in nanoseconds of the same clock.
fn ns_after(ns: u64, time: Duration) -> u64 {
    ns.saturating_add(time.as_nanos() as u64)
}

/// Length of an interval of the run folder.
const SECOND_NS: u64 = 1_000_000_000;
/// Time limit for running events to end after an interrupt.
const INTERRUPT_PATIENCE_NS: u64 = 5_000_000_000;

impl Moments {
    fn next_ns(&self) -> u64 {
        let checkpoint_ns = self.checkpoints_ns.last().copied().unwrap_or(u64::MAX);
        [
            self.warm_up_ends_ns,
            self.forced_ns,
            self.gives_up_ns,
            self.reports.next_ns(),
            self.seconds.next_ns(),
            checkpoint_ns,
        ]
        .into_iter()
        .min()
        .unwrap_or(u64::MAX)
    }
}
