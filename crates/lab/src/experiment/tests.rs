//! The order of steps of an experiment, on servers that follow a script.

mod edited;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use truetps_driver::Target;
use truetps_folder::{ExperimentFolder, TrialWriter};
use truetps_plan::Plan;
use truetps_probe::{RunPresence, host_facts};
use truetps_record::{
    Asked, Configuration, Counts, EngineFacts, LatencyFigures, LogVolume, Measured, NoEvidence,
    Part, ServerFacts, SettingValue, SqlDialect, Trial, Validity,
};
use truetps_recording::TrialEvent;
use truetps_trial::{RanTrial, TrialContext};

use super::prepared::start_on;
use crate::error::LabError;
use crate::event::{ExperimentEvent, Listener};
use crate::experiment::setup::PreparedServers;
use crate::experiment::{ExperimentRequest, Finished, Pin, PreparedExperiment, missing};
use crate::extension::MoreBlocks;
use crate::find_max::{find_max_on, search_goes_on};
use crate::resume::resume_on;
use crate::trial::evidence::ServerState;
use crate::trial::ready_server::ReadyServer;
use crate::trial::server_provider::{ExternalServer, ServerProvider, ServerSource};

const PLAN: &str = r#"
name = "scripted"
about = "What happens in which order?"

[workload]
name = "insert"

[factors]
connections = [1, 2]

[design]
blocks = 4
aa_pair = false
"#;

/// What the server does in one trial.
#[derive(Clone)]
enum Turn {
    Works,
    NotReady,
    LoadFails,
    Dies,
    /// The load succeeds, and another session has changed a setting.
    Trouble,
    /// The user has pressed Ctrl-C during the load.
    Interrupted,
    FullDisk,
}

/// The script of an experiment, and what was done.
#[derive(Default)]
struct Script {
    turns: RefCell<VecDeque<Turn>>,
    discarded: Cell<u32>,
    left: Cell<u32>,
    /// Validity on disk while an external server is still unchecked.
    before_check: RefCell<Vec<Validity>>,
    cannot_leave: bool,
    /// Transactions a second, at most.
    capacity: f64,
    /// Every rate holds, whatever the closed loop reaches.
    holds_any_rate: bool,
    version: &'static str,
}

struct ScriptedServers<'a> {
    script: &'a Script,
    stop: &'a AtomicBool,
    target: Target,
    turn: Turn,
}

impl ServerProvider for ScriptedServers<'_> {
    fn ready<'s>(
        &'s mut self,
        _: &Configuration,
        _: &mut dyn Listener,
    ) -> Result<Box<dyn ReadyServer<'s> + 's>, LabError> {
        self.turn = self.script.turns.borrow_mut().pop_front().unwrap_or(Turn::Works);
        if matches!(self.turn, Turn::NotReady) {
            return Err(LabError::NoPool);
        }
        Ok(Box::new(ScriptedServer {
            script: self.script,
            stop: self.stop,
            target: &self.target,
            turn: self.turn.clone(),
        }))
    }

    fn trouble(&mut self, _: &Configuration, _: &mut dyn Listener) -> Option<String> {
        matches!(self.turn, Turn::Trouble).then(|| "a setting was changed".to_owned())
    }

    fn discard(&mut self) {
        self.script.discarded.update(|n| n + 1);
    }

    fn leave(&mut self, _: &mut dyn Listener) -> Option<LabError> {
        self.script.left.update(|n| n + 1);
        self.script.cannot_leave.then_some(LabError::NoPool)
    }
}

struct ScriptedServer<'l> {
    script: &'l Script,
    stop: &'l AtomicBool,
    target: &'l Target,
    turn: Turn,
}

