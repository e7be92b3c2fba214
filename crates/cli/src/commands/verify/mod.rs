//! `truetps verify`: does a service, or a server, keep every row that it acknowledges?

mod request;

use std::path::Path;

use truetps_archive::VerifiedRun;
use truetps_folder::ExperimentFolder;
use truetps_lab::{LabError, Pin, VerifyRequest, compare_again, verify};

use crate::answer::{give_document, open_folder, unreadable};
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::measuring::{Ending, measured};
use crate::progress::Progress;
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
    let pin = args.generator.pin.as_deref().map_or(Ok(Pin::default()), pin::parse)?;
    let site = VerifySite::open(args, &plan)?;
    let (stop, mut watcher) = ProgressWatcher::start_without_restore(&plan.name, args.ui)?;
    let request = VerifyRequest {
        plan: &plan,
        load,
        service: service.as_ref().map(|service| &service.target),
        server: site.server(),
        kills: &kills,
        runs: &args.place.runs,
        workers: args.generator.workers(),
        pin: &pin,
        tool_version: env!("CARGO_PKG_VERSION"),
        command: command(args, site.target()),
        stop: &stop,
    };
    let finished = verify(&request, &mut watcher);
    drop(watcher);
    let Some(folder) = measured(finished, None)? else { return Ok(Exit::Interrupted) };
    let run = open(&folder)?;
    let exit = give_document(&run, args.answer.form())?;
    let compared =
        run.verification.comparison.is_some().then_some("the rows sent so far were compared");
    let ended = Ending { what_is_kept: compared, ..Ending::after(&stop) }.exit(Ok(exit))?;
    // Rows that are lost matter more than that there would be more of them.
    Ok(if exit == Exit::No { exit } else { ended })
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
    give_document(&open(&folder)?, args.answer.form())
}

fn open(folder: &ExperimentFolder) -> Result<VerifiedRun, CommandFailure> {
    let run = VerifiedRun::open(folder.path()).map_err(unreadable)?;
    run.ok_or_else(|| CommandFailure::usage("no verification"))
}
