//! Settings of PostgreSQL on a server that is somebody's: only those that a session sets for itself, on the sessions of the
//! load alone. Nobody else sees them, and nothing has to be put back.

use truetps_driver::Client;
use truetps_record::{Configuration, Plan, SettingValue, same_setting};

use crate::error::LabError;
use crate::foreign::{ForeignError, planned};
use crate::setting::SettingError;

/// Refuses a setting that is not a session's own, by the server's word.
pub(crate) fn check(client: &mut Client, name: &str) -> Result<(), LabError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let unknown = || LabError::from(ForeignError::Unknown { name: name.to_owned() });
    if !name.chars().all(plain) {
        return Err(unknown());
    }
    let context = client.query_value(&format!("SELECT context FROM pg_settings WHERE name = '{name}'"))?;
    let reason = match context.as_deref() {
        Some("user" | "superuser") => return Ok(()),
        None => return Err(unknown()),
        Some("sighup") => "belongs to the whole server (ALTER SYSTEM and a reload)",
        Some("postmaster") => "is read when the server starts",
        Some(_) => "cannot be set by a session",
    };
    Err(LabError::NotOfSession { name: name.to_owned(), reason: reason.to_owned() })
}

/// Sets what a configuration has for this session, and returns what those of the load are to send.
pub(crate) fn apply(client: &mut Client, plan: &Plan, configuration: &Configuration) -> Result<Vec<String>, LabError> {
    let mut setup = Vec::new();
    for (name, level) in planned(plan, configuration) {
        let value = level.option_text();
        let sql = format!("SET SESSION {name} = '{}'", value.replace('\'', "''"));
        let refused = |source| SettingError::Refused { name: name.to_owned(), value: value.clone(), source };
        client.execute(&sql).map_err(refused)?;
        verify(client, name, level)?;
        setup.push(sql);
    }
    Ok(setup)
}

fn verify(client: &mut Client, name: &str, level: &SettingValue) -> Result<(), LabError> {
    let found = client.query_value(&format!("SELECT setting FROM pg_settings WHERE name = '{name}'"))?;
    let shown = client.query_value(&format!("SHOW {name}"))?.unwrap_or_default();
    let (value, found) = (level.option_text(), found.unwrap_or_default());
    if same_setting(&value, &found) || same_setting(&value, &shown) {
        return Ok(());
    }
    Err(SettingError::Changed { name: name.to_owned(), value, found: shown }.into())
}
