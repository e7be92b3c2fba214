//! Managed and distributed servers, as a MariaDB that shows another version: what an ordinary
//! account reads of them.

use std::fs;

use serde_json::Value;
use truetps_testkit::mysql_family::mariadb;

use crate::common::Place;
use crate::support::{Owned, run_with_password, short_run, valid_trial};

#[test]
fn a_managed_server_is_named_in_report_and_capture() {
    let Some(binary) = mariadb("a_managed_server_is_named_in_report_and_capture") else { return };
    let owned = Owned::start(&binary, &[("version", "10.11.19-MariaDB-azure")]);
    let place = Place::new();
    let dsn = owned.tcp_dsn();
    let ran = run_with_password(&place, &short_run("insert", &dsn, &["-c=2"]));
    valid_trial(&place, &ran);
    assert!(ran.stdout.contains("mariadb 10.11.19 (Azure Database) at "), "{}", ran.stdout);
    let full = place.good(&["report", "--full"]).stdout;
    assert!(full.contains("burst credits"), "{full}");
    let page = fs::read_to_string(place.latest().join("report.html")).unwrap();
    assert!(page.contains("the server is Azure Database"), "no platform on the page");
    let document = json(&place.good(&["report", "--format", "json"]).stdout);
    assert_eq!(document["platform"]["name"], "Azure Database", "{document}");
    assert!(
        document["platform"]["caution"].as_str().is_some_and(|text| text.contains("burst credits")),
        "{document}"
    );
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_probe_names_a_managed_server() {
    let Some(binary) = mariadb("a_probe_names_a_managed_server") else { return };
    for (version, expect) in
        [("10.11.19-MariaDB-azure", Some("Azure Database")), ("10.11.19-MariaDB", None)]
    {
        let owned = Owned::start(&binary, &[("version", version)]);
        let place = Place::new();
        let probe = |format: &str| {
            let dsn = owned.socket_dsn();
            place
                .good(&["probe", &dsn, "--duration=1s", "--interval=200ms", "--format", format])
                .stdout
        };
        let document = json(&probe("json"));
        assert_eq!(document["platform"]["name"].as_str(), expect, "{document}");
        assert_eq!(document["run"]["platform"].as_str(), expect, "{document}");
        let text = probe("text");
        assert_eq!(text.contains(" (Azure Database), watched from "), expect.is_some(), "{text}");
        assert_eq!(
            text.contains("Platform  the server is Azure Database"),
            expect.is_some(),
            "{text}"
        );
    }
}

/// TiDB shows settings of InnoDB, which do nothing there.
#[test]
fn settings_that_do_nothing_are_named_before_the_load() {
    let Some(binary) = mariadb("settings_that_do_nothing_are_named_before_the_load") else {
        return;
    };
    let owned = Owned::start(
        &binary,
        &[("version", "8.0.11-TiDB-v8.5.0"), ("innodb_flush_log_at_trx_commit", "0")],
    );
    let place = Place::new();
    let dsn = owned.socket_dsn();
    let ran =
        place.run(&short_run("insert", &dsn, &["-c=2", "--set=innodb_flush_log_at_trx_commit=2"]));
    valid_trial(&place, &ran);
    let warned = "innodb_flush_log_at_trx_commit: it has no meaning on TiDB";
    assert!(ran.stderr.contains(warned), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("(TiDB) at ") && ran.stdout.contains("no setting of TiDB decides it"),
        "{}",
        ran.stdout
    );
}
