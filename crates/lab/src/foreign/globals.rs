//! One global variable of somebody's server: what it is, how it is set, and how it is put back.
//!
//! Only SET GLOBAL is sent: what it sets is gone with the next restart. Nothing is ever persisted.

use truetps_driver::{Client, DriverError};
use truetps_knowledge::{Change, Version, inert_reason, known};
use truetps_record::{Configuration, Plan, ServerFacts, SettingValue, same_setting};

use super::error::ForeignError;
use super::journal::JournalEntry;

/// Errors of servers: a variable of another type, a read-only one, no such one, no right to it.
const WRONG_TYPE: u16 = 1232;
const READ_ONLY: u16 = 1238;
const UNKNOWN: u16 = 1193;
const NO_PRIVILEGE: u16 = 1227;

/// What a configuration has set: the plan's settings, then its own levels.
pub(crate) fn planned<'a>(
    plan: &'a Plan,
    configuration: &'a Configuration,
) -> impl Iterator<Item = (&'a str, &'a SettingValue)> {
    let fixed = plan.server.settings.iter().map(|(name, value)| (name.as_str(), value));
    fixed.chain(configuration.settings())
}

/// Names of all settings of a plan, each once.
pub(crate) fn names(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan.server.settings.keys().cloned().collect();
    for name in plan.setting_factors().into_keys().map(str::to_owned) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Refuses what is known not to be for a server that runs, before it is asked anything.
pub(crate) fn check_known(name: &str, server: &ServerFacts) -> Result<(), ForeignError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ForeignError::Unknown { name: name.to_owned() });
    }
    if inert_reason(name).is_some() {
        return Err(ForeignError::Identity { name: name.to_owned() });
    }
    let change = Version::parse(&server.version)
        .and_then(|version| known(name)?.span(server.flavour, &version).map(|span| span.change));
    let reason = match change {
        None | Some(Change::Dynamic | Change::Reload) => return Ok(()),
        Some(Change::Restart) => "the server reads it when it starts",
        Some(Change::NewDatadir) => "it is decided when the data folder is made",
        Some(Change::Fixed) => "it is built in",
    };
    Err(ForeignError::NotDynamic { name: name.to_owned(), reason: reason.to_owned() })
}

pub(crate) fn value(client: &mut Client, name: &str) -> Result<String, ForeignError> {
    match client.query_value(&format!("SELECT @@GLOBAL.{name}")) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(ForeignError::NoOriginal { name: name.to_owned() }),
        Err(DriverError::Server(error)) if error.code == UNKNOWN => {
            Err(ForeignError::Unknown { name: name.to_owned() })
        }
        Err(DriverError::Server(error)) if error.code == READ_ONLY => {
            Err(ForeignError::NotDynamic { name: name.to_owned(), reason: error.to_string() })
        }
        Err(error) => Err(error.into()),
    }
}

/// The server's last word on whether the variable can be set by this account: it is set to what it is.
pub(crate) fn check_settable(client: &mut Client, name: &str, account: &str) -> Result<(), ForeignError> {
    match client.execute(&format!("SET GLOBAL {name} = @@GLOBAL.{name}")) {
        Ok(_) => Ok(()),
        Err(DriverError::Server(error)) if error.code == READ_ONLY => {
            Err(ForeignError::NotDynamic { name: name.to_owned(), reason: error.to_string() })
        }
        Err(DriverError::Server(error)) if error.code == NO_PRIVILEGE => Err(ForeignError::Privilege {
            what: format!("set {name} ({error})"),
            grant: format!("GRANT {} ON *.* TO {account}", privilege_of(&error.message)),
        }),
        Err(error) => Err(error.into()),
    }
}

/// The narrowest of the privileges that `you need (at least one of) the A, B privilege(s)` names: it is the last one.
fn privilege_of(message: &str) -> String {
    let listed = message.split_once(" the ").and_then(|(_, rest)| rest.split_once(" privilege"));
    let last = listed.map(|(names, _)| names.replace(" or ", ", ")).unwrap_or_default();
    last.rsplit(", ").next().filter(|name| !name.is_empty()).unwrap_or("SUPER").to_owned()
}

/// What became of a variable that was to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was as before.
    AsBefore,
    PutBack {
        from: String,
    },
    /// Somebody has set it since.
    Left {
        found: String,
    },
}

/// Puts a variable back, if it has a value of ours. `restarted`: the server has forgotten what was set.
pub(crate) fn put_back(client: &mut Client, entry: &JournalEntry, restarted: bool) -> Result<Outcome, ForeignError> {
    let found = value(client, &entry.name)?;
    if same_setting(&entry.original, &found) {
        return Ok(Outcome::AsBefore);
    }
    let is_ours = entry.ours.iter().any(|ours| same_setting(ours, &found));
    if restarted || !is_ours {
        return Ok(Outcome::Left { found });
    }
    set_text(client, &entry.name, &entry.original)?;
    let now = value(client, &entry.name)?;
    if same_setting(&entry.original, &now) {
        Ok(Outcome::PutBack { from: found })
    } else {
        Ok(Outcome::Left { found: now })
    }
}

/// Numbers are numbers but for the few variables that are texts and look like one.
fn set_text(client: &mut Client, name: &str, text: &str) -> Result<(), DriverError> {
    let quoted = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    let first = if is_number { text } else { &quoted };
    match client.execute(&format!("SET GLOBAL {name} = {first}")) {
        Err(DriverError::Server(error)) if is_number && error.code == WRONG_TYPE => {
            client.execute(&format!("SET GLOBAL {name} = {quoted}")).map(drop)
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
                "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN privilege(s) for this",
                "SYSTEM_VARIABLES_ADMIN",
            ),
            ("Access denied; you need (at least one of) the SUPER, BINLOG ADMIN privilege(s) for this", "BINLOG ADMIN"),
            ("Access denied; you need (at least one of) the SUPER privilege(s) for this operation", "SUPER"),
            ("odd", "SUPER"),
        ] {
            assert_eq!(privilege_of(message), expected);
        }
    }

    #[test]
    fn what_is_known_is_refused_by_reason() {
        let server = ServerFacts::from_version_text("8.0.15 MySQL Community Server - GPL");
        let why = |name: &str| check_known(name, &server).unwrap_err().to_string();
        assert!(check_known("sync_binlog", &server).is_ok());
        assert!(check_known("some_plugin_thing", &server).is_ok(), "the server has the last word");
        assert!(why("log_bin").contains("when it starts"), "{}", why("log_bin"));
        assert!(why("server_uuid").contains("which server"));
        assert!(why("a b; c").contains("no variable"));
    }
}
