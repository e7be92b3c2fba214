//! What the program brings along for users: pages of documentation, manual pages, completions of
//! shells.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{Place, Ran};

#[test]
fn help_shows_commands_and_pages() {
    let place = Place::new();
    let said = |args: &[&str]| place.good(args).stdout;
    assert!(said(&["help", "exit-codes"]).starts_with("Exit codes\n===="));
    assert!(said(&["help", "topics"]).contains("  run-folder "));
    assert_eq!(said(&["help", "run"]), said(&["run", "--help"]));
    assert_eq!(said(&["help", "server", "add"]), said(&["server", "add", "--help"]));
    assert_eq!(said(&["help"]), said(&["--help"]));
    assert!(said(&["help", "sysbench"]).contains("`truetps sysbench --help` lists the options"));
    place.refused(
        &["help", "metod"],
        &["unknown command or topic `metod` (did you mean `method`?)", "help topics"],
    );
    place.refused(&["help", "guides/probe"], &["unknown command or topic `guides/probe`"]);
    // A pipe that is closed early, and a page at a width of its own.
    let mut narrow = place.command(&["help", "method"]);
    let page: Ran = narrow.env("COLUMNS", "60").output().unwrap().into();
    assert!(
        page.stdout
            .lines()
            .filter(|line| !line.starts_with("    "))
            .all(|line| line.chars().count() <= 60)
    );
}

#[test]
fn each_command_has_a_manual_page() {
    let place = Place::new();
    place.good(&["man-pages", "man"]);
    let names: BTreeSet<_> = fs::read_dir(place.path().join("man"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in [
        "truetps.1",
        "truetps-run.1",
        "truetps-server-add.1",
        "truetps-help.1",
        "truetps-man-pages.1",
        "truetps-config-show.1",
    ] {
        assert!(names.contains(name), "{names:?}");
    }
    assert!(!names.contains("truetps-server-help.1"), "{names:?}");
    let main = fs::read_to_string(place.path().join("man/truetps.1")).unwrap();
    for words in
        [".SH ENVIRONMENT", "TRUETPS_RUNS", ".SH FILES", "\\&./truetps.toml", "truetps\\-run(1)"]
    {
        assert!(main.contains(words), "{words}: {main}");
    }
}

#[test]
fn shells_are_answered_with_what_there_is() {
    let place = Place::new();
    let script = place.good(&["completions", "bash"]).stdout;
    assert!(script.contains("TRUETPS_COMPLETE=\"bash\""), "{script}");
    fs::create_dir_all(place.path().join("runs/first")).unwrap();
    place.write("runs/first/experiment.json", "{}");
    fs::create_dir_all(place.home().join("named/mine")).unwrap();
    fs::write(place.home().join("named/mine/server.json"), "{}").unwrap();
    let completed = |words: &[&str]| {
        let mut command = place.command(&[&["--"], words].concat());
        let command = command
            .env("TRUETPS_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        let Ran { code, stdout, stderr } = command.env("_CLAP_IFS", "\n").output().unwrap().into();
        assert!(code == Some(0) && stderr.is_empty(), "{words:?}: {stderr}");
        stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["truetps", "sweep", "dur"]), ["durability", "durability-hdd"]);
    assert_eq!(completed(&["truetps", "run", "insert", "--server", ""]), ["mine"]);
    assert_eq!(completed(&["truetps", "report", "runs/f"])[0], "runs/first");
    assert_eq!(completed(&["truetps", "report", "--format", "js"]), ["json", "jsonl"]);
    assert_eq!(completed(&["truetps", "help", "exit"]), ["exit-codes"]);
    // A broken file of settings says nothing at TAB.
    place.write("truetps.toml", "xyz");
    assert_eq!(completed(&["truetps", "sweep", "dur"]), ["durability", "durability-hdd"]);
    assert_eq!(completed(&["truetps", "report", "runs/f"])[0], "runs/first");
}

#[test]
fn a_variable_of_the_scripts_that_is_set_by_hand_is_an_error() {
    let place = Place::new();
    let ran: Ran = place.command(&["report"]).env("TRUETPS_COMPLETE", "1").output().unwrap().into();
    assert!(
        ran.code == Some(2) && ran.stderr.contains("TRUETPS_COMPLETE: unknown shell `1`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_version_says_what_was_built() {
    let place = Place::new();
    let version = env!("CARGO_PKG_VERSION");
    let short = place.good(&["-V"]).stdout;
    assert!(
        short.starts_with(&format!("truetps {version}")) && short.lines().count() == 1,
        "{short}"
    );
    let long = place.good(&["--version"]).stdout;
    for line in ["commit  ", "date    ", "target  ", "build   "] {
        assert!(long.contains(&format!("\n{line}")), "{long}");
    }
}
