//! One global variable of an external server: what it is, how it is set, and how it is restored.
//!
//! Only SET GLOBAL is sent: the next restart undoes it. Nothing is persisted.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_knowledge::{Changeability, Version, find_setting, inert_reason, irreversible_reason};
use truetps_plan::Plan;
use truetps_record::{Configuration, ServerFacts, SettingValue, same_setting};
use truetps_sandbox::load_session_reason;

use super::error::ExternalError;
use super::journal::JournalEntry;
use crate::trial::setting::{READ_ONLY_VARIABLE, WRONG_TYPE, literal_of_text, quoted};

/// Errors of the server: no such variable, no privilege.
const UNKNOWN: u16 = 1193;
const NO_PRIVILEGE: u16 = 1227;

/// Variables that sessions show but cannot set.
const GLOBAL_ALTHOUGH_SHOWN: [&str; 2] = ["max_allowed_packet", "net_buffer_length"];

/// Settings of a configuration: the plan's first, then its levels'.
fn planned<'a>(
    plan: &'a Plan,
    configuration: &'a Configuration,
) -> impl Iterator<Item = (&'a str, &'a SettingValue)> {
    let fixed = plan.server.settings.iter().map(|(name, value)| (name.as_str(), value));
    fixed.chain(configuration.settings())
}

/// Every level of every setting of a plan, each once.
pub(crate) fn levels(plan: &Plan) -> Vec<(String, SettingValue)> {
    let fixed = plan.server.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
    let factors = plan.setting_factors();
    let of_factors = factors
        .iter()
        .flat_map(|(name, levels)| levels.iter().map(|level| ((*name).to_owned(), level.clone())));
    let mut all: Vec<(String, SettingValue)> = Vec::new();
    for one in fixed.chain(of_factors) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// Names of all settings of a plan, each once.
pub(crate) fn names(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in levels(plan) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Scope of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All sessions.
    Global,
    /// The load's sessions only: SET GLOBAL would affect applications that connect during the run.
    Session,
}

/// Names of a plan's settings, and the scope of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scopes(BTreeMap<String, Scope>);

impl Scopes {
    pub(crate) fn insert(&mut self, name: String, scope: Scope) {
        self.0.insert(name, scope);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, name: &str, scope: Scope) -> bool {
        self.0.get(name) == Some(&scope)
    }

    /// Whether other sessions see any of the settings.
    pub(crate) fn has_global(&self) -> bool {
        self.global_names().next().is_some()
    }

    pub(crate) fn global_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, scope)| **scope == Scope::Global).map(|(name, _)| name.as_str())
    }

    /// The settings of a configuration among these.
    pub(crate) fn levels_of<'p>(
        &'p self,
        plan: &'p Plan,
        configuration: &'p Configuration,
        scope: Scope,
    ) -> impl Iterator<Item = (&'p str, &'p SettingValue)> {
        planned(plan, configuration).filter(move |(name, _)| self.has(name, scope))
    }
}

/// Whether a name can stand in a statement as it is.
pub(super) fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// Refuses invalid names, variables of the load's own sessions, those that identify the server, and
/// changes that no SET can undo.
pub(crate) fn check_name(name: &str) -> Result<(), ExternalError> {
    if name.is_empty() || !is_plain(name) {
        return Err(ExternalError::unknown(name));
    }
    if let Some(reason) = load_session_reason(name) {
        return Err(ExternalError::OfSessions { name: name.to_owned(), reason });
    }
    if inert_reason(name).is_some() {
        return Err(ExternalError::Identity { name: name.to_owned() });
    }
    match irreversible_reason(name) {
        Some(reason) => Err(ExternalError::Irreversible { name: name.to_owned(), reason }),
        None => Ok(()),
    }
}

