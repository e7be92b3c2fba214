//! Puts back what a killed run has left in a server.

use std::path::Path;
use std::time::Duration;

use truetps_driver::{Client, Target};

use super::error::ForeignError;
use super::globals::{self, Outcome};
use super::hold::left_text;
use super::identity::Identity;
use super::journal::{Journal, OpenJournal};
use crate::error::LabError;
use crate::schema::Schema;

const TIMEOUT: Duration = Duration::from_mins(1);

/// What was done, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub done: Vec<String>,
    /// What stays as it is, and why.
    pub left: Vec<String>,
}

/// Puts back what this journal says, where the server still has what was set. It may be run again at any time.
pub fn restore(path: &Path, target: &Target) -> Result<Restored, LabError> {
    let open = OpenJournal::take(path)?;
    let mut client = Client::connect(target, TIMEOUT).map_err(LabError::GuestLogin)?;
    let now = Identity::ask(&mut client).map_err(ForeignError::from)?;
    let journal = &open.journal;
    if now.id != journal.server.id {
        return Err(ForeignError::OtherServer { was: journal.server.id.clone(), found: now.id }.into());
    }
    let mut restored = Restored::default();
    settings(&mut client, journal, journal.server.was_restarted(&now), &mut restored)?;
    let schema = Schema::left(target, &journal.schema);
    restored.done.extend(schema.clean(&mut client, &mut restored.left)?);
    open.finish()?;
    Ok(restored)
}

fn settings(
    client: &mut Client,
    journal: &Journal,
    restarted: bool,
    restored: &mut Restored,
) -> Result<(), ForeignError> {
    for entry in journal.settings.iter().rev() {
        match globals::put_back(client, entry, restarted)? {
            Outcome::AsBefore => {}
            Outcome::PutBack { from } => {
                restored.done.push(format!("{} = {} (the killed run had set {from})", entry.name, entry.original));
            }
            Outcome::Left { found } if restarted => restored.left.push(format!(
                "{} is {found} since the server was restarted, and is left so; before the run it was {}",
                entry.name, entry.original
            )),
            Outcome::Left { found } => restored.left.push(left_text(entry, &found)),
        }
    }
    Ok(())
}
