//! Runs of `truetps slap` and `truetps mtls` that no plan could ask for: their folders are read all
//! the same, and no experiment is made from them.

use truetps_testkit::mysql_family::mariadb;

use crate::common::{Place, Ran};
use crate::support::Owned;

struct Bench {
    owned: Owned,
    place: Place,
}

impl Bench {
    fn start(test: &str) -> Option<Self> {
        let binary = mariadb(test)?;
        Some(Self { owned: Owned::start(&binary, &[]), place: Place::new() })
    }

    fn slap(&self, args: &[&str]) -> Ran {
        let socket = format!("--socket={}", self.owned.server.socket().display());
        let own = ["slap", "--no-defaults", &socket, "--user=root", "--create-schema=precious"];
        self.place.run(&[&own, args].concat())
    }

    /// The text of `truetps report` on the newest folder.
    fn report(&self, ran: &Ran) -> String {
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let report = self.place.run(&["report", "--full"]);
        assert_eq!(report.code, Some(0), "{}{}", report.stdout, report.stderr);
        report.stdout
    }
}

#[test]
fn whatever_was_run_can_be_reported() {
    let Some(bench) = Bench::start("whatever_was_run_can_be_reported") else { return };
    let select = "--query=/* group=1 */ SELECT * FROM letters";
    let check = |args: &[&str], expect: &[&str]| {
        let text = bench.report(&bench.slap(args));
        for part in expect.iter().chain(&["Durability: a commit of InnoDB tables survives"]) {
            assert!(text.contains(part), "{args:?}: {text}\nshould contain\n{part}");
        }
    };
    check(
        &[select, "--number-of-queries=20"],
        &["existing tables; 20 transactions", "1 of 1 valid; 1 block"],
    );
    check(
        &[select, "--concurrency=4,4", "--iterations=2"],
        &["4 of 4 valid; 4 blocks in the order of the command line", "existing tables; to its end"],
    );
    let transaction = "--query=BEGIN; UPDATE letters SET line = 'uno' WHERE id = 1; COMMIT";
    check(&[transaction, "--delimiter=;", "--concurrency=2"], &["1 of 1 valid"]);
    check(
        &[select, "--time=0.1", "--seed=9223372036854775807"],
        &["seed 9223372036854775807", "0.1 s"],
    );
    check(&[select, "--commit=20000", "--number-of-queries=40"], &["1 of 1 valid"]);
    check(
        &[select, "--rate=1e7", "--number-of-queries=40"],
        &["40 transactions; open loop: 10 000 000 tps"],
    );
    let experiment = std::fs::read(bench.place.latest().join("experiment.json")).unwrap();
    let experiment: serde_json::Value = serde_json::from_slice(&experiment).unwrap();
    let address = experiment["server_address"].as_str().unwrap();
    assert!(address.starts_with("mysql://root@/") && address.contains("?socket=/"), "{address}");
}

#[test]
fn no_experiment_is_made_from_a_record() {
    let Some(bench) = Bench::start("no_experiment_is_made_from_a_record") else { return };
    let files = || std::fs::read_dir(bench.place.path().join("runs/latest/")).unwrap().count();
    let refused = |program: &str| {
        let (plan, before) = ("runs/latest/plan.toml", files());
        for args in
            [&["plan", "check", plan][..], &["sweep", plan], &["sweep", "--resume", "runs/latest"]]
        {
            let ran = bench.place.run(args);
            assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
            let said = format!(
                "is the record of a run of `truetps {program}`: it cannot be run as an experiment"
            );
            assert!(ran.stderr.contains(&said), "{args:?}: {}", ran.stderr);
            let hint = format!(
                "repeat the command line of `truetps {program}`, or write a plan with the workload \
                 `sql`"
            );
            assert!(ran.stderr.contains(&hint), "{args:?}: {}", ran.stderr);
            assert_eq!(files(), before, "nothing is added to the folder");
        }
    };
    bench.report(&bench.slap(&["--query=SELECT * FROM letters"]));
    refused("slap");

    let port = format!("--port={}", bench.owned.port);
    bench.owned.execute(&[
        "CREATE USER mtls@'%' IDENTIFIED BY 'x'",
        "GRANT ALL ON precious.* TO mtls@'%'",
    ]);
    let mtls = |action: &str| {
        let own = [
            "mtls",
            &port,
            "--user=mtls",
            "--password=x",
            "--database=precious",
            "--ints=2",
            "--rows=40",
            action,
        ];
        bench.place.run(&own)
    };
    assert_eq!(mtls("create").code, Some(0));
    let text = bench.report(&mtls("insert"));
    assert!(text.contains("an existing table; 40 transactions"), "{text}");
    refused("mtls");
}

/// The last transaction of a schedule is as short as it comes out, and none is too many.
#[test]
fn a_rate_keeps_to_the_number_of_queries() {
    let Some(bench) = Bench::start("a_rate_keeps_to_the_number_of_queries") else { return };
    bench.owned.execute(&["CREATE TABLE precious.t (a INT)"]);
    let mut rows = 0;
    for (queries, commit) in [("1000", "1"), ("1050", "10"), ("157", "10")] {
        let (number, commit) =
            (format!("--number-of-queries={queries}"), format!("--commit={commit}"));
        let args = [
            "--query=INSERT INTO t VALUES (1)",
            &number,
            &commit,
            "--rate=20000/s",
            "--concurrency=9",
        ];
        bench.report(&bench.slap(&args));
        rows += queries.parse::<u64>().unwrap();
        let found =
            bench.owned.admin().query_value("SELECT COUNT(*) FROM precious.t").unwrap().unwrap();
        assert_eq!(found, rows.to_string(), "{args:?}");
    }
}