/// Refuses variables known not to be settable on a running server, and unknown ones: the server may
/// accept the SET, but whether it can be restored is unknown.
pub(crate) fn check_known(name: &str, server: &ServerFacts) -> Result<(), ExternalError> {
    let change = Version::parse(&server.version).and_then(|version| {
        find_setting(&name.to_lowercase())?.span(server.flavour, &version).map(|span| span.change)
    });
    let reason = match change {
        Some(Changeability::Dynamic | Changeability::Reload) => return Ok(()),
        None => return Err(ExternalError::NotKnown { name: name.to_owned() }),
        Some(Changeability::Restart) => "the server reads it when it starts",
        Some(Changeability::NewDatadir) => "it is set when the datadir is created",
        Some(Changeability::Fixed) => "it is fixed in the program",
    };
    Err(ExternalError::NotDynamic { name: name.to_owned(), reason: reason.to_owned() })
}

/// Asks the server whether sessions have the variable, too.
pub(crate) fn scope(client: &mut Client, name: &str) -> Result<Scope, ExternalError> {
    if GLOBAL_ALTHOUGH_SHOWN.contains(&name.to_lowercase().as_str()) {
        return Ok(Scope::Global);
    }
    match client.query_value(&format!("SELECT @@SESSION.{name}")) {
        Ok(_) => Ok(Scope::Session),
        Err(DriverError::Server(error)) if error.code == UNKNOWN => {
            Err(ExternalError::unknown(name))
        }
        Err(DriverError::Server(_)) => Ok(Scope::Global),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn value(client: &mut Client, name: &str) -> Result<String, ExternalError> {
    match client.query_value(&format!("SELECT @@GLOBAL.{name}")) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(ExternalError::NoOriginal { name: name.to_owned() }),
        Err(DriverError::Server(error)) if error.code == UNKNOWN => {
            Err(ExternalError::unknown(name))
        }
        Err(DriverError::Server(error)) if error.code == READ_ONLY_VARIABLE => {
            Err(ExternalError::NotDynamic { name: name.to_owned(), reason: error.to_string() })
        }
        Err(error) => Err(error.into()),
    }
}

/// All variables that a SET may change: without session bookkeeping, and without those that change
/// by themselves.
pub(crate) fn all(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    let mut all = truetps_driver::server_settings(client)?;
    // SET cannot change a status.
    all.retain(|name, _| inert_reason(name).is_none() && name != "innodb_redo_log_enabled");
    Ok(all)
}

/// Sets the variable to its current value: the server decides whether this account can set it.
pub(crate) fn check_settable(
    client: &mut Client,
    name: &str,
    account: &str,
) -> Result<(), ExternalError> {
    match client.execute(&settable_sql(name)) {
        Ok(_) => Ok(()),
        Err(DriverError::Server(error)) if error.code == READ_ONLY_VARIABLE => {
            Err(ExternalError::NotDynamic { name: name.to_owned(), reason: error.to_string() })
        }
        Err(DriverError::Server(error)) if error.code == NO_PRIVILEGE => {
            Err(ExternalError::Privilege {
                what: format!("set {name} ({error})"),
                grant: format!("GRANT {} ON *.* TO {account}", privilege_of(&error.message)),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// The statement sent by [`check_settable`].
pub(crate) fn settable_sql(name: &str) -> String {
    format!("SET GLOBAL {name} = @@GLOBAL.{name}")
}

/// The narrowest privilege in `you need (at least one of) the A, B privilege(s)`: the last one.
fn privilege_of(message: &str) -> String {
    let listed = message.split_once(" the ").and_then(|(_, rest)| rest.split_once(" privilege"));
    let last = listed.map(|(names, _)| names.replace(" or ", ", ")).unwrap_or_default();
    last.rsplit(", ").next().filter(|name| !name.is_empty()).unwrap_or("SUPER").to_owned()
}

/// Result of restoring a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RestoreOutcome {
    /// It already had its original value.
    AsBefore,
    /// It had this value of the run.
    Restored { from: String },
    /// Another session changed it, or a restart of the server reset it.
    Left { found: String },
    /// The server adjusted the original value to another one.
    Adjusted { found: String },
}

/// Whether a value that was found was set by the run.
pub(crate) fn is_ours(entry: &JournalEntry, found: &str) -> bool {
    entry.pending || entry.ours.iter().any(|ours| same_setting(ours, found))
}

/// Restores a variable if it has a value of the run. `restarted`: the server has forgotten what was
/// set.
pub(crate) fn restore_variable(
    client: &mut Client,
    entry: &JournalEntry,
    is_ours_anyway: bool,
    restarted: bool,
) -> Result<RestoreOutcome, ExternalError> {
    let found = match value(client, &entry.name) {
        // The server was restarted with another version, or without a plugin.
        Err(ExternalError::Unknown { .. }) if restarted => {
            return Ok(RestoreOutcome::Left { found: "unknown".to_owned() });
        }
        other => other?,
    };
    if same_setting(&entry.original, &found) {
        return Ok(RestoreOutcome::AsBefore);
    }
    if restarted || !(is_ours_anyway || is_ours(entry, &found)) {
        return Ok(RestoreOutcome::Left { found });
    }
    set_text(client, &entry.name, &entry.original)?;
    let now = value(client, &entry.name)?;
    if same_setting(&entry.original, &now) {
        Ok(RestoreOutcome::Restored { from: found })
    } else {
        Ok(RestoreOutcome::Adjusted { found: now })
    }
}

/// The statement that restores a variable.
pub(crate) fn restore_sql(name: &str, original: &str) -> String {
    format!("SET GLOBAL {name} = {}", literal_of_text(original))
}

/// Numbers are sent as numbers, except for the few text variables whose value looks like one.
fn set_text(client: &mut Client, name: &str, text: &str) -> Result<(), DriverError> {
    match client.execute(&restore_sql(name, text)) {
        Err(DriverError::Server(error)) if error.code == WRONG_TYPE => {
            client.execute(&format!("SET GLOBAL {name} = {}", quoted(text))).map(drop)
        }
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_privilege_is_named() {
        for (message, expected) in [
            (
                "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN \
                 privilege(s) for this",
                "SYSTEM_VARIABLES_ADMIN",
            ),
            (
                "Access denied; you need (at least one of) the SUPER, BINLOG ADMIN privilege(s) \
                 for this",
                "BINLOG ADMIN",
            ),
            (
                "Access denied; you need (at least one of) the SUPER privilege(s) for this \
                 operation",
                "SUPER",
            ),
            ("odd", "SUPER"),
        ] {
            assert_eq!(privilege_of(message), expected);
        }
    }

    #[test]
    fn what_is_known_is_refused_by_reason() {
        let server = ServerFacts::from_version_text("8.0.15 MySQL Community Server - GPL");
        let known = |name: &str| check_name(name).and_then(|()| check_known(name, &server));
        let why = |name: &str| known(name).unwrap_err().to_string();
        assert!(known("sync_binlog").is_ok());
        assert!(why("some_plugin_thing").contains("is unknown"), "{}", why("some_plugin_thing"));
        assert!(why("log_bin").contains("when it starts"), "{}", why("log_bin"));
        assert!(why("server_uuid").contains("identifies the server"));
        assert!(why("binlog_expire_logs_seconds").contains("cannot be restored"));
        assert!(why("a b; c").contains("no variable"));
    }

    #[test]
    fn each_level_is_tried_once() {
        let plan = Plan::parse(
            "name = \"p\"\nabout = \"a\"\n[server.settings]\nfixed = 1\n[workload]\nname = \
             \"insert\"\n[factors]\n\
             one = [1, 2, 0]\ntwo = [1, 0]\nconnections = [1, 2]\n",
        )
        .unwrap();
        assert_eq!(levels(&plan).len(), 6);
        assert_eq!(names(&plan), ["fixed", "one", "two"]);
    }

    #[test]
    fn a_value_is_ours_when_it_was_set_or_is_being_set() {
        let mut entry = JournalEntry::new("x", "1".to_owned());
        entry.ours = vec!["2".to_owned()];
        assert!(is_ours(&entry, "2") && !is_ours(&entry, "3"));
        entry.pending = true;
        assert!(is_ours(&entry, "3"));
    }
}
