//! Option files, read as the server on the other side would read them.

use std::fs;

use truetps_inspect::side_of_path;
use truetps_knowledge::{SettingsSide, diff};
use truetps_record::Flavour;

fn server(flavour: Flavour, version: &str) -> SettingsSide {
    SettingsSide {
        flavour: Some(flavour),
        version: Some(version.to_owned()),
        is_complete: true,
        ..SettingsSide::default()
    }
}

/// The file beside a server: one of its values, all notes, and the verdict.
fn read(text: &str, name: &str, like: &SettingsSide) -> (String, Vec<String>, String) {
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
    let (value, notes, verdict) =
        read("[mysqld]\nskip-log-bin=1\nsync_binlog=0\n", "log_bin", &mysql);
    assert_eq!((value.as_str(), notes.len()), ("OFF", 0));
    assert!(verdict.ends_with("no binlog, so no replica"), "{verdict}");
}

#[test]
fn what_is_skipped_with_a_value_is_off() {
    let mysql = server(Flavour::Mysql, "8.0.36");
    let (value, _, verdict) =
        read("[mysqld]\nskip-innodb-doublewrite=1\n", "innodb_doublewrite", &mysql);
    assert_eq!(value, "OFF");
    assert!(verdict.contains("torn pages"), "{verdict}");
}

/// One of PostgreSQL against a MySQL says nothing of MySQL's settings, which have defaults that it
/// does not name.
#[test]
fn a_file_of_the_other_family_is_not_judged_by_it() {
    let compared = |text: &str, like: &SettingsSide| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, text).unwrap();
        let side = side_of_path(&path, Some(like)).unwrap();
        [diff(&side, like), diff(like, &side)]
    };
    let unsafe_file =
        "fsync = off\nsynchronous_commit = off\nshared_buffers = 128MB\nmax_connection = 7\n";
    let (mysql, postgres) = (server(Flavour::Mysql, "8.0.36"), server(Flavour::Postgresql, "15.8"));
    for (text, like) in
        [(unsafe_file, &mysql), ("[mysqld]\nsync_binlog=0\n[mysqld-15.8]\nx=1\n", &postgres)]
    {
        let [found, turned] = compared(text, like);
        assert_eq!((&found.a.durability, &turned.b.durability), (&None, &None), "{text}");
        for notes in [&found.b.notes, &turned.b.notes] {
            assert!(notes.last().unwrap().contains("need not mean the same"), "{notes:?}");
        }
        let said =
            found.a.notes.iter().chain(&turned.b.notes).any(|note| note.contains("did you mean"));
        assert!(!said, "{:?}", found.a.notes);
    }
    assert!(
        compared(unsafe_file, &mysql)[0].b.notes[0]
            .starts_with("B is of the MySQL family, and A of PostgreSQL")
    );
    let [judged, _] = compared(unsafe_file, &postgres);
    assert!(
        judged.a.durability.unwrap().sentence.contains("can damage"),
        "by its own family it is"
    );
    assert_eq!(judged.b.notes, [""; 0]);
}

/// The mark that some editors put before the first line.
#[test]
fn a_capture_and_an_option_file_with_a_mark() {
    let dir = tempfile::tempdir().unwrap();
    let capture = r#"{"schema_version": 1, "kind": "truetps-capture", "tool_version": "1", "captured_at": "2026",
        "server": {"flavour": "mysql", "version": "8.0.36", "version_text": "8.0.36", "chosen_settings": []},
        "variables": {"sync_binlog": {"value": "1"}}}"#;
    for (name, text) in [("one.json", capture), ("my.cnf", "[mysqld]\nsync_binlog = 1\n")] {
        let path = dir.path().join(name);
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
        let side = side_of_path(&path, None).unwrap();
        assert_eq!(side.settings["sync_binlog"].value, "1", "{name}");
    }
}