impl<'l> ReadyServer<'l> for ScriptedServer<'l> {
    fn address(&self) -> (&'l Target, Option<u32>) {
        (self.target, None)
    }

    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn run_load(
        &mut self,
        _: &TrialContext<'_>,
        mut trial: Trial,
        writer: TrialWriter,
        _: &mut dyn FnMut(TrialEvent<'_>),
    ) -> RanTrial {
        trial.measured = Some(measured(self.script.capacity, trial.configuration.rate()));
        trial.engine = Some(EngineFacts::default());
        if let Some(measured) = trial.measured.as_mut().filter(|_| self.script.holds_any_rate) {
            measured.sustained = measured.sustained.map(|_| true);
        }
        trial.validity = match self.turn {
            Turn::LoadFails => {
                Validity::invalid(NoEvidence::NotStarted { error: "the load failed".to_owned() })
            }
            Turn::Interrupted => {
                self.stop.store(true, Ordering::Relaxed);
                Validity::partial(NoEvidence::Interrupted)
            }
            _ => Validity::Valid,
        };
        RanTrial { trial, writer, outcome: None, error: None }
    }

    fn state(&mut self) -> ServerState {
        match self.turn {
            Turn::Dies => ServerState::Gone(died()),
            _ => ServerState::Answers,
        }
    }

    fn logged(&mut self) -> Option<LogVolume> {
        None
    }

    fn is_external(&self) -> bool {
        true
    }

    fn write_files(&mut self, _: &ServerState, path: &Path) -> Result<(), LabError> {
        let trial_folder = path.parent().expect("it is in the trial's folder");
        let (folder, name) =
            (trial_folder.parent().unwrap(), trial_folder.file_name().unwrap().to_str().unwrap());
        let trial = ExperimentFolder::open(folder)
            .unwrap()
            .trial(name)
            .unwrap()
            .expect("it was written before");
        self.script.before_check.borrow_mut().push(trial.validity);
        if matches!(self.turn, Turn::FullDisk) { Err(LabError::NoPool) } else { Ok(()) }
    }
}

fn died() -> NoEvidence {
    NoEvidence::ServerDied { status: "signal 9".to_owned(), log: None }
}

fn measured(capacity: f64, rate: Option<f64>) -> Measured {
    let tps = rate.map_or(capacity, |rate| rate.min(capacity));
    Measured {
        length_ms: 1000.0,
        tps,
        qps: tps,
        counts: Counts::default(),
        response: LatencyFigures { response_us_p99: Some(1000.0), ..LatencyFigures::default() },
        sustained: rate.map(|rate| rate <= capacity),
        ..Measured::default()
    }
}

struct Silent;

impl Listener for Silent {
    fn event(&mut self, _: &ExperimentEvent<'_>) {}
}

#[derive(Default)]
struct TriedRates(Vec<(f64, bool)>);

impl Listener for TriedRates {
    fn event(&mut self, event: &ExperimentEvent<'_>) {
        if let ExperimentEvent::RateTried { rate, broken } = event {
            self.0.push((*rate, broken.is_none()));
        }
    }
}

/// The folder of experiments, and what every experiment needs.
struct Bench {
    runs: tempfile::TempDir,
    plan: Plan,
    stop: AtomicBool,
    pin: Pin,
    external: ExternalServer,
}

impl Bench {
    fn new() -> Self {
        let target = Target::mysql_unix("/nowhere", "root", None);
        let external = ExternalServer {
            target,
            schema: String::new(),
            schema_is_theirs: false,
            journals: "/nowhere".into(),
            part: Part::WHOLE,
            part_wait: Duration::ZERO,
            parts_secret: None,
        };
        Self {
            runs: tempfile::tempdir().unwrap(),
            plan: Plan::parse(PLAN).unwrap(),
            stop: AtomicBool::new(false),
            pin: Pin::default(),
            external,
        }
    }

    fn request(&self) -> ExperimentRequest<'_> {
        ExperimentRequest {
            plan: &self.plan,
            quick: false,
            runs: self.runs.path(),
            source: ServerSource::Given(&self.external),
            workers: 1,
            pin: &self.pin,
            tool_version: "1",
            command: Vec::new(),
            asked: Asked::default(),
            stop: &self.stop,
            more: None,
        }
    }

    fn start(&self, script: &Script) -> Result<Finished, LabError> {
        let request = self.request();
        let mut prepared = prepared(&request, script);
        let finished = start_on(&mut prepared, &request, &mut Silent);
        prepared.end(finished, &mut Silent)
    }

    /// Returns the rates that were tried as well, and whether they held.
    fn find_max(&self, script: &Script) -> (Finished, Vec<(f64, bool)>) {
        let request = self.request();
        let mut prepared = prepared(&request, script);
        let mut tried = TriedRates::default();
        let finished = find_max_on(&mut prepared, &request, &"p99<1s".parse().unwrap(), &mut tried);
        (prepared.end(finished, &mut Silent).unwrap(), tried.0)
    }

