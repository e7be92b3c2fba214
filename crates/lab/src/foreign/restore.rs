//! Puts back what a killed run has left in a server.

use std::path::Path;

use truetps_driver::{Client, Dialect, Target};

use super::access;
use super::error::ForeignError;
use super::hold::{CLIENT_TIMEOUT, end_session, finish, take_lock};
use super::journal_file::OpenJournal;
use super::put_back::{Restored, put_back};
use super::schema::Schema;
use crate::error::LabError;

/// Puts back what this journal says, where the server still has what was set. It may be run again at any time. `is_sure`:
/// the user has named this journal, and so knows that this is its server where nothing in the server proves it.
pub fn restore(path: &Path, target: &Target, is_sure: bool) -> Result<Restored, LabError> {
    let mut open = OpenJournal::take(path)?;
    let target = &access::control(target);
    let mut client = Client::connect(target, CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
    let was = &open.journal.server;
    let now = was.ask_again(&mut client)?;
    let restarted = was.was_restarted(&now);
    if restarted && !was.is_unique && !is_sure {
        return Err(ForeignError::MaybeOther { path: path.to_owned() }.into());
    }
    let mut restored = Restored::default();
    if target.dialect == Dialect::Mysql && !open.journal.settings.is_empty() {
        if !restarted {
            end_session(&mut client, open.journal.session)?;
        }
        take_lock(&mut client)?;
        put_back(&mut client, &mut open, restarted, &mut restored)?;
    }
    let schema = Schema::left(target, &open.journal.schema);
    // The settings are everybody's, and are told whatever becomes of the schema.
    if let Err(error) = schema.clean(client, &open.journal.schema, &mut restored) {
        restored.failed.push(format!("the schema `{}` could not be dropped ({})", schema.name(), error.plain()));
    }
    finish(open, &mut restored)?;
    Ok(restored)
}
