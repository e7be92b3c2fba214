//! `truetps server restore`: puts back what killed runs have left in servers of `--dsn`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use truetps_lab::{ForeignError, Journal, LabError, Restored, restore, unfinished};

use crate::args::RestoreArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print_out, say, site};

pub(crate) fn run(args: &RestoreArgs) -> Result<Exit, Failure> {
    let journals = match &args.journal {
        Some(path) => vec![path.clone()],
        None => unfinished(&site::journals(&args.runs)).map_err(LabError::from)?,
    };
    if journals.is_empty() {
        say("no killed run has left anything\n");
        return Ok(Exit::Good);
    }
    refuse_one_password_for_all(&journals, args)?;
    // Of several, each is tried: one server that is gone must not keep the others waiting.
    let mut first_failure = None;
    let mut skipped = Vec::new();
    for path in &journals {
        match one(path, args) {
            Ok(()) => {}
            // Journals of other servers are not what was asked for, and are not forgotten either.
            Err(Refused::OtherServer(_)) if args.dsn.is_some() && args.journal.is_none() => {
                say(&format!("{}: of another server than --dsn (or TRUETPS_DSN), skipped\n", path.display()));
                skipped.push(path);
            }
            Err(Refused::OtherServer(failure) | Refused::Failed(failure)) => {
                if first_failure.is_none() {
                    first_failure = Some(failure);
                } else {
                    say(&failure.to_string());
                }
            }
        }
    }
    match (first_failure, skipped.first()) {
        (Some(failure), _) => Err(failure),
        (None, None) => Ok(Exit::Good),
        (None, Some(path)) => Err(Failure::usage(format!("{} journals of other servers are left", skipped.len()))
            .hint(format!("truetps server restore --journal '{}' --dsn DSN, or without a DSN", path.display()))),
    }
}

/// The password of one server is no business of another one, whose address is only in a file.
fn refuse_one_password_for_all(journals: &[PathBuf], args: &RestoreArgs) -> Result<(), Failure> {
    if args.dsn.is_some() || args.journal.is_some() || !site::has_password_in_environment() {
        return Ok(());
    }
    let addresses: BTreeSet<_> = journals.iter().filter_map(|path| Some(Journal::read(path).ok()?.address)).collect();
    if addresses.len() < 2 {
        return Ok(());
    }
    let addresses: Vec<_> = addresses.into_iter().collect();
    let message = format!("TRUETPS_PASSWORD is one, and the journals are of several servers: {}", addresses.join(", "));
    Err(Failure::usage(message).hint("name the server with --dsn, or one journal with --journal".to_owned()))
}

enum Refused {
    OtherServer(Failure),
    Failed(Failure),
}

fn one(path: &Path, args: &RestoreArgs) -> Result<(), Refused> {
    let failed = |error: LabError| match &error {
        LabError::Foreign(ForeignError::OtherServer { .. }) => Refused::OtherServer(error.into()),
        _ => Refused::Failed(error.into()),
    };
    let journal = Journal::read(path).map_err(|error| failed(error.into()))?;
    let dsn = args.dsn.as_deref().unwrap_or(&journal.address);
    say(&format!("{}: a run of {} left {}\n", journal.address, journal.begun_at, journal.told()));
    let target = site::target_of_account(dsn, args.defaults_file.as_deref(), args.ask_password);
    let target = target.map_err(Refused::Failed)?;
    let Restored { done, left, failed: not_done, kept } =
        restore(path, &target, args.journal.is_some()).map_err(failed)?;
    let done = done.iter().map(|line| format!("put back: {line}\n"));
    let left = left.iter().map(|line| format!("left as it is: {line}\n"));
    let kept = kept.map(|kept| format!("what was there before the run is kept in {}\n", kept.display()));
    let lines: String = done.chain(left).chain(kept).collect();
    let nothing = if not_done.is_empty() { "everything is as it was\n" } else { "" };
    print_out(if lines.is_empty() { nothing } else { &lines });
    if not_done.is_empty() {
        return Ok(());
    }
    let message = LabError::from(ForeignError::NotAsBefore { what: not_done });
    let hint = format!("when it can be: truetps server restore --journal '{}'", path.display());
    Err(Refused::Failed(Failure::failed(&message).hint(hint)))
}
