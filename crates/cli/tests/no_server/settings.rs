//! Defaults of the user: variables, `truetps.toml`, and the user's file.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Uid, chownat};
use rustix::process::geteuid;

use crate::common::{Place, Ran, copy_folder};

/// Runs in a folder below the place, with these variables.
fn run_in(place: &Place, folder: &str, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let here = place.path().join(folder);
    fs::create_dir_all(&here).unwrap();
    let mut command = place.command(args);
    command
        .current_dir(here)
        .env_remove("TRUETPS_SANDBOX_DIR")
        .env_remove("TRUETPS_RUNS")
        .envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// The line of a setting in `config show --origin`, its columns with one space between them.
fn origin(place: &Place, variables: &[(&str, &str)], setting: &str) -> String {
    let Ran { code, stdout, stderr } =
        run_in(place, "project/inner", variables, &["config", "show", "--origin"]);
    assert_eq!(code, Some(0), "{stderr}");
    let line =
        stdout.lines().find(|line| line.starts_with(&format!("{setting} "))).unwrap_or_default();
    let words: Vec<_> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    words.join(" ").replace(place.path().canonicalize().unwrap().to_str().unwrap(), "DIR")
}

#[test]
fn a_value_comes_from_the_nearest_place() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("project")).unwrap();
    fs::create_dir_all(place.path().join(".config/truetps")).unwrap();
    let users =
        "sandbox_dir = '/nvme'\nruns = '/users'\nworkers = 3\ndsn = 'mysql://u:secret@h/'\n";
    place.write(".config/truetps/config.toml", users);
    place.write("project/truetps.toml", "# of the project\nruns = 'r'\nworkers = 2\n");
    let check = |variables: &[(&str, &str)], setting: &str, expect: &str| {
        assert_eq!(origin(&place, variables, setting), format!("{setting} {expect}"));
    };
    check(&[], "format", "text default");
    check(&[], "sandbox_dir", "/nvme DIR/.config/truetps/config.toml:1");
    check(&[], "runs", "DIR/project/r DIR/project/truetps.toml:2");
    check(&[], "workers", "2 DIR/project/truetps.toml:3");
    check(&[("TRUETPS_WORKERS", "1")], "workers", "1 TRUETPS_WORKERS");
    check(&[("TRUETPS_RUNS", "")], "runs", "DIR/project/r DIR/project/truetps.toml:2");
    check(&[("TRUETPS_BASEDIR", "/opt/m")], "dsn", "a private server default");
    check(&[("TRUETPS_CONFIG", "")], "workers", "half of the cores, at least one default");
    // A password that a file has all the same is not shown.
    assert!(origin(&place, &[], "dsn").contains("u@h"), "{}", origin(&place, &[], "dsn"));
    assert!(!origin(&place, &[], "dsn").contains("secret"));
    // And the commands get them: a typed flag is above all.
    let report =
        |args: &[&str]| run_in(&place, "project/inner", &[], &[&["report"], args].concat()).stderr;
    assert!(report(&[]).contains("project/r/latest"), "{}", report(&[]));
    for command in [&["report"][..], &["compare", "latest", "latest"]] {
        let ran = run_in(
            &place,
            "project/inner",
            &[("TRUETPS_RUNS", ""), ("TRUETPS_SANDBOX_DIR", "")],
            command,
        );
        assert!(ran.stderr.contains("project/r/latest"), "{command:?}: {}", ran.stderr);
    }
    assert!(
        report(&["--runs", "typed"]).contains("typed/latest"),
        "{}",
        report(&["--runs", "typed"])
    );
}

#[test]
fn config_show_prints_a_file_of_settings() {
    let place = Place::new();
    let shown = place.good(&["config", "show"]).stdout;
    assert!(shown.contains("# workers: half of the cores"), "{shown}");
    place.write("truetps.toml", &(shown + "measure = 2.5\npin = 'auto'\n"));
    let again = place.good(&["config", "show"]).stdout;
    assert!(again.contains("\nmeasure = 2.5\n") && again.contains("\npin = \"auto\"\n"), "{again}");
}

#[test]
fn a_broken_file_is_refused_before_anything_starts() {
    let place = Place::new();
    place.write("truetps.toml", "\nsandbox-dir = '/x'\n");
    let words = [
        "truetps.toml:2: unknown setting `sandbox-dir` (did you mean `sandbox_dir`?)",
        "hint: `truetps help ",
    ];
    for line in [&["run", "insert"][..], &["config", "show"], &["report"], &["slap", "-a"]] {
        let Ran { code, stderr, .. } = place.run(line);
        assert_eq!(code, Some(2), "{line:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{line:?}: {stderr}");
        }
    }
    // What explains the file works with it.
    for line in [
        &["help", "reference/config"][..],
        &["--version"],
        &["run", "--help"],
        &["completions", "bash"],
    ] {
        place.good(line);
    }
}

#[test]
fn a_server_of_the_settings_gives_way_to_one_that_is_named() {
    let place = Place::new();
    place.write("truetps.toml", "server = 'mine'\n");
    let refused = |args: &[&str], words: &str| {
        let Ran { code, stderr, .. } = place.run(args);
        assert!(code == Some(2) && stderr.contains(words), "{args:?}: {stderr}");
    };
    for line in [&["run", "insert"][..], &["sweep", "--quick"], &["plan", "check", "durability"]] {
        refused(line, "`mine`");
    }
    refused(&["run", "insert", "--basedir", "/nowhere"], "/nowhere");
    refused(&["run", "insert", "--dsn", "mysql://127.0.0.1:1/"], "127.0.0.1:1");
    refused(&["run", "insert", "--server", "other"], "`other`");
}

#[test]
fn a_file_of_another_user_is_ignored() {
    if !geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let path = place.write("truetps.toml", "basedir = '/tmp/evil'\n");
    chown(&path, Some(65_534), None).unwrap();
    let Ran { code, stdout, stderr } = place.run(&["config", "show"]);
    assert!(
        code == Some(0) && stderr.contains("truetps.toml: ignored, belongs to another user"),
        "{stderr}"
    );
    assert!(!stdout.contains("evil"), "{stdout}");
    // The owner of the link chooses the file.
    chown(&path, Some(0), None).unwrap();
    fs::rename(&path, place.path().join("of_root.toml")).unwrap();
    symlink("of_root.toml", &path).unwrap();
    chownat(CWD, &path, Some(Uid::from_raw(65_534)), None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let ran = place.run(&["config", "show"]);
    assert!(
        ran.stderr.contains("ignored, belongs to another user") && !ran.stdout.contains("evil"),
        "{}",
        ran.stderr
    );
}

/// A plan may have statements that run programs of the server's user, or of the client's.
#[test]
fn an_experiment_of_another_user_is_resumed_only_by_its_name() {
    if !geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let recorded =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1/interrupted");
    fs::create_dir(place.path().join("runs")).unwrap();
    copy_folder(&recorded, &place.path().join("runs/theirs"));
    symlink("theirs", place.path().join("runs/latest")).unwrap();
    for foreign in ["runs/theirs", "runs/theirs/plan.toml", "runs/theirs/experiment.json"] {
        let path = place.path().join(foreign);
        chown(&path, Some(65_534), None).unwrap();
        for command in ["sweep", "explain", "pool"] {
            place.refused(
                &[command, "--resume"],
                &["belongs to another user", "name the folder after --resume"],
            );
        }
        chown(&path, Some(0), None).unwrap();
    }
    let ours = place.run(&["sweep", "--resume", "--dsn=mysql://127.0.0.1:1/"]);
    assert!(!ours.stderr.contains("another user"), "{}", ours.stderr);
}
