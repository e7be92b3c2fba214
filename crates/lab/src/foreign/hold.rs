//! The settings of a run on somebody's server, from its journal to the last one that is put back.

use truetps_driver::{Client, Dialect};
use truetps_record::{Configuration, Plan, SettingValue, same_setting};

use super::error::ForeignError;
use super::globals::{self, Outcome};
use super::identity::{Identity, Uptime};
use super::journal::{JournalEntry, OpenJournal};
use crate::error::LabError;
use crate::setting::{Changeable, set_global};

pub(crate) struct Hold {
    journal: OpenJournal,
    uptime: Uptime,
}

impl Hold {
    pub(crate) fn new(journal: OpenJournal, client: &mut Client) -> Result<Self, ForeignError> {
        Ok(Self { journal, uptime: Uptime::ask(client)? })
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.journal.path()
    }

    pub(crate) fn sets_anything(&self) -> bool {
        !self.journal.journal.settings.is_empty()
    }

    /// Writes down what the server has, asks it whether it would change that, then tries each level once: one that is
    /// refused, or made another one, is better known before tables are filled.
    pub(crate) fn try_levels(&mut self, client: &mut Client, plan: &Plan, account: &str) -> Result<(), LabError> {
        let names = globals::names(plan);
        if names.is_empty() || client.dialect() == Dialect::Postgres {
            return Ok(());
        }
        for name in names {
            let original = globals::value(client, &name)?;
            self.journal.journal.settings.push(JournalEntry { name, original, ours: Vec::new() });
        }
        self.journal.write()?;
        for entry in &self.journal.journal.settings {
            globals::check_settable(client, &entry.name, account)?;
        }
        for configuration in plan.configurations() {
            self.apply(client, plan, &configuration)?;
        }
        self.put_back(client)?;
        Ok(())
    }

    /// Sets what a configuration has. What is about to be set is in the journal before it is.
    pub(crate) fn apply(
        &mut self,
        client: &mut Client,
        plan: &Plan,
        configuration: &Configuration,
    ) -> Result<(), LabError> {
        for (name, level) in globals::planned(plan, configuration) {
            self.set(client, name, level)?;
        }
        Ok(())
    }

    fn set(&mut self, client: &mut Client, name: &str, level: &SettingValue) -> Result<(), LabError> {
        let Some(n) = self.journal.journal.settings.iter().position(|entry| entry.name == name) else {
            return Ok(());
        };
        let found = globals::value(client, name)?;
        let wanted = level.option_text();
        let entry = &mut self.journal.journal.settings[n];
        let is_ours = same_setting(&entry.original, &found) || entry.ours.iter().any(|ours| same_setting(ours, &found));
        if !is_ours {
            return Err(LabError::SetByOthers { name: name.to_owned(), found });
        }
        if same_setting(&wanted, &found) {
            // It may be there by our hand, or have been so before.
            return Ok(());
        }
        entry.ours = vec![found, wanted];
        self.journal.write()?;
        match set_global(client, name, level) {
            Ok(Changeable::Dynamic) => Ok(()),
            Err(error) => {
                // Where the server made another value of it, that one is by our hand, too.
                let made = globals::value(client, name)?;
                self.journal.journal.settings[n].ours.push(made);
                self.journal.write()?;
                Err(error.into())
            }
            Ok(Changeable::AtStart) => {
                let reason = "the server says that it is read-only".to_owned();
                Err(ForeignError::NotDynamic { name: name.to_owned(), reason }.into())
            }
        }
    }

    /// Why a trial that has just ended on this configuration is no evidence: the server was restarted, or somebody has
    /// set what the trial is about.
    pub(crate) fn trouble(
        &mut self,
        client: &mut Client,
        plan: &Plan,
        configuration: &Configuration,
    ) -> Result<Option<String>, LabError> {
        if let Some(text) = self.look_for_restart(client)? {
            return Ok(Some(text));
        }
        if !self.sets_anything() {
            return Ok(None);
        }
        for (name, level) in globals::planned(plan, configuration) {
            let found = globals::value(client, name)?;
            if !same_setting(&level.option_text(), &found) {
                return Ok(Some(format!("somebody has set {name} to {found} during the trial")));
            }
        }
        Ok(None)
    }

    /// A server that was started again has forgotten what was set: what it has now is what it is to have at the end.
    pub(crate) fn look_for_restart(&mut self, client: &mut Client) -> Result<Option<String>, LabError> {
        let Some(seconds) = self.uptime.look(client).map_err(ForeignError::from)? else { return Ok(None) };
        self.journal.journal.server = Identity::ask(client).map_err(ForeignError::from)?;
        for entry in &mut self.journal.journal.settings {
            entry.original = globals::value(client, &entry.name)?;
            entry.ours.clear();
        }
        self.journal.write()?;
        Ok(Some(format!("the server was restarted: it runs for {seconds:.0} s only")))
    }

    /// Puts everything back, the last one first. What somebody else has set since stays, and is told.
    pub(crate) fn put_back(&mut self, client: &mut Client) -> Result<Vec<String>, ForeignError> {
        let mut told = Vec::new();
        for entry in self.journal.journal.settings.iter().rev() {
            if let Outcome::Left { found } = globals::put_back(client, entry, false)? {
                told.push(left_text(entry, &found));
            }
        }
        Ok(told)
    }

    pub(crate) fn finish(self) -> Result<(), ForeignError> {
        self.journal.finish()
    }
}

pub(crate) fn left_text(entry: &JournalEntry, found: &str) -> String {
    let JournalEntry { name, original, .. } = entry;
    format!("{name} is {found}, which is not what this run has set, and is left so; before the run it was {original}")
}
