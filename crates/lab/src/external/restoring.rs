//! Putting back all that a journal has: by the run that has set it, and by who cleans up after one that was killed.
//!
//! A variable that fails keeps no other one waiting, and one that moves because another one is put back is put back again.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_record::same_setting;

use super::error::ForeignError;
use super::globals::{self, RestoreOutcome};
use super::journal::JournalEntry;
use super::journal_file::OpenJournal;

/// Variables that move each other need no more; two that will not agree would go on for ever.
const ROUNDS_MAX: u32 = 3;

/// What was done, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub done: Vec<String>,
    /// What stays as it is, and why.
    pub left: Vec<String>,
    /// What is not as it was and should be: the journal stays.
    pub failed: Vec<String>,
    /// Where it is kept what the variables that were left had been.
    pub kept: Option<std::path::PathBuf>,
    /// What else its user should know.
    pub notes: Vec<String>,
}

/// What is known of a variable after a round.
#[derive(Debug)]
enum Known {
    Is(RestoreOutcome),
    Failed(String),
}

/// Puts everything back that is ours, the last one first. Entries that are as before leave the journal, which is yet to be
/// written; an error is one of the connection or of the journal, and leaves them all.
pub(crate) fn put_back(
    client: &mut Client,
    open: &mut OpenJournal,
    restarted: bool,
    restored: &mut Restored,
) -> Result<(), ForeignError> {
    announce(client, open, restarted)?;
    let known = rounds(client, &open.journal.settings, restarted)?;
    let mut remaining = Vec::new();
    for (n, entry) in open.journal.settings.iter().enumerate() {
        match &known[&n] {
            Known::Is(RestoreOutcome::AsBefore) => {}
            Known::Is(RestoreOutcome::PutBack { from }) => {
                restored.done.push(format!("{} = {} (the run had set {from})", entry.name, entry.original));
            }
            Known::Is(RestoreOutcome::Left { found }) => {
                restored.left.push(left_text(entry, found, restarted));
                // Where something else keeps the journal, it is the only one that knows what this was.
                remaining.push(entry.clone());
            }
            Known::Is(RestoreOutcome::Adjusted { found }) => {
                let JournalEntry { name, original, .. } = entry;
                restored.failed.push(format!("the server made {found} of {name} = {original}"));
                remaining.push(entry.clone());
            }
            Known::Failed(error) => {
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

/// What is about to be put back is written down as such: on the way the server may make another value of it.
fn announce(client: &mut Client, open: &mut OpenJournal, restarted: bool) -> Result<(), ForeignError> {
    let mut is_news = false;
    for entry in &mut open.journal.settings {
        // One that cannot be asked is told of when it is put back.
        let Ok(found) = globals::value(client, &entry.name) else { continue };
        let is_due = !restarted && !same_setting(&entry.original, &found) && globals::is_ours(entry, &found);
        is_news |= is_due && !entry.pending;
        entry.pending |= is_due;
    }
    if is_news { open.write() } else { Ok(()) }
}

fn rounds(
    client: &mut Client,
    entries: &[JournalEntry],
    restarted: bool,
) -> Result<BTreeMap<usize, Known>, ForeignError> {
    let mut known: BTreeMap<usize, Known> = BTreeMap::new();
    for _ in 0..ROUNDS_MAX {
        let mut is_changed = false;
        for (n, entry) in entries.iter().enumerate().rev() {
            // What was right a moment ago has moved with another one.
            let was_right = match known.get(&n) {
                Some(Known::Is(
                    RestoreOutcome::AsBefore | RestoreOutcome::PutBack { .. } | RestoreOutcome::Adjusted { .. },
                )) => true,
                Some(Known::Is(RestoreOutcome::Left { .. })) => continue,
                Some(Known::Failed(_)) | None => false,
            };
            let now = match globals::put_back(client, entry, was_right, restarted) {
                Ok(outcome) => Known::Is(outcome),
                Err(error) if is_of_connection(&error) => return Err(error),
                Err(error) => Known::Failed(error.to_string()),
            };
            is_changed |= matches!(now, Known::Is(RestoreOutcome::PutBack { .. } | RestoreOutcome::Adjusted { .. }));
            let was_put_back = matches!(known.get(&n), Some(Known::Is(RestoreOutcome::PutBack { .. })));
            if !(was_put_back && matches!(now, Known::Is(RestoreOutcome::AsBefore))) {
                known.insert(n, now);
            }
        }
        if !is_changed {
            break;
        }
    }
    Ok(known)
}

/// The session is of no more use, and so nothing else can be put back by it.
fn is_of_connection(error: &ForeignError) -> bool {
    matches!(error, ForeignError::Ask(error) if !matches!(error, DriverError::Server(_)))
}

/// Variables that the run did not set, as far as it knows, and that have another value than before it.
fn still_differing(client: &mut Client, open: &OpenJournal) -> Result<Vec<String>, ForeignError> {
    let journal = &open.journal;
    if journal.before.is_empty() {
        return Ok(Vec::new());
    }
    let now = globals::all(client)?;
    let is_entry = |name: &String| journal.settings.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
    let differing = journal.before.iter().filter_map(|(name, was)| {
        let is = now.get(name).filter(|is| !same_setting(was, is) && !is_entry(name))?;
        Some(format!("{name} is {is} and was {was} before the run, which has not set it"))
    });
    Ok(differing.collect())
}

fn left_text(entry: &JournalEntry, found: &str, restarted: bool) -> String {
    let JournalEntry { name, original, .. } = entry;
    if restarted {
        let is_ours = entry.ours.iter().any(|ours| same_setting(ours, found));
        let as_set = if is_ours { ", a value that the run had set, too, but that no restart keeps" } else { "" };
        return format!(
            "{name} is {found} since the server was restarted{as_set}; left unchanged; before the run it was {original}"
        );
    }
    format!("{name} was changed to {found} by another session; left unchanged; before the run it was {original}")
}
