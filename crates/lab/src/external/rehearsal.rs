//! `--dry-run` on an external server: prints what a run would send; only reads.
//!
//! Each line comes from the function that a run uses.

use truetps_driver::Client;
use truetps_plan::Plan;
use truetps_record::{Configuration, SqlDialect};
use truetps_workload::Workload;

use super::committing;
use super::control::{CLIENT_TIMEOUT, control, control_setup};
use super::globals::{self, Scope, Scopes};
use super::session_settings::setup_sql;
use super::settings_lease::TAKE_LOCK;
use super::survey::{Survey, survey};
use crate::error::LabError;
use crate::event::Listener;
use crate::external::parts::meeting_outline;
use crate::schedule::schedule;
use crate::trial::server_provider::ExternalServer;
use crate::trial::setting::set_sql;

/// What the rehearsal itself sends, by kind.
const READS_MYSQL: &[&str] = &[
    "ROLLBACK, and SET SESSION of what a run sets in its own sessions first",
    "SELECT of @@version, @@version_comment, @@autocommit, @@completion_type, @@sql_log_bin, \
     @@log_bin, @@hostname, @@port, @@datadir, @@GLOBAL.server_uuid, server_id and server_uid, and \
     of each setting of the plan, global and of the session",
    "SELECT CURRENT_USER(), CURRENT_ROLE(), UNIX_TIMESTAMP(), IS_FREE_LOCK(); SHOW GRANTS",
    "SHOW GLOBAL VARIABLES and SHOW SESSION VARIABLES, all of them, and LIKE 'max_connections'",
    "SHOW ALL SLAVES STATUS, SHOW REPLICA STATUS or SHOW SLAVE STATUS; SHOW GLOBAL STATUS of \
     Queries, Threads_running, Threads_connected, Slaves_connected, Innodb_os_log_written, \
     Binlog_bytes_written, wsrep_ready, wsrep_cluster_size, Innodb_redo_log_enabled and \
     Rpl_semi_sync_*_status",
    "SELECT from information_schema.processlist, schemata, tables and global_status, \
     performance_schema.global_status and replication_group_members",
    "START TRANSACTION and ROLLBACK, with a SELECT between them, where settings are to be set: a \
     proxy would show there",
];
const READS_POSTGRES: &[&str] = &[
    "SELECT version(), pg_is_in_recovery(), pg_postmaster_start_time(), pg_backend_pid(); SHOW of \
     transaction_read_only and its default",
    "SELECT from pg_settings, pg_roles, pg_database, pg_stat_activity, pg_stat_replication, \
     pg_replication_slots, pg_control_system(); SHOW archive_mode",
    "SELECT current_schema(), has_schema_privilege() and from pg_class and pg_namespace, in a \
     database that is yours",
];
/// Queries of the probe, as far as the server supports them and the account has the privileges.
const PROBE_MYSQL: &str = "SHOW GLOBAL STATUS; SHOW REPLICA STATUS; SELECT from \
                           information_schema.innodb_metrics, innodb_trx and processlist, and from \
                           performance_schema";
const PROBE_POSTGRES: &str = "SELECT from pg_stat_wal, pg_stat_database, pg_stat_bgwriter, \
                              pg_stat_checkpointer, pg_stat_io, pg_stat_activity and pg_locks";
/// Statements that fill tables are longer than this, and are cut to this length.
const SHOWN_MAX: usize = 400;

/// Checks what can be checked by reading; returns the statements of a run, in order, as lines.
pub fn rehearse(
    plan: &Plan,
    external: &ExternalServer,
    listener: &mut dyn Listener,
) -> Result<Vec<String>, LabError> {
    let target = &external.target;
    let workload =
        truetps_workload::build(&plan.largest_workload(), target.dialect, plan.design.seed)?;
    let mut client =
        Client::connect(&control(target), CLIENT_TIMEOUT).map_err(LabError::ExternalLogin)?;
    let found = survey(&mut client, plan, external, &*workload, "", listener)?;
    let reads = if target.dialect == SqlDialect::Mysql { READS_MYSQL } else { READS_POSTGRES };
    let mut lines = vec!["Sent now (read-only):".to_owned()];
    lines.extend(reads.iter().map(|line| format!("  {line}")));
    lines.push(format!(
        "A run would send the same, write a journal to {}, and also send:",
        external.journals.display()
    ));
    // Of the parts of a load, only the first one prepares the server, and watches it.
    let (part, mut sent) = (external.part, Vec::new());
    if part.is_first() {
        sent.extend(preparation(&mut client, plan, &found, &*workload)?);
    }
    if !part.is_whole() {
        sent.extend(meeting_outline(target.dialect, &external.schema, part));
    }
    if part.is_first() {
        sent.extend(before_each_trial(plan, &found, &*workload, target.dialect));
    }
    sent.push(format!(
        "-- the load, by up to {} sessions, in transactions of:",
        part.share(plan.connections_max().into())
    ));
    sent.extend(workload.statements().iter().map(|statement| statement.sql().to_owned()));
    if plan.probe.enabled && part.is_first() {
        let (seconds, asks) = (
            plan.probe.interval_s,
            if target.dialect == SqlDialect::Mysql { PROBE_MYSQL } else { PROBE_POSTGRES },
        );
        sent.push(format!(
            "-- during the load, every {seconds} s in one more session (--no-probe: none), \
             read-only: {asks}"
        ));
    }
    if part.is_first() {
        sent.push("-- at the end, also after Ctrl-C and errors:".to_owned());
        sent.extend(restore_statements(&mut client, &found.scopes)?);
        sent.extend(found.schema.drop_sql());
    }
    lines.extend(sent.iter().map(|sql| format!("  {}", shortened(sql))));
    Ok(lines)
}

