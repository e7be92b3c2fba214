//! `truetps sweep`: an experiment, from the plan to the answer.

use std::path::Path;
use std::time::Duration;

use truetps_folder::ExperimentFolder;
use truetps_lab::{
    AskForMore, ExperimentRequest, estimate, find_max, resume, schedule, search_goes_on, start,
};
use truetps_plan::Plan;
use truetps_record::{Configuration, Part, Slo};
use truetps_report::printable;

use crate::answer::{give, open_folder};
use crate::args::load::Mode;
use crate::args::{EngineArgs, FolderArgs, SweepArgs};
use crate::asked::refuse_adaptive;
use crate::commands::again;
use crate::commands::plan::size;
use crate::commands::until_decided::{Extender, Wish};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::measuring::{Ending, measured, request};
use crate::site::RunSite;
use crate::terminal::print_progress;
use crate::terminal::shown;
use crate::watcher::ProgressWatcher;
use crate::{plans, short_plan, ui};

/// Longer experiments need `--yes`.
const LONG: Duration = Duration::from_hours(1);

pub(crate) fn run(args: &SweepArgs) -> Result<Exit, CommandFailure> {
    if let Some(folder) = &args.resume {
        return go_on(args, folder.as_deref());
    }
    // A plan is in the way of --resume, so that the reader of arguments asks for neither.
    if args.add_blocks.is_some() {
        return Err(CommandFailure::usage("--add-blocks adds to an experiment that has results")
            .hint("add --resume, or set the number of a new one with --blocks"));
    }
    let (name, mut plan) = short_plan::plan_of(args)?;
    plan.probe = args.probe.over(&plan.probe);
    plan.probe
        .check()
        .map_err(|problem| CommandFailure::usage(format!("`--probe-interval`: {problem}")))?;
    plan.load.mode = args.engine.mode.map_or(plan.load.mode, Mode::drive_mode);
    if let Some(path) = &args.short_plan.save_plan {
        return short_plan::save(&plan, path, args);
    }
    let time = estimate(&plan, &schedule(&plan));
    if time > LONG && !args.yes {
        let message = format!("plan `{name}` takes long: {}", size(&plan));
        return Err(CommandFailure::usage(message)
            .hint("add --yes to start it, --quick for its short form, or --blocks N"));
    }
    print_progress(&format!(
        "{}: {}\n{}, seed {}\n",
        plan.name,
        printable(&plan.about),
        size(&plan),
        plan.design.seed
    ));
    let extender = Wish::of(args).map(|wish| Extender::new(wish, &plan));
    extender.iter().try_for_each(|extender| extender.check(&plan))?;
    measure(
        &plan,
        &Measurement::Whole { quick: args.quick },
        extender.as_ref(),
        &args.place,
        &args.engine,
    )
}

