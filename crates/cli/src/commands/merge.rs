//! `truetps merge`: the parts of a load become one run.

use truetps_folder::{ExperimentFolder, MergeError, merge_parts};
use truetps_probe::clock;
use truetps_record::Experiment;

use crate::answer::give;
use crate::args::MergeArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::signals;
use crate::terminal::print_line;

pub(crate) fn run(args: &MergeArgs) -> Result<Exit, CommandFailure> {
    let folders: Result<Vec<_>, _> =
        args.parts.iter().map(|path| ExperimentFolder::open(path)).collect();
    let folders = folders?;
    let command = std::env::args().collect();
    let mut merged = Err(MergeError::Interrupted);
    // A signal that comes too late to stop the merge is ignored.
    signals::unless_signalled(|stop| {
        merged = merge_parts(&folders, &args.runs, merged_name, command, stop);
    })?;
    let merged = merged.map_err(|error| failure(&error))?;
    merged.not_latest().into_iter().for_each(|warning| print_line(&format!("warning: {warning}")));
    give(merged.path(), args.answer.form())
}

fn merged_name(experiment: &Experiment) -> String {
    format!("{}-merged-{}", experiment.name, clock::folder_stamp())
}

fn failure(error: &MergeError) -> CommandFailure {
    let failure = match error {
        MergeError::Write(_) => CommandFailure::failed(error),
        MergeError::Interrupted => CommandFailure::interrupted(error),
        _ => CommandFailure::usage(error),
    };
    failure.advised_by(error)
}
