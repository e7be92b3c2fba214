//! Sets a variable of a private server of any family for all its sessions, and reads it back.

use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::Client;
use truetps_record::{SettingValue, SqlDialect};
use truetps_sandbox::found_instead;

use crate::trial::setting::{Changeable, SettingError, set_global, verify};

/// A server that was asked to reload its settings must have done so within this time.
const RELOAD_WAIT: Duration = Duration::from_secs(5);
const RELOAD_PAUSE: Duration = Duration::from_millis(2);

/// Sets a variable for all existing and new sessions. [`Changeable::AtStart`]: it can only be given
/// at server start.
pub(crate) fn set(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<Changeable, SettingError> {
    match client.dialect() {
        SqlDialect::Mysql => set_global(client, name, value),
        SqlDialect::Postgres => alter_system(client, name, value),
    }
}

/// Checks that the private server has the requested value.
pub(crate) fn check(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<(), SettingError> {
    match client.dialect() {
        SqlDialect::Mysql => verify(client, name, value),
        SqlDialect::Postgres => match instead(client, name, value)? {
            None => Ok(()),
            Some(found) => Err(changed(name, value, found)),
        },
    }
}

/// The settings of the start are in a file, and ALTER SYSTEM overrides it. Sessions apply a reload
/// one by one: the session of `client` after the postmaster, whose values new sessions get.
fn alter_system(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<Changeable, SettingError> {
    let refused =
        |source| SettingError::Refused { name: name.to_owned(), value: value.to_string(), source };
    let context = client.query_value(&format!(
        "SELECT context FROM pg_settings WHERE lower(name) = lower('{name}')"
    ));
    let context = context.map_err(|source| SettingError::Ask { name: name.to_owned(), source })?;
    // Other contexts are read at server start or session start, or cannot be set on a running
    // server.
    if !matches!(context.as_deref(), Some("sighup" | "superuser" | "user")) {
        return Ok(Changeable::AtStart);
    }
    let text = value.option_text().replace('\'', "''");
    client.execute(&format!("ALTER SYSTEM SET {name} = '{text}'")).map_err(refused)?;
    client.query_value("SELECT pg_reload_conf()").map_err(refused)?;
    let began = Instant::now();
    loop {
        match instead(client, name, value)? {
            None => return Ok(Changeable::Dynamic),
            Some(found) if began.elapsed() > RELOAD_WAIT => {
                return Err(changed(name, value, found));
            }
            Some(_) => thread::sleep(RELOAD_PAUSE),
        }
    }
}

fn instead(
    client: &mut Client,
    name: &str,
    value: &SettingValue,
) -> Result<Option<String>, SettingError> {
    found_instead(client, name, value)
        .map_err(|source| SettingError::Ask { name: name.to_owned(), source })
}

fn changed(name: &str, value: &SettingValue, found: String) -> SettingError {
    SettingError::Changed { name: name.to_owned(), value: value.option_text(), found }
}
