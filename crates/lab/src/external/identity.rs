//! Which server this is, and since when it runs.

use serde::{Deserialize, Serialize};
use truetps_driver::{Client, Dialect, DriverError, ServerError};

use super::error::ForeignError;

/// What a server is known by, whatever address leads to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// `server_uuid`; host, port, data folder and what else there is where there is none; the system identifier of
    /// PostgreSQL.
    pub id: String,
    /// No other server has this id. A name, a port and a folder may be the same in two containers.
    pub is_unique: bool,
    /// When it was started, by its own clock.
    pub started_s: f64,
}

/// The time of the start is one number for as long as a server runs; this is for its digits.
const START_TOLERANCE_S: f64 = 0.5;

impl Identity {
    pub(crate) fn ask(client: &mut Client) -> Result<Self, ForeignError> {
        let (id, is_unique) = match client.dialect() {
            Dialect::Mysql => match optional(client, "SELECT @@GLOBAL.server_uuid")? {
                Some(uuid) => (uuid, true),
                None => of_parts(client)?,
            },
            Dialect::Postgres => of_postgres(client)?,
        };
        Ok(Self { id, is_unique, started_s: started_s(client)? })
    }

    /// What the server says now, which must be this one.
    pub(crate) fn ask_again(&self, client: &mut Client) -> Result<Self, ForeignError> {
        let now = Self::ask(client)?;
        if now.id == self.id {
            return Ok(now);
        }
        Err(ForeignError::OtherServer { was: self.id.clone(), found: now.id })
    }

    /// Whether the server may be this one although its id is another: neither has an id of its own.
    pub(crate) fn may_have_become(&self, found: &str) -> bool {
        is_of_parts(&self.id) && is_of_parts(found)
    }

    /// Whether this says no more than where the server was.
    pub(crate) fn may_move(&self) -> bool {
        is_of_parts(&self.id)
    }

    /// Whether the server, by what it says now, was started again since this was asked. In either direction: its clock may
    /// have been set back before it was.
    pub(crate) fn was_restarted(&self, now: &Self) -> bool {
        (now.started_s - self.started_s).abs() > START_TOLERANCE_S
    }
}

/// What the id of a server without one of its own is made of: each part may change while the server stays the same.
const PARTS: [&str; 5] = ["host name", "port", "data folder", "server_id", "server_uid"];

/// What the address of a PostgreSQL begins with, where no more may be asked.
const ADDRESS: &str = "postgresql:";

/// Whether an id is made of these parts. Those of a server's own are one word.
fn is_of_parts(id: &str) -> bool {
    id.contains(':') && !id.starts_with(ADDRESS)
}

/// Which parts of two ids differ, for somebody who may know why.
pub(crate) fn differences(was: &str, found: &str) -> String {
    let parts = |id: &str| id.split(':').map(str::to_owned).collect::<Vec<_>>();
    let (was_parts, found_parts) = (parts(was), parts(found));
    let is_known = |parts: &[String]| parts.len() == PARTS.len() || parts.len() + 1 == PARTS.len();
    if was_parts.len() != found_parts.len() || !is_known(&was_parts) {
        return format!("{found}, and {was} in the journal");
    }
    let pairs = PARTS.iter().zip(was_parts.iter().zip(&found_parts)).filter(|(_, (was, found))| was != found);
    let told: Vec<_> = pairs.map(|(part, (was, found))| format!("{part} {found}, and {was} in the journal")).collect();
    told.join("; ")
}

/// An account may not be allowed to ask for the system identifier.
fn of_postgres(client: &mut Client) -> Result<(String, bool), ForeignError> {
    if let Some(id) = optional(client, "SELECT system_identifier::text FROM pg_control_system()")? {
        return Ok((id, true));
    }
    let sql = "SELECT concat_ws(':', inet_server_addr(), current_setting('port'))";
    Ok((format!("{ADDRESS}{}", client.query_value(sql)?.unwrap_or_default()), false))
}

/// What a MariaDB is known by, or a MySQL before 5.6: parts that may be the same in two containers, and the identifier
/// that newer ones make of the network card.
fn of_parts(client: &mut Client) -> Result<(String, bool), ForeignError> {
    let sql = "SELECT CONCAT_WS(':', @@hostname, @@port, @@datadir, @@GLOBAL.server_id)";
    let parts = client.query_value(sql)?.ok_or(ForeignError::NoAnswer { sql })?;
    Ok(match optional(client, "SELECT @@GLOBAL.server_uid")? {
        Some(uid) => (format!("{parts}:{uid}"), true),
        None => (parts, false),
    })
}

/// The answer of a server that has one. A question that was interrupted has not been answered.
fn optional(client: &mut Client, sql: &str) -> Result<Option<String>, DriverError> {
    match client.query_value(sql) {
        Ok(answer) => Ok(answer.filter(|text| !text.is_empty())),
        Err(DriverError::Server(error)) if has_none(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the server says that it has no such variable, table or function, or none for this account.
fn has_none(error: &ServerError) -> bool {
    const NUMBERS: [u16; 9] = [1044, 1049, 1109, 1142, 1146, 1193, 1227, 1682, 3167];
    const STATES: [&str; 2] = ["42501", "42883"];
    if error.code == 0 { STATES.contains(&error.sqlstate.as_str()) } else { NUMBERS.contains(&error.code) }
}

/// Both numbers are of one statement, and so of one moment: their difference is the constant that the server keeps, and
/// stays so when somebody sets its clock.
fn started_s(client: &mut Client) -> Result<f64, ForeignError> {
    const MYSQL: [&str; 2] = [
        "SELECT UNIX_TIMESTAMP() - variable_value FROM performance_schema.global_status WHERE variable_name = 'Uptime'",
        "SELECT UNIX_TIMESTAMP() - variable_value FROM information_schema.global_status WHERE variable_name = 'UPTIME'",
    ];
    const POSTGRES: [&str; 1] = ["SELECT extract(epoch FROM pg_postmaster_start_time())::text"];
    let questions = if client.dialect() == Dialect::Mysql { &MYSQL[..] } else { &POSTGRES[..] };
    for sql in questions {
        if let Some(number) = optional(client, sql)?.and_then(|text| text.parse().ok()) {
            return Ok(number);
        }
    }
    Err(ForeignError::NoAnswer { sql: questions[questions.len() - 1] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_interrupted_does_not_say_that_there_is_none() {
        let said = |code, state: &str| {
            has_none(&ServerError { code, sqlstate: state.to_owned(), message: String::new(), position: 0 })
        };
        assert!(said(1193, "HY000") && said(3167, "HY000") && said(0, "42501"));
        assert!(!said(1317, "70100") && !said(1053, "08S01") && !said(1047, "08S01") && !said(0, "57014"));
    }

    #[test]
    fn a_server_without_an_id_says_what_is_another() {
        let was = "db:3306:/var/lib/mysql/:1:abc=";
        assert_eq!(
            differences(was, "db:3307:/var/lib/mysql/:1:def="),
            "port 3307, and 3306 in the journal; server_uid def=, and abc= in the journal"
        );
        let odd = differences(was, "x:1:/with:colon/:1:abc=");
        assert!(odd.contains("x:1:/with:colon/:1:abc=") && odd.contains(was), "{odd}");
        let of = |id: &str| Identity { id: id.to_owned(), is_unique: true, started_s: 1.0 };
        assert!(of(was).may_have_become("db:3307:/var/lib/mysql/:1") && !of(was).may_have_become("7f000001-11ee"));
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
