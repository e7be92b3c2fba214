//! `--dry-run` on a server that is somebody's: what would be asked and told, with questions sent and nothing else.

use truetps_driver::{Client, Dialect};
use truetps_record::Plan;

use crate::error::LabError;
use crate::event::Listener;
use crate::foreign::{self, ForeignError};
use crate::ground::Foreign;
use crate::guest;
use crate::schema::Schema;
use crate::setting::literal;
use crate::tables::{Ownership, Tables};

/// What the rehearsal itself sends, by kind.
const READS_MYSQL: &[&str] = &[
    "SELECT of @@version, @@version_comment, @@autocommit, @@hostname, @@port, @@datadir, @@GLOBAL.server_uuid, and of each \
     setting of the plan",
    "SELECT CURRENT_USER(), CURRENT_ROLE(), UNIX_TIMESTAMP(); SHOW GRANTS",
    "SHOW GLOBAL VARIABLES LIKE of read_only, super_read_only, innodb_read_only, transaction_read_only, tx_read_only",
    "SHOW REPLICA STATUS or SHOW SLAVE STATUS; SHOW GLOBAL STATUS LIKE of Queries, Threads_running, Uptime",
    "SELECT from information_schema.processlist, schemata and tables",
];
const READS_POSTGRES: &[&str] = &[
    "SELECT version(), pg_is_in_recovery(), pg_postmaster_start_time(); SHOW of transaction_read_only and its default",
    "SELECT from pg_settings, pg_roles, pg_database, pg_stat_activity, pg_stat_replication, pg_control_system()",
];
/// Statements longer than this are shown to here.
const SHOWN_MAX: usize = 160;

/// Checks what can be checked by reading, and returns what a run would send, in its order, as lines.
pub fn rehearse(plan: &Plan, foreign: &Foreign, listener: &mut dyn Listener) -> Result<Vec<String>, LabError> {
    let target = &foreign.target;
    let workload = truetps_workload::build(&plan.largest_workload(), target.dialect, plan.design.seed)?;
    let mut client = Client::connect(target, guest::CLIENT_TIMEOUT).map_err(LabError::GuestLogin)?;
    let schema = Schema::new(target, &foreign.schema, foreign.schema_is_theirs, &*workload);
    guest::check(&mut client, plan, foreign, listener)?;
    let identity = foreign::Identity::ask(&mut client).map_err(ForeignError::from)?;
    let sets = target.dialect == Dialect::Mysql && !foreign::names(plan).is_empty();
    let journal = foreign::Journal::new("", identity, target.to_string(), schema.record());
    foreign::refuse_unfinished(&foreign.journals, &journal, sets)?;
    schema.check(&mut client)?;
    let reads = if target.dialect == Dialect::Mysql { READS_MYSQL } else { READS_POSTGRES };
    let mut lines = vec!["Sent now, which changes nothing:".to_owned()];
    lines.extend(reads.iter().map(|line| format!("  {line}")));
    lines.push(format!("A run would also write a journal to {}, and send:", foreign.journals.display()));
    let mut sent = trial_of_levels(&mut client, plan, sets)?;
    sent.extend(schema.make_sql());
    let tables = Tables::new(&*workload, true, Ownership::Guest(target.dialect));
    sent.extend(tables.load_outline());
    sent.push("-- before each trial:".to_owned());
    for configuration in plan.configurations() {
        let word = if sets { "GLOBAL" } else { "SESSION" };
        let pairs: Vec<_> = foreign::planned(plan, &configuration)
            .map(|(name, level)| format!("SET {word} {name} = {}", literal(level)))
            .collect();
        if !pairs.is_empty() && !sent.contains(&pairs.join("; ")) {
            sent.push(pairs.join("; "));
        }
    }
    sent.extend(tables.refill_outline());
    sent.push(format!("-- the load, by up to {} sessions, in transactions of:", plan.connections_max()));
    sent.extend(workload.statements().iter().map(|statement| statement.sql().to_owned()));
    sent.push("-- at the end, also after Ctrl-C and errors:".to_owned());
    sent.extend(put_back(&mut client, plan, sets)?);
    sent.extend(schema.drop_sql());
    lines.extend(sent.iter().map(|sql| format!("  {}", shortened(sql))));
    Ok(lines)
}

fn trial_of_levels(client: &mut Client, plan: &Plan, sets: bool) -> Result<Vec<String>, LabError> {
    let mut sent = Vec::new();
    if !sets {
        return Ok(sent);
    }
    for name in foreign::names(plan) {
        sent.push(format!("SET GLOBAL {name} = @@GLOBAL.{name}"));
    }
    sent.push("-- each level once, to see that the server takes it, and what was there before again:".to_owned());
    for configuration in plan.configurations() {
        for (name, level) in foreign::planned(plan, &configuration) {
            let sql = format!("SET GLOBAL {name} = {}", literal(level));
            if !sent.contains(&sql) {
                sent.push(sql);
            }
        }
    }
    sent.extend(put_back(client, plan, sets)?);
    Ok(sent)
}

fn put_back(client: &mut Client, plan: &Plan, sets: bool) -> Result<Vec<String>, LabError> {
    let names = if sets { foreign::names(plan) } else { Vec::new() };
    let one = |name: String| Ok(format!("SET GLOBAL {name} = {}", foreign::value(client, &name)?));
    names.into_iter().rev().map(one).collect()
}

fn shortened(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_MAX {
        return line;
    }
    let shown: String = line.chars().take(SHOWN_MAX).collect();
    format!("{shown}… ({} characters)", line.chars().count())
}
