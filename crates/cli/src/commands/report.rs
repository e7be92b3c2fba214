//! `truetps report`: the answer again, from the folder alone.

use std::path::Path;

use truetps_archive::AnyRun;
use truetps_folder::{CrashFolder, FolderError, ProbeFolder};
use truetps_report::{AnswerSubject, PoolAnswer};

use crate::answer::{give, give_document, give_run, open_folder, unreadable};
use crate::args::ReportArgs;
use crate::commands::probe;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::folder_named;

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CommandFailure> {
    let folder = folder_named(args.folder.as_deref(), args.runs.as_deref());
    let form = args.answer.form();
    match AnyRun::open(&folder).map_err(|error| not_opened(&folder, error))? {
        AnyRun::Trials(run) => give_run(&run, form),
        AnyRun::Explained(run) => give_document(&*run, form),
        AnyRun::Pool(run) => give_document(&PoolAnswer { run: &run, libraries: &[] }, form),
        AnyRun::Verified(run) if form.format.shows(AnswerSubject::Document) => {
            give_document(&*run, form)
        }
        // In the other formats it is shown as a load.
        AnyRun::Verified(run) => give(&run.path, form),
        AnyRun::Crashed(run) => give_document(&*run, form),
        AnyRun::Probe(run) => probe::show(&run, form),
    }
}

fn not_opened(folder: &Path, error: FolderError) -> CommandFailure {
    if ProbeFolder::open(folder).is_some() {
        return probe::unreadable(error);
    }
    let is_run = CrashFolder::open(folder).is_some();
    match open_folder(Some(folder), Path::new("")) {
        Err(failure) if !is_run => failure,
        _ => unreadable(error),
    }
}
