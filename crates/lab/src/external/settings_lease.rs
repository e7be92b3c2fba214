//! The settings of a run on an external server, from its journal to the last restored one.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_plan::Plan;
use truetps_record::{Configuration, SettingValue, SqlDialect, same_setting};

use super::control::CLIENT_TIMEOUT;
use super::error::ExternalError;
use super::globals::{self, Scope, Scopes};
use super::identity::Identity;
use super::journal::{Journal, JournalEntry, LeftSchema};
use super::journal_file::OpenJournal;
use super::mark::TABLE;
use super::restoring::{Restored, restore_settings};
use super::sessions::{OwnSessions, end_one, left_text};
use crate::error::LabError;
use crate::trial::setting::{Changeable, SettingError, set_global};
use crate::trial::tables::MadeSchema;

/// A lock in the server: runs of different users or hosts do not see each other's journals.
pub(crate) const LOCK_IS_FREE: &str = "SELECT IS_FREE_LOCK('truetps.settings')";
pub(crate) const TAKE_LOCK: &str = "SELECT GET_LOCK('truetps.settings', 0)";

/// Variables that servers change when another one is set. Others are found when the levels are
/// tried; these are known before the first SET, and so are journalled before it.
const MOVES_WITH: [(&str, &str); 2] = [
    ("innodb_io_capacity", "innodb_io_capacity_max"),
    ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"),
];

pub(crate) struct SettingsLease {
    pub(super) journal: OpenJournal,
    scopes: Scopes,
    /// What changed when a variable was set.
    companions: BTreeMap<String, Vec<String>>,
    sessions: OwnSessions,
}

impl SettingsLease {
    pub(crate) fn new(journal: OpenJournal, scopes: Scopes, sessions: OwnSessions) -> Self {
        if let Some(file) = journal.sessions_file() {
            sessions.ids.copy_to(file);
        }
        Self { journal, scopes, companions: BTreeMap::new(), sessions }
    }

    /// Ends the sessions of earlier trials: see [`OwnSessions::end`]. Returns messages about those
    /// that remain.
    pub(crate) fn end_sessions(&self, client: &mut Client) -> Result<Vec<String>, DriverError> {
        let left = self.sessions.end(client)?;
        Ok(left
            .into_iter()
            .map(|id| left_text(client.dialect(), id, &self.sessions.name))
            .collect())
    }

    /// Whether other sessions see any of the settings.
    pub(crate) fn sets_anything(&self) -> bool {
        self.scopes.has_global()
    }

    fn journal(&mut self) -> &mut Journal {
        &mut self.journal.journal
    }

    /// Journals tables of a user's schema as they are created; of a schema of the run only its
    /// mark, which is created with the schema.
    pub(crate) fn note(&mut self, made: &MadeSchema<'_>) -> Result<(), ExternalError> {
        let schema: &mut LeftSchema = &mut self.journal().schema;
        let (MadeSchema::Begins(names) | MadeSchema::Ends(names)) = made;
        if !schema.is_theirs && *names != [TABLE] {
            return Ok(());
        }
        match made {
            MadeSchema::Begins(names) => schema.making = names.to_vec(),
            MadeSchema::Ends(names) => {
                schema.making.clear();
                schema.made.extend_from_slice(names);
            }
        }
        self.journal.write()
    }

    /// The first session, and each replacement: one session at a time sets everything.
    pub(crate) fn acquire(&mut self, client: &mut Client) -> Result<(), ExternalError> {
        if self.sets_anything() {
            take_lock(client)?;
        }
        self.journal().session = session_of(client)?;
        self.journal.write()
    }

    /// Whether no variable was set: each is journalled before it is set.
    pub(crate) fn has_set_nothing(&self) -> bool {
        self.journal.journal.settings.is_empty()
    }

