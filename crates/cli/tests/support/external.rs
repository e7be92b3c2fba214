//! What tests of settings on servers of `--dsn` share.

use std::collections::BTreeMap;
use std::fs;

use truetps_knowledge::inert_reason;
use truetps_sandbox::ServerBinary;
use truetps_testkit::mysql_family::{chosen_server, fetched_server, mariadb};

use super::Owned;
use crate::common::Place;

pub(crate) const PLAN: &str = r#"
name = "levels"
about = "a test"
[workload]
name = "insert"
table_rows = 300
[load]
warm_up_s = 0.05
measure_s = 0.5
[factors]
innodb_flush_log_at_trx_commit = [1, 2, 0]
sync_binlog = [1, 0]
connections = [2]
[design]
blocks = 1
aa_pair = false
"#;

/// All that must be the same before and after, but for what counts and identifies.
pub(crate) fn globals(owned: &Owned) -> BTreeMap<String, String> {
    let rows = owned.admin().query("SHOW GLOBAL VARIABLES").unwrap().rows;
    let pairs = rows.into_iter().map(|row| {
        let mut cells = row.into_iter();
        (cells.next().unwrap().unwrap().to_lowercase(), cells.next().unwrap().unwrap_or_default())
    });
    pairs.filter(|(name, _)| inert_reason(name).is_none()).collect()
}

pub(crate) fn schemas(owned: &Owned) -> Vec<String> {
    let rows = owned.admin().query("SHOW DATABASES").unwrap().rows;
    rows.into_iter().map(|row| row[0].clone().unwrap()).collect()
}

/// Journals, and what was kept of those that had something to leave.
pub(crate) fn journals(place: &Place) -> Vec<String> {
    let files =
        fs::read_dir(place.path().join("state/truetps/journals")).into_iter().flatten().flatten();
    files
        .map(|file| file.file_name().into_string().unwrap())
        .filter(|name| name.contains(".json") || name.contains(".left"))
        .collect()
}

pub(crate) fn server(binary: &ServerBinary) -> Owned {
    // Neither the server's defaults nor a level of the plan alone: a wrong "default" would not pass
    // for the original.
    let old = !binary.is_mariadb() && binary.version.major < 8;
    let id = if old { &[("server_id", "7")][..] } else { &[] };
    Owned::start(
        binary,
        &[
            &[("log_bin", "ON"), ("sync_binlog", "3"), ("innodb_flush_log_at_trx_commit", "1")][..],
            id,
        ]
        .concat(),
    )
}

/// A MariaDB and a MySQL; `make test-servers` takes the newest MySQL, too.
pub(crate) fn binaries(test: &str) -> Vec<(String, ServerBinary)> {
    let mariadb = mariadb(test).map(|binary| ("mariadb".to_owned(), binary));
    let mysql = [fetched_server(test, "mysql-8.0"), chosen_server(test, "mysql-9.7", &[])];
    mariadb
        .into_iter()
        .chain(mysql.into_iter().flatten().map(|one| (one.name.to_owned(), one.binary)))
        .collect()
}
