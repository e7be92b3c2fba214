//! `truetps report`: the answer again, from the folder alone.

use crate::answer::{give, open_folder};
use crate::args::{Format, ReportArgs, TableFormat};
use crate::commands::probe;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    if let Some(folder) = probe::folder_of(args.folder.as_deref()) {
        let format = match args.format {
            Format::Text => TableFormat::Text,
            Format::Json => TableFormat::Json,
            Format::Csv => TableFormat::Csv,
            Format::Md => TableFormat::Md,
            Format::Jsonl | Format::Sysbench => {
                let message = "--format: what `truetps probe` has watched has no trial that could be shown like this";
                return Err(Failure::usage(message).hint("text, json, csv or md".to_owned()));
            }
        };
        return probe::show(&folder, format);
    }
    give(&open_folder(args.folder.as_deref(), &args.runs)?, args.format)
}
