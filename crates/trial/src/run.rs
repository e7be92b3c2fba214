//! One trial on a running server in its initial state: load, record, judge validity.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use truetps_driver::{Connector, HttpTarget, Target};
use truetps_engine::{ClientEnds, LoadSpec, Observer, Quota, RunEnding, RunOutcome};
use truetps_folder::{FolderError, TrialWriter};
use truetps_measure::MeasuredLoad;
use truetps_plan::{Plan, ProbeSpec};
use truetps_probe::RunPresence;
use truetps_record::{
    Configuration, EngineFacts, ErrorCount, Histogram, Interval, NoEvidence, OtherRun, Part, Phase,
    Protocol, Trial, Validity,
};
use truetps_recording::{LoadFacts, LoadProbe, TrialEvent, TrialRecorder};
use truetps_workload::Workload;

use crate::pacing::pacing;

/// All clients must be connected within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Additional time for each client: TLS, key derivation and dozens of prepared statements take
/// time.
const CONNECT_TIMEOUT_A_CLIENT: Duration = Duration::from_millis(10);
/// A server that does not answer for this long after the end hangs.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// With a larger share of failures, throughput measures a server that mostly refuses: a full disk,
/// a read-only server.
pub const FAILED_SHARE_MAX: f64 = 0.01;

/// Waits, when all clients have connected, until the start of the load is agreed on, or says why
/// there is none.
pub type StartGate<'a> = dyn Fn() -> Result<Instant, String> + 'a;

/// A load and its server.
pub struct TrialContext<'a> {
    pub load: LoadSpec,
    pub protocol: Protocol,
    pub workload: &'a dyn Workload,
    /// Requests go to this service; `None`: statements go to the server.
    pub service: Option<&'a HttpTarget>,
    /// The server, which is watched.
    pub target: &'a Target,
    /// Process id of its first process; `None` if the server is not on this host, or there are
    /// several.
    pub server_pid: Option<u32>,
    pub stop: &'a AtomicBool,
    /// A trial with a larger share of failures is invalid. 0: each failure counts, also outside the
    /// measure phase.
    pub failed_share_max: f64,
    /// Where other runs of truetps are registered.
    pub presence: &'a RunPresence,
    /// Where the start is agreed on; `None`: the load starts as soon as it can.
    pub gate: Option<&'a StartGate<'a>>,
    /// How server and host are watched during the load; `None`: not watched.
    pub probe: Option<&'a ProbeSpec>,
}

/// The load of one configuration of a plan. `pin`: cores that the workers are bound to; empty:
/// none.
pub fn load_of(plan: &Plan, configuration: &Configuration, workers: u32, pin: &[u32]) -> LoadSpec {
    LoadSpec {
        clients: configuration.connections(),
        part: Part::WHOLE,
        workers,
        mode: plan.load.mode,
        pin: pin.to_vec(),
        pacing: pacing(plan, configuration),
        errors: plan.load.errors.clone(),
        warm_up: plan.load.warm_up(),
        measure: plan.load.measure(),
        quota: plan.load.measure_transactions.map(Quota::Together),
        reconnect_every: None,
        rows: None,
        connect_timeout: connect_timeout(configuration.connections()),
        drain_timeout: DRAIN_TIMEOUT,
    }
}

/// Time limit for this many clients to connect, all of them together.
pub fn connect_timeout(clients: u32) -> Duration {
    CONNECT_TIMEOUT + CONNECT_TIMEOUT_A_CLIENT * clients
}

/// A trial whose load has run.
pub struct RanTrial {
    pub trial: Trial,
    pub writer: TrialWriter,
    /// `None`: the load could not run at all; the trial has the reason.
    pub outcome: Option<RunOutcome>,
    /// Why the intervals could not be written.
    pub error: Option<FolderError>,
}

