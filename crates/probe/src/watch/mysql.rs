//! Queries of a server of the MySQL family: this file has all statements.

use truetps_driver::{Client, DriverError};
use truetps_record::{Flavour, SignalKind, SignalUnit};

use crate::watch::offer::{Offer, server_said, why_refused};
use crate::watch::shape::{AnswerShape, ProbeQuestion};
use crate::watch::signals::{SIGNALS, SignalTable};

const LOCK_WAITS: &str =
    "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";

/// Sessions that do no work for a client, or wait for one.
const NOT_AT_WORK: &str = "('Sleep', 'Daemon', 'Connect', 'Binlog Dump', 'Binlog Dump GTID', \
                           'Slave_IO', 'Slave_SQL', 'Slave_worker')";
const NO_USERS: &str = "('system user', 'event_scheduler')";

/// Instruments of the files that show where bytes and syncs go.
const FILES: &str = "(NAME LIKE 'wait/io/file/innodb/%' OR NAME LIKE 'wait/io/file/sql/binlog%')";

/// The place that is a single value.
pub(crate) const LOCK_WAITS_PLACE: &str = "session_lock_waits";
/// Sources of the values, for a server that cannot be queried at all.
pub(crate) const PLACES: &[&str] =
    &["status", "metric", "file", "wait", "session", LOCK_WAITS_PLACE, "replica"];

/// The account's session limit, or -1, and its current sessions.
pub(crate) const ROOM: &str = "SELECT IF(@@SESSION.max_user_connections = 0, -1, \
                               @@SESSION.max_user_connections), (SELECT COUNT(*) FROM \
                               information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), \
                               '@', 1))";
/// The server's session limit, and its current sessions; an account without PROCESS sees only its
/// own.
pub(crate) const SERVER_ROOM: &str = "SELECT @@GLOBAL.max_connections, \
                                      (SELECT COUNT(*) FROM information_schema.processlist \
                                      WHERE user NOT IN ('system user', 'event_scheduler'))";

/// What to query. An error is a connection's; signals that the server refuses are absent.
pub(crate) fn offers(client: &mut Client) -> Result<Vec<Offer>, DriverError> {
    let version = client.query_value("SELECT VERSION()")?.unwrap_or_default();
    let is_mariadb = Flavour::from_version_text(&version) == Flavour::Mariadb;
    let schema = performance_schema(client)?;
    let mut offers = vec![Offer::ask([status()]), Offer::ask(metrics())];
    if let Err(why) = &schema {
        offers.extend(["file", "wait"].map(|what| Offer::absent(what, why)));
    } else {
        offers.push(files(client)?);
        offers.push(Offer::ask([waits()]));
    }
    let lock_waits = AnswerShape::Single(SignalKind::Gauge, SignalUnit::Sessions);
    offers.push(Offer::ask([ProbeQuestion::new(LOCK_WAITS_PLACE, LOCK_WAITS, lock_waits, &[])]));
    offers.push(sessions(client, schema.is_ok())?);
    offers.push(replica(client, is_mariadb)?);
    Ok(offers)
}

fn sql_in_list(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let quoted: Vec<_> =
        names.into_iter().map(|name| format!("'{}'", name.as_ref().replace('\'', "''"))).collect();
    format!("({})", quoted.join(", "))
}

fn names_of(table: SignalTable) -> impl Iterator<Item = &'static String> {
    table.iter().flat_map(|row| &row.names)
}

fn status() -> ProbeQuestion {
    let sql = format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN {}",
        sql_in_list(names_of(&SIGNALS.status))
    );
    ProbeQuestion::new("status", sql, AnswerShape::Pairs, &SIGNALS.status)
}

/// MySQL and old MariaDBs have a column `STATUS`, newer ones `ENABLED`.
fn metrics() -> [ProbeQuestion; 2] {
    ["STATUS = 'enabled'", "ENABLED = 1"].map(|is_enabled| {
        let names = sql_in_list(names_of(&SIGNALS.metric));
        let sql = format!(
            "SELECT NAME, COUNT FROM information_schema.innodb_metrics WHERE {is_enabled} \
                     AND NAME IN {names}"
        );
        ProbeQuestion::new("metric", sql, AnswerShape::Pairs, &SIGNALS.metric)
    })
}

/// Why `performance_schema` gives no data, if so.
fn performance_schema(client: &mut Client) -> Result<Result<(), String>, DriverError> {
    let rows = client.query("SHOW GLOBAL VARIABLES LIKE 'performance_schema'")?.rows;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    match value.as_deref() {
        None => return Ok(Err("this server has no performance_schema".to_owned())),
        Some("ON" | "1") => {}
        Some(_) => return Ok(Err("performance_schema is OFF".to_owned())),
    }
    let consumer = "SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = \
                    'global_instrumentation'";
    match server_said(client.query_value(consumer))? {
        Err(why) => Ok(Err(why.to_string())),
        Ok(Some(enabled)) if enabled == "NO" => {
            Ok(Err("the consumer global_instrumentation of performance_schema is off".to_owned()))
        }
        Ok(_) => Ok(Ok(())),
    }
}

