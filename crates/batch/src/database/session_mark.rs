//! A mark by which one session is found again from another one. A session's number is not enough:
//! after a fail-over, or behind a proxy, another program's session on another server may have it.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::Duration;

use truetps_driver::{Client, Target};
use truetps_record::SqlDialect;

/// Longest login for the end of a session.
const LOGIN_TIME: Duration = Duration::from_secs(5);

/// A name that no other session has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionMark(String);

impl SessionMark {
    pub(super) fn new() -> Self {
        let [high, low] =
            [RandomState::new(), RandomState::new()].map(|state| state.hash_one(0_u8));
        Self(format!("truetps-gateway-{high:016x}{low:016x}"))
    }

    /// The statement with which a session takes its mark: the name of a lock, or of the
    /// application.
    pub(super) fn take_sql(&self, dialect: SqlDialect) -> String {
        match dialect {
            SqlDialect::Mysql => format!("SELECT GET_LOCK('{}', 0)", self.0),
            SqlDialect::Postgres => format!("SET application_name = '{}'", self.0),
        }
    }

    /// Ends the session with this mark, if it is on the server that answers now. It did not answer
    /// in time, and its statement must not block the same one on another connection. Nothing
    /// depends on its success.
    pub(super) fn end_session(&self, target: &Target) -> io::Result<()> {
        let mut client = Client::connect(target, LOGIN_TIME).map_err(io::Error::other)?;
        let find = match target.dialect {
            SqlDialect::Mysql => format!("SELECT IS_USED_LOCK('{}')", self.0),
            SqlDialect::Postgres => {
                format!("SELECT pid FROM pg_stat_activity WHERE application_name = '{}'", self.0)
            }
        };
        let id = client.query_value(&find).map_err(io::Error::other)?;
        let Some(id) = id.and_then(|id| id.parse::<u64>().ok()) else { return Ok(()) };
        let end = match target.dialect {
            SqlDialect::Mysql => format!("KILL {id}"),
            SqlDialect::Postgres => format!("SELECT pg_catalog.pg_terminate_backend({id})"),
        };
        client.execute(&end).map(|_| ()).map_err(io::Error::other)
    }
}