    fn resume(
        &self,
        folder: &ExperimentFolder,
        script: &'static Script,
    ) -> Result<Finished, LabError> {
        self.stop.store(false, Ordering::Relaxed);
        resume_on(&self.request(), folder, &mut Silent, |request, _, _| {
            Ok(prepared(request, script))
        })
    }
}

fn prepared<'a>(request: &'a ExperimentRequest<'a>, script: &'a Script) -> PreparedExperiment<'a> {
    let target = Target::mysql_unix("/nowhere", "root", None);
    let provider =
        Box::new(ScriptedServers { script, stop: request.stop, target, turn: Turn::Works });
    let servers = vec![ServerFacts::from_version_text(script.version)];
    let host = host_facts(Path::new("/"), None);
    let workload = truetps_workload::build(&request.plan.workload, SqlDialect::Mysql, 1).unwrap();
    PreparedExperiment::on(
        PreparedServers { provider, host, servers, parts: None },
        request,
        workload,
        RunPresence::announce("test"),
    )
}

/// Lives until the end of the process: a resumed experiment may have any lifetime.
fn script(turns: &[Turn]) -> &'static Script {
    kept(scripted(turns))
}

fn scripted(turns: &[Turn]) -> Script {
    Script {
        turns: RefCell::new(turns.iter().cloned().collect()),
        version: "10.11.6-MariaDB",
        capacity: 1000.0,
        ..Script::default()
    }
}

fn kept(script: Script) -> &'static Script {
    Box::leak(Box::new(script))
}

/// The reasons of all trials in order; empty for a valid one, `-` for one that has not run.
fn reasons(folder: &ExperimentFolder) -> Vec<String> {
    let experiment = folder.experiment().unwrap();
    let reason = |name: &str| match folder.trial(name).unwrap() {
        None => "-".to_owned(),
        Some(trial) => trial.validity.reason().map(ToString::to_string).unwrap_or_default(),
    };
    experiment.schedule.iter().map(|scheduled| reason(&scheduled.name)).collect()
}

#[test]
fn each_kind_of_trouble_has_its_reason_and_costs_one_trial() {
    let bench = Bench::new();
    let script = script(&[
        Turn::NotReady,
        Turn::Works,
        Turn::Dies,
        Turn::LoadFails,
        Turn::Works,
        Turn::Trouble,
    ]);
    let finished = bench.start(script).unwrap();
    assert_eq!((finished.gave_up, finished.not_left.is_none()), (None, true));
    let reasons = reasons(&finished.folder);
    assert!(reasons[0].starts_with("the server could not be prepared"), "{reasons:?}");
    assert_eq!(
        reasons[1..],
        ["", "the server died (signal 9)", "the load failed", "", "a setting was changed", "", ""]
    );
    assert_eq!((script.discarded.get(), script.left.get()), (3, 1));
}

#[test]
fn figures_of_an_unchecked_server_are_not_valid_on_disk() {
    let bench = Bench::new();
    let script = script(&[Turn::Works, Turn::Dies]);
    bench.start(script).unwrap();
    let before = script.before_check.borrow();
    assert_eq!(before[0], Validity::partial(NoEvidence::ServerNotChecked));
    assert_eq!(before[1], Validity::invalid(died()));
}

#[test]
fn five_failures_in_a_row_end_an_experiment_and_four_do_not() {
    let bench = Bench::new();
    let fails = |n: usize| vec![Turn::LoadFails; n];
    let four = bench.start(script(&[fails(4), vec![Turn::Works], fails(3)].concat())).unwrap();
    assert_eq!(four.gave_up, None);
    let six = script(&fails(6));
    let five = bench.start(six).unwrap();
    let why = five.gave_up.unwrap();
    assert!(
        why.contains("5 trials in a row were invalid") && why.contains("the load failed"),
        "{why}"
    );
    assert_eq!(reasons(&five.folder)[4..], ["the load failed", "-", "-", "-"]);
    assert_eq!(six.left.get(), 1, "the server is left in any case");
}

