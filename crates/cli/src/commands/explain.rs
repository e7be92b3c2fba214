//! `truetps explain`: which of the differences between two configurations makes their results
//! differ.

use std::path::PathBuf;

use indexmap::IndexMap;
use truetps_archive::ExplainedRun;
use truetps_causes::Outcome;
use truetps_folder::ExperimentFolder;
use truetps_lab::{
    ExperimentRequest, ExplainOptions, LabError, ServerSource, explain, resume_explanation,
};
use truetps_plan::{Plan, level_of};
use truetps_record::{Asked, CONNECTIONS, SERVER, SettingValue, TABLE_ROWS, is_setting_factor};
use truetps_report::NothingDiffers;
use truetps_sandbox::{Home, NamedServers};

use crate::answer::{give_document, open_folder, print_answer, unreadable};
use crate::args::ExplainArgs;
use crate::asked::{asked, explain_args, recorded_plan};
use crate::exit::Exit;
use crate::explain_sides::{NamedBy, sides};
use crate::failure::CommandFailure;
use crate::measuring::{Ending, measured, request};
use crate::set_words::settings;
use crate::short_plan;
use crate::site::{RunSite, choose_disk, usual_dsn, usual_server};
use crate::terminal::{shell_path, shown};
use crate::watcher::ProgressWatcher;

const DEFAULT_WORKLOAD: &str = "insert";
const CONNECTIONS_DEFAULT: i64 = 8;

pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, CommandFailure> {
    match &args.resume {
        None => measure(args, None),
        Some(folder) => {
            let folder = open_folder(folder.as_deref(), &args.place.runs)?;
            measure(&explain_args(&folder, args)?, Some(&folder))
        }
    }
}

/// Also refuses the server of the settings, where nothing else names one.
fn refuse_dsn(args: &ExplainArgs, plan: &Plan) -> Result<(), CommandFailure> {
    let is_named = !plan.server_names().is_empty() || !plan.disk_names().is_empty();
    if usual_dsn(&args.place, is_named).is_some() {
        let message = "explain changes settings at every trial, and measures on private servers \
                       only: --dsn (TRUETPS_DSN) is for others";
        return Err(CommandFailure::usage(message).hint(
            "`truetps server capture` writes the settings of a running server to a file that \
                   explain takes",
        ));
    }
    Ok(())
}

fn measure(args: &ExplainArgs, earlier: Option<&ExperimentFolder>) -> Result<Exit, CommandFailure> {
    let home = Home::open(args.place.sandbox.sandbox_dir.as_deref())?;
    let words = words(args)?;
    let named = [NamedBy::read(&words[0], &home)?, NamedBy::read(&words[1], &home)?];
    let (plan, common) = match earlier.map(recorded_plan).transpose()?.flatten() {
        Some(recorded) => recorded,
        None => plan_of(args, &named, &home)?,
    };
    refuse_dsn(args, &plan)?;
    let site = RunSite::open(&plan, &args.place, args.generator.pin.as_deref())?;
    let ServerSource::Private { programs, .. } = site.source() else {
        unreachable!("--dsn was refused")
    };
    let sides = sides(&named, programs, &home, &common)?;
    let asked = Asked {
        sides: Some(words),
        plan: args.plan.clone(),
        connections: args.connections,
        common,
        ..asked(&args.load, &args.generator, &args.place, None)
    };
    let options = ExplainOptions { smallest_percent: args.smallest, budget: args.budget };
    let (stop, mut watcher) = ProgressWatcher::start(&plan.name, &site, false)?;
    let request = ExperimentRequest {
        asked,
        ..request(&plan, &site, &args.place.runs, args.generator.workers(), &stop)
    };
    let finished = match earlier {
        None => explain(&request, &sides, &options, &mut watcher),
        Some(folder) => resume_explanation(&request, &sides, folder, &options, &mut watcher),
    };
    drop(watcher);
    let finished = match measured(finished, earlier.map(go_on_command)) {
        Ok(Some(finished)) => finished,
        Ok(None) => return Ok(Exit::Interrupted),
        Err(LabError::NothingDiffers(explanation)) => {
            let answer = NothingDiffers { experiment: &plan.name, explanation: &explanation };
            return print_answer(&answer, args.answer.form());
        }
        Err(error) => return Err(error.into()),
    };
    let (folder, mut ending) = Ending::of(finished, &stop);
    let run = open(&folder)?;
    if run.findings.outcome == Outcome::Unfinished {
        ending.go_on = Some(go_on_command(&folder));
    }
    ending.exit(give_document(&run, args.answer.form()))
}

fn go_on_command(folder: &ExperimentFolder) -> String {
    format!("truetps explain --resume {}", shell_path(folder.path()))
}

/// A and B as they were typed, or the two servers of the plan.
fn words(args: &ExplainArgs) -> Result<[String; 2], CommandFailure> {
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        return Ok([a.clone(), b.clone()]);
    }
    let plan = args.plan.as_deref().unwrap_or(DEFAULT_WORKLOAD);
    let compared = short_plan::load_of(plan)?;
    match (&args.a, &compared.server_names()[..]) {
        (None, [a, b]) => Ok([(*a).to_owned(), (*b).to_owned()]),
        (Some(_), _) => Err(CommandFailure::usage("B is missing")
            .hint("name two configurations: truetps explain A B")),
        (None, _) => {
            let message =
                format!("A and B are missing, and the plan {plan} does not compare two servers");
            Err(CommandFailure::usage(message).hint("name two configurations: truetps explain A B"))
        }
    }
}

