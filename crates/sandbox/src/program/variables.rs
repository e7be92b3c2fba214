//! The current settings of a running server.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError};
use truetps_record::{SettingValue, SqlDialect, same_setting};

use crate::found_instead;
use crate::program::postgres::values;
use crate::settings::names::{canonical_name, switch_of};
use crate::settings::postgres::INITIAL;
use crate::settings::server_settings::Settings;

/// All global variables, by name; for PostgreSQL in the settings' own units.
pub fn effective_variables(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    if client.dialect() == SqlDialect::Postgres {
        return values::effective_variables(client);
    }
    let rows = client.query("SHOW GLOBAL VARIABLES")?.rows;
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((canonical_name(&cells.next()??), cells.next()?.unwrap_or_default()))
    });
    Ok(pairs.collect())
}

/// A setting whose value on the running server differs from the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub name: String,
    pub wanted: String,
    pub found: String,
}

/// Settings that the running server adjusted, in whatever units it shows them.
pub fn taken_differently(
    client: &mut Client,
    settings: &Settings,
) -> Result<Vec<Mismatch>, DriverError> {
    match client.dialect() {
        SqlDialect::Mysql => Ok(mismatches(settings, &effective_variables(client)?)),
        SqlDialect::Postgres => mismatches_of_postgres(client, settings),
    }
}

fn mismatches_of_postgres(
    client: &mut Client,
    settings: &Settings,
) -> Result<Vec<Mismatch>, DriverError> {
    let mut differing = Vec::new();
    for (name, value) in settings.iter() {
        // Some versions show an initial setting in another unit; its value is fixed in the datadir.
        if INITIAL.contains(&name) {
            continue;
        }
        if let Some(found) = found_instead(client, name, value)? {
            differing.push(Mismatch { name: name.to_owned(), wanted: value.option_text(), found });
        }
    }
    Ok(differing)
}

/// Settings that a MySQL-family server adjusted. A setting without a variable of that name, or with
/// a value that cannot be compared (an expanded list), is not counted.
pub fn mismatches(settings: &Settings, variables: &BTreeMap<String, String>) -> Vec<Mismatch> {
    // The variable shows the last change, and not everything that is on.
    let compared =
        settings.iter().filter(|(name, _)| canonical_name(name) != "innodb_monitor_enable");
    let differing = compared.filter_map(|(name, value)| {
        let found = variables.get(&canonical_name(name))?;
        let wanted = wanted_text(name, value);
        let expanded = found.contains(',');
        (!expanded && !same_setting(&wanted, found)).then(|| Mismatch {
            name: name.to_owned(),
            wanted,
            found: found.clone(),
        })
    });
    differing.collect()
}

/// The variable `log_bin` shows whether there is a binlog, whatever name it was given.
fn wanted_text(name: &str, value: &SettingValue) -> String {
    if canonical_name(name) == "log_bin" {
        return if switch_of(value).unwrap_or(true) { "ON" } else { "OFF" }.to_owned();
    }
    value.option_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use truetps_record::Family;

    #[test]
    fn only_real_differences_count() {
        let mut settings = Settings::empty(Family::Mysql);
        let mut set = |name: &str, value: SettingValue| settings.set(name, value);
        set("innodb_log_file_size", SettingValue::Text("512M".to_owned()));
        set("innodb_flush_log_at_trx_commit", SettingValue::Int(7));
        set("log_bin", SettingValue::Text("mine".to_owned()));
        set("sql_mode", SettingValue::Text("ANSI".to_owned()));
        set("gone", SettingValue::Int(1));
        let found = [
            ("innodb_log_file_size", "536870912"),
            ("innodb_flush_log_at_trx_commit", "3"),
            ("log_bin", "ON"),
            ("sql_mode", "REAL_AS_FLOAT,ANSI"),
        ];
        let variables = found.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let wrong = mismatches(&settings, &variables);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert_eq!((wrong[0].wanted.as_str(), wrong[0].found.as_str()), ("7", "3"));
    }
}
