//! `truetps report`: the answer again, from the folder alone.

use std::path::Path;

use truetps_folder::CrashFolder;

use crate::answer::{give, open_folder};
use crate::args::{DocumentArgs, DocumentFormat, OutputFormat, ReportArgs, TableFormat};
use crate::commands::{crash, explain, pool, probe, verify};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::{folder_named, meant_folder};

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CommandFailure> {
    let named = args.folder.as_deref().map(|folder| meant_folder(folder, args.runs.as_deref()));
    if let Some(folder) = probe::folder_of(named.as_deref()) {
        let format = match args.format {
            OutputFormat::Text => TableFormat::Text,
            OutputFormat::Json => TableFormat::Json,
            OutputFormat::Csv => TableFormat::Csv,
            OutputFormat::Md => TableFormat::Md,
            OutputFormat::Jsonl
            | OutputFormat::Sysbench
            | OutputFormat::Junit
            | OutputFormat::Prometheus => {
                let message = "--format: a probe has no trials; this format needs one";
                return Err(CommandFailure::usage(message).hint("text, json, csv or md"));
            }
        };
        return probe::show(&folder, format, args.full);
    }
    if let Some(folder) = named.as_deref().and_then(CrashFolder::open) {
        let format = document_format(args.format, "crashes")?;
        return crash::show(&folder, DocumentArgs { format, full: args.full });
    }
    let folder = folder_named(args.folder.as_deref(), args.runs.as_deref());
    let experiment = open_folder(Some(&folder), Path::new(""))?;
    let is_verified = experiment.verification().map_err(CommandFailure::usage)?.is_some();
    // In the other formats it is shown as a load.
    if let Some(format) =
        document_format(args.format, "a verification").ok().filter(|_| is_verified)
    {
        return verify::show(&experiment, DocumentArgs { format, full: args.full });
    }
    let document = |of| {
        document_format(args.format, of).map(|format| DocumentArgs { format, full: args.full })
    };
    if let Some(run) = explain::of_folder(&experiment)? {
        return Ok(explain::show(&run, document("an explanation")?));
    }
    if let Some(run) = pool::of_folder(&experiment)? {
        return Ok(pool::show(&run, document("a search for a pool")?, &[]));
    }
    give(&experiment, args.format, args.full)
}

/// The form of an answer that is no table of trials.
fn document_format(format: OutputFormat, of: &str) -> Result<DocumentFormat, CommandFailure> {
    match format {
        OutputFormat::Text => Ok(DocumentFormat::Text),
        OutputFormat::Json => Ok(DocumentFormat::Json),
        OutputFormat::Md => Ok(DocumentFormat::Md),
        OutputFormat::Csv
        | OutputFormat::Jsonl
        | OutputFormat::Sysbench
        | OutputFormat::Junit
        | OutputFormat::Prometheus => {
            let message = format!("--format: not for {of}: this form is a table of trials");
            Err(CommandFailure::usage(message).hint("text, json or md"))
        }
    }
}
