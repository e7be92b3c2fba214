//! What a server is set to, as the folder of a run keeps it.

use std::collections::BTreeMap;

use truetps_record::is_secret;

use crate::client::Client;
use crate::error::DriverError;
use crate::statement::Dialect;

/// What no variable says of a server's durability: whether there is a redo log, without which all of it is void, and whether
/// commits wait for a replica just now.
pub const DURABILITY_STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_redo_log_enabled', \
                                     'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status')";

/// All global variables by name, of PostgreSQL in the settings' own units, and the status that decides what they mean. What
/// may be a secret stays in the server.
pub fn server_settings(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    let mut found = match client.dialect() {
        Dialect::Postgres => pairs(client, "SELECT name, setting FROM pg_settings")?,
        Dialect::Mysql => {
            let mut found = pairs(client, "SHOW GLOBAL VARIABLES")?;
            found.append(&mut pairs(client, DURABILITY_STATUS)?);
            found
        }
    };
    found.retain(|name, value| !is_secret(name, value));
    Ok(found)
}

fn pairs(client: &mut Client, sql: &str) -> Result<BTreeMap<String, String>, DriverError> {
    let rows = client.query(sql)?.rows.into_iter();
    let pair = |row: Vec<Option<String>>| {
        let mut cells = row.into_iter();
        let name = cells.next()??.to_ascii_lowercase().replace('-', "_");
        Some((name, cells.next()?.unwrap_or_default()))
    };
    Ok(rows.filter_map(pair).collect())
}