#[test]
fn an_interrupted_experiment_ends_and_is_resumed_with_what_is_missing() {
    let bench = Bench::new();
    let first = script(&[Turn::Works, Turn::LoadFails, Turn::Interrupted]);
    let folder = bench.start(first).unwrap().folder;
    assert_eq!(reasons(&folder)[..4], ["", "the load failed", "interrupted", "-"]);
    let seven = script(&vec![Turn::Works; 7]);
    let resumed = bench.resume(&folder, seven).unwrap();
    assert_eq!(resumed.gave_up, None);
    assert_eq!(reasons(&folder), [""; 8]);
    assert_eq!(seven.turns.borrow().len(), 0, "the valid trial is not repeated");
    let none = script(&[Turn::Dies]);
    bench.resume(&folder, none).unwrap();
    assert_eq!(
        (none.turns.borrow().len(), none.left.get()),
        (1, 0),
        "nothing is prepared for nothing"
    );
}

#[test]
fn only_the_same_server_continues_an_experiment() {
    let bench = Bench::new();
    let folder = bench.start(script(&[Turn::Interrupted])).unwrap().folder;
    let other = kept(Script { version: "8.0.36", ..scripted(&[]) });
    let error = bench.resume(&folder, other).unwrap_err();
    assert!(matches!(error, LabError::BegunWithAnother { .. }), "{error}");
    assert_eq!(other.left.get(), 1);
}

#[test]
fn more_blocks_keep_the_trials_that_are_there() {
    let mut bench = Bench::new();
    let folder = bench.start(script(&[])).unwrap().folder;
    let before = folder.experiment().unwrap().schedule;
    bench.plan.design.blocks = 5;
    let two = script(&[Turn::Works, Turn::Works, Turn::Dies]);
    bench.resume(&folder, two).unwrap();
    let experiment = folder.experiment().unwrap();
    assert!(
        experiment.schedule.starts_with(&before) && experiment.schedule.len() == before.len() + 2
    );
    assert_eq!((experiment.extensions[0].blocks_before, two.turns.borrow().len()), (4, 1));
    bench.plan.design.seed += 1;
    bench.plan.design.blocks = 6;
    let error = bench.resume(&folder, script(&[])).unwrap_err();
    assert!(matches!(error, LabError::OtherSchedule { .. }), "{error}");
}

/// Blocks of what is open only, as long as they are asked for.
#[test]
fn blocks_of_open_configurations_follow_at_once() {
    let mut bench = Bench::new();
    bench.plan.design.blocks = 2;
    let open = bench.plan.configurations()[1].clone();
    let asked = Cell::new(0);
    let more = |folder: &ExperimentFolder| {
        asked.set(asked.get() + 1);
        let is_complete = missing(folder, &folder.experiment().unwrap()).unwrap().is_empty();
        assert!(is_complete, "asked when all trials have run");
        (asked.get() <= 2).then(|| MoreBlocks { blocks: 3, only: Some(vec![open.clone()]) })
    };
    let script = script(&[]);
    let request = ExperimentRequest { more: Some(&more), ..bench.request() };
    let mut prepared = prepared(&request, script);
    let folder = start_on(&mut prepared, &request, &mut Silent).unwrap().folder;
    let experiment = folder.experiment().unwrap();
    let steps: Vec<_> =
        experiment.extensions.iter().map(|one| (one.blocks_before, one.blocks)).collect();
    assert_eq!(
        (asked.get(), steps, folder.plan().unwrap().design.blocks),
        (3, vec![(2, 5), (5, 8)], 8)
    );
    let later: Vec<_> = experiment.schedule.iter().filter(|trial| trial.block >= 2).collect();
    assert!(later.len() == 6 && later.iter().all(|trial| trial.configuration == open), "{later:?}");
    assert!(missing(&folder, &experiment).unwrap().is_empty());
    drop(prepared);
    // A later `--resume --blocks` adds whole blocks.
    bench.plan.design.blocks = 9;
    bench.resume(&folder, script).unwrap();
    assert_eq!(
        folder.experiment().unwrap().schedule.iter().filter(|trial| trial.block == 8).count(),
        2
    );
}

