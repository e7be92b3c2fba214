//! The frame of all commands that measure: the request, what Ctrl-C says before and after the first
//! trial, and the exit code.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use truetps_folder::ExperimentFolder;
use truetps_lab::{ExperimentRequest, Finished, LabError};
use truetps_plan::Plan;
use truetps_probe::{usable_cores, worker_count};
use truetps_record::Asked;

use crate::args::GeneratorArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::site::RunSite;
use crate::terminal::{print_message, print_progress};

impl GeneratorArgs {
    /// Half of the cores, unless it was typed: the server needs the rest.
    pub(crate) fn workers(&self) -> u32 {
        worker_count(self.workers, usable_cores())
    }
}

/// A request for the whole plan.
pub(crate) fn request<'a>(
    plan: &'a Plan,
    site: &'a RunSite,
    runs: &'a Path,
    workers: u32,
    stop: &'a AtomicBool,
) -> ExperimentRequest<'a> {
    ExperimentRequest {
        plan,
        quick: false,
        runs,
        source: site.source(),
        workers,
        pin: &site.pin,
        tool_version: env!("CARGO_PKG_VERSION"),
        command: site.command(),
        asked: Asked::default(),
        stop,
        more: None,
    }
}

/// What was measured. `None`: the user ended it before the first trial, and has been told so with
/// the command that goes on.
pub(crate) fn measured<T>(
    result: Result<T, LabError>,
    go_on: Option<String>,
) -> Result<Option<T>, LabError> {
    match result {
        Err(LabError::Interrupted) => {
            print_message("interrupted before the first trial: nothing was measured\n");
            print_next(go_on);
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// How a measurement has ended, once its answer is printed.
#[derive(Default)]
pub(crate) struct Ending {
    /// Why it ended early, unless the user ended it.
    pub(crate) gave_up: Option<String>,
    /// Why an external server could not be restored.
    pub(crate) not_left: Option<LabError>,
    pub(crate) is_stopped: bool,
    /// What Ctrl-C has left, if there is more to say than that the measured part is kept.
    pub(crate) what_is_kept: Option<&'static str>,
    /// The command that measures what is missing.
    pub(crate) go_on: Option<String>,
}

impl Ending {
    /// Splits off the folder.
    pub(crate) fn of(finished: Finished, stop: &AtomicBool) -> (ExperimentFolder, Self) {
        let Finished { folder, gave_up, not_left } = finished;
        let ending = Self { gave_up, not_left, ..Self::after(stop) };
        (folder, ending)
    }

    /// The end of what leaves nothing behind in a server, and does not give up.
    pub(crate) fn after(stop: &AtomicBool) -> Self {
        Self { is_stopped: stop.load(Ordering::Relaxed), ..Self::default() }
    }

    pub(crate) fn is_early(&self) -> bool {
        self.is_stopped || self.gave_up.is_some()
    }

    /// Says what is left to do. `answered`: the exit code of the answer.
    pub(crate) fn exit(
        self,
        answered: Result<Exit, CommandFailure>,
    ) -> Result<Exit, CommandFailure> {
        // An external server that could not be restored matters more than any result.
        if let Some(error) = self.not_left {
            return Err(error.into());
        }
        let exit = answered?;
        if self.is_stopped && self.gave_up.is_none() {
            let kept = self.what_is_kept.unwrap_or("what was measured is kept");
            print_message(&format!("interrupted: {kept}\n"));
        }
        print_next(self.go_on);
        match self.gave_up {
            Some(reason) => Err(CommandFailure::failed(reason)),
            None if self.is_stopped => Ok(Exit::Interrupted),
            None => Ok(exit),
        }
    }
}

fn print_next(command: Option<String>) {
    if let Some(command) = command {
        print_progress(&format!("Next   {command}\n"));
    }
}