/// From the login to the last row.
fn preparation(
    client: &mut Client,
    plan: &Plan,
    found: &Survey,
    workload: &dyn Workload,
) -> Result<Vec<String>, LabError> {
    let mut sent = beginning(client, plan, found)?;
    let tables = found.schema.tables_of(workload);
    sent.extend(tables.load_outline());
    sent.push(format!(
        "-- the tables have about {:.1} MB: binlog (with log_bin = ON) and redo log or WAL get at \
         least twice that, and once more before each of {} trials; the volume of the load itself \
         is read from the server's counters while it runs",
        tables.data_bytes() as f64 / 3e6,
        schedule(plan).len()
    ));
    Ok(sent)
}

fn before_each_trial(
    plan: &Plan,
    found: &Survey,
    workload: &dyn Workload,
    dialect: SqlDialect,
) -> Vec<String> {
    let mut sent = Vec::new();
    sent.push("-- before each trial, unless it already has the value:".to_owned());
    for configuration in plan.configurations() {
        let pairs = of_configuration(plan, &configuration, &found.scopes, dialect);
        if !pairs.is_empty() && !sent.contains(&pairs.join("; ")) {
            sent.push(pairs.join("; "));
        }
    }
    sent.extend(found.schema.tables_of(workload).refill_outline());
    sent
}

/// From the login to the first row.
fn beginning(client: &mut Client, plan: &Plan, found: &Survey) -> Result<Vec<String>, LabError> {
    let mut sent = Vec::new();
    match client.dialect() {
        SqlDialect::Mysql => sent.extend(control_setup().map(str::to_owned)),
        SqlDialect::Postgres => {
            sent.extend(
                committing::setup_sql(SqlDialect::Postgres).iter().map(|sql| (*sql).to_owned()),
            );
        }
    }
    if found.sets() {
        // Not only a read: another run that wants to set variables waits until it is released.
        sent.push(TAKE_LOCK.to_owned());
    }
    sent.extend(found.schema.make_sql());
    sent.extend(trial_of_levels(client, plan, &found.scopes)?);
    if client.dialect() == SqlDialect::Mysql {
        sent.push(format!("USE {}", found.schema.server.name.quoted()));
    }
    Ok(sent)
}

fn trial_of_levels(
    client: &mut Client,
    plan: &Plan,
    scopes: &Scopes,
) -> Result<Vec<String>, LabError> {
    let mut sent: Vec<_> = scopes.global_names().map(globals::settable_sql).collect();
    if scopes.is_empty() {
        return Ok(sent);
    }
    sent.push(
        "-- each level once, to check that the server accepts it, then the original value:"
            .to_owned(),
    );
    let levels = globals::levels(plan);
    let global = levels.iter().filter(|(name, _)| scopes.has(name, Scope::Global));
    sent.extend(global.map(|(name, level)| set_sql(name, level)));
    let own = levels.iter().filter(|(name, _)| scopes.has(name, Scope::Session));
    sent.extend(setup_sql(client.dialect(), own.map(|(name, level)| (name.as_str(), level))));
    sent.extend(restore_statements(client, scopes)?);
    Ok(sent)
}

fn of_configuration(
    plan: &Plan,
    configuration: &Configuration,
    scopes: &Scopes,
    dialect: SqlDialect,
) -> Vec<String> {
    let global = scopes.levels_of(plan, configuration, Scope::Global);
    let global = global.map(|(name, level)| set_sql(name, level));
    let own = scopes.levels_of(plan, configuration, Scope::Session);
    global.chain(setup_sql(dialect, own)).collect()
}

fn restore_statements(client: &mut Client, scopes: &Scopes) -> Result<Vec<String>, LabError> {
    let mut sent = Vec::new();
    for name in scopes.global_names() {
        let original = globals::value(client, name)?;
        sent.push(globals::restore_sql(name, &original));
    }
    sent.reverse();
    Ok(sent)
}

fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_MAX {
        return line;
    }
    let shown: String = line.chars().take(SHOWN_MAX).collect();
    format!("{shown}… ({} characters)", line.chars().count())
}