/// Runs the load and fills in `trial`. The caller has created the folder, and writes `run.json` at
/// the end.
pub fn run_trial(
    context: &TrialContext<'_>,
    trial: Trial,
    writer: TrialWriter,
    on_event: &mut dyn FnMut(TrialEvent<'_>),
) -> RanTrial {
    let probe = context.probe.map(|spec| LoadProbe {
        target: context.target,
        sessions: context.load.clients,
        spec,
    });
    let recorder = TrialRecorder::begin(trial, writer, context.server_pid, probe.as_ref());
    let gate = context.gate;
    let mut observer = RecordingObserver {
        recorder,
        on_event,
        presence: context.presence,
        beside: Vec::new(),
        gate,
    };
    // Other runs that ended before this trial do not count.
    context.presence.arrivals();
    observer.meet(context.presence.others());
    let prepared = context.protocol == Protocol::Prepared;
    let connector = match context.service {
        Some(service) => Connector::http(service.clone()),
        None => Connector::new(context.target.clone(), context.workload.statements(), prepared),
    };
    let outcome = connector.map_err(|error| error.to_string());
    let outcome = outcome.and_then(|connector| {
        truetps_engine::run(
            &context.load,
            &connector,
            context.workload,
            context.stop,
            &mut observer,
        )
        .map_err(|error| error.to_string())
    });
    observer.meet(context.presence.arrivals());
    let RecordingObserver { mut recorder, on_event, beside, .. } = observer;
    recorder.ran_beside(&beside);
    let (validity, facts, outcome) = match outcome {
        Err(error) => (Validity::invalid(NoEvidence::NotStarted { error }), None, None),
        Ok(outcome) => {
            let validity = validity(&outcome, &context.load, context.failed_share_max);
            (validity, Some(load_facts(context, &outcome)), Some(outcome))
        }
    };
    let error = recorder.finish(validity, facts, on_event);
    let TrialRecorder { trial, writer, .. } = recorder;
    RanTrial { trial, writer, outcome, error }
}

/// Passes what the engine reports on to the recorder, and looks for other runs on this host.
struct RecordingObserver<'a> {
    recorder: TrialRecorder,
    on_event: &'a mut dyn FnMut(TrialEvent<'_>),
    presence: &'a RunPresence,
    beside: Vec<OtherRun>,
    gate: Option<&'a StartGate<'a>>,
}

impl RecordingObserver<'_> {
    fn meet(&mut self, runs: Vec<OtherRun>) {
        for news in self.presence.meet(runs, &mut self.beside) {
            (self.on_event)(TrialEvent::OtherRun(&news));
        }
    }
}

impl Observer for RecordingObserver<'_> {
    fn start(&mut self) -> Result<Option<Instant>, String> {
        self.gate.map(|gate| gate()).transpose()
    }

    fn clock(&mut self, zero: Instant) {
        self.recorder.clock(zero);
    }

    fn phase(&mut self, phase: Phase) {
        self.recorder.phase(phase);
    }

    fn interval(&mut self, interval: &Interval, histogram: &Histogram) -> Result<(), String> {
        self.meet(self.presence.arrivals());
        self.recorder.interval(interval, histogram, self.on_event)
    }
}

/// Why the figures are invalid, the most serious reason first.
fn validity(outcome: &RunOutcome, load: &LoadSpec, failed_share_max: f64) -> Validity {
    let ending = match &outcome.ending {
        RunEnding::Interrupted => return Validity::partial(NoEvidence::Interrupted),
        RunEnding::NotStarted(problem) => Some(NoEvidence::PartsApart { problem: problem.clone() }),
        RunEnding::ObserverFailed(error) => Some(NoEvidence::NotRecorded { error: error.clone() }),
        RunEnding::NoClientConnected => Some(NoEvidence::NoClientConnected {
            error: first_message(&outcome.connect_errors),
            at_limit: outcome.at_session_limit,
        }),
        RunEnding::AllClientsLost => {
            Some(NoEvidence::AllClientsLost { error: first_message(outcome.errors()) })
        }
        RunEnding::Fatal(error) => Some(NoEvidence::FatalError { error: error.clone() }),
        RunEnding::Complete => None,
    };
    let reason = ending.or_else(|| missing_clients(outcome, load)).or_else(|| {
        let Some(measured) = &outcome.measured else { return Some(NoEvidence::NotMeasured) };
        no_figures(outcome, load, measured, failed_share_max)
    });
    reason.map_or(Validity::Valid, Validity::invalid)
}

/// Clients that did not take part, or not to the end.
fn missing_clients(outcome: &RunOutcome, load: &LoadSpec) -> Option<NoEvidence> {
    if outcome.clients_not_connected > 0 {
        return Some(NoEvidence::ClientsNotConnected {
            clients: outcome.clients_not_connected,
            of: outcome.clients_not_connected + outcome.clients_connected,
            error: first_message(&outcome.connect_errors),
            at_limit: outcome.at_session_limit,
        });
    }
    if outcome.end.unanswered > 0 {
        return Some(NoEvidence::ClientsUnanswered {
            clients: outcome.end.unanswered,
            of: outcome.clients_connected,
            seconds: load.drain_timeout.as_secs(),
            hangs: outcome.end.drain_answers == 0,
        });
    }
    (outcome.end.lost > 0).then(|| NoEvidence::ClientsLost {
        clients: outcome.end.lost,
        error: first_message(outcome.errors()),
    })
}

