//! Restores everything in a journal: used by the run itself, and by the restore after a killed run.
//!
//! A variable that fails does not stop the others, and one that changes because another is restored
//! is restored again.

use std::collections::{BTreeMap, BTreeSet};

use truetps_driver::{Client, DriverError};
use truetps_record::same_setting;

use super::error::ExternalError;
use super::globals::{self, RestoreOutcome};
use super::journal::JournalEntry;
use super::journal_file::OpenJournal;

/// Variables that affect each other need no more rounds; two that conflict would go on for ever.
const ROUNDS_MAX: u32 = 3;

/// Restored items, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub done: Vec<String>,
    /// Items left unchanged, and why.
    pub left: Vec<String>,
    /// Items that should have been restored and were not: the journal stays.
    pub failed: Vec<String>,
    /// Where the original values of the unrestored variables are kept.
    pub kept: Option<std::path::PathBuf>,
    /// Further notes for the user.
    pub notes: Vec<String>,
}

/// What became of a variable, or why it failed.
type Known = Result<RestoreOutcome, String>;

/// Restores everything set by the run, in reverse order. Restored entries leave the journal, which
/// the caller writes; an error of the connection or the journal leaves all entries.
pub(crate) fn restore_settings(
    client: &mut Client,
    open: &mut OpenJournal,
    restarted: bool,
    restored: &mut Restored,
) -> Result<(), ExternalError> {
    announce(client, open, restarted)?;
    let known = rounds(client, &open.journal.settings, restarted)?;
    let mut remaining = Vec::new();
    for (n, entry) in open.journal.settings.iter().enumerate() {
        match &known[&n] {
            Ok(RestoreOutcome::AsBefore) => {}
            Ok(RestoreOutcome::Restored { from }) => {
                restored
                    .done
                    .push(format!("{} = {} (the run had set {from})", entry.name, entry.original));
            }
            Ok(RestoreOutcome::Left { found }) => {
                restored.left.push(left_text(entry, found, restarted));
                // Unless another file keeps the journal, it is the only record of the original
                // value.
                remaining.push(entry.clone());
            }
            Ok(RestoreOutcome::Adjusted { found }) => {
                let JournalEntry { name, original, .. } = entry;
                restored.failed.push(format!("the server adjusted {name} = {original} to {found}"));
                remaining.push(entry.clone());
            }
            Err(error) => {
                restored.failed.push(format!("{} = {}: {error}", entry.name, entry.original));
                remaining.push(entry.clone());
            }
        }
    }
    if !restarted && restored.failed.is_empty() {
        restored.left.extend(still_differing(client, open)?);
    }
    open.journal.settings = remaining;
    Ok(())
}

/// The value about to be restored is journalled as pending: the server may adjust it.
fn announce(
    client: &mut Client,
    open: &mut OpenJournal,
    restarted: bool,
) -> Result<(), ExternalError> {
    let mut is_news = false;
    for entry in &mut open.journal.settings {
        // A variable that cannot be read is reported when it is restored.
        let Ok(found) = globals::value(client, &entry.name) else { continue };
        let is_due =
            !restarted && !same_setting(&entry.original, &found) && globals::is_ours(entry, &found);
        is_news |= is_due && !entry.pending;
        entry.pending |= is_due;
    }
    if is_news { open.write() } else { Ok(()) }
}

fn rounds(
    client: &mut Client,
    entries: &[JournalEntry],
    restarted: bool,
) -> Result<BTreeMap<usize, Known>, ExternalError> {
    let mut known: BTreeMap<usize, Known> = BTreeMap::new();
    for _ in 0..ROUNDS_MAX {
        let mut is_changed = false;
        for (n, entry) in entries.iter().enumerate().rev() {
            // A variable that was right before may have changed with another one.
            let was_right = match known.get(&n) {
                Some(Ok(
                    RestoreOutcome::AsBefore
                    | RestoreOutcome::Restored { .. }
                    | RestoreOutcome::Adjusted { .. },
                )) => true,
                Some(Ok(RestoreOutcome::Left { .. })) => continue,
                Some(Err(_)) | None => false,
            };
            let now = match globals::restore_variable(client, entry, was_right, restarted) {
                Ok(outcome) => Ok(outcome),
                Err(error) if is_of_connection(&error) => return Err(error),
                Err(error) => Err(error.to_string()),
            };
            is_changed |= matches!(
                now,
                Ok(RestoreOutcome::Restored { .. } | RestoreOutcome::Adjusted { .. })
            );
            let was_restored = matches!(known.get(&n), Some(Ok(RestoreOutcome::Restored { .. })));
            if !(was_restored && matches!(now, Ok(RestoreOutcome::AsBefore))) {
                known.insert(n, now);
            }
        }
        if !is_changed {
            break;
        }
    }
    Ok(known)
}

/// The session is unusable, so it can restore nothing else.
fn is_of_connection(error: &ExternalError) -> bool {
    matches!(error, ExternalError::Ask(error) if !matches!(error, DriverError::Server(_)))
}

/// Variables that the run did not set, as far as it knows, and whose value differs from the
/// original one.
fn still_differing(client: &mut Client, open: &OpenJournal) -> Result<Vec<String>, ExternalError> {
    let journal = &open.journal;
    if journal.before.is_empty() {
        return Ok(Vec::new());
    }
    let now = globals::all(client)?;
    let set: BTreeSet<_> = journal.settings.iter().map(|entry| entry.name.to_lowercase()).collect();
    let others = journal.before.iter().filter(|(name, _)| !set.contains(&name.to_lowercase()));
    let differing = others.filter_map(|(name, was)| {
        let is = now.get(name).filter(|is| !same_setting(was, is))?;
        Some(format!("{name} is {is} and was {was} before the run, which did not set it"))
    });
    Ok(differing.collect())
}

fn left_text(entry: &JournalEntry, found: &str, restarted: bool) -> String {
    let JournalEntry { name, original, .. } = entry;
    if restarted {
        let is_ours = entry.ours.iter().any(|ours| same_setting(ours, found));
        let as_set = if is_ours {
            ", a value that the run had also set, but that no restart keeps"
        } else {
            ""
        };
        return format!(
            "{name} is {found} since the server was restarted{as_set}; left unchanged; before the \
             run it was {original}"
        );
    }
    format!(
        "{name} was changed to {found} by another session; left unchanged; before the run it was \
         {original}"
    )
}
