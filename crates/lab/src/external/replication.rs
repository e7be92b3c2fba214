//! Who receives what is written to an external server: replicas, clusters, slots, archives. Only
//! reads.

use std::time::Duration;

use truetps_driver::{Client, DriverError, Target};
use truetps_record::{Flavour, Replication, ReplicationSlot, SqlDialect};

use super::grants;
use crate::trial::server_status::{allowed, is_on, number, shown, status_value};

/// "Access denied; you need … privilege".
const NO_PRIVILEGE: u16 = 1227;

/// Time limit of the login and of each query, before the load of a program that must run regardless
/// of the result.
const BRIEF_TIMEOUT: Duration = Duration::from_secs(3);

/// A one-line warning before another program's load on a server that truetps did not start. Uses a
/// session of its own and closes it. `None` also if the server cannot be queried: the load will
/// report the error.
pub fn replication_warning(target: &Target) -> Option<String> {
    let mut target = Target { setup: Vec::new(), connections: None, ..target.clone() };
    if target.dialect == SqlDialect::Mysql {
        // The server may not be up yet.
        target.login.database = None;
    }
    let mut client = Client::connect(&target, BRIEF_TIMEOUT).ok()?;
    let mut found = ask(&mut client).ok()?;
    if found.log_bin == Some(false) {
        // A missing privilege does not matter if nothing of the load leaves the server.
        found.is_replica = found.is_replica.or(Some(false));
    }
    let all = warnings(&found, target.dialect);
    (!all.is_empty()).then(|| all.join("; "))
}

/// The server's answers; `None` for what the account may not see.
pub(crate) fn ask(client: &mut Client) -> Result<Replication, DriverError> {
    match client.dialect() {
        SqlDialect::Mysql => ask_mysql(client),
        SqlDialect::Postgres => ask_postgres(client),
    }
}

fn ask_mysql(client: &mut Client) -> Result<Replication, DriverError> {
    let log_bin = is_on(client, "log_bin")?;
    let version = shown(client, "VARIABLES", "version")?.unwrap_or_default();
    let is_mariadb = Flavour::from_version_text(&version) == Flavour::Mariadb;
    Ok(Replication {
        is_replica: is_replica(client)?,
        replicas: if log_bin { replicas(client)? } else { Some(0) },
        cluster_members: cluster_members(client)?,
        log_bin: Some(log_bin),
        gtid: Some(log_bin && (is_mariadb || is_on(client, "gtid_mode")?)),
        slots: Some(Vec::new()),
        archives: Some(false),
    })
}

/// `None`: the account has no privilege for it.
fn is_replica(client: &mut Client) -> Result<Option<bool>, DriverError> {
    let mut is_denied = false;
    // MariaDB, which can have several sources; newer servers; older ones.
    for sql in ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"] {
        match client.query(sql) {
            Ok(result) => return Ok(Some(!result.rows.is_empty())),
            Err(DriverError::Server(error)) => is_denied |= error.code == NO_PRIVILEGE,
            Err(error) => return Err(error),
        }
    }
    Ok(if is_denied { None } else { Some(false) })
}

/// MariaDB counts replicas in a status that every account may read. On other servers truetps counts
/// the threads that send the binlog to them, which requires PROCESS.
fn replicas(client: &mut Client) -> Result<Option<u64>, DriverError> {
    let counted = status_value(client, "Slaves_connected")?;
    let sql =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    let seen = number(client, sql)?;
    Ok(match (counted, seen) {
        (Some(counted), seen) => Some(counted.max(seen.unwrap_or(0))),
        (None, Some(0)) if !grants::may_see_all_sessions(client)? => None,
        (None, seen) => seen,
    })
}

fn cluster_members(client: &mut Client) -> Result<Option<u64>, DriverError> {
    let galera = status_value(client, "wsrep_cluster_size")?.filter(|members| *members > 0);
    if galera.is_some() {
        return Ok(galera);
    }
    if shown(client, "VARIABLES", "group_replication_group_name")?
        .is_none_or(|name| name.is_empty())
    {
        return Ok(Some(0));
    }
    let sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE \
               member_state = 'ONLINE'";
    number(client, sql)
}

fn ask_postgres(client: &mut Client) -> Result<Replication, DriverError> {
    let sql = "SELECT slot_name::text, active::text FROM pg_replication_slots ORDER BY 1";
    let slots = allowed(client.query(sql))?
        .map(|answer| answer.rows.into_iter().filter_map(slot_of_row).collect());
    let archives = allowed(client.query_value("SHOW archive_mode"))?.flatten();
    Ok(Replication {
        is_replica: Some(false),
        replicas: number(client, "SELECT COUNT(*)::text FROM pg_stat_replication")?,
        cluster_members: Some(0),
        log_bin: Some(false),
        gtid: Some(false),
        slots,
        archives: archives.map(|mode| mode != "off"),
    })
}

fn slot_of_row(row: Vec<Option<String>>) -> Option<ReplicationSlot> {
    let mut cells = row.into_iter().flatten();
    Some(ReplicationSlot { name: cells.next()?, is_active: cells.next()? == "true" })
}

