//! Which server this is, and since when it runs.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use truetps_driver::{Client, Dialect, DriverError};

/// What a server is known by, whatever address leads to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// `server_uuid`; host, port and data folder where there is none; the system identifier of PostgreSQL.
    pub id: String,
    /// When it was started, by its own clock.
    pub started_s: f64,
}

/// A restart takes longer than this; clocks and whole seconds differ by less.
const START_TOLERANCE_S: f64 = 3.0;

impl Identity {
    pub(crate) fn ask(client: &mut Client) -> Result<Self, DriverError> {
        let id = match client.dialect() {
            Dialect::Mysql => match client.query_value("SELECT @@GLOBAL.server_uuid") {
                Ok(Some(uuid)) => uuid,
                // MariaDB, and MySQL before 5.6.
                Ok(None) | Err(DriverError::Server(_)) => {
                    client.query_value("SELECT CONCAT(@@hostname, ':', @@port, ':', @@datadir)")?.unwrap_or_default()
                }
                Err(error) => return Err(error),
            },
            Dialect::Postgres => {
                client.query_value("SELECT system_identifier::text FROM pg_control_system()")?.unwrap_or_default()
            }
        };
        Ok(Self { id, started_s: started_s(client)? })
    }

    /// Whether the server, by what it says now, was started again since this was asked.
    pub(crate) fn was_restarted(&self, now: &Self) -> bool {
        now.started_s - self.started_s > START_TOLERANCE_S
    }
}

fn started_s(client: &mut Client) -> Result<f64, DriverError> {
    match client.dialect() {
        Dialect::Mysql => {
            let now = client.query_value("SELECT UNIX_TIMESTAMP()")?;
            Ok(number(now) - uptime_s(client)?)
        }
        Dialect::Postgres => {
            Ok(number(client.query_value("SELECT extract(epoch FROM pg_postmaster_start_time())::text")?))
        }
    }
}

fn uptime_s(client: &mut Client) -> Result<f64, DriverError> {
    match client.dialect() {
        Dialect::Mysql => {
            let rows = client.query("SHOW GLOBAL STATUS LIKE 'Uptime'")?.rows;
            Ok(number(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten())))
        }
        Dialect::Postgres => {
            let sql = "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::text";
            Ok(number(client.query_value(sql)?))
        }
    }
}

fn number(text: Option<String>) -> f64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// Notices a restart by the server's uptime alone: no clock that somebody sets can look like one.
pub(crate) struct Uptime {
    seconds: f64,
    seen: Instant,
}

impl Uptime {
    pub(crate) fn ask(client: &mut Client) -> Result<Self, DriverError> {
        Ok(Self { seconds: uptime_s(client)?, seen: Instant::now() })
    }

    /// Whether the server was started again since the last look, and for how long it runs.
    pub(crate) fn look(&mut self, client: &mut Client) -> Result<Option<f64>, DriverError> {
        const TOLERANCE_S: f64 = 2.0;
        let now = Self::ask(client)?;
        let expected = self.seconds + self.seen.elapsed().as_secs_f64();
        let restarted = now.seconds < self.seconds || now.seconds + TOLERANCE_S < expected;
        *self = now;
        Ok(restarted.then_some(self.seconds))
    }
}
