//! The default text of every command fits one screen: 35 lines with what stderr adds, no wider than
//! the terminal.

use std::path::Path;

use truetps_report::display_width;

use crate::common::{Place, Ran, SMALL, SMALL_REDO, copy_folder, has_server, with_small_redo};

const LINES_MAX: usize = 35;
const FOLDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-1");

fn at_width(place: &Place, words: &[&str], columns: usize) -> Ran {
    let ran: Ran =
        place.command(words).env("COLUMNS", columns.to_string()).output().unwrap().into();
    assert!(!ran.stderr.contains("panicked"), "{words:?} at {columns}: {}", ran.stderr);
    ran
}

/// The answer is one screen. A path that the user chose may be longer than a line.
fn check(place: &Place, words: &[&str]) {
    for columns in [80, 100, 160] {
        let ran = at_width(place, words, columns);
        let lines = ran.stdout.lines().count() + ran.stderr.lines().count();
        assert!(
            lines <= LINES_MAX,
            "{words:?} at {columns}: {lines} lines\n{}{}",
            ran.stdout,
            ran.stderr
        );
        let is_wide = |line: &&str| display_width(line) > columns && !line.contains('/');
        let wide: Vec<_> = ran.stdout.lines().filter(is_wide).collect();
        assert!(wide.is_empty(), "{words:?} at {columns}: {wide:#?}");
        assert!(!ran.stdout.is_empty(), "{words:?}: {}", ran.stderr);
    }
    at_width(place, words, 40);
}

#[test]
fn commands_that_need_no_server() {
    let place = Place::with_templates();
    for folder in ["sweep", "sysbench", "interrupted"] {
        copy_folder(&Path::new(FOLDERS).join(folder), &place.path().join(folder));
    }
    place.write("a.cnf", &option_file("1"));
    place.write("b.cnf", &option_file("0"));
    let commands: [&[&str]; 10] = [
        &["report", "sweep"],
        &["report", "sysbench"],
        &["report", "interrupted"],
        &["stalls", "sweep"],
        &["compare", "sweep", "sysbench"],
        &["compare", "sysbench/trial-0001", "sysbench/trial-0001"],
        &["diff", "a.cnf", "b.cnf"],
        &["plan", "list"],
        &["disk", "list"],
        &["doctor"],
    ];
    for words in commands {
        let ran = place.run(words);
        if ran.code != Some(2) {
            check(&place, words);
        }
    }
}

/// Many settings that both know, with other values.
fn option_file(value: &str) -> String {
    let names = [
        "sync_binlog",
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "innodb_flush_neighbors",
        "innodb_adaptive_hash_index",
        "innodb_io_capacity",
        "innodb_lru_scan_depth",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_log_buffer_size",
        "innodb_read_io_threads",
        "innodb_write_io_threads",
        "innodb_spin_wait_delay",
        "max_connections",
        "table_open_cache",
    ];
    let lines = names.map(|name| format!("{name} = {value}\n"));
    format!("[mysqld]\n{}", lines.concat())
}

/// All that the screen leaves out is a flag away, and comes in the order of the documents.
#[test]
fn the_full_report_is_a_flag_away() {
    let place = Place::with_templates();
    copy_folder(&Path::new(FOLDERS).join("sweep"), &place.path().join("sweep"));
    place.write("a.cnf", &option_file("1"));
    place.write("b.cnf", &option_file("0"));
    let short = place.run(&["report", "sweep"]);
    assert!(short.stderr.contains("truetps report sweep --full"), "{}", short.stderr);
    let full = place.run(&["report", "sweep", "--full"]);
    for heading in
        ["Verdict  ", "Stalls  ", "Ledger  ", "Server  ", "Load  ", "Host  ", "What it means"]
    {
        assert!(full.stdout.contains(heading), "{heading}\n{}", full.stdout);
    }
    assert!(
        full.stdout.lines().count() > short.stdout.lines().count()
            && !full.stderr.contains("--full")
    );
    assert_eq!(full.code, short.code, "the answer decides the exit code");
    let differ = |more: &[&str]| place.run(&[&["diff", "a.cnf", "b.cnf"], more].concat()).stdout;
    assert!(differ(&["--full"]).contains("most likely to matter first"), "{}", differ(&["--full"]));
    assert!(differ(&[]).lines().count() < differ(&["--full"]).lines().count());
    assert!(differ(&[]).contains("Answer    Most likely to matter: "), "{}", differ(&[]));
}

#[test]
fn commands_on_a_server() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("small.toml", &with_small_redo(SMALL));
    let quick = ["--warm-up=0.1", "--measure=0.5", "--table-rows=500", SMALL_REDO];
    let with = |words: &[&'static str]| [words, &quick].concat();
    place.run(&["sweep", "small.toml", "--seed", "1"]);
    check(&place, &["report"]);
    check(&place, &["stalls"]);
    for words in [
        with(&["run", "insert", "--connections=2"]),
        with(&["run", "insert", "--connections=2", "--rate=100"]),
        with(&["run", "insert", "--connections=2", "--find-max", "--slo=p99<10s"]),
    ] {
        let ran = at_width(&place, &words, 80);
        assert!(ran.stdout.lines().count() + 5 <= LINES_MAX, "{words:?}\n{}", ran.stdout);
        check(&place, &["report"]);
    }
    place.good(&["server", "add", "watched"]);
    let (port, _) = place.start_on_a_port("watched");
    let dsn = format!("mysql://root@127.0.0.1:{port}");
    let probe = place.run(&["probe", "watched", "--duration=2s"]);
    assert!(
        probe.stdout.lines().count() <= LINES_MAX - 5,
        "{dsn}\n{}{}",
        probe.stdout,
        probe.stderr
    );
    assert!(
        probe.stdout.contains("Answer    In 2 s the server committed nothing"),
        "{}{}",
        probe.stdout,
        probe.stderr
    );
    check(&place, &["server", "list"]);
    place.run(&["server", "stop", "watched"]);
}
