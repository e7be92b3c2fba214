//! `truetps verify`: does a service, or a server, keep every row that it acknowledges?

mod request;

use std::path::Path;
use std::sync::atomic::Ordering;

use truetps_folder::ExperimentFolder;
use truetps_lab::{LabError, VerifyRequest, compare_again, verify};
use truetps_record::{NoEvidence, Reason, Validity};
use truetps_report::{
    VerifyInput, verification_html, verification_json, verification_markdown, verification_summary,
    verification_text,
};

use crate::answer::{DocumentForms, open_folder, print_document, unreadable};
use crate::args::{DocumentArgs, VerifyArgs};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::progress::Progress;
use crate::screen::screen;
use crate::terminal::print_message;
use crate::watcher::ProgressWatcher;
use crate::{pin, ui};
use request::{VerifySite, command, kill_times, load, plan_of, resumed_target, service};

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, CommandFailure> {
    if let Some(folder) = &args.resume {
        return compare(args, folder.as_deref());
    }
    if args.ui {
        ui::check()?;
    }
    request::check(args)?;
    let service = service(args)?;
    let load = load(args, service.as_ref());
    let kills = kill_times(args)?;
    let plan = plan_of(args, &load)?;
    let pin = args.pin.as_deref().map_or_else(|| Ok(truetps_lab::Pin::default()), pin::parse)?;
    let site = VerifySite::open(args, &plan)?;
    let (stop, mut watcher) = ProgressWatcher::start_without_restore(&plan.name, args.ui)?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let request = VerifyRequest {
        plan: &plan,
        load,
        service: service.as_ref().map(|service| &service.target),
        server: site.server(),
        kills: &kills,
        runs: &args.place.runs,
        workers: args.workers.unwrap_or((cores / 2).max(1)),
        pin: &pin,
        tool_version: env!("CARGO_PKG_VERSION"),
        command: command(args, site.target()),
        stop: &stop,
    };
    let finished = verify(&request, &mut watcher);
    drop(watcher);
    let folder = match finished {
        Err(LabError::Interrupted) => return Ok(Exit::Interrupted),
        other => other?,
    };
    let exit = show(&folder, args.answer)?;
    if stop.load(Ordering::Relaxed) {
        print_message("interrupted: the rows sent so far were compared\n");
        return Ok(if exit == Exit::Good { Exit::Interrupted } else { exit });
    }
    Ok(exit)
}

/// Compares an earlier run again.
fn compare(args: &VerifyArgs, folder: Option<&Path>) -> Result<Exit, CommandFailure> {
    let folder = open_folder(folder, &args.place.runs)?;
    let verification = folder.verification().map_err(unreadable)?;
    let verification = verification.ok_or_else(|| {
        CommandFailure::from(LabError::from(truetps_lab::VerifyError::NoVerification))
    })?;
    let target = resumed_target(args, &verification.table.server)?;
    let mut progress = Progress::new();
    let compared = compare_again(&folder, &target, &mut progress);
    drop(progress);
    compared?;
    show(&folder, args.answer)
}

/// Prints the answer, and judges it.
pub(crate) fn show(folder: &ExperimentFolder, args: DocumentArgs) -> Result<Exit, CommandFailure> {
    let experiment = folder.experiment().map_err(unreadable)?;
    let verification = folder.verification().map_err(unreadable)?;
    let verification = verification.ok_or_else(|| CommandFailure::usage("no verification"))?;
    let name = experiment.schedule.first().map_or("", |scheduled| scheduled.name.as_str());
    let trial = folder.trial(name).map_err(unreadable)?;
    let input =
        VerifyInput { experiment: &experiment, verification: &verification, trial: trial.as_ref() };
    let forms = DocumentForms {
        summary: &|| verification_summary(&input, screen()),
        text: &|| verification_text(&input, screen()),
        json: &|| verification_json(&input),
        markdown: &|| verification_markdown(&input),
        html: &|| verification_html(&input),
    };
    let printed = print_document(folder.path(), args, &forms);
    if printed != Exit::Good {
        return Ok(printed);
    }
    let has_failed = trial.is_some_and(|trial| has_failed(&trial.validity));
    Ok(match &verification.comparison {
        Some(found) if found.rows.has_fault() => Exit::No,
        Some(found) if found.rows.acknowledged > 0 && !has_failed => Exit::Good,
        _ => Exit::Failed,
    })
}

/// Whether the load did not run as it should. Clients without a connection or an answer at the end are no failure of the
/// run: their rows are unknown.
fn has_failed(validity: &Validity) -> bool {
    let Validity::Invalid(Reason::Code(reason)) = validity else { return false };
    matches!(
        reason,
        NoEvidence::NotStarted { .. }
            | NoEvidence::NotRecorded { .. }
            | NoEvidence::NoClientConnected { .. }
            | NoEvidence::ClientsNotConnected { .. }
            | NoEvidence::AllClientsLost { .. }
            | NoEvidence::FatalError { .. }
            | NoEvidence::NotMeasured
    )
}
