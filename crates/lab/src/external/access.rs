//! Checks before any change: whether the server accepts writes, whether it is one server, and who
//! else uses it.

use std::time::Duration;

use truetps_driver::{Client, ConnectionIds, DriverError, Target, session_settings};
use truetps_record::SqlDialect;
use truetps_workload::Workload;

use super::control::CLIENT_TIMEOUT;
use super::error::ExternalError;
use super::grants;
use super::identity::Identity;
use super::schema::refuse_system_schema;
use super::settings_lease::LOCK_IS_FREE;
use crate::trial::server_status::{is_on, shown, status_value};

/// How long the activity of others is watched.
const WATCH: Duration = Duration::from_secs(1);
/// Statements a second by others from which truetps warns.
const BUSY_QUESTIONS: f64 = 5.0;

/// Variables that the login of a client or truetps sets, or that say something of the session.
const SET_BY_CLIENTS: [&str; 12] = [
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "collation_connection",
    "collation_database",
    "completion_type",
    "interactive_timeout",
    "sql_mode",
    "timestamp",
    "wait_timeout",
];
const OWN_SETTINGS_SHOWN: usize = 8;
const OWN_VALUE_SHOWN: usize = 60;

/// Refuses a server that cannot work; returns warnings. Only reads.
pub(crate) fn look_around(
    client: &mut Client,
    target: &Target,
    schema: &str,
    schema_is_theirs: bool,
    workload: &dyn Workload,
    sets: &[&str],
) -> Result<Vec<String>, ExternalError> {
    match client.dialect() {
        SqlDialect::Mysql => {
            writable_mysql(client)?;
            let mut said = grants::check(client, schema, schema_is_theirs, workload, sets)
                .map_err(|error| error.in_address(target))?;
            if !sets.is_empty() {
                one_server(client, target)?;
            }
            said.extend(modes_mysql(client)?);
            said.extend(others_mysql(client)?);
            Ok(said)
        }
        SqlDialect::Postgres => {
            writable_postgres(client)?;
            if !schema_is_theirs {
                create_right_postgres(client).map_err(|error| error.in_address(target))?;
            }
            others_postgres(client)
        }
    }
}

/// Settings are set on one server, so there must be only one: behind all addresses, and behind each
/// address. A proxy may send reads to another server than writes.
fn one_server(client: &mut Client, target: &Target) -> Result<(), ExternalError> {
    let first = Identity::ask(client)?.id;
    for endpoint in &target.endpoints {
        let ids = ConnectionIds::default();
        let one = Target {
            endpoints: vec![endpoint.clone()],
            connections: Some(ids.clone()),
            ..target.clone()
        };
        let mut client = Client::connect(&one, CLIENT_TIMEOUT)?;
        let found = Identity::ask(&mut client)?.id;
        if found != first {
            return Err(ExternalError::SeveralServers { at: endpoint.clone(), first, found });
        }
        if !is_listed(&mut client, &ids)? {
            let what = "the server does not know the connection number of its greeting".to_owned();
            return Err(ExternalError::BehindProxy { what });
        }
        client.execute("START TRANSACTION")?;
        let inside = Identity::ask(&mut client)?.id;
        client.execute("ROLLBACK")?;
        if inside != first {
            let what = format!("it is {inside} in a transaction, and {first} outside");
            return Err(ExternalError::BehindProxy { what });
        }
    }
    if client.query_value(LOCK_IS_FREE)?.as_deref() == Some("0") {
        return Err(ExternalError::SetElsewhere);
    }
    Ok(())
}

/// Whether the server lists a session of these numbers. Every account sees its own threads; a proxy
/// reports a connection number that the server does not know.
pub(crate) fn is_listed(client: &mut Client, ids: &ConnectionIds) -> Result<bool, DriverError> {
    let threads = client.query("SELECT id FROM information_schema.processlist")?.rows;
    let mut numbers =
        threads.into_iter().filter_map(|row| row.into_iter().next()??.parse::<u64>().ok());
    Ok(numbers.any(|number| ids.contains(number as u32)))
}

/// What sessions of this account have otherwise than the server.
pub(super) fn own_settings(client: &mut Client) -> Result<Option<String>, DriverError> {
    let mut found = session_settings(client)?;
    found.retain(|name, _| !SET_BY_CLIENTS.contains(&name.as_str()));
    if found.is_empty() {
        return Ok(None);
    }
    let more = found.len().saturating_sub(OWN_SETTINGS_SHOWN);
    let shown: Vec<_> = found
        .iter()
        .take(OWN_SETTINGS_SHOWN)
        .map(|(name, value)| format!("{name} = {}", value_shown(value)))
        .collect();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Ok(Some(format!(
        "the sessions of this account do not have the server's values: {}{more}",
        shown.join(", ")
    )))
}

fn value_shown(value: &str) -> String {
    let start: String = value.chars().take(OWN_VALUE_SHOWN).collect();
    if start == value { start } else { format!("{start}…") }
}

fn writable_mysql(client: &mut Client) -> Result<(), ExternalError> {
    for name in [
        "read_only",
        "super_read_only",
        "innodb_read_only",
        "transaction_read_only",
        "tx_read_only",
    ] {
        if is_on(client, name)? {
            return Err(ExternalError::ReadOnly { reason: format!("{name} = ON") });
        }
    }
    if shown(client, "STATUS", "wsrep_ready")?.is_some_and(|ready| ready == "OFF")
        && is_on(client, "wsrep_on")?
    {
        return Err(ExternalError::ReadOnly {
            reason: "wsrep_ready = OFF: it is not part of its cluster".to_owned(),
        });
    }
    Ok(())
}

