//! `truetps stalls`: where throughput broke down in a run.

use truetps_report::{stalls_csv, stalls_json, stalls_markdown, stalls_text};

use crate::answer::{screen, warn_of};
use crate::args::{StallsArgs, TableFormat};
use crate::commands::probe::refuse_folder;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::NamedRun;
use crate::print_made;

pub(crate) fn run(args: &StallsArgs) -> Result<Exit, CommandFailure> {
    refuse_folder(args.folder.as_deref())?;
    let named = NamedRun::open(args.folder.as_deref(), &args.runs)?;
    let (trials, unread) = named.trials();
    if trials.is_empty() {
        warn_of(&named.folder, &unread);
        let message = format!("{}: has no trial that can be read", named.name());
        return Err(
            CommandFailure::usage(message).hint("`truetps report` says what is wrong with each trial".to_owned())
        );
    }
    if args.format == TableFormat::Csv {
        // It has no place for it.
        warn_of(&named.folder, &unread);
    }
    let borrowed: Vec<_> = trials.iter().map(|one| (&one.trial, &one.detail)).collect();
    Ok(print_made(&match args.format {
        TableFormat::Text => stalls_text(&named.name(), &borrowed, &unread, screen()),
        TableFormat::Json => stalls_json(&borrowed, &unread),
        TableFormat::Csv => stalls_csv(&borrowed),
        TableFormat::Md => stalls_markdown(&named.name(), &borrowed, &unread),
    }))
}
