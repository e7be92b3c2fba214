//! Every workload through the whole program, on a real server. No test asserts a figure.

use crate::common::{Place, SMALL_REDO, has_server, reason_of, with_small_redo};

/// Runs a trial of a third of a second with the arguments, and checks that it is evidence.
fn check(place: &Place, args: &[&str]) {
    let ran = place.run(args);
    assert!(matches!(ran.code, Some(0 | 3)), "{args:?}: {:?}\n{}", ran.code, ran.stderr);
    let trial = place.run_json("trial-0001");
    assert_eq!(trial["validity"]["state"], "valid", "{args:?}: {trial}");
    let count = |name: &str| trial["measured"][name].as_u64().unwrap();
    assert!(count("ok") > 0 && count("failed") * 100 <= count("ok"), "{args:?}: {trial}");
}

fn run(place: &Place, flags: &[&str]) {
    let mut args =
        vec!["run", "--connections", "3", "--warm-up", "0.1", "--measure", "0.5", SMALL_REDO];
    args.extend(flags);
    check(place, &args);
}

#[test]
fn every_built_in_workload_runs() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let small = ["--tables", "2", "--table-rows", "500"];
    let with = |flags: &[&str]| run(&place, &[flags, &small].concat());
    with(&["insert"]);
    with(&["bulk-insert", "--rows-per-insert", "10", "--text-protocol"]);
    with(&["update-index", "--distribution", "pareto:h=0.1"]);
    with(&["update-non-index", "--distribution", "zipfian:scrambled=true", "--text-protocol"]);
    run(&place, &["hot-row", "--hot-rows", "2"]);
}

#[test]
fn every_built_in_workload_of_several_statements_runs() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let with = |flags: &[&str]| run(&place, &[flags, &["--table-rows", "5000"]].concat());
    with(&["delete-insert"]);
    with(&["delete-insert", "--key", "random", "--text-protocol"]);
    with(&["delete-insert", "--key", "auto", "--distribution", "latest"]);
    with(&["read-write", "--mix", "point_selects=2", "--mix", "range_size=10"]);
}

#[test]
fn a_load_without_transactions_is_no_evidence() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    // Aria has no transactions, and so none that InnoDB counts.
    let engine = ["--set=enforce_storage_engine=Aria", "--set=sql_mode="];
    let ran = place.run(
        &[&["run", "insert", "-c=2", "--measure=1", "--warm-up=0", SMALL_REDO], &engine[..]]
            .concat(),
    );
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let trial = place.run_json("trial-0001");
    let reason = reason_of(&trial);
    assert!(
        reason.starts_with("the server counted 0 transactions that write, and the clients had "),
        "{reason}"
    );
    assert!(trial["measured"]["ok"].as_u64().unwrap() > 0, "what was measured is kept: {trial}");
}

/// Two tables, one of which refers to the other, and one transaction on both.
const CUSTOM: &str = include_str!("../plans/orders.toml");

#[test]
fn a_custom_workload_runs_from_its_plan() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("orders.toml", &with_small_redo(CUSTOM));
    check(&place, &["sweep", "./orders.toml"]);
    assert_eq!(
        place.run_json("trial-0002")["validity"]["state"],
        "valid",
        "the tables were refilled"
    );
}

/// A shipped plan in one block of short trials, on few connections.
fn shortened(plan: &str) -> String {
    let whole = plan.split_once("[quick]").map_or(plan, |(whole, _)| whole);
    let short = |line: &str| match line.split_once(" = ").map(|(key, _)| key) {
        Some("blocks") => "blocks = 1\naa_pair = false\n".to_owned(),
        Some("measure_s") => "measure_s = 0.5\n".to_owned(),
        Some("warm_up_s") => "warm_up_s = 0.1\n".to_owned(),
        Some("connections") => "connections = [5]\n".to_owned(),
        _ => format!("{line}\n"),
    };
    whole.lines().map(short).collect()
}

/// Levels of a finished trial of the newest experiment, and whether it is evidence.
fn levels(place: &Place, trial: u32) -> (serde_json::Value, bool) {
    let trial = place.run_json(&format!("trial-{trial:04}"));
    let ok = trial["measured"]["ok"].as_u64().unwrap_or(0);
    (trial["configuration"].clone(), trial["validity"]["state"] == "valid" && ok > 0)
}

#[test]
fn the_plan_mtls_runs_on_its_generated_table() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write(
        "mtls.toml",
        &with_small_redo(
            &shortened(include_str!("../../../../plans/mtls.toml")).replace("[1, 2, 0]", "[1]"),
        ),
    );
    check(&place, &["sweep", "./mtls.toml"]);
    let plan = std::fs::read_to_string(place.latest().join("plan.toml")).unwrap();
    assert!(plan.contains("[workload.table]") && plan.contains("varchars = 2"), "{plan}");
    let again = place.run(&["report", place.latest().to_str().unwrap(), "--full"]);
    assert!(
        again.stdout.contains("table, prepared statements; 1 table of 0 rows"),
        "{}",
        again.stdout
    );
}

