//! `truetps merge`: the parts of a load become one run.

use truetps_folder::{ExperimentFolder, FolderError, merge_parts};
use truetps_probe::clock;

use crate::answer::give;
use crate::args::MergeArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;

pub(crate) fn run(args: &MergeArgs) -> Result<Exit, CommandFailure> {
    let wrong = |error: FolderError| CommandFailure::usage(&error).hint_if(error.hint());
    let folders: Result<Vec<_>, _> = args.parts.iter().map(|path| ExperimentFolder::open(path)).collect();
    let name =
        |experiment: &truetps_record::Experiment| format!("{}-merged-{}", experiment.name, clock::folder_stamp());
    let merged = merge_parts(&folders.map_err(wrong)?, &args.runs, name, std::env::args().collect());
    let merged = merged.map_err(|error| CommandFailure::usage(&error).hint_if(error.hint()))?;
    give(&merged, args.format, args.full)
}
