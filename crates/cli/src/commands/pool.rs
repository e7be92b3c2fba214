//! `truetps pool`: how many connections a pool needs.

use truetps_archive::PoolRun;
use truetps_folder::ExperimentFolder;
use truetps_lab::{ExperimentRequest, LabError, find_pool, resume_pool};
use truetps_plan::Plan;
use truetps_pool::{PoolOutcome, SEARCH_VERSION};
use truetps_record::{Asked, CONNECTIONS, PoolRecord, SCHEMA_VERSION, SettingValue};
use truetps_report::PoolAnswer;

use crate::answer::{give_document, open_folder, unreadable};
use crate::args::PoolArgs;
use crate::asked::{asked, pool_args, recorded_plan};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::measuring::{Ending, measured, request};
use crate::set_words::settings;
use crate::short_plan;
use crate::site::{RunSite, choose_disk, choose_server};
use crate::terminal::print_message;
use crate::terminal::{shell_path, shown};
use crate::watcher::ProgressWatcher;

const DEFAULT_WORKLOAD: &str = "insert";
const MOST_DEFAULT: u32 = 512;
/// Whole seconds: servers flush once a second.
const MEASURE_S: f64 = 2.0;
const BLOCKS: u32 = 5;
const CHECK_BLOCKS: u32 = 8;
const QUICK_BLOCKS: u32 = 3;
const QUICK_CHECK_BLOCKS: u32 = 5;

pub(crate) fn run(args: &PoolArgs) -> Result<Exit, CommandFailure> {
    let Some(named) = &args.resume else {
        check_numbers(args)?;
        return match measure(args, None, args.most.unwrap_or(MOST_DEFAULT)) {
            Err(NotMeasured::NoRoom(free)) if args.most.is_none() => {
                print_message(&format!(
                    "the server has room for {free} connections: more are not tried\n"
                ));
                check_current(args, free)?;
                measure(args, None, free)
            }
            other => other,
        }
        .map_err(CommandFailure::from);
    };
    let folder = open_folder(named.as_deref(), &args.place.runs)?;
    let again = pool_args(&folder, args)?;
    measure(&again, Some(&folder), again.most.unwrap_or(MOST_DEFAULT)).map_err(CommandFailure::from)
}

/// Why nothing was measured.
enum NotMeasured {
    /// The server has room for fewer connections.
    NoRoom(u32),
    Failed(CommandFailure),
}