/// Only of enabled instruments: the others would give meaningless zeros.
fn files(client: &mut Client) -> Result<Offer, DriverError> {
    let sql = format!(
        "SELECT NAME FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND {FILES}"
    );
    let names: Vec<String> = match server_said(client.query(&sql))? {
        Err(why) => return Ok(Offer::absent("file", &why.to_string())),
        Ok(result) => {
            result.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
        }
    };
    if names.is_empty() {
        return Ok(Offer::absent("file", "its instruments in performance_schema are off"));
    }
    let old = "COUNT_WRITE AS writes, SUM_NUMBER_OF_BYTES_WRITE AS write_bytes, COUNT_READ AS \
               `reads`, SUM_NUMBER_OF_BYTES_READ AS read_bytes";
    // Times are in picoseconds.
    let new = format!(
        "{old}, COUNT_MISC AS misc, SUM_TIMER_WRITE / 1000000 AS write_us, SUM_TIMER_READ / \
         1000000 AS read_us, SUM_TIMER_MISC / 1000000 AS misc_us"
    );
    Ok(Offer::ask([new.as_str(), old].map(|columns| {
        let names = sql_in_list(&names);
        let table = "performance_schema.file_summary_by_event_name";
        let sql = format!("SELECT EVENT_NAME, {columns} FROM {table} WHERE EVENT_NAME IN {names}");
        ProbeQuestion::new("file", sql, AnswerShape::Named { names: 1 }, &SIGNALS.file)
    })))
}

fn waits() -> ProbeQuestion {
    let sql = "SELECT EVENT_NAME, COUNT_STAR AS count, SUM_TIMER_WAIT / 1000000 AS us \
               FROM performance_schema.events_waits_summary_global_by_event_name \
               WHERE COUNT_STAR > 0 AND SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'";
    ProbeQuestion::new("wait", sql, AnswerShape::Named { names: 1 }, &SIGNALS.wait)
}

/// From `performance_schema.threads`, without any lock, if it is on; otherwise from the process
/// list, in which an account without PROCESS sees only itself.
fn sessions(client: &mut Client, has_schema: bool) -> Result<Offer, DriverError> {
    let shape = AnswerShape::States { columns: 1, none: "(none)" };
    let threads = format!(
        "SELECT PROCESSLIST_STATE, COUNT(*) FROM performance_schema.threads WHERE TYPE = \
         'FOREGROUND' AND PROCESSLIST_ID <> CONNECTION_ID() AND PROCESSLIST_COMMAND NOT IN \
         {NOT_AT_WORK} AND COALESCE(PROCESSLIST_USER, '') NOT IN {NO_USERS} GROUP BY \
         PROCESSLIST_STATE"
    );
    let processes = format!(
        "SELECT STATE, COUNT(*) FROM information_schema.processlist WHERE ID <> CONNECTION_ID() \
         AND COMMAND NOT IN {NOT_AT_WORK} AND USER NOT IN {NO_USERS} GROUP BY STATE"
    );
    let mut questions = Vec::new();
    if has_schema {
        questions.push(ProbeQuestion::new("session", threads, shape.clone(), &SIGNALS.session));
        if server_said(client.query(&questions[0].sql))?.is_ok() {
            return Ok(Offer::ask(questions));
        }
    }
    if let Err(why) = server_said(client.query(LOCK_WAITS))? {
        return Ok(Offer::absent(
            "session",
            &format!("the account sees sessions of its own only: {why}"),
        ));
    }
    questions.push(ProbeQuestion::new("session", processes, shape, &SIGNALS.session));
    Ok(Offer::ask(questions))
}

/// Nothing for a server that is not a replica, not even an absent signal.
fn replica(client: &mut Client, is_mariadb: bool) -> Result<Offer, DriverError> {
    let statements = if is_mariadb {
        ["SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS"]
    } else {
        ["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"]
    };
    let mut refusals = Vec::new();
    for sql in statements {
        match server_said(client.query(sql))? {
            Ok(result) if result.rows.is_empty() => return Ok(Offer::nothing()),
            Ok(_) => {
                let channel = ["Channel_Name", "Connection_name"];
                let shape = AnswerShape::Channels { channel, without: &SIGNALS.replica_identity };
                return Ok(Offer::ask([ProbeQuestion::new(
                    "replica",
                    sql,
                    shape,
                    &SIGNALS.replica,
                )]));
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    Ok(Offer::absent("replica", &why_refused(&refusals).unwrap_or_default()))
}
