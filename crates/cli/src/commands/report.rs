//! `truetps report`: the answer again, from the folder alone.

use crate::answer::{give, open_folder};
use crate::args::ReportArgs;
use crate::commands::probe;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    if let Some(folder) = probe::folder_of(args.folder.as_deref()) {
        return probe::show(&folder, args.format);
    }
    give(&open_folder(args.folder.as_deref(), &args.runs)?, args.format)
}
