//! `truetps prealloc trim`

use std::ffi::OsStr;
use std::fmt::Write as _;

use truetps_binlog::{TailDecision, Untrimmable};
use truetps_preload::{TrimError, TrimmedFile, trim};
use truetps_probe::clock;
use truetps_report::format;

use super::binlogs::basename_of_path;
use super::state::{STOP_FIRST, state_failure};
use crate::args::TrimArgs;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::terminal::print_out;

pub(super) fn run(args: &TrimArgs) -> Result<Exit, CommandFailure> {
    let basename = basename_of_path(&args.path)?;
    let done =
        trim(&basename, args.dry_run, clock::epoch_s() as u64).map_err(|error| failure(&error))?;
    let mut out = String::new();
    for file in &done.files {
        if let Some(text) = said(file, args.dry_run) {
            let _ = writeln!(out, "{}: {text}", shown(&file.name));
        }
    }
    for name in &done.removed {
        let _ = writeln!(out, "{}: prepared file, {}removed", shown(name), would(args.dry_run));
    }
    let sound = done.files.iter().filter(|file| is_sound(file, args.dry_run)).count();
    let _ = writeln!(
        out,
        "{} of {} end with their last event",
        sound,
        format::plural(done.files.len() as u64, "binlog")
    );
    let printed = print_out(&out);
    let leaves_any =
        done.files.iter().any(|file| matches!(file.decision, TailDecision::LeaveAlone(_)));
    Ok(if leaves_any { Exit::Failed } else { printed })
}

/// Whether a binlog now ends with its last event.
fn is_sound(file: &TrimmedFile, is_dry: bool) -> bool {
    match file.decision {
        TailDecision::Sound => true,
        TailDecision::CutZeros { .. } | TailDecision::CutAndKeep { .. } => !is_dry,
        TailDecision::LeaveAlone(_) => false,
    }
}

/// The server's user has chosen it: it is one line, whatever it has.
fn shown(name: &OsStr) -> String {
    name.to_string_lossy().escape_debug().to_string()
}

fn would(is_dry: bool) -> &'static str {
    if is_dry { "would be " } else { "" }
}

/// What happened to a binlog; `None`: nothing.
fn said(file: &TrimmedFile, is_dry: bool) -> Option<String> {
    let would = would(is_dry);
    Some(match file.decision {
        TailDecision::Sound => return None,
        TailDecision::CutZeros { at } => {
            format!("{would}cut from {} to {} bytes; only zeros were behind", file.bytes, at)
        }
        TailDecision::CutAndKeep { at, keep_to } => {
            let kept = file
                .kept
                .as_ref()
                .map_or_else(String::new, |kept| format!(" in {}", kept.display()));
            format!(
                "{would}cut from {} to {at} bytes; {} bytes of unfinished events {would}kept{kept}",
                file.bytes,
                keep_to - at
            )
        }
        TailDecision::LeaveAlone(why) => format!("left as it is: {}", why_left(why)),
    })
}

fn why_left(why: Untrimmable) -> String {
    match why {
        Untrimmable::Encrypted => "it is encrypted, and its end cannot be found".to_owned(),
        Untrimmable::NoChecksums => {
            "its events have no checksums, and the last ones are damaged".to_owned()
        }
        Untrimmable::NotABinlog => "it does not begin as binlogs do".to_owned(),
        Untrimmable::Damaged { at } => format!(
            "the event at {at} is damaged in a way that a crash does not explain; events behind it \
             may have been committed"
        ),
    }
}

fn failure(error: &TrimError) -> CommandFailure {
    match error {
        TrimError::State(error) => state_failure(error),
        TrimError::InUse { .. } => CommandFailure::usage(error).hint(STOP_FIRST),
        TrimError::NoBinlog { .. } => {
            CommandFailure::usage(error).hint("name a datadir, or the path without the number")
        }
        TrimError::File { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            CommandFailure::usage(error).hint("use sudo, or the server's user")
        }
        TrimError::File { .. } => CommandFailure::failed(error),
    }
}
