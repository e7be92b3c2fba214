//! Whether a shared server has enough sessions for the clients of a run. If they used all, no other session could log
//! in.

use truetps_driver::{Client, ConnectionIds, DriverError, Target};
use truetps_plan::Plan;
use truetps_record::SqlDialect;

use super::access::control;
use super::grants;
use super::settings_lease::CLIENT_TIMEOUT;
use crate::error::LabError;

/// Sessions that stay free, besides those reserved for administrators: for connections opened by others during the run.
const KEPT_FREE: u64 = 3;

/// Sessions of one server.
#[derive(Clone, Copy)]
struct Room {
    max: u64,
    in_use: u64,
}

impl Room {
    /// Number of clients that a run may have.
    fn free(self) -> u64 {
        self.max.saturating_sub(self.in_use).saturating_sub(KEPT_FREE)
    }
}

/// Refuses a run that would use every session of the server. Of several servers only the first is checked.
pub(crate) fn check(client: &mut Client, target: &Target, plan: &Plan) -> Result<(), LabError> {
    let clients = u64::from(plan.connections_max()).div_ceil(target.endpoints.len() as u64);
    // An account that may not read the numbers fails in the first trial at the latest.
    if let Some(Room { max, in_use }) = room(client)?.filter(|room| clients > room.free())
        && is_the_server(client, target)?
    {
        return Err(match (Room { max, in_use }).free() {
            // One more than max_connections: reserved for an administrator.
            0 => LabError::Full { max, in_use: in_use.min(max) },
            free => LabError::NoRoom { clients, max, in_use, free },
        });
    }
    match room_of_account(client)? {
        Some(Room { max, in_use }) if clients > max.saturating_sub(in_use) && is_the_server(client, target)? => {
            Err(LabError::NoRoomOfAccount { clients, max, in_use })
        }
        _ => Ok(()),
    }
}

/// Sessions that the account may have, if it has a limit that the server enforces.
fn room_of_account(client: &mut Client) -> Result<Option<Room>, DriverError> {
    if client.dialect() != SqlDialect::Mysql {
        return Ok(None);
    }
    // The session's value is the account's own limit, or the global one if it has none.
    let sql = "SELECT @@SESSION.max_user_connections, (SELECT COUNT(*) FROM information_schema.processlist \
               WHERE user = SUBSTRING_INDEX(USER(), '@', 1))";
    let row = match client.query(sql) {
        Ok(result) => result.rows.into_iter().next().unwrap_or_default(),
        // The first trial decides.
        Err(DriverError::Server(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let numbers: Vec<u64> = row.into_iter().filter_map(|cell| cell?.parse().ok()).collect();
    let [max, in_use] = numbers[..] else { return Ok(None) };
    if max == 0 || grants::is_without_limit(client)? {
        return Ok(None);
    }
    Ok(Some(Room { max, in_use }))
}

fn room(client: &mut Client) -> Result<Option<Room>, DriverError> {
    // PostgreSQL background workers have no database, or do not count as client sessions. An account without the
    // privilege sees less of the workers of other accounts.
    let sql = match client.dialect() {
        SqlDialect::Mysql => {
            let number = |client: &mut Client, sql: &str| -> Result<Option<u64>, DriverError> {
                let rows = client.query(sql)?.rows;
                Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1)??.parse().ok()))
            };
            let max = number(client, "SHOW GLOBAL VARIABLES LIKE 'max_connections'")?;
            let in_use = number(client, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
            return Ok(max.zip(in_use).map(|(max, in_use)| Room { max, in_use }));
        }
        SqlDialect::Postgres => {
            "SELECT (SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END) \
             FROM pg_settings WHERE name IN ('max_connections', 'superuser_reserved_connections', \
             'reserved_connections'))::text, (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL \
             AND coalesce(backend_type, 'client backend') = 'client backend')::text"
        }
    };
    let cells = client.query(sql)?.rows.into_iter().next().unwrap_or_default();
    let numbers: Vec<u64> = cells.into_iter().filter_map(|cell| cell?.parse().ok()).collect();
    Ok(if let [max, in_use] = numbers[..] { Some(Room { max, in_use }) } else { None })
}

/// Whether this is the server itself. Behind a proxy clients may share sessions, and the proxy decides how many there
/// are.
fn is_the_server(client: &mut Client, target: &Target) -> Result<bool, DriverError> {
    let ids = ConnectionIds::default();
    let one = Target { endpoints: target.endpoints[..1].to_vec(), connections: Some(ids.clone()), ..control(target) };
    // A second session is refused: there is no room, whether the server or a proxy refuses it.
    let Ok(mut second) = Client::connect(&one, CLIENT_TIMEOUT) else { return Ok(true) };
    match client.dialect() {
        SqlDialect::Mysql => {
            // As with settings: a proxy reports a connection number that the server does not know.
            let threads = second.query("SELECT id FROM information_schema.processlist")?.rows;
            let mut numbers = threads.into_iter().filter_map(|row| row.into_iter().next()??.parse::<u64>().ok());
            Ok(numbers.any(|number| ids.contains(number as u32)))
        }
        SqlDialect::Postgres => {
            const PID: &str = "SELECT pg_backend_pid()::text";
            Ok(client.query_value(PID)? != second.query_value(PID)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free() {
        let free = |max, in_use| Room { max, in_use }.free();
        assert_eq!((free(151, 1), free(10, 1), free(10, 9), free(3, 10)), (147, 6, 0, 0));
    }
}
