//! Adding, using and removing servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;

use truetps_record::Flavour;

use super::adding::Add;
use crate::error::{NamedError, SandboxError};
use crate::home::home_folder::Home;
use crate::named::{NamedServer, NamedServers, UNFINISHED, named_server};

pub(crate) fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let home = Home::open(Some(&dir.path().join("home"))).unwrap();
    (dir, home)
}

pub(crate) fn put(named: NamedServers<'_>, name: &str) -> NamedServer {
    let server = named_server(name, Flavour::Mysql, "8.0.36");
    let beside = named.home().make_named().unwrap().join(format!(".{name}{UNFINISHED}"));
    fs::create_dir(&beside).unwrap();
    named.folder(name).put(&server, &beside).unwrap();
    server
}

#[test]
fn a_broken_server_hides_no_other_one_and_can_be_removed() {
    let (_dir, home) = home();
    let named = NamedServers::of(&home);
    let whole = put(named, "whole");
    put(named, "broken");
    fs::write(named.folder("broken").path().join("server.json"), "{").unwrap();
    let listed = named.list().unwrap();
    assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["broken", "whole"]);
    assert!(listed[0].server.as_ref().unwrap_err().to_string().contains("server.json"));
    assert_eq!(named.get("whole").unwrap(), whole);
    assert!(matches!(named.get("wole"), Err(SandboxError::Named(NamedError::Unknown { .. }))));
    let hint = named.remove("broken", false).unwrap_err().hint();
    assert_eq!(
        hint.as_deref(),
        Some("`truetps server remove broken --force` removes it nevertheless")
    );
    named.remove("broken", true).unwrap();
    fs::write(named.folder("whole").path().join("instance.json"), "{").unwrap();
    assert!(named.remove("whole", false).unwrap_err().to_string().contains("instance.json"));
    named.remove("whole", true).unwrap();
    assert_eq!(fs::read_dir(home.named()).unwrap().count(), 0, "not even a lock");
}

#[test]
fn a_folder_of_the_user_is_neither_replaced_nor_removed() {
    let (_dir, home) = home();
    let named = NamedServers::of(&home);
    let precious = named.home().make_named().unwrap().join("a/tree.old/file");
    fs::create_dir_all(precious.parent().unwrap()).unwrap();
    fs::write(&precious, "").unwrap();
    let add = Add {
        name: "a",
        source: None,
        flavour: None,
        option_file: None,
        replace: true,
        stop: &AtomicBool::new(false),
    };
    let errors = [named.register(&add).unwrap_err(), named.remove("a", true).unwrap_err()];
    for error in errors {
        assert!(matches!(error, SandboxError::Named(NamedError::Foreign { .. })), "{error}");
    }
    assert!(precious.exists() && named.list().unwrap().is_empty());
}

#[test]
fn a_server_that_a_run_needs_stays() {
    let (_dir, home) = home();
    let named = NamedServers::of(&home);
    put(named, "a");
    let (_, one) = named.use_server("a").unwrap();
    let (_, two) = named.use_server("a").unwrap();
    drop(one);
    for force in [false, true] {
        let error = named.remove("a", force).unwrap_err();
        assert!(matches!(error, SandboxError::Named(NamedError::InUse { .. })), "{error}");
    }
    let add = Add {
        name: "a",
        source: None,
        flavour: None,
        option_file: None,
        replace: true,
        stop: &AtomicBool::new(false),
    };
    let error = named.register(&add).unwrap_err();
    assert!(matches!(error, SandboxError::Named(NamedError::InUse { .. })), "{error}");
    drop(two);
    named.remove("a", false).unwrap();
}

#[test]
fn a_tree_of_ours_is_no_source() {
    let (_dir, home) = home();
    let named = NamedServers::of(&home);
    put(named, "a");
    fs::create_dir(named.folder("a").path().join("tree")).unwrap();
    let add = Add {
        flavour: None,
        option_file: None,
        name: "b",
        source: Some(&named.folder("a").path().join("tree")),
        replace: false,
        stop: &AtomicBool::new(false),
    };
    let error = named.register(&add).unwrap_err();
    assert!(matches!(error, SandboxError::Named(NamedError::Inside { .. })), "{error}");
}
