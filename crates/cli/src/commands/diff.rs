//! `truetps diff`: what differs between the settings of two servers.

use std::path::Path;

use truetps_inspect::{side_of_path, side_of_server};
use truetps_knowledge::{Side, diff};

use crate::args::{DiffArgs, DiffFormat};
use crate::commands::capture::failure;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print_out, site};

pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (mut a, b) = (side(&args.a, "A", None)?, side(&args.b, "B", None)?);
    // An option file is read as the other side's version reads it.
    let b = if b.is_complete { b } else { side(&args.b, "B", Some(&a))? };
    if !a.is_complete {
        a = side(&args.a, "A", Some(&b))?;
    }
    let found = diff(&a, &b);
    Ok(print_out(&match args.format {
        DiffFormat::Text => truetps_report::diff_text(&found, args.all),
        DiffFormat::Json => truetps_report::diff_json(&found),
        DiffFormat::Md => truetps_report::diff_markdown(&found, args.all),
    }))
}

fn side(named: &str, flag: &str, like: Option<&Side>) -> Result<Side, Failure> {
    let read = if named.contains("://") {
        side_of_server(&site::target(named, flag)?)
    } else {
        side_of_path(Path::new(named), like)
    };
    read.map_err(|error| failure(&error))
}
