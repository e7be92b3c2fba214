//! Power cuts at each step of a server's work on its binlogs, with and without preallocation: no
//! acknowledged row is missing in table or binlog, the server starts, its binlogs are whole, and
//! GTIDs continue.
//!
//! `TRUETPS_TEST_CUTS` is the number of cuts at each step, in each order, with no, half and all of
//! the unflushed sectors surviving. Without it there is one cut at each step, with half of them, on
//! a server that runs.

use serde_json::Value;
use truetps_record::{Flavour, PREALLOC};
use truetps_testkit::for_each_preallocation_server;
use truetps_testkit::mysql_family::{FetchedServer, chosen_server};

use crate::common::{Place, has_disks};
use crate::support::redo_setting;

const USUAL: [&str; 2] = ["mariadb-10.11", "mysql-9.7"];

macro_rules! loses_nothing {
    ($test:ident $name:literal) => {
        #[test]
        fn $test() {
            let Some(server) = chosen_server(stringify!($test), $name, &USUAL) else { return };
            if has_disks(stringify!($test)) {
                power_cuts(&server);
            }
        }
    };
}

for_each_preallocation_server!(loses_nothing);

/// A binlog ends every few commits. Data files are flushed by a method with which MySQL flushes
/// its doublewrite files, too: with its default, `O_DIRECT`, a cut can tear a page and its copy,
/// and the server does not start again, with and without preallocation.
fn plan(server: &FetchedServer, levels: &str) -> String {
    let gtids = match server.binary.flavour {
        Flavour::Mysql => {
            "gtid_mode = \"ON\"\nenforce_gtid_consistency = \"ON\"\ninnodb_flush_method = \
             \"fsync\"\n"
        }
        _ => "",
    };
    let redo = redo_setting(&server.binary);
    format!(
        "name = \"cuts\"\nabout = \"Is anything lost?\"\ndisk = \"sata-ssd\"\n[workload]\nname = \
         \"insert\"\n\
         [server.settings]\ninnodb_flush_log_at_trx_commit = 1\nlog_bin = true\nsync_binlog = 1\n\
         max_binlog_size = 16384\n{redo} = \"32M\"\n{gtids}[factors]\nprealloc = \
         [{levels}]\nconnections = [8]\n"
    )
}

fn power_cuts(server: &FetchedServer) {
    let place = Place::with_templates();
    let cuts = std::env::var("TRUETPS_TEST_CUTS").ok();
    let (levels, survivals, orders): (_, &[&str], &[&[&str]]) = match &cuts {
        None => ("\"ahead\"", &["0.5"], &[&["--live"]]),
        Some(_) => ("0, \"ahead\", 2", &["0", "0.5", "1"], &[&["--live"], &[]]),
    };
    let plan = place.write("cuts.toml", &plan(server, levels));
    for survival in survivals {
        for order in orders {
            let basedir = server.basedir.to_str().unwrap();
            let words = [
                "crash",
                plan.to_str().unwrap(),
                "--basedir",
                basedir,
                "--format=json",
                "--kinds=power",
            ];
            let more =
                ["--at=all", "--torn", survival, "--crashes", cuts.as_deref().unwrap_or("1")];
            let ran = place.run(&[&words[..], &more, order].concat());
            let document: Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
            let own_faults = check(&document, &format!("{} {survival} {order:?}", server.name));
            assert_eq!(ran.code, Some(i32::from(own_faults > 0)), "{}", ran.stderr);
        }
    }
}

/// MariaDB closes its last binlog, and says in it that it did, before the commits of InnoDB are
/// durable: after a power cut in between it finds prepared transactions, and does not start. It
/// does so without preallocation as well.
const FAULT_OF_MARIADB: &str =
    "prepared transactions! It means that server was not shut down properly";

/// Returns how many crashes met the server's own fault.
fn check(document: &Value, label: &str) -> usize {
    let mut seen = std::collections::BTreeSet::new();
    let mut own_faults = 0;
    for crash in
        document["crashes"].as_array().unwrap().iter().filter(|crash| crash["role"] == "cell")
    {
        seen.insert((crash["configuration"][PREALLOC].to_string(), crash["step"].to_string()));
        let problem = crash["table_problem"].as_str();
        if crash["step"] == "stop"
            && problem.is_some_and(|problem| problem.contains(FAULT_OF_MARIADB))
        {
            own_faults += 1;
            continue;
        }
        let binlog = &crash["binlog"];
        let counts = [&crash["lost"], &crash["unexpected"], &crash["holes"]];
        let differences =
            ["binlog_only", "table_only", "torn_files", "gtid_gaps"].map(|key| &binlog[key]);
        let is_right = counts.into_iter().chain(differences).all(|count| *count == 0);
        assert!(is_right && problem.is_none(), "{label}: {crash}");
        assert!(
            crash["acknowledged"].as_u64() > Some(0) && binlog["rows"].as_u64() > Some(0),
            "{label}: {crash}"
        );
    }
    assert!(seen.len() >= 8 && !seen.iter().any(|(_, step)| step == "null"), "{label}: {seen:?}");
    own_faults
}
