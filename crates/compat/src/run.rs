//! Common to both programs, from the options of a run to its results.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Thread};
use std::time::Duration;

use truetps_driver::{Client, DriverError, Target, server_settings};
use truetps_engine::{LoadSpec, OpenPacing, Pacing, Quota, Rate, RateOf, RunOutcome};
use truetps_folder::FolderError;
use truetps_plan::{ErrorPolicy, Load};
use truetps_probe::worker_count;
use truetps_record::{OtherRun, Phase, Spacing, Trial};
use truetps_recording::TrialEvent;
use truetps_trial::{RanTrial, TrialContext, connect_timeout, run_trial};

use crate::ending::{Clients, RunSessions, start_of};
use crate::recording::CompatRecording;
use crate::supplement::{RunResult, Supplement};

/// Time limit for the server's first answers.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a statement that is not measured: dropping a large table may take minutes.
const STATEMENT_TIMEOUT: Duration = Duration::from_hours(24);
/// A statement that runs this long after all others have ended hangs.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(1);
/// In a record: the run ends with its transactions.
const UNLIMITED_S: f64 = 0.0;
/// These programs promise a number of rows or queries: none may fail.
pub(crate) const FAILED_SHARE_MAX: f64 = 0.0;
/// Time limit of the login, and of each query for the server's settings.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(3);
/// How soon Ctrl-C is noticed while waiting for a server.
const LOOK: Duration = Duration::from_millis(20);

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunRequest {
    pub(crate) clients: u32,
    pub(crate) workers: u32,
    /// For all clients together; `None`: as many as fit into the time.
    pub(crate) transactions: Option<u64>,
    /// `None`: it ends with its transactions.
    pub(crate) time: Option<Duration>,
    /// Transactions a second of all clients; `None`: each client sends the next one after the
    /// answer.
    pub(crate) rate: Option<f64>,
    pub(crate) seed: u64,
}

impl RunRequest {
    pub(crate) fn load(&self) -> LoadSpec {
        let pacing = self.rate.map_or(Pacing::Closed, |rate| {
            Pacing::Open(OpenPacing {
                rate: Rate::constant(rate),
                of: RateOf::All,
                spacing: Spacing::Constant,
                latency_limit: None,
                seed: self.seed,
            })
        });
        // A schedule is shared: any free client takes the next start.
        let quota = if self.rate.is_some() { Quota::Together } else { Quota::Each };
        LoadSpec {
            pacing,
            errors: no_retries(),
            quota: self.transactions.map(quota),
            connect_timeout: connect_timeout(self.clients),
            drain_timeout: DRAIN_TIMEOUT,
            ..LoadSpec::closed(self.clients, self.workers, self.time.unwrap_or(Duration::MAX))
        }
    }

    /// The load as an entry of a plan.
    pub(crate) fn plan_load(&self) -> Load {
        Load {
            warm_up_s: 0.0,
            measure_s: self.time.map_or(UNLIMITED_S, |time| time.as_secs_f64()),
            measure_transactions: self.transactions,
            rate: self.rate,
            errors: no_retries(),
            ..Load::default()
        }
    }
}

/// As in the originals, failed statements are not repeated.
fn no_retries() -> ErrorPolicy {
    ErrorPolicy { retry: Vec::new(), ..ErrorPolicy::default() }
}

/// A connection for statements that are not measured.
pub(crate) fn connect_unmeasured(target: &Target) -> Result<Client, DriverError> {
    let mut client = Client::connect(target, ANSWER_TIMEOUT)?;
    client.set_timeout(STATEMENT_TIMEOUT)?;
    Ok(client)
}

/// Threads that run the clients. `asked`: 0 chooses automatically.
pub(crate) fn workers(asked: u32, cores: u32) -> u32 {
    worker_count((asked > 0).then_some(asked), cores)
}

/// Raises the limit of open files for this many clients of the server. The error contains the hint
/// if the host has too little.
pub(crate) fn make_room(clients: u32, server: &Target) -> Result<(), String> {
    truetps_trial::make_room_for_clients(clients, &server.endpoints, &server.sources)
        .map_err(|error| format!("{error}\nhint: {}", error.hint()))
}

/// The result of a run.
pub(crate) struct TrialResult {
    pub(crate) trial: Trial,
    /// `None`: the load could not run at all, and `trial` has the reason.
    pub(crate) outcome: Option<RunOutcome>,
    /// Other runs of truetps seen for the first time.
    pub(crate) others: Vec<OtherRun>,
    /// The user interrupted, and connections of clients were ended for it.
    pub(crate) has_ended_connections: bool,
}

impl TrialResult {
    /// From the first statement to the end of the last one, as in `run.json`; 0 if there was none.
    pub(crate) fn length(&self) -> Duration {
        self.outcome.as_ref().map_or(Duration::ZERO, |outcome| {
            outcome.measured.as_ref().map_or(Duration::ZERO, |measured| measured.length)
        })
    }
}

