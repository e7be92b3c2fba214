//! `truetps crash`: what each setting costs, and what it loses in a crash.

use truetps_archive::CrashedRun;
use truetps_lab::{CrashOptions, ExperimentRequest, crash};
use truetps_record::CrashKind;

use crate::answer::{give_document, unreadable};
use crate::args::CrashArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::measuring::{Ending, measured, request};
use crate::plans;
use crate::site::{RunSite, choose_disk, choose_server};
use crate::watcher::ProgressWatcher;

const DEFAULT_PLAN: &str = "crash";

pub(crate) fn run(args: &CrashArgs) -> Result<Exit, CommandFailure> {
    let mut plan = plans::parse(args.plan.as_deref().unwrap_or(DEFAULT_PLAN))?;
    if args.quick {
        plan = plan.into_quick();
    }
    plan.design.seed = args.seed.unwrap_or(plan.design.seed);
    choose_server(&mut plan, args.place.server.as_deref(), args.place.is_elsewhere())?;
    // The end of a server alone needs no emulated disk, and so no root.
    if !args.kinds.is_empty() && !args.kinds.iter().any(|kind| kind.needs_disk()) {
        plan.disk = None;
    }
    choose_disk(&mut plan, args.place.disk.as_deref())?;
    let options = CrashOptions {
        kinds: kinds(&args.kinds, !plan.disk_names().is_empty())?,
        crashes: args.crashes.unwrap_or(plan.design.blocks),
        clients: plan.connections_max(),
        survival: args.torn,
        steps: args.steps(),
        is_live: args.live,
    };
    let site = RunSite::open(&plan, &args.place, None)?;
    let (stop, mut watcher) = ProgressWatcher::start(&plan.name, &site, false)?;
    let request = ExperimentRequest {
        quick: args.quick,
        ..request(&plan, &site, &args.place.runs, 1, &stop)
    };
    let finished = crash(&request, &options, &mut watcher);
    drop(watcher);
    let Some(folder) = measured(finished, None)? else { return Ok(Exit::Interrupted) };
    let run = CrashedRun::read(&folder).map_err(unreadable)?;
    Ending::after(&stop).exit(give_document(&run, args.answer.form()))
}

/// All kinds that are possible, if none is named.
fn kinds(typed: &[CrashKind], has_disk: bool) -> Result<Vec<CrashKind>, CommandFailure> {
    let possible: Vec<_> =
        CrashKind::ALL.into_iter().filter(|kind| has_disk || !kind.needs_disk()).collect();
    match typed.iter().find(|kind| !possible.contains(kind)) {
        Some(kind) => {
            let message = format!("--kinds {kind}: needs an emulated disk, and the plan has none");
            Err(CommandFailure::usage(message)
                .hint("name one with --disk, such as sata-ssd; or use --kinds kill"))
        }
        None if typed.is_empty() => Ok(possible),
        None => Ok(possible.into_iter().filter(|kind| typed.contains(kind)).collect()),
    }
}
