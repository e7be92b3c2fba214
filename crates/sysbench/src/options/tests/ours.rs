use std::path::Path;
use std::time::Duration;

use truetps_plan::ProbeSpec;
use truetps_record::Part;

use super::*;
use crate::rand::DistributionName;

fn ours(words: &[&str]) -> Ours {
    options(words, &[]).unwrap().settings.ours
}

#[test]
fn all_of_them_are_off_until_they_are_given() {
    let expected = Ours {
        lua_isolation: LuaIsolation::Auto,
        workers: None,
        percentiles: Vec::new(),
        latency_by_statement: false,
        errors_by_class: false,
        format: SysbenchFormat::Text,
        drain_timeout: Some(Duration::from_mins(1)),
        connect_timeout: Some(Duration::from_secs(10)),
        runs: Some("runs".into()),
        probe: ProbeSpec::default(),
        ui: false,
        dsn: None,
        part: Part::WHOLE,
        part_wait: Duration::from_mins(5),
        lua_memory_limit: None,
    };
    assert_eq!(ours(&[]), expected);
}

#[test]
fn all_of_them_can_be_given() {
    let all = ours(&[
        "--compat=1.1",
        "--lua-isolation=client",
        "--workers=4",
        "--percentiles=50,95,99,99.9",
        "--latency-by=statement",
        "--errors-by-class",
        "--report-format=json",
        "--drain-timeout=0",
        "--connect-timeout=2.5",
        "--runs=none",
        "--dsn=mysql://u@h/db",
        "--lua-memory-limit=64M",
        "--probe-interval=0.25",
        "--ui",
        "--part=1/4",
        "--part-wait=20",
        "--threads=4",
        "--rand-seed=3",
    ]);
    assert_eq!((all.lua_isolation, all.workers), (LuaIsolation::Client, Some(4)));
    assert_eq!(all.percentiles, [50.0, 95.0, 99.0, 99.9]);
    assert_eq!(
        (all.latency_by_statement, all.errors_by_class, all.format),
        (true, true, SysbenchFormat::Json)
    );
    assert_eq!((all.drain_timeout, all.connect_timeout), (None, Some(Duration::from_millis(2500))));
    assert_eq!(
        (all.runs, all.dsn, all.lua_memory_limit),
        (None, Some(b"mysql://u@h/db".to_vec()), Some(64 << 20))
    );
    assert_eq!((all.probe.interval_s, all.ui), (0.25, true));
    assert_eq!((all.part, all.part_wait), (Part { index: 1, of: 4 }, Duration::from_secs(20)));
    assert!(!ours(&["--probe-interval=0"]).probe.enabled);
    assert_eq!(ours(&["--lua-isolation=worker"]).lua_isolation, LuaIsolation::Worker);
}