/// What commits wait for, and which sessions the server ends.
fn modes_mysql(client: &mut Client) -> Result<Vec<String>, DriverError> {
    let mut said = Vec::new();
    for name in ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"] {
        if is_on(client, name)? {
            said.push(format!("{name} = ON: each commit waits for a replica if one is connected"));
        }
    }
    if is_on(client, "offline_mode")? {
        said.push(
            "offline_mode = ON: the server ends sessions of unprivileged accounts".to_owned(),
        );
    }
    Ok(said)
}

fn status(client: &mut Client, name: &str) -> Result<f64, DriverError> {
    Ok(status_value(client, name)?.unwrap_or(0) as f64)
}

/// Threads that run user statements, including truetps's own; replication threads are counted
/// apart, because they run on an idle replica, too. An account that may not see threads gets the
/// server's own number.
fn threads_at_work(client: &mut Client) -> Result<f64, DriverError> {
    let replication = "(user = 'system user' OR command LIKE 'Binlog Dump%')";
    let at_work = format!("(NOT {replication} AND command NOT IN ('Sleep', 'Daemon'))");
    let sql =
        format!("SELECT SUM({replication}), SUM({at_work}) FROM information_schema.processlist");
    let row = client.query(&sql)?.rows.into_iter().next().unwrap_or_default();
    let numbers: Vec<_> = row.into_iter().map(|cell| cell?.parse::<f64>().ok()).collect();
    match numbers[..] {
        [Some(replication), Some(at_work)] if replication > 0.0 => Ok(at_work),
        _ => status(client, "Threads_running"),
    }
}

fn others_mysql(client: &mut Client) -> Result<Vec<String>, ExternalError> {
    let sql = "SELECT user, COUNT(*) FROM information_schema.processlist WHERE id <> \
               CONNECTION_ID() AND user NOT IN ('system user', 'event_scheduler', 'rdsadmin') AND \
               command NOT LIKE 'Binlog Dump%' AND command <> 'Daemon' GROUP BY user ORDER BY user";
    let mut said = Vec::from_iter(sessions_of_others(client.query(sql)?.rows));
    let before = status(client, "Queries")?;
    std::thread::sleep(WATCH);
    let running = threads_at_work(client)?;
    let a_second = (status(client, "Queries")? - before - 2.0).max(0.0) / WATCH.as_secs_f64();
    if a_second > BUSY_QUESTIONS || running > 2.0 {
        said.push(format!(
            "others use this server now: {a_second:.0} statements a second, {running} threads \
             running; the test will slow them down, and they will distort the result"
        ));
    }
    Ok(said)
}

fn sessions_of_others(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    let users: Vec<_> = rows
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some(format!("{} ({})", cells.next()??, cells.next()??))
        })
        .collect();
    (!users.is_empty()).then(|| format!("others are connected: {}", users.join(", ")))
}

fn writable_postgres(client: &mut Client) -> Result<(), ExternalError> {
    if client.query_value("SELECT pg_is_in_recovery()::text")?.as_deref() == Some("true") {
        return Err(ExternalError::ReadOnly {
            reason: "it is a standby (pg_is_in_recovery)".to_owned(),
        });
    }
    for name in ["default_transaction_read_only", "transaction_read_only"] {
        if client.query_value(&format!("SHOW {name}"))?.as_deref() == Some("on") {
            return Err(ExternalError::ReadOnly { reason: format!("{name} = on") });
        }
    }
    Ok(())
}

fn create_right_postgres(client: &mut Client) -> Result<(), ExternalError> {
    let sql = "SELECT (rolcreatedb OR rolsuper)::text FROM pg_roles WHERE rolname = current_user";
    if client.query_value(sql)?.as_deref() == Some("true") {
        return Ok(());
    }
    let user =
        client.query_value("SELECT pg_catalog.quote_ident(current_user)")?.unwrap_or_default();
    let what = "create a database: it lacks CREATEDB".to_owned();
    let grant = format!("ALTER ROLE {user} CREATEDB");
    Err(ExternalError::MakesNoSchema { what, grant, in_address: None })
}

fn others_postgres(client: &mut Client) -> Result<Vec<String>, ExternalError> {
    let sql = "SELECT usename::text, COUNT(*)::text FROM pg_stat_activity WHERE pid <> \
               pg_backend_pid() AND backend_type = 'client backend' GROUP BY 1 ORDER BY 1";
    Ok(Vec::from_iter(sessions_of_others(client.query(sql)?.rows)))
}

/// The schema in which an unqualified CREATE TABLE creates its tables in the user's database;
/// refused without the right to do so.
pub(crate) fn namespace_postgres(inside: &mut Client) -> Result<String, ExternalError> {
    let Some(namespace) = inside.query_value("SELECT current_schema()")? else {
        let what = "create tables here: no schema of its search_path exists".to_owned();
        return Err(no_tables(what, "…"));
    };
    match inside
        .query_value("SELECT pg_catalog.has_schema_privilege(current_schema(), 'CREATE')::text")?
        .as_deref()
    {
        Some("true") => refuse_system_schema(&namespace, SqlDialect::Postgres).map(|()| namespace),
        _ => Err(no_tables(format!("create tables in the schema `{namespace}`"), &namespace)),
    }
}

fn no_tables(what: String, schema: &str) -> ExternalError {
    let grant = format!("GRANT CREATE ON SCHEMA {schema} TO the role");
    ExternalError::Privilege { what, grant }
}