/// What is wrong with a measure phase in which all clients took part.
fn no_figures(
    outcome: &RunOutcome,
    load: &LoadSpec,
    measured: &MeasuredLoad,
    failed_share_max: f64,
) -> Option<NoEvidence> {
    let counts = measured.counts;
    let (failed, of) = (counts.failed - counts.ignored, counts.ok + counts.failed);
    if failed as f64 > failed_share_max * of as f64 {
        return Some(NoEvidence::TransactionsFailed {
            failed,
            of,
            error: first_message(&measured.errors),
        });
    }
    let elsewhere = failed_elsewhere(outcome);
    if failed_share_max <= 0.0 && elsewhere > 0 {
        let error = first_message(&outcome.errors_elsewhere);
        return Some(NoEvidence::FailedOutsideMeasure { failed: elsewhere, error });
    }
    if nothing_scheduled(measured) {
        return Some(NoEvidence::NothingScheduled {
            seconds: measured.schedule_length.as_secs_f64(),
        });
    }
    // The transactions of the other clients show how they began, not what all clients get.
    let is_most = load.quota.is_none() && outcome.end.unfinished > outcome.end.finished;
    never_finished(&outcome.end, measured).filter(|_| is_most)
}

fn first_message<'e>(errors: impl IntoIterator<Item = &'e ErrorCount>) -> Option<String> {
    errors.into_iter().next().map(|error| error.first_message.clone())
}

fn nothing_scheduled(measured: &MeasuredLoad) -> bool {
    measured
        .open_loop
        .as_ref()
        .is_some_and(|open| open.starts.scheduled + open.starts.queued_in == 0)
}

fn never_finished(end: &ClientEnds, measured: &MeasuredLoad) -> Option<NoEvidence> {
    let (clients, of) = (end.unfinished, end.finished + end.unfinished);
    let seconds = measured.schedule_length.as_secs_f64();
    (clients > 0).then_some(NoEvidence::ClientsUnfinished { clients, of, seconds })
}

fn load_facts(context: &TrialContext<'_>, outcome: &RunOutcome) -> LoadFacts {
    let engine = EngineFacts {
        workers: outcome.workers,
        clients: outcome.clients_connected + outcome.clients_not_connected,
        clients_failed: outcome.clients_not_connected + outcome.end.lost,
        connect_ms: outcome.connect_ms,
        protocol: context.protocol,
        mode: Some(outcome.mode),
        pinned_to: context.load.pin.clone(),
        shares_cores: None,
        reconnects: outcome.end.reconnects,
        clients_finished: outcome.measured.as_ref().map(|_| outcome.end.finished),
        suspensions: Vec::new(),
    };
    LoadFacts { engine, measured: outcome.measured.clone(), notes: notes(outcome) }
}

/// Transactions that failed in warm-up and drain.
fn failed_elsewhere(outcome: &RunOutcome) -> u64 {
    outcome.errors_elsewhere.iter().map(|error| error.count).sum()
}

/// Transactions that waited longer than any that ended: the slowest transaction shown is not the
/// slowest.
fn unanswered(oldest: Duration, in_flight: u64, slowest_us: Option<f64>) -> Option<String> {
    /// Some are always in flight at the end, and one of them may be the slowest by chance.
    const TOLD_MIN: Duration = Duration::from_millis(100);
    let is_slowest = oldest.as_secs_f64() * 1e6 > slowest_us.unwrap_or(0.0);
    let (transactions, are) =
        if in_flight == 1 { ("transaction was", "is") } else { ("transactions were", "are") };
    (in_flight > 0 && oldest >= TOLD_MIN && is_slowest).then(|| {
        format!(
            "{in_flight} {transactions} still in flight at the end, the oldest for {:.1} s, and \
             {are} not in the latencies",
            oldest.as_secs_f64()
        )
    })
}