/// The load: of a plan, of a workload, or of a run folder. The settings are those that both sides
/// have.
fn plan_of(
    args: &ExplainArgs,
    named: &[NamedBy; 2],
    home: &Home,
) -> Result<(Plan, IndexMap<String, SettingValue>), CommandFailure> {
    let recorded = named.iter().find_map(|one| one.plan.clone());
    let mut plan = match (&args.plan, recorded) {
        (Some(name), _) => short_plan::load_of(name)?,
        (None, Some(plan)) => short_plan::in_short_trials(plan),
        (None, None) => short_plan::load_of(DEFAULT_WORKLOAD)?,
    };
    let mut common = std::mem::take(&mut plan.server.settings);
    common.extend(settings(&args.load.settings)?);
    short_plan::change_load(&mut plan, &args.load)?;
    plan.design.seed = args.seed;
    plan.design.aa_pair = false;
    plan.design.baseline.clear();
    plan.design.leave_out.clear();
    plan.factors = factors(args, named, &plan)?;
    plan.disk = plan.disk.filter(|_| !plan.factors.contains_key(truetps_record::DISK));
    choose_disk(&mut plan, args.place.disk.as_deref())?;
    choose_servers(&mut plan, args, named, home)?;
    "explain".clone_into(&mut plan.name);
    plan.about = format!("What makes {} and {} differ?", named[0].word, named[1].word);
    let plan = plan.checked().map_err(|error| CommandFailure::usage(error.by_flag()))?;
    Ok((plan, common))
}

/// One level of each factor that is not a setting, or the level of A and of B where these differ.
fn factors(
    args: &ExplainArgs,
    named: &[NamedBy; 2],
    plan: &Plan,
) -> Result<IndexMap<String, Vec<SettingValue>>, CommandFailure> {
    let mut factors = IndexMap::new();
    let of_plan =
        plan.factors.iter().filter(|(name, _)| !is_setting_factor(name) && *name != SERVER);
    for (name, levels) in of_plan {
        factors.insert(name.clone(), vec![levels[levels.len() / 2].clone()]);
    }
    let typed = args.connections.map_or(CONNECTIONS_DEFAULT, i64::from);
    let usual =
        factors.entry(CONNECTIONS.to_owned()).or_insert_with(|| vec![SettingValue::Int(typed)]);
    if args.connections.is_some() {
        *usual = vec![SettingValue::Int(typed)];
    }
    let [a, b] = [named[0].levels(), named[1].levels()];
    for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
        let rows = (name == TABLE_ROWS).then(|| level_of(&plan.workload.table_rows.to_string()));
        let usual = factors.get(name).and_then(|levels| levels.first()).cloned().or(rows);
        let mut both = vec![
            side_level(&named[0], name, usual.as_ref())?,
            side_level(&named[1], name, usual.as_ref())?,
        ];
        both.dedup();
        if name == CONNECTIONS && args.connections.is_some() {
            if both.len() > 1 {
                let message = "--connections: A and B differ in their number of connections";
                return Err(CommandFailure::usage(message).hint("leave --connections out"));
            }
            continue;
        }
        factors.insert(name.clone(), both);
    }
    Ok(factors)
}

/// The level of a factor on one side; a side that does not name it has the usual one.
fn side_level(
    side: &NamedBy,
    name: &str,
    usual: Option<&SettingValue>,
) -> Result<SettingValue, CommandFailure> {
    side.levels().get(name).or(usual).cloned().ok_or_else(|| {
        let message = format!("{}: has no level of {name}, and the other side has one", side.word);
        CommandFailure::usage(message)
            .hint(format!("add {name}=… to it, or remove it from the other side"))
    })
}

/// Two named servers are two programs, unless they are of the same one.
fn choose_servers(
    plan: &mut Plan,
    args: &ExplainArgs,
    named: &[NamedBy; 2],
    home: &Home,
) -> Result<(), CommandFailure> {
    plan.factors.shift_remove(SERVER);
    let names: Vec<_> = named.iter().filter_map(NamedBy::server).collect();
    plan.server.name = match &names[..] {
        [a, b] if program_path(home, a)? != program_path(home, b)? => {
            let levels = names.iter().map(|name| SettingValue::Text((*name).to_owned())).collect();
            plan.factors.insert(SERVER.to_owned(), levels);
            None
        }
        [name, ..] => Some((*name).to_owned()),
        [] => usual_server(&args.place).or_else(|| plan.server.name.clone()),
    };
    if !names.is_empty() && args.place.server.is_some() {
        let message = format!("--server: {} names a server already", names[0]);
        return Err(CommandFailure::usage(message).hint("leave --server out"));
    }
    Ok(())
}

fn program_path(home: &Home, name: &str) -> Result<PathBuf, CommandFailure> {
    Ok(NamedServers::of(home).get(name)?.binary(home)?.path)
}

fn open(folder: &ExperimentFolder) -> Result<ExplainedRun, CommandFailure> {
    let run = ExplainedRun::open(folder.path()).map_err(unreadable)?;
    run.ok_or_else(|| {
        CommandFailure::failed(format!(
            "{}: explanation.json is missing",
            shown(folder.path()).display()
        ))
    })
}
