//! `truetps crash`: what each setting costs, and what it loses in a crash.

use truetps_analysis::CrashAnalysis;
use truetps_folder::CrashFolder;
use truetps_lab::{CrashOptions, ExperimentRequest, LabError, crash};
use truetps_record::CrashKind;
use truetps_report::{crash_html, crash_json, crash_markdown, crash_summary, crash_text};

use crate::answer::{DocumentForms, print_document, unreadable};
use crate::args::{CrashArgs, DocumentArgs};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::plans;
use crate::screen::screen;
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
        plan: &plan,
        quick: args.quick,
        runs: &args.place.runs,
        place: site.place(),
        workers: 1,
        pin: &site.pin,
        tool_version: env!("CARGO_PKG_VERSION"),
        command: site.command(),
        stop: &stop,
        more: None,
    };
    let finished = crash(&request, &options, &mut watcher);
    drop(watcher);
    let folder = match finished {
        Err(LabError::Interrupted) => return Ok(Exit::Interrupted),
        other => other?,
    };
    let exit = show(&folder, args.answer)?;
    Ok(if stop.load(std::sync::atomic::Ordering::Relaxed) { Exit::Interrupted } else { exit })
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

/// Prints the answer, and judges it.
pub(crate) fn show(folder: &CrashFolder, args: DocumentArgs) -> Result<Exit, CommandFailure> {
    let (run, crashes) = (folder.run().map_err(unreadable)?, folder.crashes().map_err(unreadable)?);
    let analysis = CrashAnalysis::of(&crashes, run.clients);
    let forms = DocumentForms {
        summary: &|| crash_summary(&run, &analysis, screen()),
        text: &|| crash_text(&run, &analysis, screen()),
        json: &|| crash_json(&run, &analysis, &crashes),
        markdown: &|| crash_markdown(&run, &analysis),
        html: &|| crash_html(&run, &analysis),
    };
    let printed = print_document(folder.path(), args, &forms);
    Ok(match printed {
        Exit::Good if analysis.broke_promise() => Exit::No,
        Exit::Good if !analysis.not_proven.is_empty() || !run.is_complete => Exit::Inconclusive,
        other => other,
    })
}
