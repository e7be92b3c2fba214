//! Setting a private server, of whichever family: for all its sessions, and read back.

use std::thread;
use std::time::{Duration, Instant};

use truetps_driver::{Client, Dialect};
use truetps_record::SettingValue;
use truetps_sandbox::found_instead;

use crate::setting::{Changeable, SettingError, set_global, verify};

/// A server that was asked to read its settings again has done so within this time.
const RELOAD_WAIT: Duration = Duration::from_secs(5);
const RELOAD_PAUSE: Duration = Duration::from_millis(2);

/// Sets it for all sessions, those that are there and those to come. [`Changeable::AtStart`]: the server can only be
/// started with it.
pub(crate) fn set(client: &mut Client, name: &str, value: &SettingValue) -> Result<Changeable, SettingError> {
    match client.dialect() {
        Dialect::Mysql => set_global(client, name, value),
        Dialect::Postgres => alter_system(client, name, value),
    }
}

/// A private server has the value that was asked for.
pub(crate) fn check(client: &mut Client, name: &str, value: &SettingValue) -> Result<(), SettingError> {
    match client.dialect() {
        Dialect::Mysql => verify(client, name, value),
        Dialect::Postgres => match instead(client, name, value)? {
            None => Ok(()),
            Some(found) => Err(changed(name, value, found)),
        },
    }
}

/// What the server was started with stands in a file, and what is set here goes before it. Sessions hear of it one by one:
/// that of `client` after the server itself, from which new ones have it.
fn alter_system(client: &mut Client, name: &str, value: &SettingValue) -> Result<Changeable, SettingError> {
    let asked = |source| SettingError::Ask { name: name.to_owned(), source };
    let refused = |source| SettingError::Refused { name: name.to_owned(), value: value.to_string(), source };
    let context = client.query_value(&format!("SELECT context FROM pg_settings WHERE lower(name) = lower('{name}')"));
    // Others are read at the start of the server, or of a session, or are no settings of a running server at all.
    if !matches!(context.map_err(asked)?.as_deref(), Some("sighup" | "superuser" | "user")) {
        return Ok(Changeable::AtStart);
    }
    let text = value.option_text().replace('\'', "''");
    client.execute(&format!("ALTER SYSTEM SET {name} = '{text}'")).map_err(refused)?;
    client.query_value("SELECT pg_reload_conf()").map_err(refused)?;
    let began = Instant::now();
    loop {
        match instead(client, name, value)? {
            None => return Ok(Changeable::Dynamic),
            Some(found) if began.elapsed() > RELOAD_WAIT => return Err(changed(name, value, found)),
            Some(_) => thread::sleep(RELOAD_PAUSE),
        }
    }
}

fn instead(client: &mut Client, name: &str, value: &SettingValue) -> Result<Option<String>, SettingError> {
    found_instead(client, name, value).map_err(|source| SettingError::Ask { name: name.to_owned(), source })
}

fn changed(name: &str, value: &SettingValue, found: String) -> SettingError {
    SettingError::Changed { name: name.to_owned(), value: value.option_text(), found }
}
