//! The identity of a server, and its start time.

use serde::{Deserialize, Serialize};
use truetps_driver::{Client, DriverError, ServerError};
use truetps_record::SqlDialect;

use super::error::ExternalError;

/// What identifies a server, whatever address leads to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// `server_uuid`; without one, host, port, datadir and other available parts; on PostgreSQL the
    /// system identifier.
    pub id: String,
    /// No other server has this id. Name, port and folder may be equal in two containers.
    pub is_unique: bool,
    /// Start time, by the server's own clock.
    pub started_s: f64,
}

/// Tolerance for the digits of the start time, which is constant while a server runs.
const START_TOLERANCE_S: f64 = 0.5;

impl Identity {
    pub(crate) fn ask(client: &mut Client) -> Result<Self, ExternalError> {
        let (id, is_unique) = match client.dialect() {
            SqlDialect::Mysql => match optional(client, "SELECT @@GLOBAL.server_uuid")? {
                Some(uuid) => (uuid, true),
                None => of_parts(client)?,
            },
            SqlDialect::Postgres => of_postgres(client)?,
        };
        Ok(Self { id, is_unique, started_s: started_s(client)? })
    }

    /// The server's current identity, which must match this one.
    pub(crate) fn ask_again(&self, client: &mut Client) -> Result<Self, ExternalError> {
        let now = Self::ask(client)?;
        if now.id == self.id {
            return Ok(now);
        }
        Err(ExternalError::OtherServer { was: self.id.clone(), found: now.id })
    }

    /// Whether the server may be this one although its id differs: neither has a unique id.
    pub(crate) fn may_have_become(&self, found: &str) -> bool {
        is_of_parts(&self.id) && is_of_parts(found)
    }

    /// Whether this contains only the server's address.
    pub(crate) fn may_move(&self) -> bool {
        is_of_parts(&self.id)
    }

    /// Whether the server was restarted since this identity was read, judging by its current start
    /// time. The start time may also be earlier: the clock may have been set back before the
    /// restart.
    pub(crate) fn was_restarted(&self, now: &Self) -> bool {
        (now.started_s - self.started_s).abs() > START_TOLERANCE_S
    }
}

/// Parts of the id of a server without a unique one: each may change while the server stays the
/// same.
const PARTS: [&str; 5] = ["host name", "port", "data folder", "server_id", "server_uid"];

/// Prefix of the address of a PostgreSQL whose system identifier may not be read.
const ADDRESS: &str = "postgresql:";

/// Whether an id has these parts. Unique ids are a single word.
fn is_of_parts(id: &str) -> bool {
    id.contains(':') && !id.starts_with(ADDRESS)
}

/// Names the parts in which two ids differ; the user may know why.
pub(crate) fn differences(was: &str, found: &str) -> String {
    let [was_parts, found_parts] = [was, found].map(|id| id.split(':').collect::<Vec<_>>());
    let count = was_parts.len();
    // An older version had no `server_uid`.
    if count != found_parts.len() || !(PARTS.len() - 1..=PARTS.len()).contains(&count) {
        return format!("{found}; in the journal {was}");
    }
    let pairs = PARTS
        .iter()
        .zip(was_parts.iter().zip(&found_parts))
        .filter(|(_, (was, found))| was != found);
    let lines: Vec<_> = pairs
        .map(|(part, (was, found))| format!("{part} {found} (in the journal {was})"))
        .collect();
    lines.join("; ")
}

/// An account may lack the right to read the system identifier.
fn of_postgres(client: &mut Client) -> Result<(String, bool), ExternalError> {
    if let Some(id) = optional(client, "SELECT system_identifier::text FROM pg_control_system()")? {
        return Ok((id, true));
    }
    let sql =
        "SELECT pg_catalog.concat_ws(':', inet_server_addr(), pg_catalog.current_setting('port'))";
    Ok((format!("{ADDRESS}{}", client.query_value(sql)?.unwrap_or_default()), false))
}

