//! `truetps stalls`: where throughput broke down in a run.

use truetps_report::{stalls_csv, stalls_json, stalls_markdown, stalls_summary, stalls_text};

use crate::answer::{warn_of, warn_of_parts};
use crate::args::{StallsArgs, TableFormat};
use crate::commands::probe::refuse_folder;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::{name_of, open_named};
use crate::screen::screen;
use crate::terminal::print_made;

pub(crate) fn run(args: &StallsArgs) -> Result<Exit, CommandFailure> {
    refuse_folder(args.folder.as_deref())?;
    let run = open_named(args.folder.as_deref(), args.runs.as_deref())?;
    if run.trials.is_empty() {
        warn_of(&run);
        let message = format!("{}: has no trial that can be read", name_of(&run));
        return Err(CommandFailure::usage(message)
            .hint("`truetps report` says what is wrong with each trial"));
    }
    if args.format == TableFormat::Csv {
        // It has no place for it.
        warn_of(&run);
        warn_of_parts(&run);
    }
    Ok(print_made(&match args.format {
        TableFormat::Text if !args.full => stalls_summary(&name_of(&run), &run, screen()),
        TableFormat::Text => stalls_text(&name_of(&run), &run, screen()),
        TableFormat::Json => stalls_json(&run),
        TableFormat::Csv => stalls_csv(&run),
        TableFormat::Md => stalls_markdown(&name_of(&run), &run),
    }))
}