    /// Checks that this session is at the measured server. Returns a note if the server was
    /// restarted since.
    ///
    /// The session's number alone proves nothing: another server, or this one after a restart,
    /// counts from 1 again.
    pub(crate) fn verify_server(
        &mut self,
        client: &mut Client,
    ) -> Result<Option<String>, ExternalError> {
        let was = &self.journal.journal.server;
        let now = was.ask_again(client)?;
        let restarted = was.was_restarted(&now);
        let session = session_of(client)?;
        if !restarted && session.is_some() && session == self.journal.journal.session {
            return Ok(None);
        }
        if self.sets_anything() && !restarted {
            end_session(client, self.journal.journal.session)?;
        }
        if restarted {
            self.after_restart(client, &now)?;
            // The server numbers sessions from 1 again.
            self.sessions.ids.clear();
            session
                .and_then(|id| u32::try_from(id).ok())
                .into_iter()
                .for_each(|id| self.sessions.ids.add(id));
        }
        self.acquire(client)?;
        Ok(restarted.then(|| "the server was restarted".to_owned()))
    }

    /// A restarted server has forgotten what was set: its current values are the ones to restore at
    /// the end. But a current value equal to the run's may have been made permanent by mistake:
    /// then the original value before the run stays the one to restore.
    fn after_restart(&mut self, client: &mut Client, now: &Identity) -> Result<(), ExternalError> {
        let sets = self.sets_anything();
        let journal = self.journal();
        journal.server.started_s = now.started_s;
        for entry in &mut journal.settings {
            let found = globals::value(client, &entry.name)?;
            if same_setting(&entry.original, &found) {
                entry.ours.clear();
            } else if !entry.ours.iter().any(|ours| same_setting(ours, &found)) {
                entry.earlier.push(std::mem::replace(&mut entry.original, found));
                entry.ours.clear();
            }
            entry.pending = false;
        }
        if sets {
            journal.before = globals::all(client)?;
        }
        self.journal.write()
    }

    /// Journals the server's values, checks that each can be set, then tries each level once:
    /// refused and adjusted levels are found before tables are filled.
    pub(crate) fn try_levels(
        &mut self,
        client: &mut Client,
        plan: &Plan,
        account: &str,
    ) -> Result<(), LabError> {
        if !self.sets_anything() {
            return Ok(());
        }
        let names: Vec<_> = self.scopes.global_names().map(str::to_owned).collect();
        self.journal().before = globals::all(client).map_err(ExternalError::from)?;
        for name in &names {
            let original = globals::value(client, name)?;
            self.journal().settings.push(JournalEntry::new(name, original));
        }
        self.note_known_companions();
        self.journal.write()?;
        for name in &names {
            globals::check_settable(client, name, account)?;
        }
        for (name, level) in globals::levels(plan) {
            if names.contains(&name) {
                let before = globals::all(client).map_err(ExternalError::from)?;
                self.set(client, &name, &level)?;
                self.note_companions(client, &name, &before)?;
            }
        }
        self.settle()?;
        self.restore_until_the_first_trial(client)
    }

    /// Restores the original values until the first trial. That trial handles changes by other
    /// sessions since then.
    fn restore_until_the_first_trial(&mut self, client: &mut Client) -> Result<(), LabError> {
        let entries = self.journal.journal.settings.clone();
        let mut restored = Restored::default();
        restore_settings(client, &mut self.journal, false, &mut restored)?;
        self.journal().settings = entries;
        self.journal.write()?;
        if !restored.failed.is_empty() {
            return Err(ExternalError::NotAsBefore { what: restored.failed }.into());
        }
        Ok(())
    }

    fn note_known_companions(&mut self) {
        for (name, other) in MOVES_WITH {
            for (name, other) in [(name, other), (other, name)] {
                let Some(original) = self.journal.journal.before.get(other).cloned() else {
                    continue;
                };
                if self.entry(name).is_some() {
                    self.companions.entry(name.to_owned()).or_default().push(other.to_owned());
                    if self.entry(other).is_none() {
                        self.journal().settings.push(JournalEntry::new(other, original));
                    }
                }
            }
        }
    }

