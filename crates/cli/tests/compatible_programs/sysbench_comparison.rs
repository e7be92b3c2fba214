//! `truetps compare` of runs of scripts: what was different, as it is seen on the first screen.

use std::fs;

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use super::sysbench_recording::{json, number, run};
use crate::common::{Place, Ran};
use crate::support::{ACCOUNT, Owned, PASSWORD};

const COMPARISON_SCHEMA: &str = include_str!("../../../../docs/reference/comparison.schema.json");

/// Case 4: the row that is inserted has the key of the row that was just deleted, or one of the
/// server's own.
fn delete_and_insert(row: &str) -> String {
    format!(
        "local tables = require('tables')
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  local id = sysbench.rand.uniform(1, 1000) + 1000 * sysbench.tid
  con:query('BEGIN')
  con:query('DELETE FROM ' .. tables[1] .. ' WHERE id=' .. id)
  con:query('INSERT INTO ' .. tables[1] .. {row})
  con:query('COMMIT')
end
"
    )
}

fn compared(place: &Place, a: &str, b: &str) -> (Ran, Value) {
    let document = place.run(&["compare", a, b, "--format", "json"]);
    let document: Value =
        serde_json::from_str(&document.stdout).unwrap_or_else(|_| panic!("{}", document.stderr));
    let schema = serde_json::from_str(COMPARISON_SCHEMA).unwrap();
    assert_eq!(crate::schema_check::violations(&schema, &document), Vec::<String>::new());
    (place.run(&["compare", a, b, "--full"]), document["comparisons"][0].clone())
}

/// It has the line and the statements.
fn check_first_screen(place: &Place) {
    let short = place.run(&["compare", "a/latest", "b/latest"]).stdout;
    let work = short.split("Work      ").nth(1).unwrap_or_else(|| panic!("{short}"));
    let work = work.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(work.starts_with("script: A \"") && work.contains(", B \""), "{short}");
    assert!(
        work.contains("INSERT INTO goodsN(id, k) VALUES(?, ?): A 1.00, B none a transaction"),
        "{short}"
    );
    assert!(
        work.contains("INSERT INTO goodsN(k) VALUES(?): A none, B 1.00 a transaction"),
        "{short}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one journey")]
