//! A server's settings, as stored in a run folder.

use std::collections::BTreeMap;

use truetps_record::{SqlDialect, is_secret};

use crate::client::Client;
use crate::error::DriverError;

/// Facts about a server's durability that no variable shows: whether the redo log is enabled
/// (without it nothing is durable), and whether commits wait for a replica at the moment.
pub const DURABILITY_STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                                     ('Innodb_redo_log_enabled', 'Rpl_semi_sync_master_status', \
                                     'Rpl_semi_sync_source_status')";

/// A row for Aurora PostgreSQL, whose settings do not tell it from RDS: its function is not called,
/// only looked for. Further columns go in between.
pub const AURORA_POSTGRES: [&str; 2] = [
    "UNION ALL SELECT 'aurora_version', 'present'",
    "WHERE pg_catalog.to_regproc('pg_catalog.aurora_version') IS NOT NULL",
];

/// All global variables by name (PostgreSQL's in the settings' own units), and the status variables
/// that change their meaning. Values that may be secrets are left out.
pub fn server_settings(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    let mut found = match client.dialect() {
        SqlDialect::Postgres => pairs(
            client,
            &format!("SELECT name, setting FROM pg_settings {}", AURORA_POSTGRES.join(" ")),
        )?,
        SqlDialect::Mysql => {
            let mut found = pairs(client, "SHOW GLOBAL VARIABLES")?;
            found.append(&mut pairs(client, DURABILITY_STATUS)?);
            found
        }
    };
    found.retain(|name, value| !is_secret(name, value));
    Ok(found)
}

/// A variable that only sessions have, with its usual value: replicas may skip what such a session
/// of MariaDB commits.
const SKIP_REPLICATION: (&str, &str) = ("skip_replication", "OFF");

/// Variables that this session has otherwise than the server, with its values, because
/// `init_connect`, the role or the database sets them.
pub fn session_settings(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    if client.dialect() == SqlDialect::Postgres {
        let of_role = "SELECT name, setting FROM pg_settings WHERE source IN ('database', 'user', \
                       'database user')";
        return pairs(client, of_role);
    }
    let global = pairs(client, "SHOW GLOBAL VARIABLES")?;
    let mut found = pairs(client, "SHOW SESSION VARIABLES")?;
    found.retain(|name, value| match global.get(name) {
        Some(of_server) => of_server != value,
        None => name == SKIP_REPLICATION.0 && value != SKIP_REPLICATION.1,
    });
    Ok(found)
}

fn pairs(client: &mut Client, sql: &str) -> Result<BTreeMap<String, String>, DriverError> {
    let rows = client.query(sql)?.rows.into_iter();
    Ok(rows
        .filter_map(|row| {
            let mut cells = row.into_iter();
            let name = cells.next()??.to_ascii_lowercase().replace('-', "_");
            Some((name, cells.next()?.unwrap_or_default()))
        })
        .collect())
}
