//! `truetps stalls`: where throughput broke down in a run.

use std::io::IsTerminal;

use truetps_report::{stalls_csv, stalls_json, stalls_markdown, stalls_text};

use crate::args::{Format, StallsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print_out;
use crate::records::Named;

pub(crate) fn run(args: &StallsArgs) -> Result<Exit, Failure> {
    let named = Named::open(args.folder.as_deref(), &args.runs)?;
    let trials = named.trials()?;
    if trials.is_empty() {
        return Err(Failure::usage(format!("{}: no trial has begun", named.name())));
    }
    let details: Vec<_> = trials.iter().map(|one| (&one.trial, one.detail())).collect();
    let borrowed: Vec<_> = details.iter().map(|(trial, detail)| (*trial, detail)).collect();
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Ok(print_out(&match args.format {
        Format::Text => stalls_text(&named.name(), &borrowed, colour),
        Format::Json => stalls_json(&borrowed),
        Format::Csv => stalls_csv(&borrowed),
        Format::Md => stalls_markdown(&named.name(), &borrowed),
    }))
}