impl From<CommandFailure> for NotMeasured {
    fn from(failure: CommandFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<NotMeasured> for CommandFailure {
    fn from(reason: NotMeasured) -> Self {
        match reason {
            NotMeasured::Failed(failure) => failure,
            NotMeasured::NoRoom(free) => {
                Self::usage(format!("the server has room for {free} connections only"))
                    .hint("lower --most, or raise max_connections in the server")
            }
        }
    }
}

fn check_numbers(args: &PoolArgs) -> Result<(), CommandFailure> {
    if args.p99.is_some_and(|limit| limit.is_zero()) {
        return Err(CommandFailure::usage("--p99: a limit of 0 allows nothing"));
    }
    check_current(args, args.most.unwrap_or(MOST_DEFAULT))
}

fn check_current(args: &PoolArgs, most: u32) -> Result<(), CommandFailure> {
    match args.current.filter(|current| *current > most) {
        Some(current) => {
            Err(CommandFailure::usage(format!("--current {current}: at most {most} are tried"))
                .hint(format!("add --most {current}, if the server has room for them")))
        }
        None => Ok(()),
    }
}

fn measure(
    args: &PoolArgs,
    earlier: Option<&ExperimentFolder>,
    most: u32,
) -> Result<Exit, NotMeasured> {
    let plan = match earlier.map(recorded_plan).transpose()?.flatten() {
        Some((plan, _)) => plan,
        None => plan_of(args, most)?,
    };
    let site = RunSite::open(&plan, &args.place, args.generator.pin.as_deref())?;
    if args.place.dry_run {
        return Ok(site.rehearse(&plan)?);
    }
    let (stop, mut watcher) = ProgressWatcher::start(&plan.name, &site, false)?;
    let asked = Asked {
        plan: args.plan.clone(),
        ..asked(&args.load, &args.generator, &args.place, site.address())
    };
    let request = ExperimentRequest {
        quick: args.quick,
        asked,
        ..request(&plan, &site, &args.place.runs, args.generator.workers(), &stop)
    };
    let finished = match earlier {
        None => find_pool(&request, &record(args, most), &mut watcher),
        Some(folder) => resume_pool(&request, folder, &mut watcher),
    };
    drop(watcher);
    let finished = match measured(finished, earlier.map(go_on_command)) {
        Ok(Some(finished)) => finished,
        Ok(None) => return Ok(Exit::Interrupted),
        Err(LabError::NoRoom { free, .. }) if args.most.is_none() && earlier.is_none() => {
            return Err(NotMeasured::NoRoom(u32::try_from(free).unwrap_or(MOST_DEFAULT)));
        }
        Err(error) => return Err(CommandFailure::from(error).into()),
    };
    let (folder, mut ending) = Ending::of(finished, &stop);
    let run = open(&folder)?;
    if run.findings.outcome == PoolOutcome::Unfinished {
        ending.go_on = Some(go_on_command(&folder));
    }
    let answer = PoolAnswer { run: &run, libraries: &args.libraries };
    Ok(ending.exit(give_document(&answer, args.answer.form()))?)
}

fn go_on_command(folder: &ExperimentFolder) -> String {
    format!("truetps pool --resume {}", shell_path(folder.path()))
}

pub(crate) fn record(args: &PoolArgs, most: u32) -> PoolRecord {
    let (blocks, check_blocks) =
        if args.quick { (QUICK_BLOCKS, QUICK_CHECK_BLOCKS) } else { (BLOCKS, CHECK_BLOCKS) };
    PoolRecord {
        schema_version: SCHEMA_VERSION,
        search: SEARCH_VERSION,
        seed: args.seed,
        connections_most: most,
        blocks,
        check_blocks,
        p99_limit_us: args.p99.map(|limit| limit.as_secs_f64() * 1e6),
        rate: args.rate,
        current: args.current,
        rule: None,
        instances: args.instances,
        asked: None,
    }
}

/// The load: one configuration of a plan or a workload, without its connections.
fn plan_of(args: &PoolArgs, most: u32) -> Result<Plan, CommandFailure> {
    let mut plan = short_plan::load_of(args.plan.as_deref().unwrap_or(DEFAULT_WORKLOAD))?;
    if !args.quick {
        plan.load.measure_s = MEASURE_S;
    }
    plan.server.settings.extend(settings(&args.load.settings)?);
    short_plan::change_load(&mut plan, &args.load)?;
    plan.design.seed = args.seed;
    plan.design.aa_pair = false;
    plan.design.baseline.clear();
    plan.design.leave_out.clear();
    plan.factors.retain(|name, _| !is_set(&args.load.settings, name));
    for (name, levels) in &mut plan.factors {
        if levels.len() > 1 && name != CONNECTIONS {
            print_message(&format!(
                "{name} = {}: the first level of the plan; --set {name}=VALUE takes another one\n",
                levels[0].option_text()
            ));
            levels.truncate(1);
        }
    }
    plan.factors.insert(CONNECTIONS.to_owned(), vec![SettingValue::Int(most.into())]);
    choose_server(&mut plan, args.place.server.as_deref(), args.place.is_elsewhere())?;
    choose_disk(&mut plan, args.place.disk.as_deref())?;
    "pool".clone_into(&mut plan.name);
    plan.about = format!("How many connections does {} need?", plan.workload.kind.name());
    plan.checked().map_err(|error| CommandFailure::usage(error.by_flag()))
}

/// Whether `--set` gives this factor its only level.
fn is_set(settings: &[String], name: &str) -> bool {
    settings.iter().any(|word| word.split_once('=').is_some_and(|(set, _)| set == name))
}

fn open(folder: &ExperimentFolder) -> Result<PoolRun, CommandFailure> {
    let run = PoolRun::open(folder.path()).map_err(unreadable)?;
    run.ok_or_else(|| {
        CommandFailure::failed(format!("{}: pool.json is missing", shown(folder.path()).display()))
    })
}