    /// All other variables changed by the first SET of a level changed because of it, and are
    /// restored with it.
    fn note_companions(
        &mut self,
        client: &mut Client,
        name: &str,
        before: &BTreeMap<String, String>,
    ) -> Result<(), LabError> {
        let now = globals::all(client).map_err(ExternalError::from)?;
        let mut is_news = false;
        for (other, is) in now {
            let Some(was) = before.get(&other).filter(|was| !same_setting(was, &is)) else {
                continue;
            };
            // A variable that no run sets was changed by another session: it is reported at the
            // end.
            if other.eq_ignore_ascii_case(name) || globals::check_name(&other).is_err() {
                continue;
            }
            if self.entry(&other).is_none() {
                let original = self.journal.journal.before.get(&other).unwrap_or(was).clone();
                self.journal().settings.push(JournalEntry::new(&other, original));
            }
            let of_name = self.companions.entry(name.to_owned()).or_default();
            if !of_name.contains(&other) {
                of_name.push(other.clone());
            }
            if let Some(entry) = self.entry(&other) {
                entry.ours.push(is);
                is_news = true;
            }
        }
        if is_news {
            self.journal.write()?;
        }
        Ok(())
    }

    fn entry(&mut self, name: &str) -> Option<&mut JournalEntry> {
        self.journal().settings.iter_mut().find(|entry| entry.name.eq_ignore_ascii_case(name))
    }

    /// Sets the configuration. A value is in the journal before it is set.
    pub(crate) fn apply(
        &mut self,
        client: &mut Client,
        plan: &Plan,
        configuration: &Configuration,
    ) -> Result<(), LabError> {
        if !self.sets_anything() {
            return Ok(());
        }
        client.set_timeout(CLIENT_TIMEOUT)?;
        let levels = self.global_levels(plan, configuration);
        for (name, level) in &levels {
            self.set(client, name, level)?;
        }
        self.settle()?;
        // A variable set first may have changed with a later one.
        for (name, level) in levels {
            let found = globals::value(client, &name)?;
            if !same_setting(&level.option_text(), &found) {
                return Err(
                    SettingError::Changed { name, value: level.option_text(), found }.into()
                );
            }
        }
        Ok(())
    }

    fn global_levels(
        &self,
        plan: &Plan,
        configuration: &Configuration,
    ) -> Vec<(String, SettingValue)> {
        let levels = self.scopes.levels_of(plan, configuration, Scope::Global);
        levels.map(|(name, level)| (name.to_owned(), level.clone())).collect()
    }

    fn set(
        &mut self,
        client: &mut Client,
        name: &str,
        level: &SettingValue,
    ) -> Result<(), LabError> {
        let found = globals::value(client, name)?;
        let wanted = level.option_text();
        let Some(entry) = self.entry(name) else { return Ok(()) };
        if !(same_setting(&entry.original, &found) || globals::is_ours(entry, &found)) {
            return Err(LabError::SetByOthers { name: name.to_owned(), found });
        }
        if same_setting(&wanted, &found) {
            // The value may have been set by the run, or be the original one.
            return Ok(());
        }
        entry.ours = vec![found, wanted];
        entry.pending = true;
        let companions = self.companions.get(name).cloned().unwrap_or_default();
        for other in &companions {
            let found = globals::value(client, other)?;
            if let Some(entry) = self.entry(other) {
                // A value set by another session does not belong to the run, even if the variable
                // can move.
                entry.pending |=
                    same_setting(&entry.original, &found) || globals::is_ours(entry, &found);
            }
        }
        self.journal.write()?;
        let result = set_global(client, name, level);
        let result = match result {
            // It may still take effect: the entry stays pending, and the next session ends this one
            // first.
            Err(error) if error.is_of_connection() => return Err(error.into()),
            other => other,
        };
        // Adjusted values, of the variable and of those that change with it, belong to the run,
        // too.
        for moved in companions.iter().map(String::as_str).chain([name]) {
            let made = globals::value(client, moved)?;
            if let Some(entry) =
                self.entry(moved).filter(|entry| entry.pending && !entry.ours.contains(&made))
            {
                entry.ours.push(made);
            }
        }
        match result {
            Ok(Changeable::Dynamic) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(Changeable::AtStart) => {
                let reason = "the server reports that it is read-only".to_owned();
                Err(ExternalError::NotDynamic { name: name.to_owned(), reason }.into())
            }
        }
    }

