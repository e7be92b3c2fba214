//! Restores what a killed run left in a server.

use std::path::Path;

use truetps_driver::{Client, ConnectionIds, Target};
use truetps_record::SqlDialect;

use super::control::{CLIENT_TIMEOUT, control};
use super::error::ExternalError;
use super::globals;
use super::identity::{Identity, differences};
use super::journal::Journal;
use super::journal_file::OpenJournal;
use super::restoring::{Restored, restore_settings};
use super::schema::{Schema, refuse_system_schema};
use super::sessions::left_text;
use super::settings_lease::{finish, take_lock};
use crate::error::LabError;

/// How a server is proved to be the one of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityProof {
    /// By its id alone.
    Id,
    /// The user has named this journal, which decides where nothing in the server proves it.
    Named,
    /// The user states that it is the same server, moved.
    SameServer,
}

/// Restores the settings of this journal where the server still has the value set by the run. It
/// may be repeated at any time.
pub fn restore(path: &Path, target: &Target, proof: IdentityProof) -> Result<Restored, LabError> {
    let mut open = OpenJournal::take(path)?;
    check(path, &open.journal, target.dialect)?;
    let ids = ConnectionIds::default();
    let target = &Target { connections: Some(ids.clone()), ..control(target) };
    let mut client = Client::connect(target, CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
    let was = &open.journal.server;
    let now = match was.ask_again(&mut client) {
        Err(ExternalError::OtherServer { found, .. }) if was.may_have_become(&found) => {
            if proof != IdentityProof::SameServer {
                return Err(ExternalError::OtherOrMoved {
                    differences: differences(&was.id, &found),
                    path: path.to_owned(),
                }
                .into());
            }
            // A run leaves its mark before it sets anything: without the mark there is nothing to
            // restore here.
            if !Schema::of_killed_run(target, &open.journal.schema)
                .server
                .is_marked_there(&mut client)?
            {
                return Err(ExternalError::NoMark {
                    was: was.id.clone(),
                    schema: open.journal.schema.name.clone(),
                }
                .into());
            }
            Identity::ask(&mut client)?
        }
        other => other?,
    };
    let restarted = was.was_restarted(&now);
    if restarted && !was.is_unique && proof == IdentityProof::Id {
        return Err(ExternalError::MaybeOther { path: path.to_owned() }.into());
    }
    let mut restored = Restored::default();
    let schema = Schema::of_killed_run(target, &open.journal.schema);
    if !restarted {
        let session = open.journal.session.filter(|_| target.dialect == SqlDialect::Mysql);
        open.sessions().into_iter().for_each(|id| ids.add(id));
        let own = schema.sessions_of(&ids, session);
        let left = own.end(&mut client).map_err(ExternalError::from)?;
        if let Some(session) =
            session.filter(|id| left.contains(id) && !open.journal.settings.is_empty())
        {
            return Err(ExternalError::StillBusy { session }.into());
        }
        restored.failed.extend(left.into_iter().map(|id| left_text(target.dialect, id, &own.name)));
    }
    if target.dialect == SqlDialect::Mysql && !open.journal.settings.is_empty() {
        take_lock(&mut client)?;
        restore_settings(&mut client, &mut open, restarted, &mut restored)?;
    }
    // Global settings affect all users, and are reported whatever happens to the schema.
    if let Err(error) = schema.clean(client, &open.journal.schema, &mut restored) {
        restored.failed.push(format!(
            "the schema `{}` could not be dropped ({})",
            schema.name(),
            error.plain()
        ));
    }
    finish(open, &mut restored);
    Ok(restored)
}

/// A journal sets only what a run may set: another process may have edited it.
fn check(path: &Path, journal: &Journal, dialect: SqlDialect) -> Result<(), ExternalError> {
    let names = journal.settings.iter().try_for_each(|entry| globals::check_name(&entry.name));
    let all = names.and_then(|()| refuse_system_schema(&journal.schema.name, dialect));
    all.map_err(|error| ExternalError::Damaged {
        path: path.to_owned(),
        problem: format!("it has settings that no run makes: {error}"),
    })
}