/// The part of a plan to run.
pub(crate) enum Measurement<'a> {
    Whole {
        quick: bool,
    },
    /// The search of the highest rate that keeps to these objectives.
    HighestRate(&'a Slo),
    /// The missing trials of this folder.
    Rest(&'a ExperimentFolder),
}

/// Measures, and gives the answer.
pub(crate) fn measure(
    plan: &Plan,
    what: &Measurement<'_>,
    extender: Option<&Extender>,
    place: &FolderArgs,
    engine: &EngineArgs,
) -> Result<Exit, CommandFailure> {
    // Before anything is asked or started. A rehearsal shows no picture.
    if engine.ui && !place.dry_run {
        ui::check()?;
    }
    let mut site = RunSite::open(plan, place, engine.generator.pin.as_deref())?;
    if let Some(part) = engine.part {
        check_part(part, plan, what, extender)?;
        site = site.with_part(part, engine.part_wait)?;
    }
    if place.dry_run {
        return site.rehearse(plan);
    }
    let (stop, mut watcher) = ProgressWatcher::start(&plan.name, &site, engine.ui)?;
    let more = extender.map(|extender| |folder: &ExperimentFolder| extender.next(folder));
    let request = ExperimentRequest {
        quick: matches!(what, Measurement::Whole { quick: true }),
        more: more.as_ref().map(|more| more as AskForMore<'_>),
        ..request(plan, &site, &place.runs, engine.generator.workers(), &stop)
    };
    let (finished, earlier) = match what {
        Measurement::Whole { .. } => (start(&request, &mut watcher), None),
        Measurement::HighestRate(slo) => (find_max(&request, slo, &mut watcher), None),
        Measurement::Rest(folder) => (resume(&request, folder, &mut watcher), Some(*folder)),
    };
    drop(watcher);
    let Some(finished) = measured(finished, earlier.and_then(go_on_command))? else {
        return Ok(Exit::Interrupted);
    };
    let (folder, mut ending) = Ending::of(finished, &stop);
    if ending.is_early() {
        ending.go_on = go_on_command(&folder);
    }
    ending.exit(give(folder.path(), engine.answer.form()))
}

/// The command that runs the missing trials.
fn go_on_command(folder: &ExperimentFolder) -> Option<String> {
    let experiment = folder.experiment().ok()?;
    let slo = experiment.slo.as_ref();
    // The other parts have ended.
    let can_go_on =
        experiment.part.is_none() && slo.is_none_or(|slo| search_goes_on(folder, &experiment, slo));
    can_go_on.then(|| again::command(folder.path(), &experiment))
}

/// Refuses what parts cannot do together.
fn check_part(
    part: Part,
    plan: &Plan,
    what: &Measurement<'_>,
    extender: Option<&Extender>,
) -> Result<(), CommandFailure> {
    let conflict = match what {
        Measurement::HighestRate(_) => {
            Some("--find-max: each rate follows from the figures of all parts")
        }
        Measurement::Rest(_) => Some("--resume: each part would miss other trials"),
        Measurement::Whole { .. } if extender.is_some() => {
            Some("--until-decided: the blocks to add follow from the figures of all parts")
        }
        Measurement::Whole { .. } => None,
    };
    if let Some(conflict) = conflict {
        return Err(CommandFailure::usage(format!("--part cannot be used with {conflict}")));
    }
    let fewest = plan.configurations().iter().map(Configuration::connections).min().unwrap_or(0);
    if fewest < part.of {
        let message = format!(
            "--part {part}: a configuration has {fewest} connections, and each part needs one"
        );
        return Err(CommandFailure::usage(message).hint("use fewer parts, or more connections"));
    }
    if plan.load.measure_transactions.is_some_and(|all| all < part.of.into()) {
        return Err(CommandFailure::usage(format!(
            "--part {part}: --transactions are fewer than the parts"
        )));
    }
    Ok(())
}

fn go_on(args: &SweepArgs, folder: Option<&Path>) -> Result<Exit, CommandFailure> {
    let folder = open_folder(folder, &args.place.runs)?;
    refuse_adaptive(&folder)?;
    let mut plan = folder.plan().map_err(CommandFailure::usage)?;
    plans::refuse_record(&plan, &shown(folder.path()).display().to_string())?;
    if let Some(blocks) = args.blocks {
        extend(&mut plan, blocks, args.yes)?;
    }
    again::refuse_other_place(&folder, &args.place)?;
    let extender = Wish::of(args).map(|wish| Extender::new(wish, &plan));
    measure(&plan, &Measurement::Rest(&folder), extender.as_ref(), &args.place, &args.engine)
}

/// Gives the plan of an earlier experiment more blocks.
fn extend(plan: &mut Plan, blocks: u32, yes: bool) -> Result<(), CommandFailure> {
    let before = plan.design.blocks;
    if blocks < before {
        let message = format!("--blocks {blocks}: the experiment has {before} blocks");
        return Err(CommandFailure::usage(message)
            .hint("with --resume, --blocks is the total number of blocks"));
    }
    let now = estimate(plan, &schedule(plan));
    plan.design.blocks = blocks;
    plan.check_size().map_err(CommandFailure::usage)?;
    if estimate(plan, &schedule(plan)).saturating_sub(now) > LONG && !yes {
        let message = format!("{} more blocks take long: {} in all", blocks - before, size(plan));
        return Err(CommandFailure::usage(message).hint("add --yes to start them"));
    }
    Ok(())
}
