//! What is known of settings, compared with the servers that are on this machine.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use truetps_knowledge::{
    Changeability, Version, options_without_variable, postgres_units, settings,
};
use truetps_record::{Flavour, same_setting};
use truetps_sandbox::{COUNTERPARTS, Catalogue, ServerBinary, ServerUser};
use truetps_testkit::mysql_family::fetched;
use truetps_testkit::{PostgresOptions, PostgresServer};

/// `--verbose --help` says another thing than the server that runs, which was asked when the data
/// were written: a path in place of a switch, or a default that is decided at the start.
const HELP_DIFFERS: [&str; 16] = [
    "log_bin",
    "innodb_flush_method",
    "innodb_log_file_buffering",
    "have_ssl",
    "tx_isolation",
    "transaction_isolation",
    "max_binlog_cache_size",
    "slave_parallel_workers",
    "expire_logs_days",
    "innodb_buffer_pool_chunk_size",
    "autocommit",
    "table_open_cache",
    "max_connections",
    "innodb_io_capacity_max",
    "require_secure_transport",
    "innodb_purge_batch_size",
];
/// Settings of plugins that are not loaded, and those that a server has under no option.
const NO_OPTION: [&str; 9] = [
    "innodb_redo_log_enabled",
    // Only where it was built with the library for it.
    "innodb_numa_interleave",
    "rpl_semi_sync",
    "have_ssl",
    "autocommit",
    "transaction_isolation",
    "tx_isolation",
    "foreign_key_checks",
    "unique_checks",
];
/// Options of programs that have no variable of that name.
const NO_VARIABLE: [&str; 3] = ["ssl", "binlog_row_event_max_size", "transaction_isolation"];

fn check(flavour: Flavour, version: &str, defaults: &BTreeMap<String, String>, exempt: bool) {
    let version = Version::parse(version).unwrap();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for setting in settings() {
        let name = setting.name.as_str();
        let span = setting.span(flavour, &version);
        let Some(found) = defaults.get(name) else {
            let excused = exempt && NO_OPTION.iter().any(|front| name.starts_with(front));
            if span.is_some() && !excused {
                wrong.push(format!("{name}: the server does not have it"));
            }
            continue;
        };
        match span {
            None if exempt && NO_VARIABLE.contains(&name) => {}
            None => wrong.push(format!("{name}: the server has it, and the data say no")),
            Some(span) => {
                let Some(default) = &span.default else { continue };
                if exempt && HELP_DIFFERS.contains(&name) {
                    continue;
                }
                // From 18 on initdb turns them on, and the server itself would not.
                if name == "data_checksums" && version >= Version::parse("18").unwrap() {
                    continue;
                }
                compared += 1;
                if !same_setting(default, found) {
                    wrong.push(format!("{name}: {default} in the data, {found} in the server"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{flavour} {version}:\n{}", wrong.join("\n"));
    assert!(compared > 50, "{flavour} {version}: only {compared} were compared");
}

fn check_program(binary: &ServerBinary) {
    let catalogue = Catalogue::ask(binary, &ServerUser::choose()).unwrap();
    let defaults = catalogue
        .names()
        .map(|name| (name.to_owned(), catalogue.default_value(name).unwrap().to_owned()))
        .collect();
    check(binary.flavour, &binary.version.to_string(), &defaults, true);
}

/// The programs are asked and not started, which takes no second each.
#[test]
fn defaults_of_every_program() {
    for server in fetched("defaults_of_every_program") {
        check_program(&server.binary);
    }
}

/// Options without a variable: the programs that are older than those in the data have others.
#[test]
fn options_of_every_program() {
    for server in fetched("options_of_every_program") {
        let binary = &server.binary;
        let version = Version::parse(&binary.version.to_string()).unwrap();
        if version < Version::parse("5.7").unwrap() {
            continue;
        }
        let catalogue = Catalogue::ask(binary, &ServerUser::choose()).unwrap();
        let is_known = |name: &str| {
            catalogue.description(name).is_some() || catalogue.default_value(name).is_some()
        };
        let single =
            options_without_variable(binary.flavour, &version).filter(|name| !name.contains('*'));
        let unknown: Vec<_> = single.filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{} does not take {unknown:?}", server.name);
    }
}

/// The sandbox names them in its errors, and may not use what is known here.
#[test]
fn counterparts_are_the_same_in_both_places() {
    for (one, other) in COUNTERPARTS {
        for (name, wanted) in [(one, other), (other, one)] {
            let setting = truetps_knowledge::find_setting(name).unwrap();
            assert!(
                setting.counterparts.iter().any(|found| found == wanted),
                "{name} has no counterpart {wanted}"
            );
        }
    }
}

#[test]
fn defaults_and_contexts_of_postgresql() {
    let Some(server) =
        PostgresServer::start("defaults_and_contexts_of_postgresql", &PostgresOptions::default())
    else {
        return;
    };
    let mut client = server.connect().unwrap();
    let version = client.query_value("SHOW server_version").unwrap().unwrap();
    for (name, unit) in postgres_units() {
        let found = client
            .query_value(&format!("SELECT unit FROM pg_settings WHERE name = '{name}'"))
            .unwrap();
        assert_eq!(found.as_deref(), Some(unit), "{name}");
    }
    let mut defaults = BTreeMap::new();
    for row in client.query("SELECT name, boot_val, context FROM pg_settings").unwrap().rows {
        let [name, default, context] = row.try_into().unwrap();
        let (name, context): (String, String) = (name.unwrap(), context.unwrap());
        let expected = match context.as_str() {
            "postmaster" => Changeability::Restart,
            "sighup" => Changeability::Reload,
            "internal" => Changeability::NewDatadir,
            _ => Changeability::Dynamic,
        };
        let span = truetps_knowledge::find_setting(&name).and_then(|setting| {
            setting.span(Flavour::Postgresql, &Version::parse(&version).unwrap())
        });
        if let Some(span) = span {
            assert_eq!(span.change, expected, "{name}: {context}");
        }
        defaults.insert(name, default.unwrap_or_default());
    }
    check(Flavour::Postgresql, &version, &defaults, false);
}
