//! `truetps stalls`: where throughput broke down in a run.

use truetps_report::StallList;

use crate::answer::{print_answer, warn_of, warn_of_parts};
use crate::args::StallsArgs;
use crate::commands::probe::refuse_folder;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::{name_of, open_named};

pub(crate) fn run(args: &StallsArgs) -> Result<Exit, CommandFailure> {
    refuse_folder(args.folder.as_deref())?;
    let run = open_named(args.folder.as_deref(), args.runs.as_deref())?;
    if run.trials.is_empty() {
        warn_of(&run);
        let message = format!("{}: has no trial that can be read", name_of(&run));
        return Err(CommandFailure::usage(message)
            .hint("`truetps report` says what is wrong with each trial"));
    }
    if !args.answer.format.names_unread {
        warn_of(&run);
        warn_of_parts(&run);
    }
    print_answer(&StallList { name: &name_of(&run), run: &run }, args.answer.form())
}
