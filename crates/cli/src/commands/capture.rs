//! `truetps server capture`: a server's settings as a file.

use truetps_files::write_named;
use truetps_inspect::{CaptureOptions, InspectError, capture};
use truetps_record::Capture;
use truetps_report::printable;

use crate::args::CaptureArgs;
use crate::commands::instance::target_of;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::{print_line, print_made, print_message};
use crate::terminal::{shell_path, shown};

pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, CommandFailure> {
    let target = target_of(&args.server)?;
    let options = CaptureOptions {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        flush_dir: args.flush_dir.clone(),
        ..CaptureOptions::default()
    };
    let captured = capture(&target, &options).map_err(|error| failure(&error))?;
    for note in &captured.notes {
        print_line(&format!("note: {note}"));
    }
    if let Some(sentence) = &captured.durability {
        print_line(&format!("durability: {sentence}"));
    }
    let Some(path) = &args.output else { return Ok(print_made(&captured.to_json())) };
    write_named(path, captured.to_json().as_bytes())
        .map_err(|error| CommandFailure::usage(format!("--output {}: {error}", path.display())))?;
    print_message(&format!(
        "{}\nSaved  {}\nNext   truetps diff {} OTHER\n",
        summary(&captured),
        shown(path).display(),
        shell_path(path)
    ));
    Ok(Exit::Good)
}

fn summary(captured: &Capture) -> String {
    let Capture { server, variables, schemas, .. } = captured;
    let tables: u64 = schemas.iter().map(|schema| schema.tables).sum();
    let counts =
        format!("{} variables, {} schemas with {tables} tables", variables.len(), schemas.len());
    format!("{} {}: {counts}", server.flavour, printable(&server.version))
}

pub(crate) fn failure(error: &InspectError) -> CommandFailure {
    match error {
        InspectError::Server { source, .. } if !source.is_refused_login() => {
            CommandFailure::failed(error)
        }
        _ => CommandFailure::usage(error),
    }
    .advised_by(error)
}
