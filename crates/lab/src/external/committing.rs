//! Sessions whose statements are committed as truetps says, and concern the schema of the run,
//! whatever the server or the account has set.

use truetps_driver::{Client, DriverError, Target};
use truetps_record::SqlDialect;

use crate::error::LabError;
use crate::trial::sql_names::identifier;

/// Unknown variable: not all servers that speak MySQL's protocol have all of them.
const UNKNOWN: u16 = 1193;

/// Statements after a login. The server's `init_connect` may have begun a transaction, which would
/// never end.
pub(crate) fn setup_sql(dialect: SqlDialect) -> &'static [&'static str] {
    match dialect {
        SqlDialect::Mysql => &[
            "ROLLBACK AND NO CHAIN NO RELEASE",
            "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN'",
            "SET SESSION TRANSACTION READ WRITE",
        ],
        SqlDialect::Postgres => &["SET default_transaction_read_only = off"],
    }
}

/// Has the sessions of a target begin with them, after what they begin with already.
///
/// A server of the MySQL family runs `init_connect` after it has chosen the schema of the login: a
/// `USE` in it would have truetps empty and drop tables of the same names in another schema.
pub(crate) fn set_up(target: &mut Target) {
    target.setup.extend(setup_sql(target.dialect).iter().map(|sql| (*sql).to_owned()));
    if let (SqlDialect::Mysql, Some(schema)) = (target.dialect, &target.login.database) {
        target.setup.push(format!("USE {}", identifier(SqlDialect::Mysql, schema)));
    }
}

/// Reads in a session that has sent them what it has, and whether it writes the binlog.
pub(crate) fn check(client: &mut Client) -> Result<(), LabError> {
    if client.dialect() == SqlDialect::Postgres {
        return Ok(());
    }
    for (variable, wanted) in [("autocommit", "1"), ("completion_type", "NO_CHAIN")] {
        match value(client, variable)? {
            Some(value) if value != wanted => {
                return Err(LabError::SessionNotSet { variable, value, wanted });
            }
            _ => {}
        }
    }
    let is_off = value(client, "sql_log_bin")?.as_deref() == Some("0");
    if is_off && value(client, "log_bin")?.as_deref() == Some("1") {
        Err(LabError::NotLogged)
    } else {
        Ok(())
    }
}

fn value(client: &mut Client, variable: &str) -> Result<Option<String>, DriverError> {
    match client.query_value(&format!("SELECT @@{variable}")) {
        Err(DriverError::Server(error)) if error.code == UNKNOWN => Ok(None),
        found => found,
    }
}