/// The warnings before the load.
pub(crate) fn warnings(found: &Replication, dialect: SqlDialect) -> Vec<String> {
    let own = match dialect {
        SqlDialect::Mysql => of_mysql(found),
        SqlDialect::Postgres => of_postgres(found),
    };
    let replica = match found.is_replica {
        Some(true) => Some(
            "this server is a replica: it applies its source's changes during the load, and what \
             is written here is not in its source",
        ),
        Some(false) => None,
        None => Some(
            "the account may not see whether this server is a replica (REPLICATION CLIENT, or \
             REPLICA MONITOR)",
        ),
    };
    let cluster = match found.cluster_members {
        Some(members) if members > 1 => Some(format!(
            "this server is one of {members} of a cluster (Galera, group replication): each commit \
             waits for other members"
        )),
        Some(_) => None,
        None => Some(
            "this server is configured for group replication; how many members it has is unknown: \
             the account lacks SELECT on performance_schema"
                .to_owned(),
        ),
    };
    replica.map(str::to_owned).into_iter().chain(own).chain(cluster).collect()
}

fn of_mysql(found: &Replication) -> Vec<String> {
    if found.log_bin != Some(true) {
        return Vec::new();
    }
    let gtid = if found.gtid == Some(true) { ", with a GTID for each transaction" } else { "" };
    let replicas = match found.replicas {
        Some(0) => {
            "no replica is connected now; one that connects later also receives it".to_owned()
        }
        Some(1) => "1 replica follows this server and receives all of it".to_owned(),
        Some(n) => format!("{n} replicas follow this server and receive all of it"),
        None => {
            "whether replicas follow this server is unknown: the account lacks PROCESS".to_owned()
        }
    };
    vec![format!(
        "log_bin = ON: the tables and the load are written to the binlog{gtid}; {replicas}"
    )]
}

fn of_postgres(found: &Replication) -> Vec<String> {
    let mut all = Vec::new();
    match found.replicas {
        Some(0) => {}
        Some(1) => all
            .push("1 standby follows this server and receives all that is written here".to_owned()),
        Some(n) => all
            .push(format!("{n} standbys follow this server and receive all that is written here")),
        None => all.push(
            "whether standbys follow this server is unknown: the account lacks pg_monitor"
                .to_owned(),
        ),
    }
    match &found.slots {
        None => {
            all.push(
                "whether replication slots keep the WAL of the load is unknown: the account lacks \
                 the privilege"
                    .to_owned(),
            );
        }
        Some(slots) => {
            let [active, idle] = [true, false].map(|is_active| {
                let named = slots.iter().filter(|slot| slot.is_active == is_active);
                named.map(|slot| format!("`{}`", slot.name)).collect::<Vec<_>>().join(", ")
            });
            if !idle.is_empty() {
                all.push(format!(
                    "replication slots that no consumer reads ({idle}) keep all WAL of the load on \
                     the disk until one does (or up to max_slot_wal_keep_size)"
                ));
            }
            if !active.is_empty() {
                all.push(format!(
                    "the consumers of replication slots ({active}) receive what is written here"
                ));
            }
        }
    }
    if found.archives == Some(true) {
        all.push("archive_mode is on: all WAL of the load is also archived".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_unknown_and_not_absent() {
        let mut found = Replication {
            is_replica: Some(false),
            replicas: None,
            cluster_members: Some(0),
            log_bin: Some(true),
            gtid: Some(true),
            ..Replication::default()
        };
        let said = |found: &Replication, dialect| warnings(found, dialect).join("\n");
        assert_eq!(
            said(&found, SqlDialect::Mysql),
            "log_bin = ON: the tables and the load are written to the binlog, with a GTID for each \
             transaction; whether replicas follow this server is unknown: the account lacks PROCESS"
        );
        found.replicas = Some(2);
        assert!(
            said(&found, SqlDialect::Mysql)
                .ends_with("2 replicas follow this server and receive all of it")
        );
        (found.is_replica, found.cluster_members) = (None, Some(3));
        assert!(said(&found, SqlDialect::Mysql).contains("one of 3 of a cluster"));
        assert!(
            said(&found, SqlDialect::Mysql)
                .contains("may not see whether this server is a replica")
        );
        let none = Replication {
            log_bin: Some(false),
            cluster_members: Some(0),
            is_replica: Some(false),
            ..found
        };
        assert_eq!(said(&none, SqlDialect::Mysql), "");
    }

    #[test]
    fn slots_without_a_consumer_are_named() {
        let slot = |name: &str, is_active| ReplicationSlot { name: name.to_owned(), is_active };
        let found = Replication {
            is_replica: Some(false),
            replicas: Some(0),
            cluster_members: Some(0),
            slots: Some(vec![slot("gone", false), slot("there", true)]),
            archives: Some(true),
            ..Replication::default()
        };
        let said = warnings(&found, SqlDialect::Postgres);
        assert_eq!(said.len(), 3, "{said:#?}");
        assert!(
            said[0].contains("(`gone`)")
                && said[1].contains("(`there`)")
                && said[2].contains("archive")
        );
        let unseen = Replication {
            is_replica: Some(false),
            cluster_members: Some(0),
            ..Replication::default()
        };
        assert_eq!(
            warnings(&unseen, SqlDialect::Postgres)
                .iter()
                .filter(|said| said.contains("unknown"))
                .count(),
            2
        );
    }
}
