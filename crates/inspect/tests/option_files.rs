//! Option files, read as the server on the other side would read them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use truetps_inspect::side_of_path;
use truetps_knowledge::{Side, diff};
use truetps_record::Flavour;

fn server(flavour: Flavour, version: &str) -> Side {
    Side { flavour: Some(flavour), version: Some(version.to_owned()), is_complete: true, ..Side::default() }
}

/// The file beside a server: one of its values, all notes, and the verdict.
fn read(text: &str, name: &str, like: &Side) -> (String, Vec<String>, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.cnf");
    fs::write(&path, text).unwrap();
    let side = side_of_path(&path, Some(like)).unwrap();
    let verdict = diff(&side, like).a.durability.unwrap().sentence;
    (side.settings[name].value.clone(), side.notes, verdict)
}

#[test]
fn a_mysql_passes_over_groups_of_mariadb() {
    let text = "[mysqld]\nsync_binlog=1\n[mariadb]\nsync_binlog=7\n";
    let (value, notes, _) = read(text, "sync_binlog", &server(Flavour::Mysql, "8.0.36"));
    assert_eq!((value.as_str(), notes.len()), ("1", 1));
    assert!(notes[0].contains("[mariadb]") && notes[0].contains("only a MariaDB"), "{notes:?}");
    let (value, notes, _) = read(text, "sync_binlog", &server(Flavour::Mariadb, "10.11.19"));
    assert_eq!((value.as_str(), notes.len()), ("7", 0));
}

#[test]
fn a_binlog_that_is_called_off_is_on() {
    let mysql = server(Flavour::Mysql, "9.7.4");
    let (value, notes, verdict) = read("[mysqld]\nlog_bin=OFF\nsync_binlog=0\n", "log_bin", &mysql);
    assert!(value == "ON" && notes[0].contains("turns the binlog on"), "{value} {notes:?}");
    assert!(verdict.contains("a power cut can lose the last group"), "{verdict}");
    let (value, notes, verdict) = read("[mysqld]\nskip-log-bin=1\nsync_binlog=0\n", "log_bin", &mysql);
    assert_eq!((value.as_str(), notes.len()), ("OFF", 0));
    assert!(verdict.ends_with("no binlog, so no replica"), "{verdict}");
}

#[test]
fn what_is_skipped_with_a_value_is_off() {
    let mysql = server(Flavour::Mysql, "8.0.36");
    let (value, _, verdict) = read("[mysqld]\nskip-innodb-doublewrite=1\n", "innodb_doublewrite", &mysql);
    assert_eq!(value, "OFF");
    assert!(verdict.contains("torn pages"), "{verdict}");
}
