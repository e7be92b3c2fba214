//! Whether a shared server has enough sessions for the clients of a run. If they used all, no other
//! session could log in.

use truetps_driver::{Client, ConnectionIds, DriverError, QueryResult, Target};
use truetps_plan::Plan;
use truetps_record::SqlDialect;

use super::access::is_listed;
use super::control::{CLIENT_TIMEOUT, control};
use super::grants;
use crate::error::LabError;
use crate::trial::server_status::{shown, status_value};

/// Sessions that stay free, besides those reserved for administrators: for connections opened by
/// others during the run.
const KEPT_FREE: u64 = 3;

/// Sessions of one server.
#[derive(Clone, Copy)]
struct Room {
    max: u64,
    in_use: u64,
}

impl Room {
    /// From a row with both numbers.
    fn of(result: QueryResult) -> Option<Self> {
        let mut numbers =
            result.rows.into_iter().next()?.into_iter().map(|cell| cell?.parse().ok());
        Some(Self { max: numbers.next()??, in_use: numbers.next()?? })
    }

    /// Number of clients that a run may have.
    fn free(self) -> u64 {
        self.max.saturating_sub(self.in_use).saturating_sub(KEPT_FREE)
    }
}

/// Refuses a run that would use every session of the server. Of several servers only the first is
/// checked.
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
        Some(Room { max, in_use })
            if clients > max.saturating_sub(in_use) && is_the_server(client, target)? =>
        {
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
    let sql = "SELECT @@SESSION.max_user_connections, (SELECT COUNT(*) FROM \
               information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1))";
    let room = match client.query(sql) {
        Ok(result) => Room::of(result).filter(|room| room.max > 0),
        // The first trial decides.
        Err(DriverError::Server(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(if room.is_some() && grants::is_without_limit(client)? { None } else { room })
}

fn room(client: &mut Client) -> Result<Option<Room>, DriverError> {
    // PostgreSQL background workers have no database, or do not count as client sessions. An
    // account without the privilege sees less of the workers of other accounts.
    let sql = match client.dialect() {
        SqlDialect::Mysql => {
            let max =
                shown(client, "VARIABLES", "max_connections")?.and_then(|text| text.parse().ok());
            let in_use = status_value(client, "Threads_connected")?;
            return Ok(max.zip(in_use).map(|(max, in_use)| Room { max, in_use }));
        }
        SqlDialect::Postgres => {
            "SELECT (SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE \
             -setting::int END) FROM pg_settings WHERE name IN ('max_connections', \
             'superuser_reserved_connections', 'reserved_connections'))::text, (SELECT count(*) \
             FROM pg_stat_activity WHERE datid IS NOT NULL AND coalesce(backend_type, 'client \
             backend') = 'client backend')::text"
        }
    };
    Ok(Room::of(client.query(sql)?))
}

/// Whether this is the server itself. Behind a proxy clients may share sessions, and the proxy
/// decides how many there are.
fn is_the_server(client: &mut Client, target: &Target) -> Result<bool, DriverError> {
    let ids = ConnectionIds::default();
    let one = Target {
        endpoints: target.endpoints[..1].to_vec(),
        connections: Some(ids.clone()),
        ..control(target)
    };
    // A second session is refused: there is no room, whether the server or a proxy refuses it.
    let Ok(mut second) = Client::connect(&one, CLIENT_TIMEOUT) else { return Ok(true) };
    match client.dialect() {
        SqlDialect::Mysql => is_listed(&mut second, &ids),
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
