//! Values of settings in PostgreSQL's notation, and the settings of a running server.

use std::collections::BTreeMap;

use truetps_driver::{Client, DriverError, server_settings};
use truetps_record::{SettingValue, amount_in, same_setting};

use crate::settings::names::canonical_name;

/// Listed among the settings, but states of a session.
const STATES: [&str; 3] =
    ["transaction_deferrable", "transaction_isolation", "transaction_read_only"];

/// Whether a value of a plan equals the server's value in its own unit: `1GB` and 131072 of `8kB`.
fn same_value(wanted: &str, found: &str, unit: &str) -> bool {
    match (amount_in(wanted, unit), found.parse::<f64>()) {
        (Some(wanted), Ok(found)) => (wanted - found).abs() <= wanted.abs() * 1e-9,
        _ => same_setting(wanted, found),
    }
}

/// All settings by name, in their own units; secrets are not read.
pub(crate) fn effective_variables(
    client: &mut Client,
) -> Result<BTreeMap<String, String>, DriverError> {
    let mut all = server_settings(client)?;
    all.retain(|name, _| !STATES.contains(&name.as_str()));
    Ok(all)
}

/// The value that the server has instead of the requested one, in its notation; `None`: the
/// requested value.
pub fn found_instead(
    client: &mut Client,
    name: &str,
    wanted: &SettingValue,
) -> Result<Option<String>, DriverError> {
    let name = canonical_name(name).replace('\'', "''");
    let sql = format!(
        "SELECT setting, unit, current_setting(name) FROM pg_settings WHERE lower(name) = '{name}'"
    );
    let row = client.query(&sql)?.rows.into_iter().next().unwrap_or_default();
    let mut cells = row.into_iter().map(Option::unwrap_or_default);
    let [found, unit, shown] = std::array::from_fn(|_| cells.next().unwrap_or_default());
    let wanted = wanted.option_text();
    let is_same = same_value(&wanted, &found, &unit) || wanted == shown;
    Ok((!is_same).then_some(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_in_the_server_s_units() {
        for (wanted, found, unit) in [
            ("1GB", "131072", "8kB"),
            ("1GB", "1024", "MB"),
            ("131072", "131072", "8kB"),
            ("64 kB", "64", "kB"),
            ("1min", "60000", "ms"),
            ("0.5s", "500", "ms"),
            ("ON", "on", ""),
            ("false", "off", ""),
            ("0.9", "0.90", ""),
            ("Remote_Write", "remote_write", ""),
            ("-1", "-1", "8kB"),
        ] {
            assert!(same_value(wanted, found, unit), "{wanted} {found} {unit}");
        }
        for (wanted, found, unit) in [
            ("1GB", "131072", "kB"),
            ("1001kB", "125", "8kB"),
            ("1min", "60", "MB"),
            ("on", "local", ""),
            ("", "x", ""),
        ] {
            assert!(!same_value(wanted, found, unit), "{wanted} {found} {unit}");
        }
    }
}
