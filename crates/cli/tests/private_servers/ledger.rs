//! The cost ledger of real servers: a line means the same whatever version it is of.

use serde_json::Value;
use truetps_testkit::every_postgres;

use crate::common::{Place, SMALL_WAL};

fn line<'a>(ledger: &'a Value, key: &str) -> &'a Value {
    let lines = ledger["lines"].as_array().unwrap();
    lines.iter().find(|line| line["key"] == key).unwrap_or_else(|| panic!("{key}: {ledger}"))
}

#[test]
fn pages_and_syncs_of_every_postgres() {
    for binary in every_postgres("pages_and_syncs_of_every_postgres") {
        let (place, basedir) = (Place::with_templates(), binary.basedir.display().to_string());
        let load = [
            "run",
            "insert",
            "--table-rows=500",
            "-c=2",
            "--warm-up=1",
            "--measure=3",
            "--format=json",
        ];
        let set = ["--basedir", &basedir, "--set", "wal_sync_method=open_datasync", SMALL_WAL];
        let report: Value =
            serde_json::from_str(&place.good(&[&load[..], &set].concat()).stdout).unwrap();
        let ledger = &report["trials"][0]["ledger"];
        let (written, created) =
            (line(ledger, "pages_written_per_tx"), line(ledger, "pages_created_per_tx"));
        // Sessions make the table grow, and write those pages themselves.
        if binary.version.major >= 16 {
            assert!(
                written["source"]
                    .as_str()
                    .unwrap()
                    .contains("(including writes that extended files)"),
                "{written}"
            );
            let (pages, created) =
                (written["per_tx"].as_f64().unwrap(), created["per_tx"].as_f64().unwrap());
            assert!(created > 0.0 && created <= pages, "{}: {created} of {pages}", binary.version);
        } else {
            // So few are not counted yet, and zero would be false.
            assert!(
                written["per_tx"].is_null() && written["absent"]["of"] == "page_steps",
                "{written}"
            );
            let answer = created["absent"]["answer"].as_str().unwrap();
            assert!(created["per_tx"].is_null() && answer.contains("pg_stat_io"), "{created}");
        }
        let syncs = line(ledger, "redo_syncs_per_tx");
        assert!(syncs["per_tx"].is_null(), "each write is a sync: {syncs}");
        let absent = &syncs["absent"];
        if binary.version.major >= 14 {
            assert_eq!(
                (&absent["setting"], &absent["value"]),
                (&"wal_sync_method".into(), &"open_datasync".into())
            );
        } else {
            assert!(
                absent["answer"].as_str().unwrap().contains("pg_stat_wal"),
                "{}: {syncs}",
                binary.version
            );
        }
    }
}
