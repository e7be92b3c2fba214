//! Variables and status counters, as a server shows them.

use truetps_driver::{Client, DriverError};
use truetps_record::ErrorClass;

/// The value that `SHOW … LIKE` shows for one name.
pub(crate) fn shown(
    client: &mut Client,
    what: &str,
    name: &str,
) -> Result<Option<String>, DriverError> {
    let rows = client.query(&format!("SHOW GLOBAL {what} LIKE '{name}'"))?.rows;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten()))
}

/// Whether a variable is on.
pub(crate) fn is_on(client: &mut Client, name: &str) -> Result<bool, DriverError> {
    let found = shown(client, "VARIABLES", name)?;
    Ok(found.is_some_and(|value| !["OFF", "0", ""].contains(&value.to_uppercase().as_str())))
}

/// A status counter; `None` if the server has none of this name.
pub(crate) fn status_value(client: &mut Client, name: &str) -> Result<Option<u64>, DriverError> {
    Ok(shown(client, "STATUS", name)?.and_then(|text| text.parse().ok()))
}

/// The number that a query returns; `None`: the account may not read it.
pub(crate) fn number(client: &mut Client, sql: &str) -> Result<Option<u64>, DriverError> {
    let answer = allowed(client.query_value(sql))?.flatten();
    Ok(answer.and_then(|text| text.parse().ok()))
}

/// `None`: the server refused to answer.
pub(crate) fn allowed<T>(answer: Result<T, DriverError>) -> Result<Option<T>, DriverError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(DriverError::Server(error)) if error.class() != ErrorClass::ConnectionLost => Ok(None),
        Err(error) => Err(error),
    }
}