#[test]
fn another_host_does_not_extend_an_experiment() {
    let mut bench = Bench::new();
    let folder = bench.start(script(&[])).unwrap().folder;
    let mut experiment = folder.experiment().unwrap();
    experiment.host.cpu_model = "another".to_owned();
    folder.write_experiment(&experiment).unwrap();
    bench.plan.design.blocks = 5;
    let error = bench.resume(&folder, script(&[])).unwrap_err();
    assert!(
        matches!(&error, LabError::OtherHost { what } if what.contains("the CPU was another")),
        "{error}"
    );
    assert_eq!(folder.plan().unwrap().design.blocks, 4, "nothing was changed");
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_experiment_and_not_the_restoring() {
    let bench = Bench::new();
    let full = Script { cannot_leave: true, ..scripted(&[Turn::Works, Turn::FullDisk]) };
    let finished = bench.start(&full).unwrap();
    assert!(finished.gave_up.is_some_and(|why| why.starts_with("trial-0002: ")));
    assert!(finished.not_left.is_some() && full.left.get() == 1);
    assert_eq!(
        reasons(&finished.folder)[..3],
        ["", "truetps ended before it had checked the server", "-"]
    );
}

#[test]
fn a_search_ends_at_the_highest_rate_that_holds() {
    let bench = Bench::new();
    let script = script(&[]);
    let (finished, tried) = bench.find_max(script);
    assert_eq!((finished.gave_up, script.left.get()), (None, 1));
    let held = |rate: f64| {
        tried.iter().filter(move |(other, held)| *held && (other - rate).abs() < 1e-9).count()
    };
    // 80 % of the closed loop, in preferred numbers, and three trials of the lower end.
    assert_eq!(tried[0], (787.0, true), "{tried:?}");
    let low = tried.iter().map(|(rate, _)| *rate).filter(|rate| held(*rate) >= 3);
    let low = low.reduce(f64::max).unwrap();
    assert!((750.0..=1000.0).contains(&low), "{tried:?}");
    assert!(tried.iter().all(|(rate, held)| *held == (*rate <= 1000.0)), "{tried:?}");
    let lowest_broken =
        tried.iter().filter(|(_, held)| !held).map(|(rate, _)| *rate).fold(f64::INFINITY, f64::min);
    assert!(lowest_broken <= 1050.0, "the search is as precise as promised: {tried:?}");
    let experiment = finished.folder.experiment().unwrap();
    assert_eq!(experiment.schedule.len(), 1 + tried.len(), "the first trial has no rate");
    let levels = &finished.folder.plan().unwrap().factors["rate"];
    let numbers: Vec<_> = levels.iter().map(|level| level.as_number().unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.contains(&787.0), "{numbers:?}");
}

/// All clients were there when the server died, or when its settings changed: the rate is tried
/// again, and the search ends where it would have ended.
#[test]
fn an_invalid_trial_is_no_evidence_about_its_rate() {
    let (bench, without) = (Bench::new(), Bench::new());
    let (undisturbed, _) = without.find_max(script(&[]));
    let mut expect = rates(&undisturbed.folder);
    let disturbed = script(&[Turn::Dies, Turn::Works, Turn::Works, Turn::Dies, Turn::Trouble]);
    let (finished, tried) = bench.find_max(disturbed);
    assert_eq!(finished.gave_up, None);
    expect.splice(..1, [None, None]);
    expect.splice(3..3, [expect[3]; 2]);
    assert_eq!(rates(&finished.folder), expect, "{tried:?}");
    assert!(tried.iter().all(|(rate, held)| *held == (*rate <= 1000.0)), "{tried:?}");
}

#[test]
fn an_interrupted_search_keeps_its_trials_and_is_no_failure() {
    let bench = Bench::new();
    let script = script(&[Turn::Works, Turn::Works, Turn::Interrupted]);
    let (finished, tried) = bench.find_max(script);
    assert_eq!((finished.gave_up, tried, script.left.get()), (None, vec![(787.0, true)], 1));
    assert_eq!(reasons(&finished.folder), ["", "", "interrupted"]);
}

/// What a search that was cut off measures after it goes on is what it would have measured.
#[test]
fn a_search_goes_on_where_it_was_stopped() {
    let whole = Bench::new();
    let (finished, all) = whole.find_max(script(&[]));
    let expect = rates(&finished.folder);
    for done in [0, 1, 4, all.len()] {
        let bench = Bench::new();
        let turns = [vec![Turn::Works; done], vec![Turn::Interrupted]].concat();
        let (finished, _) = bench.find_max(script(&turns));
        // A kill leaves no mark in the last trial.
        if done == 4 {
            std::fs::remove_dir_all(finished.folder.path().join("trial-0005")).unwrap();
        }
        let resumed = bench.resume(&finished.folder, script(&[])).unwrap();
        assert_eq!((resumed.gave_up, rates(&resumed.folder)), (None, expect.clone()), "{done}");
        let plan = resumed.folder.plan().unwrap();
        assert_eq!(plan, whole_plan(&expect, &bench.plan), "{done}");
        // Nothing is left to do: no server is prepared.
        let request = bench.request();
        resume_on(&request, &resumed.folder, &mut Silent, |_, _, _| panic!("prepared")).unwrap();
    }
}

/// The rates of the trials in order.
fn rates(folder: &ExperimentFolder) -> Vec<Option<f64>> {
    let schedule = folder.experiment().unwrap().schedule;
    schedule.iter().map(|scheduled| scheduled.configuration.rate()).collect()
}

fn whole_plan(rates: &[Option<f64>], plan: &Plan) -> Plan {
    let mut tried: Vec<_> = rates.iter().flatten().map(|rate| *rate as i64).collect();
    tried.sort_unstable();
    tried.dedup();
    let mut plan = plan.clone();
    plan.factors.insert("rate".to_owned(), tried.into_iter().map(SettingValue::Int).collect());
    plan
}

/// Neither what more trials would not decide nor what was asked otherwise prepares a server.
#[test]
fn a_search_that_cannot_go_on_is_refused_before_anything_is_prepared() {
    let bench = Bench::new();
    let refused = |folder: &ExperimentFolder| {
        let request = bench.request();
        resume_on(&request, folder, &mut Silent, |_, _, _| panic!("prepared")).unwrap_err()
    };
    let (finished, _) = bench.find_max(&Script { holds_any_rate: true, ..scripted(&[]) });
    assert!(finished.gave_up.is_some());
    let folder = finished.folder;
    assert!(matches!(refused(&folder), LabError::SearchUndecided));
    let mut experiment = folder.experiment().unwrap();
    assert!(!search_goes_on(&folder, &experiment, &"p99<1s".parse().unwrap()));
    experiment.schedule.swap(2, 3);
    folder.write_experiment(&experiment).unwrap();
    assert!(matches!(refused(&folder), LabError::OtherSchedule { .. }));
}

/// Trials that said nothing are not asked again; the search tries their rate anew.
#[test]
fn a_search_that_gave_up_goes_on_with_a_new_trial() {
    let bench = Bench::new();
    let (finished, _) = bench.find_max(script(&vec![Turn::NotReady; 3]));
    assert!(finished.gave_up.is_some());
    let resumed = bench.resume(&finished.folder, script(&[Turn::Works, Turn::NotReady])).unwrap();
    assert_eq!(
        (resumed.gave_up, rates(&resumed.folder)[..5].to_vec()),
        (None, vec![None, None, None, None, Some(787.0)])
    );
    let blocks = ExperimentRequest { more: Some(&|_| None), ..bench.request() };
    let refused = resume_on(&blocks, &resumed.folder, &mut Silent, |_, _, _| panic!("prepared"));
    assert!(matches!(refused, Err(LabError::SearchWithBlocks { .. })));
}

#[test]
fn a_search_repeats_a_rate_whose_server_failed_and_gives_up_after_three_failures() {
    let bench = Bench::new();
    let once = script(&[Turn::Works, Turn::NotReady]);
    let (finished, tried) = bench.find_max(once);
    assert_eq!(
        (finished.gave_up, tried[0]),
        (None, (787.0, true)),
        "a failure says nothing about the rate"
    );
    assert!(reasons(&finished.folder)[1].starts_with("the server could not be prepared"));
    let always = script(&[vec![Turn::Works], vec![Turn::NotReady; 4]].concat());
    let (finished, tried) = bench.find_max(always);
    let why = finished.gave_up.unwrap();
    assert!(why.contains("the server could not be prepared") && tried.is_empty(), "{why}");
    assert_eq!((finished.folder.experiment().unwrap().schedule.len(), always.left.get()), (4, 1));
    let (finished, _) = bench.find_max(script(&vec![Turn::NotReady; 3]));
    let why = finished.gave_up.unwrap();
    assert!(why.starts_with("the closed-loop trial before the search was invalid"), "{why}");
}