#[test]
fn wrong_values_are_refused_with_what_would_be_right() {
    for (words, told) in [
        ("--compat=2", "Invalid value for the 'compat' option: '2' (1.0 or 1.1)"),
        (
            "--lua-isolation=x",
            "Invalid value for the 'lua_isolation' option: 'x' (auto, worker or client)",
        ),
        ("--workers=-1", "Invalid value for the 'workers' option: '-1'"),
        (
            "--workers=1025",
            "Invalid value for the 'workers' option: '1025' (1 to 1024, or 0 to leave it open)",
        ),
        (
            "--percentiles=0",
            "Invalid value for the 'percentiles' option: '0' (numbers over 0 and under 100",
        ),
        ("--percentiles=50,100", "Invalid value for the 'percentiles' option: '50,100'"),
        ("--latency-by=query", "Invalid value for the 'latency_by' option: 'query' (statement)"),
        (
            "--report-format=yaml",
            "Invalid value for the 'report_format' option: 'yaml' (text or json)",
        ),
        (
            "--drain-timeout=-1",
            "Invalid value for the 'drain_timeout' option: '-1' (seconds, or 0 to wait for ever)",
        ),
        ("--connect-timeout=x", "Invalid value for the 'connect_timeout' option: 'x' (seconds"),
        (
            "--lua-memory-limit=64X",
            "Invalid value for the 'lua_memory_limit' option: '64X' (bytes, such as 64M",
        ),
        ("--lua-memory-limit=K", "Invalid value for the 'lua_memory_limit' option: 'K'"),
        (
            "--part=4/4",
            "Invalid value for the 'part' option: '4/4' (I/N, counted from 0, such as 0/4, or auto)",
        ),
        ("--part=0/2", "--part needs --rand-seed=N, the same in all parts"),
        ("--errors-by-class=x", "invalid option: --errors-by-class=x"),
        ("--latencyby=x", "invalid option: --latencyby=x"),
    ] {
        let found = options(&[words], &[]).unwrap_err().to_string();
        assert!(found.starts_with(told), "{words}: {found}");
        assert!(pass(&[words]).is_ok(), "{words}: a script may take the name");
    }
    let many = format!("--percentiles={}", "50,".repeat(33));
    assert!(options(&[&many], &[]).is_err());
}

#[test]
fn the_folder_of_runs_comes_from_the_environment_too() {
    let runs = |runs, words: &[&str]| {
        let env = TestEnv { runs, file: "runs = filed" };
        env.pass(words).unwrap().settings.unwrap().ours.runs
    };
    assert_eq!(runs(Some("elsewhere"), &[]).as_deref(), Some(Path::new("elsewhere")));
    assert_eq!(runs(Some("elsewhere"), &["--runs=here"]).as_deref(), Some(Path::new("here")));
    assert_eq!(
        runs(Some("elsewhere"), &["--config-file=file"]).as_deref(),
        Some(Path::new("filed"))
    );
    assert_eq!(runs(Some("none"), &[]), None);
    assert_eq!(runs(Some(""), &[]).as_deref(), Some(Path::new("runs")));
    let options =
        TestEnv { runs: Some("x"), ..TestEnv::default() }.pass(&[]).unwrap().finish(false).unwrap();
    assert_eq!((options.origin("runs"), options.was_typed("runs")), (Origin::Environment, false));
}

#[test]
fn a_dsn_is_in_place_of_the_options_of_a_server() {
    let told = |words: &[&str]| options(words, &[]).unwrap_err().to_string();
    assert_eq!(
        told(&["--dsn=x", "--mysql-host=h"]),
        "FATAL: --dsn cannot be used with --mysql-host"
    );
    assert_eq!(told(&["--dsn=x", "--pgsql-db=d"]), "FATAL: --dsn cannot be used with --pgsql-db");
    assert!(options(&["--dsn=x", "--mysql-ignore-errors=all", "--db-driver=pgsql"], &[]).is_ok());
    assert!(options(&["--dsn=", "--mysql-host=h"], &[]).is_ok());
    assert!(
        options(&["--dsn=x", "--mysql-host=h"], &[spec("dsn", OptionType::String, None)]).is_ok()
    );
}

#[test]
fn the_version_decides_defaults() {
    let first = |words: &[&str]| {
        let pass = pass(words).unwrap();
        (pass.compat, pass.settings.as_ref().unwrap().rand.kind)
    };
    assert_eq!(first(&[]), (SysbenchRelease::V1_0, DistributionName::Special));
    assert_eq!(first(&["--compat=1.0"]), (SysbenchRelease::V1_0, DistributionName::Special));
    assert_eq!(first(&["--compat=1.1"]), (SysbenchRelease::V1_1, DistributionName::Uniform));
    assert_eq!(
        first(&["--compat=1.1", "--rand-type=special"]),
        (SysbenchRelease::V1_1, DistributionName::Special)
    );
    assert_eq!(first(&["--compat=2"]), (SysbenchRelease::V1_0, DistributionName::Special));
}