    /// The pending SET is done: from here on another value belongs to another session.
    fn settle(&mut self) -> Result<(), ExternalError> {
        let pending = self.journal.journal.settings.iter_mut().filter(|entry| entry.pending);
        if pending.map(|entry| entry.pending = false).count() > 0 {
            self.journal.write()?;
        }
        Ok(())
    }

    /// Why the trial that just ended on this configuration is invalid: another session changed one
    /// of its settings.
    pub(crate) fn trouble(
        &mut self,
        client: &mut Client,
        plan: &Plan,
        configuration: &Configuration,
    ) -> Result<Option<String>, ExternalError> {
        for (name, level) in self.global_levels(plan, configuration) {
            let found = globals::value(client, &name)?;
            if !same_setting(&level.option_text(), &found) {
                return Ok(Some(format!(
                    "`{name}` was changed to {found} by another session during the trial"
                )));
            }
        }
        Ok(None)
    }

    /// Restores everything. Values set by other sessions since stay, and are reported.
    pub(crate) fn restore(
        &mut self,
        client: &mut Client,
        restored: &mut Restored,
    ) -> Result<(), ExternalError> {
        restore_settings(client, &mut self.journal, false, restored)
    }
}

/// Restoring is done: removes the journal, or writes what could not be restored to it. A journal
/// that cannot be written is a failure, too: it is no longer true.
pub(crate) fn finish(mut journal: OpenJournal, restored: &mut Restored) {
    if restored.failed.is_empty() {
        let unwritten = journal
            .unwritten
            .as_ref()
            .map(|error| format!("the journal could not be written: {error}"));
        match journal.finish(!restored.left.is_empty()) {
            Ok(kept) => {
                restored.kept = kept;
                restored.notes.extend(unwritten);
            }
            Err(error) => {
                let text = "the server is restored, but its journal could not be removed";
                restored.failed.push(format!("{text}: {error}"));
            }
        }
        return;
    }
    journal.journal.session = None;
    let written = journal.write();
    if let Some(error) = written.as_ref().err().or(journal.unwritten.as_ref()) {
        restored
            .failed
            .push(format!("the journal still lists settings that are restored: {error}"));
    }
}

/// The server's number of this session.
pub(crate) fn session_of(client: &mut Client) -> Result<Option<u64>, DriverError> {
    let sql = match client.dialect() {
        SqlDialect::Mysql => "SELECT CONNECTION_ID()",
        SqlDialect::Postgres => "SELECT pg_backend_pid()::text",
    };
    Ok(client.query_value(sql)?.and_then(|text| text.parse().ok()))
}

pub(crate) fn take_lock(client: &mut Client) -> Result<(), ExternalError> {
    let taken = client.query_value(TAKE_LOCK)?;
    if taken.as_deref() == Some("1") { Ok(()) } else { Err(ExternalError::SetElsewhere) }
}

/// An abandoned session may still be busy with a SET, which would take effect after everything was
/// restored: it is ended, and its end is awaited.
fn end_session(client: &mut Client, session: Option<u64>) -> Result<(), ExternalError> {
    match session {
        Some(session) if end_one(client, session)? => Err(ExternalError::StillBusy { session }),
        _ => Ok(()),
    }
}
