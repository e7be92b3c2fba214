//! `truetps server restore`: puts back what killed runs have left in servers of `--dsn`.

use std::path::Path;

use truetps_lab::{ForeignError, Journal, LabError, Restored, restore, unfinished};

use crate::args::RestoreArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print_out, say, site};

pub(crate) fn run(args: &RestoreArgs) -> Result<Exit, Failure> {
    let journals = match &args.journal {
        Some(path) => vec![path.clone()],
        None => unfinished(&site::journals(&args.runs)).map_err(LabError::from).map_err(|error| failure(&error))?,
    };
    if journals.is_empty() {
        say("no killed run has left anything\n");
        return Ok(Exit::Good);
    }
    // Of several, each is tried: one server that is gone must not keep the others waiting.
    let mut first_failure = None;
    for path in &journals {
        let outcome = one(path, args);
        match outcome {
            Ok(()) => {}
            // Journals of other servers are not what was asked for.
            Err(Refused::OtherServer(_)) if args.dsn.is_some() && args.journal.is_none() => {}
            Err(Refused::OtherServer(failure) | Refused::Failed(failure)) => {
                if first_failure.is_none() {
                    first_failure = Some(failure);
                } else {
                    say(&failure.to_string());
                }
            }
        }
    }
    first_failure.map_or(Ok(Exit::Good), Err)
}

enum Refused {
    OtherServer(Failure),
    Failed(Failure),
}

fn one(path: &Path, args: &RestoreArgs) -> Result<(), Refused> {
    let failed = |error: LabError| match &error {
        LabError::Foreign(ForeignError::OtherServer { .. }) => Refused::OtherServer(failure(&error)),
        _ => Refused::Failed(failure(&error)),
    };
    let journal = Journal::read(path).map_err(|error| failed(error.into()))?;
    let dsn = args.dsn.as_deref().unwrap_or(&journal.address);
    let target = site::target_with_file(dsn, "--dsn", args.defaults_file.as_deref()).map_err(Refused::Failed)?;
    say(&format!("{}: a run of {} left {}\n", journal.address, journal.begun_at, journal.told()));
    let Restored { done, left } = restore(path, &target).map_err(failed)?;
    let lines = done.iter().map(|line| format!("put back: {line}\n"));
    let lines: String = lines.chain(left.iter().map(|line| format!("left as it is: {line}\n"))).collect();
    print_out(if lines.is_empty() { "everything is as it was\n" } else { &lines });
    Ok(())
}

fn failure(error: &LabError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { Failure::failed(error) }.hint(error.hint())
}