fn one_line_of_two_scripts_of_one_name_is_what_was_different() {
    let Some(binary) = mariadb("one_line_of_two_scripts_of_one_name") else { return };
    let owned = Owned::start(&binary, &[]);
    owned.execute(&[
        "CREATE DATABASE truetps_goods",
        "CREATE TABLE truetps_goods.goods1 (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT)",
        "INSERT INTO truetps_goods.goods1 SELECT seq, 1 FROM truetps_goods.seq_1_to_2000",
    ]);
    let place = Place::new();
    let port = format!("--mysql-port={}", owned.port);
    let (user, password) =
        (format!("--mysql-user={ACCOUNT}"), format!("--mysql-password={PASSWORD}"));
    let flags = [
        "--mysql-host=127.0.0.1",
        &port,
        &user,
        &password,
        "--mysql-db=truetps_goods",
        "--threads=2",
    ];
    place.write("tables.lua", "return { 'goods1' }");
    let rows = ["' (id, k) VALUES (' .. id .. ', 7)'", "' (k) VALUES (7)'"];
    for (side, row) in ["a", "b"].into_iter().zip(rows) {
        fs::create_dir(place.path().join(side)).unwrap();
        place.write(&format!("{side}/shop.lua"), &delete_and_insert(row));
        let script = format!("{side}/shop.lua");
        let runs = format!("--runs={side}");
        let more = ["--time=0", "--events=400", "--rand-seed=3", &runs];
        let ran = run(&place, &script, &[&flags[..], &more].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    }
    let (text, document) = compared(&place, "a/latest", "b/latest");
    let section = text.stdout.split("What was different").nth(1).unwrap();
    let first = section
        .find("-  con:query('INSERT INTO ' .. tables[1] .. ' (id, k) VALUES (' .. id .. ', 7)')");
    let second = section.find("+  con:query('INSERT INTO ' .. tables[1] .. ' (k) VALUES (7)')");
    let sent = section.find("none  1.00  INSERT INTO goodsN(k) VALUES(?)");
    assert!(first.is_some() && first < second && second < sent, "{}", text.stdout);
    assert!(section.contains("1.00  none  INSERT INTO goodsN(id, k) VALUES(?, ?)"), "{section}");
    assert!(text.stdout.contains("Caution   the workloads differ"), "{}", text.stdout);
    assert!(!section.contains("module"), "the module is the same: {section}");
    check_first_screen(&place);
    let scripts = &document["scripts"];
    assert_eq!(scripts["texts"].as_array().unwrap().len(), 1, "{scripts}");
    assert_eq!(scripts["statements"].as_array().unwrap().len(), 2, "{scripts}");
    assert_eq!(document["conditions"][0]["what"], "script");
    let markdown = place.run(&["compare", "a/latest", "b/latest", "--format", "md"]).stdout;
    assert!(
        markdown.contains("```diff\n")
            && markdown.contains("| 1.00 | none | INSERT INTO goodsN(id, k)"),
        "{markdown}"
    );

    // The folder has what ran, and what it did.
    let record = json(&place.path().join("a/latest/trial-0001/script.json"));
    assert_eq!(record["script"]["text"], delete_and_insert(rows[0]));
    assert_eq!(record["modules"][0]["text"], "return { 'goods1' }");
    let shapes = record["statements"]["shapes"].as_array().unwrap();
    let delete =
        shapes.iter().find(|shape| shape["sql"] == "DELETE FROM goodsN WHERE id=?").unwrap();
    assert_eq!((number(delete, "count"), number(delete, "errors")), (400, 0));
    assert!(delete["time_ms"].as_f64().unwrap() > 0.0, "{delete}");
    let trial = json(&place.path().join("a/latest/trial-0001/run.json"));
    let script = &trial["script"];
    let done = number(script, "reads") + number(script, "writes") + number(script, "other");
    assert_eq!((done, number(script, "writes")), (1600, 800), "{trial}");
    let hash = &script["sha256"].as_str().unwrap()[..12];
    place.good(&["report", "a/latest"]);
    let page = fs::read_to_string(place.path().join("a/latest/report.html")).unwrap();
    assert!(page.contains(&format!("a/shop.lua, of sysbench, sha256 {hash}")), "{hash}");
    let lines = place.good(&["report", "a/latest", "--format", "sysbench"]).stdout;
    assert!(lines.contains("        write:                           800\n"), "{lines}");
    assert!(lines.contains("Threads fairness:"), "{lines}");
    check_folders_of_the_older_version(&place);
}

fn check_folders_of_the_older_version(place: &Place) {
    for side in ["a", "b"] {
        fs::remove_file(place.path().join(side).join("latest/trial-0001/script.json")).unwrap();
        let (text, document) = compared(place, "a/latest", "b/latest");
        let words: Vec<_> = text.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains("not recorded by the older version"), "{}", text.stdout);
        assert_eq!(document["scripts"]["texts"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn options_and_modules_of_scripts_are_distinguished() {
    let place = Place::new();
    place.write("same.lua", "require('part') function event() work() end");
    let record = |runs: &str, part: &str, flags: &[&str]| {
        place.write("part.lua", part);
        let ran = run(
            &place,
            "./same.lua",
            &[&["--events=10", &*format!("--runs={runs}")], flags].concat(),
        );
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    };
    record("a", "function work() end", &["--rows=5", "--my-secret=x1"]);
    record("b", "function work() end", &["--rows=6", "--my-secret=x2"]);
    record("c", "function work() return nil end", &["--rows=5"]);
    let (text, _) = compared(&place, "a/latest", "b/latest");
    assert!(text.stdout.contains("--rows  5  6"), "{}", text.stdout);
    assert!(
        !text.stdout.contains("secret") && !text.stdout.contains("-function"),
        "{}",
        text.stdout
    );
    let (text, document) = compared(&place, "a/latest", "c/latest");
    assert!(
        text.stdout.contains("-function work() end") && text.stdout.contains("module part"),
        "{}",
        text.stdout
    );
    assert_eq!(document["scripts"]["texts"][0]["what"], "module part");
    // The script has the same name on both sides.
    assert!(text.stdout.contains("Caution   the workloads differ"), "{}", text.stdout);
}