/// Runs the trial of this number, from 0, keeps it in its folder, and adds its result to `truth`.
/// `transactions`: the requested number.
pub(crate) fn drive(
    recording: &CompatRecording,
    number: usize,
    context: &TrialContext<'_>,
    transactions: Option<u64>,
    truth: &mut Supplement,
) -> Result<TrialResult, FolderError> {
    let (trial, writer) = recording.begin_trial(number)?;
    let response = &mut truth.response;
    let mut others = Vec::new();
    let add = &mut |event: TrialEvent<'_>| {
        recording.show(number, event);
        match event {
            TrialEvent::OtherRun(other) => others.push(other.clone()),
            // The figures of `run.json` cover this phase, too. All histograms have the same bounds.
            TrialEvent::Interval(interval, histogram) if interval.phase == Phase::Measure => {
                let _ = response.add(histogram);
            }
            _ => {}
        }
    };
    recording.show(number, TrialEvent::Begins);
    let (ran, has_ended_connections) =
        run_and_end(context, |context| run_trial(context, trial, writer, add));
    let RanTrial { trial, writer, outcome, error } = ran;
    // Written in any case: if the series failed, `run.json` may still be written.
    writer.write_trial(&trial)?;
    recording.show(number, TrialEvent::Ends(&trial));
    error.map_or(Ok(()), Err)?;
    if let Some(variables) = recording.path().and_then(|_| settings_of(context)) {
        writer.write_variables(&variables)?;
    }
    truth.runs.push(RunResult::of(&trial, outcome.as_ref(), context.load.clients, transactions));
    Ok(TrialResult { trial, outcome, others, has_ended_connections })
}

/// The server's settings after the measurement. Empty if the server is gone or has no connection
/// left; Ctrl-C ends the wait.
fn settings_of(context: &TrialContext<'_>) -> Option<BTreeMap<String, String>> {
    if context.stop.load(Ordering::Relaxed) {
        return None;
    }
    let target = Target { setup: Vec::new(), sends_local_files: false, ..context.target.clone() };
    unless_stopped(context.stop, move || {
        server_settings(&mut Client::connect(&target, SETTINGS_TIMEOUT)?)
    })?
    .ok()
}

/// Runs a load whose statements are ended soon after Ctrl-C, so that the user does not wait for a
/// lock or a long query. Returns whether connections were ended, too.
fn run_and_end<T>(
    context: &TrialContext<'_>,
    run: impl FnOnce(&TrialContext<'_>) -> T,
) -> (T, bool) {
    let mut target = context.target.clone();
    let schema = target.login.database.clone().unwrap_or_default();
    let sessions = RunSessions::of(&mut target, vec![schema]);
    let statements = context.workload.statements();
    let clients = Clients {
        sessions,
        starts: statements.iter().map(|statement| start_of(statement.sql()).to_owned()).collect(),
    };
    let context = TrialContext { load: context.load.clone(), target: &target, ..*context };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| clients.end_when_wanted(context.stop, &is_over));
        let over = Over { is_over: &is_over, watcher: watcher.thread().clone() };
        let outcome = run(&context);
        drop(over);
        (outcome, watcher.join().unwrap_or(false))
    })
}

/// Stops the watcher however the run ends: a panic would otherwise wait for it for ever.
struct Over<'a> {
    is_over: &'a AtomicBool,
    watcher: Thread,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// Performs an operation that waits for a server, and abandons it on Ctrl-C: `None`. The server may
/// still finish it.
pub(crate) fn unless_stopped<T: Send + 'static>(
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = channel();
    let worker = thread::spawn(move || done.send(work()));
    loop {
        match result.recv_timeout(LOOK) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(_) => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_loop_has_no_shares() {
        let asked = RunRequest {
            clients: 4,
            workers: 1,
            transactions: Some(10),
            time: None,
            rate: None,
            seed: 1,
        };
        assert_eq!(asked.load().quota, Some(Quota::Each(10)));
        assert_eq!(asked.load().measure, Duration::MAX);
        let open = RunRequest { rate: Some(5.0), ..asked };
        assert_eq!(open.load().quota, Some(Quota::Together(10)));
        let timed = RunRequest { transactions: None, time: Some(Duration::from_secs(2)), ..open };
        assert_eq!((timed.load().quota, timed.load().measure), (None, Duration::from_secs(2)));
        assert_eq!((timed.plan_load().rate, timed.plan_load().measure_s), (Some(5.0), 2.0));
    }

    #[test]
    fn an_interrupt_ends_a_wait() {
        let stop = AtomicBool::new(false);
        assert_eq!(unless_stopped(&stop, || 7), Some(7));
        stop.store(true, Ordering::Relaxed);
        let (_held, never) = channel::<()>();
        assert!(unless_stopped(&stop, move || never.recv().is_ok()).is_none());
    }
}