fn notes(outcome: &RunOutcome) -> Vec<String> {
    let elsewhere = failed_elsewhere(outcome);
    let mut notes = Vec::new();
    if let Some(measured) = &outcome.measured {
        let counts = &measured.counts;
        if counts.ok + counts.failed == 0 {
            notes.push("no transaction ended in the measure phase".to_owned());
        }
        if let Some(oldest) = outcome.end.oldest_in_flight {
            notes.extend(unanswered(oldest, counts.in_flight, measured.response.response_us_max));
        }
        notes.extend(never_finished(&outcome.end, measured).map(|reason| reason.to_string()));
    }
    if elsewhere > 0 {
        notes.push(format!("{elsewhere} transactions failed outside the measure phase"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_at_the_end_are_reported() {
        let check = |oldest_ms, in_flight, slowest_us, expect: Option<&str>| {
            assert_eq!(
                unanswered(Duration::from_millis(oldest_ms), in_flight, slowest_us).as_deref(),
                expect
            );
        };
        let many = "4 transactions were still in flight at the end, the oldest for 2.2 s, and are \
                    not in the latencies";
        check(2190, 4, Some(9720.0), Some(many));
        check(2190, 4, None, Some(many));
        let one = "1 transaction was still in flight at the end, the oldest for 0.1 s, and is not \
                   in the latencies";
        check(100, 1, Some(9720.0), Some(one));
        check(2190, 4, Some(2_300_000.0), None);
        check(30, 4, Some(9720.0), None);
        check(2190, 0, Some(9720.0), None);
    }

    fn measured(open_loop: Option<truetps_record::OpenLoop>) -> MeasuredLoad {
        MeasuredLoad {
            length: Duration::from_millis(800),
            schedule_length: Duration::from_millis(800),
            counts: truetps_record::Counts::default(),
            response: truetps_record::LatencyFigures::default(),
            open_loop,
            constant_clients: None,
            workers_used: truetps_measure::WorkerUse::of(&[], 0),
            errors: Vec::new(),
        }
    }

    fn outcome(finished: u32, unfinished: u32, unanswered: u32, drain_answers: u64) -> RunOutcome {
        RunOutcome {
            ending: RunEnding::Complete,
            workers: 1,
            mode: truetps_record::DriveMode::Multiplexed,
            connect_ms: 1.0,
            clients_connected: finished + unfinished,
            clients_not_connected: 0,
            connect_errors: Vec::new(),
            at_session_limit: false,
            end: ClientEnds {
                unanswered,
                drain_answers,
                finished,
                unfinished,
                ..ClientEnds::default()
            },
            measured: Some(measured(None)),
            errors_elsewhere: Vec::new(),
        }
    }

    #[test]
    fn a_trial_that_most_clients_never_finished_is_no_evidence() {
        let load = LoadSpec::closed(5500, 2, Duration::from_millis(800));
        let check = |outcome: &RunOutcome, load: &LoadSpec, expect: Option<&str>| {
            assert_eq!(
                validity(outcome, load, 0.01).reason().map(ToString::to_string).as_deref(),
                expect
            );
        };
        let most = "3675 of 5500 clients finished no transaction in the measured 0.8 s";
        check(&outcome(1825, 3675, 0, 9), &load, Some(most));
        let none = "5500 of 5500 clients finished no transaction in the measured 0.8 s";
        check(&outcome(0, 5500, 0, 0), &load, Some(none));
        check(&outcome(5500, 0, 0, 0), &load, None);
        // A few become a note.
        let few = outcome(5000, 500, 0, 0);
        check(&few, &load, None);
        assert_eq!(
            notes(&few)[1],
            "500 of 5500 clients finished no transaction in the measured 0.8 s"
        );
        // Ten transactions were requested: no more can finish one.
        check(
            &outcome(10, 5490, 0, 0),
            &LoadSpec { quota: Some(Quota::Together(10)), ..load.clone() },
            None,
        );
        // A server that answers some is slow; one that answers none hangs.
        let slow =
            "3697 of 5000 clients had no answer 10 s after the end, while others were answered";
        check(&outcome(1303, 3697, 3697, 1303), &load, Some(slow));
        check(
            &outcome(0, 4, 4, 0),
            &load,
            Some("4 of 4 clients had no answer 10 s after the end: the server hangs"),
        );
    }

    #[test]
    fn a_schedule_without_a_start_is_no_evidence() {
        let idle = RunOutcome {
            measured: Some(measured(Some(truetps_record::OpenLoop::default()))),
            ..outcome(0, 0, 0, 0)
        };
        let load = LoadSpec::closed(4, 2, Duration::from_millis(800));
        let reason = validity(&idle, &load, 0.01);
        assert!(
            reason.reason().is_some_and(|text| text
                .to_string()
                .starts_with("nothing was scheduled in the measured 0.8 s")),
            "{reason:?}"
        );
    }
}