#[test]
fn the_plan_hot_row_leaves_out_what_means_nothing() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write(
        "hot-row.toml",
        &with_small_redo(&shortened(include_str!("../../../../plans/hot-row.toml"))),
    );
    check(&place, &["sweep", "./hot-row.toml"]);
    let seen: Vec<_> = (1..=3).map(|number| levels(&place, number)).collect();
    assert!(seen.iter().all(|(_, is_evidence)| *is_evidence), "{seen:?}");
    assert!(
        seen.iter().all(|(levels, _)| levels["log_bin"] == true || levels["sync_binlog"] == 0),
        "{seen:?}"
    );
    assert!(!place.latest().join("trial-0004").exists());
    let again = place.run(&["report", place.latest().to_str().unwrap(), "--full"]);
    assert!(
        again.stdout.contains("sql, text protocol; 1 table, created by the plan's SQL"),
        "{}",
        again.stdout
    );
}

#[test]
fn the_plan_hot_rows_varies_the_rows_on_one_table() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let plan = shortened(include_str!("../../../../plans/hot-rows.toml"))
        .replace("[1, 10, 100, 1000]", "[1, 70]");
    place.write("hot-rows.toml", &with_small_redo(&plan.replace("log_bin = [false, true]\n", "")));
    check(&place, &["sweep", "./hot-rows.toml"]);
    let seen: Vec<_> = (1..=2).map(|number| levels(&place, number)).collect();
    assert!(seen.iter().all(|(_, is_evidence)| *is_evidence), "{seen:?}");
    let again = place.run(&["report", place.latest().to_str().unwrap(), "--full"]);
    assert!(
        again.stdout.contains("1 table of 70 rows") && again.stdout.contains("hot_rows"),
        "{}",
        again.stdout
    );
}

#[test]
fn the_plan_primary_key_varies_the_key_on_one_table() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    let plan = shortened(include_str!("../../../../plans/primary-key.toml"));
    let plan = plan.replace("innodb_buffer_pool_size = [\"64M\", \"1G\"]\n", "");
    place.write(
        "primary-key.toml",
        &with_small_redo(&plan.replace("table_rows = 1_000_000", "table_rows = 2_000")),
    );
    check(&place, &["sweep", "./primary-key.toml"]);
    let mut seen = Vec::new();
    for number in 1..=3 {
        let (levels, is_evidence) = levels(&place, number);
        assert!(is_evidence, "{levels}");
        let profile = &place.run_json(&format!("trial-{number:04}"))["profile"];
        let share = |name: &str| profile[name].as_f64().unwrap();
        assert!(profile["transactions"] == 20_000 && profile["writes_per_tx"] == 2.0, "{profile}");
        seen.push((
            levels["key"].as_str().unwrap().to_owned(),
            share("explicit_key_share"),
            share("deleted_key_share"),
        ));
    }
    seen.sort_by(|one, other| one.0.cmp(&other.0));
    let expect = [("auto", 0.0, 0.0), ("deleted", 1.0, 1.0), ("random", 1.0, 0.0)];
    assert_eq!(seen, expect.map(|(key, explicit, deleted)| (key.to_owned(), explicit, deleted)));
}

/// A second INSERT of the same row, or of an index, would fail: what makes the tables is sent once,
/// and its rows come back from copies.
const TWO_TABLES: &str = r#"
name = "two-tables"
about = "a test"
[workload]
sql = ["INSERT INTO sold (what) VALUES (1)", "UPDATE goods SET cnt = cnt - 1 WHERE id = 1; -- the end;\n"]
create = [
    "CREATE TABLE `goods` (id INT PRIMARY KEY, cnt INT); CREATE TABLE sold (id INT AUTO_INCREMENT PRIMARY KEY, what INT)",
    "INSERT INTO goods VALUES (1, 1000000); CREATE INDEX what ON sold (what)",
]
commit_every = 3
protocol = "prepared"
[load]
warm_up_s = 0.1
measure_s = 0.5
[factors]
connections = [3]
[design]
blocks = 2
aa_pair = false
"#;

#[test]
fn statements_of_a_plan_work_on_tables_of_their_own() {
    if !has_server() {
        return;
    }
    let place = Place::with_templates();
    place.write("two-tables.toml", &with_small_redo(TWO_TABLES));
    check(&place, &["sweep", "./two-tables.toml"]);
    assert!(levels(&place, 2).1, "the tables were refilled");
    let measured = &place.run_json("trial-0002")["measured"];
    let count = |name: &str| measured[name].as_u64().unwrap();
    // Those that the phase began or ended with may lack some.
    assert!(
        count("statements") * 10 > count("ok") * 45,
        "BEGIN, three statements, COMMIT: {measured}"
    );
    let wrong = TWO_TABLES.replace("TABLE sold", "TABLE shop.sold");
    place.write("wrong.toml", &wrong);
    let ran = place.run(&["plan", "check", "./wrong.toml"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("without `shop.`"), "{}", ran.stderr);
}
