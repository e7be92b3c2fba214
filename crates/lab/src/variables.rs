//! All that a server is set to, by name. What may be a secret stays there.

use std::collections::BTreeMap;

use truetps_driver::{Client, Dialect, DriverError};
use truetps_record::is_secret_name;

pub(crate) fn of_server(client: &mut Client) -> Result<BTreeMap<String, String>, DriverError> {
    let mut all = match client.dialect() {
        Dialect::Mysql => truetps_sandbox::effective_variables(client)?,
        Dialect::Postgres => {
            let rows = client.query("SELECT name, setting FROM pg_settings")?.rows;
            let pairs = rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter();
                Some((cells.next()??, cells.next()?.unwrap_or_default()))
            });
            pairs.collect()
        }
    };
    all.retain(|name, _| !is_secret_name(name));
    Ok(all)
}