/// The identity of MariaDB, or of MySQL before 5.6: parts that may be equal in two containers, and
/// the identifier that newer versions derive from the network card.
fn of_parts(client: &mut Client) -> Result<(String, bool), ExternalError> {
    let sql = "SELECT CONCAT_WS(':', @@hostname, @@port, @@datadir, @@GLOBAL.server_id)";
    let parts = client.query_value(sql)?.ok_or(ExternalError::NoAnswer { sql })?;
    Ok(match optional(client, "SELECT @@GLOBAL.server_uid")? {
        Some(uid) => (format!("{parts}:{uid}"), true),
        None => (parts, false),
    })
}

/// The answer, if the server has one. An interrupted query has no answer.
fn optional(client: &mut Client, sql: &str) -> Result<Option<String>, DriverError> {
    match client.query_value(sql) {
        Ok(answer) => Ok(answer.filter(|text| !text.is_empty())),
        Err(DriverError::Server(error)) if has_none(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the server reports that it has no such variable, table or function, or that this account
/// may not read it.
fn has_none(error: &ServerError) -> bool {
    const NUMBERS: [u16; 9] = [1044, 1049, 1109, 1142, 1146, 1193, 1227, 1682, 3167];
    const STATES: [&str; 2] = ["42501", "42883"];
    if error.code == 0 {
        STATES.contains(&error.sqlstate.as_str())
    } else {
        NUMBERS.contains(&error.code)
    }
}

/// One statement reads both numbers at one moment: their difference is the constant that the server
/// keeps, even if its clock is changed.
fn started_s(client: &mut Client) -> Result<f64, ExternalError> {
    const MYSQL: [&str; 2] = [
        "SELECT UNIX_TIMESTAMP() - variable_value FROM performance_schema.global_status WHERE \
         variable_name = 'Uptime'",
        "SELECT UNIX_TIMESTAMP() - variable_value FROM information_schema.global_status WHERE \
         variable_name = 'UPTIME'",
    ];
    const POSTGRES: [&str; 1] = ["SELECT extract(epoch FROM pg_postmaster_start_time())::text"];
    let questions = if client.dialect() == SqlDialect::Mysql { &MYSQL[..] } else { &POSTGRES[..] };
    for sql in questions {
        if let Some(number) = optional(client, sql)?.and_then(|text| text.parse().ok()) {
            return Ok(number);
        }
    }
    Err(ExternalError::NoAnswer { sql: questions[questions.len() - 1] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_interrupted_does_not_say_that_there_is_none() {
        let said = |code, state: &str| {
            has_none(&ServerError {
                code,
                sqlstate: state.to_owned(),
                message: String::new(),
                position: 0,
            })
        };
        assert!(said(1193, "HY000") && said(3167, "HY000") && said(0, "42501"));
        assert!(
            !said(1317, "70100")
                && !said(1053, "08S01")
                && !said(1047, "08S01")
                && !said(0, "57014")
        );
    }

    #[test]
    fn a_server_without_an_id_says_what_is_another() {
        let was = "db:3306:/var/lib/mysql/:1:abc=";
        assert_eq!(
            differences(was, "db:3307:/var/lib/mysql/:1:def="),
            "port 3307 (in the journal 3306); server_uid def= (in the journal abc=)"
        );
        let odd = differences(was, "x:1:/with:colon/:1:abc=");
        assert!(odd.contains("x:1:/with:colon/:1:abc=") && odd.contains(was), "{odd}");
        let of = |id: &str| Identity { id: id.to_owned(), is_unique: true, started_s: 1.0 };
        assert!(
            of(was).may_have_become("db:3307:/var/lib/mysql/:1")
                && !of(was).may_have_become("7f000001-11ee")
        );
        assert!(!of("7f000001-11ee").may_have_become(was));
    }

    #[test]
    fn a_start_is_another_number_in_either_direction() {
        let at = |started_s| Identity { id: "x".to_owned(), is_unique: true, started_s };
        assert!(!at(1000.0).was_restarted(&at(1000.0)));
        assert!(at(1000.0).was_restarted(&at(1002.0)));
        assert!(at(1000.0).was_restarted(&at(900.0)));
    }
}
