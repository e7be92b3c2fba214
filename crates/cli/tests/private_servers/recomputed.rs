//! The figures of answers against `tests/recompute`, a program in Python that knows the documented
//! files and rules, and shares no code with this one.

use std::path::Path;

use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, with_small_redo};

const SWEEP: &str = r#"
name = "recomputed"
about = "a test"
[workload]
sql = ["INSERT INTO line (n) VALUES (1)"]
create = "CREATE TABLE line (id INT AUTO_INCREMENT PRIMARY KEY, n INT)"
[load]
warm_up_s = 0.2
measure_s = 1.2
[factors]
connections = [1, 4]
innodb_flush_log_at_trx_commit = [1, 2]
[design]
blocks = 3
"#;

/// Compares each figure of the newest run, and returns how many there were.
fn recompute(place: &Place) -> u32 {
    let answer = place.good(&["report", "latest", "--format=json"]).stdout;
    let document = place.path().join("answer.json");
    std::fs::write(&document, answer).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/recompute/recompute.py");
    let (folder, document) = (place.latest(), document.display().to_string());
    let args = [script, folder.to_str().unwrap(), &document];
    let ran = place.program(Path::new("python3"), &args).output();
    let ran = ran.unwrap_or_else(|error| panic!("python3: {error}"));
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    said.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn each_figure_of_an_answer_is_in_its_files() {
    let Some(binary) = mariadb("each_figure_of_an_answer_is_in_its_files") else { return };
    let basedir = binary.path.display().to_string();
    let place = Place::with_templates();
    place.write("recomputed.toml", &with_small_redo(SWEEP));
    let swept = place.run(&["sweep", "./recomputed.toml", "--basedir", &basedir]);
    // 3: measured, and nothing decided, which a busy machine may be too noisy for.
    assert!(matches!(swept.code, Some(0 | 3)), "{}", swept.stderr);
    let of_sweep = recompute(&place);
    let load = ["run", "insert", "--table-rows=500", "--rate=200", "-c", "4", "--warm-up=0.2"];
    let more = ["--measure=3", crate::common::SMALL_REDO, "--basedir", &basedir];
    place.good(&[&load[..], &more].concat());
    let of_rate = recompute(&place);
    assert!(of_sweep + of_rate >= 500, "{of_sweep} and {of_rate} figures");
}
