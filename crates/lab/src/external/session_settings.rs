//! Session settings on an external server: they are set in the sessions of the load alone. Other
//! sessions are not affected, and nothing has to be restored.

use std::collections::BTreeMap;

use truetps_driver::{Client, Target};
use truetps_plan::Plan;
use truetps_record::{Configuration, SettingValue, SqlDialect, same_setting};

use super::committing;
use super::control::CLIENT_TIMEOUT;
use super::error::ExternalError;
use super::globals::{self, Scope, Scopes};
use super::sessions::OwnSessions;
use crate::error::LabError;
use crate::trial::server_provider::ExternalServer;
use crate::trial::setting::{SettingError, literal};

/// Refuses a setting that PostgreSQL says a session cannot change.
pub(crate) fn check_postgres(client: &mut Client, name: &str) -> Result<(), LabError> {
    if !globals::is_plain(name) {
        return Err(ExternalError::unknown(name).into());
    }
    let context =
        client.query_value(&format!("SELECT context FROM pg_settings WHERE name = '{name}'"))?;
    let reason = match context.as_deref() {
        Some("user") => return Ok(()),
        Some("superuser") => return check_right_postgres(client, name),
        None => return Err(ExternalError::unknown(name).into()),
        Some("sighup") => "belongs to the whole server (ALTER SYSTEM and a reload)",
        Some("postmaster") => "is read when the server starts",
        Some(_) => "cannot be set by a session",
    };
    Err(LabError::NotOfSession { name: name.to_owned(), reason: reason.to_owned() })
}

/// Refuses a parameter that the role may not set; names the statement that grants it.
fn check_right_postgres(client: &mut Client, name: &str) -> Result<(), LabError> {
    /// From this version on a right to one parameter can be granted.
    const PARAMETER_RIGHTS: u32 = 150_000;
    let version =
        client.query_value("SHOW server_version_num")?.and_then(|text| text.parse::<u32>().ok());
    let has_rights = version.is_some_and(|version| version >= PARAMETER_RIGHTS);
    let sql = if has_rights {
        format!("SELECT pg_catalog.has_parameter_privilege('{name}', 'SET')::text")
    } else {
        "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user".to_owned()
    };
    if client.query_value(&sql)?.as_deref() == Some("true") {
        return Ok(());
    }
    let user =
        client.query_value("SELECT pg_catalog.quote_ident(current_user)")?.unwrap_or_default();
    let grant = if has_rights {
        format!("GRANT SET ON PARAMETER {name} TO {user}")
    } else {
        format!("ALTER ROLE {user} SUPERUSER")
    };
    Err(ExternalError::Privilege { what: format!("set {name}"), grant }.into())
}

/// The statements that sessions of the load send for these levels.
pub(crate) fn setup_sql<'l>(
    dialect: SqlDialect,
    levels: impl Iterator<Item = (&'l str, &'l SettingValue)>,
) -> Vec<String> {
    let sql = levels.map(|(name, level)| match dialect {
        SqlDialect::Mysql => format!("SET SESSION {name} = {}", literal(level)),
        SqlDialect::Postgres => {
            format!("SET SESSION {name} = '{}'", level.option_text().replace('\'', "''"))
        }
    });
    sql.collect()
}

/// The settings of a configuration for the sessions of the load, as such a session shows them.
pub(crate) struct SessionSettings {
    pub(crate) setup: Vec<String>,
    pub(crate) found: BTreeMap<String, String>,
}

/// Where the load of another part connects to; `name`: of its sessions, on PostgreSQL.
pub(crate) fn inside_of_load(external: &ExternalServer, name: &str) -> Target {
    let mut inside = external.target.clone();
    inside.login.database = Some(external.schema.clone());
    let name = Some(name).filter(|name| !name.is_empty());
    committing::set_up(&mut inside);
    inside.setup.extend(name.and_then(|name| OwnSessions::setup_sql(inside.dialect, name)));
    inside
}

/// Tries the load's SET statements in a session of its own, and reads the values.
pub(crate) fn try_out(
    inside: &Target,
    scopes: &Scopes,
    plan: &Plan,
    configuration: &Configuration,
) -> Result<SessionSettings, LabError> {
    let setup = setup_sql(inside.dialect, scopes.levels_of(plan, configuration, Scope::Session));
    let mut found = BTreeMap::new();
    if setup.is_empty() {
        return Ok(SessionSettings { setup, found });
    }
    let plain = Target { setup: Vec::new(), ..inside.clone() };
    let mut client = Client::connect(&plain, CLIENT_TIMEOUT)?;
    for (name, level) in scopes.levels_of(plan, configuration, Scope::Session) {
        let is = set(&mut client, name, level)?;
        found.insert(name.to_owned(), is);
    }
    Ok(SessionSettings { setup, found })
}

/// Tries each level once, before tables are filled, so that refusals are found early.
pub(crate) fn try_levels(target: &Target, scopes: &Scopes, plan: &Plan) -> Result<(), LabError> {
    let levels = globals::levels(plan).into_iter();
    let levels: Vec<_> = levels.filter(|(name, _)| scopes.has(name, Scope::Session)).collect();
    if levels.is_empty() {
        return Ok(());
    }
    let mut client = Client::connect(target, CLIENT_TIMEOUT)?;
    for (name, level) in levels {
        set(&mut client, &name, &level)?;
    }
    Ok(())
}

/// Sets one for this session, and returns the resulting value.
fn set(client: &mut Client, name: &str, level: &SettingValue) -> Result<String, LabError> {
    let value = level.option_text();
    for sql in setup_sql(client.dialect(), [(name, level)].into_iter()) {
        client.execute(&sql).map_err(|source| SettingError::Refused {
            name: name.to_owned(),
            value: value.clone(),
            source,
        })?;
    }
    let shown = match client.dialect() {
        SqlDialect::Mysql => {
            client.query_value(&format!("SELECT @@SESSION.{name}"))?.unwrap_or_default()
        }
        SqlDialect::Postgres => {
            let sql = format!("SELECT setting FROM pg_settings WHERE name = '{name}'");
            let found = client.query_value(&sql)?.unwrap_or_default();
            if same_setting(&value, &found) {
                return Ok(found);
            }
            client.query_value(&format!("SHOW {name}"))?.unwrap_or_default()
        }
    };
    if same_setting(&value, &shown) {
        return Ok(shown);
    }
    Err(SettingError::Changed { name: name.to_owned(), value, found: shown }.into())
}
