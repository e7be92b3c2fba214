//! Queries of a PostgreSQL server: this file has all statements. Versions 13 to 18 have different
//! views; all are tried.

use truetps_driver::{Client, DriverError};

use crate::watch::offer::{Offer, server_said};
use crate::watch::shape::{AnswerShape, ProbeQuestion};
use crate::watch::signals::SIGNALS;

/// Sources of the values, for a server that cannot be queried at all.
pub(crate) const PLACES: &[&str] = &[
    "pg_stat_wal",
    "pg_stat_database",
    "pg_stat_bgwriter",
    "pg_stat_checkpointer",
    "pg_stat_io",
    "pg_lsn",
    "session",
    "pg_locks",
];

/// Columns with times that are zero while these settings are off. From version 18 on, `pg_stat_io`
/// includes the WAL.
const TIMED: [(&str, &[&str], &[&str]); 3] = [
    ("pg_stat_database", &["blk_read_time", "blk_write_time"], &["track_io_timing"]),
    ("pg_stat_wal", &["wal_write_time", "wal_sync_time"], &["track_wal_io_timing"]),
    (
        "pg_stat_io",
        &["write_time", "fsync_time", "extend_time"],
        &["track_io_timing", "track_wal_io_timing"],
    ),
];

/// Whether the account sees the state of all users' sessions.
const SEES_ALL: &str = "SELECT rolsuper OR pg_catalog.pg_has_role(current_user, \
                        'pg_read_all_stats', 'USAGE') FROM pg_roles WHERE rolname = current_user";

const SESSIONS: &str = "SELECT wait_event_type, wait_event, count(*) FROM pg_stat_activity WHERE \
                        backend_type = 'client backend' AND state = 'active' AND pid <> \
                        pg_backend_pid() GROUP BY 1, 2";

/// Writes and flushes of the WAL and of tables, all kinds of processes together. Version 18 has the
/// WAL here, too.
const IO: &str = "SELECT object, context, sum(writes) AS writes, sum(write_time) AS write_time, \
                  sum(fsyncs) AS fsyncs, sum(fsync_time) AS fsync_time, sum(extends) AS extends, \
                  sum(extend_time) AS extend_time, sum(WRITE_BYTES) / \
                  pg_catalog.current_setting('block_size')::numeric AS write_pages, \
                  sum(EXTEND_BYTES) / pg_catalog.current_setting('block_size')::numeric AS \
                  extend_pages FROM pg_stat_io WHERE object IN ('relation', 'wal') GROUP BY 1, 2";

/// Bytes of writes and of extensions, from version 18 on and before: from then on one of them may
/// be several pages.
const IO_BYTES: [[&str; 2]; 2] =
    [["write_bytes", "extend_bytes"], ["writes * op_bytes", "extends * op_bytes"]];

const LSN: &str = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS insert_bytes, \
                   pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS flush_bytes";

/// The account's session limit, or -1, and its current sessions.
pub(crate) const ROOM: &str = "SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END, (SELECT \
                               count(*) FROM pg_stat_activity WHERE usename = current_user) FROM \
                               pg_roles WHERE rolname = current_user";
/// The server's session limit, and its current sessions.
pub(crate) const SERVER_ROOM: &str = "SELECT pg_catalog.current_setting('max_connections')::int - \
     CASE WHEN rolsuper THEN 0 ELSE \
     pg_catalog.current_setting('superuser_reserved_connections')::int END, (SELECT count(*) FROM \
     pg_stat_activity WHERE backend_type = 'client backend') FROM pg_roles WHERE rolname = \
     current_user";

/// What to query. An error is a connection's; signals that the server refuses are absent.
pub(crate) fn offers(client: &mut Client) -> Result<Vec<Offer>, DriverError> {
    let mut offers = Vec::new();
    for what in ["pg_stat_wal", "pg_stat_database", "pg_stat_bgwriter", "pg_stat_checkpointer"] {
        let mut without = untimed(client, what, &mut offers)?;
        without.extend(["datid", "datname"]);
        offers.push(Offer::ask([ProbeQuestion::new(
            what,
            format!("SELECT * FROM {what}"),
            AnswerShape::Columns { without },
            &SIGNALS.pg_view,
        )]));
    }
    let io = io(client, &mut offers)?;
    offers.push(io);
    let columns = AnswerShape::Columns { without: Vec::new() };
    offers.push(Offer::ask([ProbeQuestion::new("pg_lsn", LSN, columns.clone(), &SIGNALS.pg_lsn)]));
    offers.push(match server_said(client.query_value(SEES_ALL))? {
        Ok(Some(all)) if all == "t" => {
            let states = AnswerShape::States { columns: 2, none: "(running)" };
            Offer::ask([ProbeQuestion::new("session", SESSIONS, states, &SIGNALS.session)])
        }
        Ok(_) => Offer::absent(
            "session",
            "the account sees sessions of its own only: it is not in pg_read_all_stats",
        ),
        Err(why) => Offer::absent("session", &why.to_string()),
    });
    let locks = "SELECT count(*) AS waiting FROM pg_locks WHERE NOT granted";
    offers.push(Offer::ask([ProbeQuestion::new("pg_locks", locks, columns, &SIGNALS.pg_locks)]));
    Ok(offers)
}

/// Columns of a view that would be zero; they are reported as absent.
fn untimed(
    client: &mut Client,
    view: &str,
    offers: &mut Vec<Offer>,
) -> Result<Vec<&'static str>, DriverError> {
    let mut without = Vec::new();
    for (_, columns, settings) in TIMED.iter().filter(|(of, ..)| *of == view) {
        let Some(off) = off_of(client, settings)? else { continue };
        for column in *columns {
            if has_column(client, view, column)? {
                offers.push(Offer::absent(&format!("{view}.{column}"), &format!("{off} is off")));
                without.push(*column);
            }
        }
    }
    Ok(without)
}

fn has_column(client: &mut Client, view: &str, column: &str) -> Result<bool, DriverError> {
    let sql = format!(
        "SELECT count(*) FROM pg_attribute WHERE attrelid = \
         pg_catalog.to_regclass('pg_catalog.{view}')::oid AND attname = '{column}'"
    );
    Ok(server_said(client.query_value(&sql))?.ok().flatten().is_some_and(|count| count != "0"))
}

fn io(client: &mut Client, offers: &mut Vec<Offer>) -> Result<Offer, DriverError> {
    let without = untimed(client, "pg_stat_io", offers)?;
    let timed = without.iter().fold(IO.to_owned(), |sql, column| {
        sql.replace(&format!(", sum({column}) AS {column}"), "")
    });
    Ok(Offer::ask(IO_BYTES.map(|[write, extend]| {
        let sql = timed.replace("WRITE_BYTES", write).replace("EXTEND_BYTES", extend);
        ProbeQuestion::new("pg_stat_io", sql, AnswerShape::Named { names: 2 }, &SIGNALS.pg_view)
    })))
}

/// The first of these settings that is off.
fn off_of(
    client: &mut Client,
    settings: &[&'static str],
) -> Result<Option<&'static str>, DriverError> {
    for setting in settings {
        let sql = format!("SELECT pg_catalog.current_setting('{setting}', true)");
        if server_said(client.query_value(&sql))?.ok().flatten().as_deref() != Some("on") {
            return Ok(Some(setting));
        }
    }
    Ok(None)
}
