//! Texts of files and names in folders of other users: none begins a line of the output.

use std::fs;

use super::odd_folders::BEFORE_PROBE;
use crate::common::{Place, copy_folder};

const NAME: &str = "x\nEVIL=1\n";

/// Each line that truetps prints, on stdout or stderr.
fn lines(place: &Place, args: &[&str]) -> Vec<String> {
    let ran = place.run(args);
    let lines: Vec<_> = ran.stdout.lines().chain(ran.stderr.lines()).map(str::to_owned).collect();
    assert!(
        lines.iter().any(|line| line.contains("EVIL=1")),
        "{args:?}: the text is shown: {lines:?}"
    );
    lines
}

fn check(place: &Place, args: &[&str]) {
    let lines = lines(place, args);
    assert!(!lines.iter().any(|line| line.starts_with("EVIL")), "{args:?}: {lines:#?}");
}

/// The server's user may write any page of state, and give it any name.
#[test]
fn names_and_versions_of_preallocated_binlogs_are_in_one_line() {
    let place = Place::new();
    let datadir = place.path().join("data");
    fs::create_dir(&datadir).unwrap();
    let mut page = vec![0; 4096];
    page[..8].copy_from_slice(b"TTPSPREA");
    page[8] = 1;
    page[512..520].copy_from_slice(b"8\nEVIL=1");
    fs::write(datadir.join("binlog.prealloc"), &page).unwrap();
    check(&place, &["prealloc", "status", "data"]);
    fs::rename(datadir.join("binlog.prealloc"), datadir.join(format!("{NAME}.prealloc"))).unwrap();
    for command in ["status", "pause", "resume"] {
        check(&place, &["prealloc", command, "data"]);
    }
    fs::write(datadir.join("other.prealloc"), &page).unwrap();
    check(&place, &["prealloc", "status", "data"]);
}

#[test]
fn what_a_plan_says_about_itself_is_no_line_of_the_answer() {
    let place = Place::new();
    let run = place.path().join("run");
    copy_folder(BEFORE_PROBE.as_ref(), &run);
    let plan = run.join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(
        &plan,
        text.replace("What does a flush cost?", "What?\\nEVIL=1\\nAnswer    all is well"),
    )
    .unwrap();
    for args in
        [&["report", "run"][..], &["report", "run", "--full"], &["report", "run", "--format", "md"]]
    {
        check(&place, args);
        let answers = lines(&place, args).iter().filter(|line| line.starts_with("Answer")).count();
        assert!(answers <= 1, "{args:?}: {answers}");
    }
}

#[test]
fn names_in_errors_begin_no_line() {
    let place = Place::new();
    for args in [["report", NAME], ["stalls", NAME], ["merge", NAME]] {
        check(&place, &args);
    }
}
