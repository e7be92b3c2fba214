//! Two servers as they were installed: what explains their throughput stands before what merely
//! differs.
//!
//! The captures were taken from servers with only the paths of their files set; paths and
//! identities are left out.

use std::path::Path;

use truetps_inspect::side_of_path;
use truetps_knowledge::{SettingsSide, Version, diff, options_without_variable};

fn captured(name: &str) -> SettingsSide {
    side_of_path(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name), None)
        .unwrap()
}

#[test]
fn the_binlog_is_why_mysql_5_7_and_8_0_differ() {
    let (old, new) = (captured("mysql-5.7.22.json"), captured("mysql-8.0.15.json"));
    assert!(old.settings.len() > 400 && new.settings.len() > 400);
    let found = diff(&old, &new);
    let first: Vec<_> = found.shown().take(5).map(|difference| difference.name.as_str()).collect();
    // Then defaults that have changed. What one version merely has, at its default, stands behind
    // all of them.
    assert_eq!(
        first,
        [
            "log_bin",
            "sync_binlog",
            "innodb_max_dirty_pages_pct",
            "innodb_autoinc_lock_mode",
            "innodb_flush_neighbors"
        ]
    );
    let sync = found.shown().nth(1).unwrap();
    assert_eq!(sync.same_but_for.as_deref(), Some("log_bin"));
    assert!(found.counts().1 >= 1 && found.counts().0 + found.counts().1 == found.shown().count());
    assert_eq!((sync.a.value.as_deref(), sync.b.value.as_deref()), (Some("1"), Some("1")));
    assert_eq!(sync.a.without_effect.as_deref(), Some("log_bin is OFF"));
    assert_eq!(sync.b.without_effect, None);
    // Flushed with fsync in both: the old one says so with nothing.
    assert!(found.shown().all(|difference| difference.name != "innodb_flush_method"));
}

/// The servers start with these lines, and their captures have no variable of these names.
#[test]
fn lines_that_a_server_takes_raise_no_alarm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.cnf");
    let lines = "user=mysql\nsymbolic-links=0\ndefault-time-zone=+00:00\nplugin-load-add=x.so\nskip-host-cache\n";
    std::fs::write(&path, format!("[mysqld]\n{lines}sync_binlog=0\n")).unwrap();
    for name in ["mysql-5.7.22.json", "mysql-8.0.15.json"] {
        let server = captured(name);
        let version = Version::parse(server.version.as_deref().unwrap()).unwrap();
        for option in options_without_variable(server.flavour.unwrap(), &version) {
            assert!(!server.settings.contains_key(option), "{name} shows {option}");
        }
        let found = diff(&side_of_path(&path, Some(&server)).unwrap(), &server);
        assert_eq!(
            found.shown().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["sync_binlog"],
            "{name}"
        );
        assert!(found.a.notes.is_empty(), "{:?}", found.a.notes);
    }
}
