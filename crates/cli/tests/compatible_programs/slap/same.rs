//! What is the same as in the original, seen beside it.

use std::path::Path;

use truetps_testkit::mysql_family::mariadb;

use crate::certificates::Certificates;
use crate::common::{Place, Ran};
use crate::slap::{Bench, ORIGINAL, Seen, lines, shape};
use crate::support::Owned;

#[test]
fn generated_tests_match_the_original() {
    let Some(bench) = Bench::start("generated_tests_match_the_original") else { return };
    for kind in ["mixed", "write", "read", "update", "key"] {
        for flags in [
            &["--auto-generate-sql-add-autoincrement"][..],
            &["--auto-generate-sql-guid-primary", "--auto-generate-sql-secondary-indexes=2"],
            &["-x", "2", "-y", "3:1", "--auto-generate-sql-unique-query-number=3"],
        ] {
            if kind == "key" && flags[0] == "-x" {
                continue;
            }
            let load = format!("--auto-generate-sql-load-type={kind}");
            let rest = [
                "--number-of-queries=40",
                "-c4",
                "--no-drop",
                "--auto-generate-sql-write-number=20",
            ];
            let args = [&["-a", &load], flags, &rest[..]].concat();
            let (ours, theirs) = (
                bench.ours(&[&args[..], &["--classic", "--probe-interval=0"]].concat()),
                bench.original(&args),
            );
            assert_eq!(ours.ran.code, Some(0), "{args:?}: {}{}", ours.ran.stdout, ours.ran.stderr);
            assert_eq!(lines(&ours.ran.stdout), lines(&theirs.ran.stdout), "{args:?}");
            assert_eq!(ours.rows, theirs.rows, "{args:?}");
            let without_use = |seen: &Seen| {
                let mut statements = seen.statements.clone();
                // The original reads the keys where it has no use for them, too.
                let skipped = ["mysqlslap", "USE`mysqlslap`", "SELECTidfromtN"];
                statements.retain(|sql, _| !skipped.contains(&sql.as_str()));
                statements
            };
            assert_eq!(without_use(&ours), without_use(&theirs), "{args:?}");
        }
    }
}

#[test]
fn tests_of_the_users_own_match_the_original() {
    let Some(bench) = Bench::start("tests_of_the_users_own_match_the_original") else { return };
    let create = "--create=create table t (a int);insert into t values (1)";
    for (flags, differs) in [
        (
            &["--query=insert into t values (2);select a from t", "-c3", "--number-of-queries=12"]
                [..],
            &[][..],
        ),
        (
            &[
                "--query=update t set a = a + 1",
                "-c2",
                "-i2",
                "--pre-query=select 10;select 11",
                "--post-query=select 12",
            ],
            &[],
        ),
        (
            &[
                "--query=insert into t values (3)",
                "-c2",
                "--number-of-queries=8",
                "--commit=2",
                "-e",
                "innodb",
            ],
            &["COMMIT"],
        ),
        (
            &[
                "--query=insert into t values (3)",
                "-c1,2",
                "--engine=innodb,memory:max_rows=99",
                "--init-command=select 7",
            ],
            &["selectN"],
        ),
    ] {
        let args = [&[create, "--delimiter=;"], flags].concat();
        let (ours, theirs) = (
            bench.ours(&[&args[..], &["--classic", "--probe-interval=0"]].concat()),
            bench.original(&args),
        );
        assert_eq!(ours.ran.code, Some(0), "{args:?}: {}", ours.ran.stderr);
        assert_eq!(lines(&ours.ran.stdout), lines(&theirs.ran.stdout), "{args:?}");
        let common = |seen: &Seen| {
            let mut statements = seen.statements.clone();
            statements.retain(|sql, _| {
                let is_schema = sql == "mysqlslap" || sql.contains("`mysqlslap`");
                !is_schema && !differs.contains(&sql.as_str()) && sql != "SETAUTOCOMMIT=N"
            });
            statements
        };
        assert_eq!(common(&ours), common(&theirs), "{args:?}");
    }
}

#[test]
fn refusals_match_the_original() {
    let Some(bench) = Bench::start("refusals_match_the_original") else { return };
    for args in [
        &["-a", "--query=select 1"][..],
        &["-a", "--create=create table t (a int)"],
        &["-a", "--auto-generate-sql-guid-primary", "--auto-generate-sql-add-autoincrement"],
        &["-a", "--auto-generate-sql-execute-number=3", "--number-of-queries=4"],
        &["-a", "--auto-generate-sql-load-type=key"],
        &["--frills"],
        &["-Z"],
        &["--auto"],
        &["-a", "--commit"],
        &["-q"],
        &["-a", "--commit=x"],
        &["-a", "--commit=-1"],
        &["-a", "--engine=none_such"],
        &["--query=select 1", "--create=creat table t (a int)"],
        &["--query=select 1", "--create=create table t (a int)", "--pre-query=frills"],
        &["-a", "--user=nobody_here"],
        &["-a", "--protocol=pigeon"],
        &["-a", "--frills=3"],
        &["-a", "--skip-frills=3"],
        &["-a", "--frills="],
        &["--conc"],
        &["--concurrency"],
        &["-a", "--verbose=3"],
        &["-a", "--skip-verbose"],
        &["-a", "-s5"],
        &["-a", "--silent=maybe"],
        &["-a", "--skip-password"],
        &["-a", "--skip-silent=0"],
        &["-a", "--loose-skip-x"],
        &["-a", "--loose-frills=3"],
        &["-a", "--skip-loose-frills"],
        &["-a", "--loose-skip-silent"],
        &["-a", "--NO_DROP=0"],
        &["-a", "--skip-sil"],
        &["-a", "--e=innodb"],
        &["-a", "--e=none_such"],
        &["-a", "--t=1"],
        &["-a", "--en=memory"],
        &["--c"],
        &["--co"],
        &["--d"],
        &["--p"],
        &["--pre"],
        &["--ss"],
        &["-a", "--commit="],
        &["-a", "--commit= "],
        &["-a", "--commit=K"],
        &["-a", "--protocol="],
        &["-a", "--protocol=Bogus"],
        &["-a", "--protocol=sock"],
    ] {
        let (ours, theirs) = (bench.ours(args), bench.original(args));
        let first = |ran: &Ran| {
            let text = ran.stderr.replace("mariadb-slap: ", "mysqlslap: ");
            // The original records no run.
            let line = text.lines().find(|line| !line.starts_with("truetps: recorded in "));
            line.unwrap_or_default().to_owned()
        };
        assert_eq!(
            (ours.ran.code, first(&ours.ran)),
            (theirs.ran.code, first(&theirs.ran)),
            "{args:?}"
        );
        assert_eq!(ours.ran.stdout.is_empty(), theirs.ran.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn the_way_to_the_server_matches_the_original() {
    let Some(bench) = Bench::start("the_way_to_the_server_matches_the_original") else { return };
    let (socket, port) = (bench.socket(), format!("--port={}", bench.owned.port));
    // Each line begins with the right socket. The owner's account is one of this host, whichever
    // way it comes.
    for (args, code) in [
        (&[port.as_str()][..], 0),
        (&["--port=1"], 1),
        (&["--port=1", &socket], 0),
        (&["--socket=/nowhere", &port], 0),
        (&["--protocol=socket", "--port=1"], 1),
        (&["--port=1", "--protocol=socket"], 0),
        (&["--protocol=tcp", &socket], 0),
        (&["--host=127.0.0.1", "--port=1", &socket], 1),
    ] {
        let args = [&["-a", "--silent"], args].concat();
        let (ours, theirs) = (bench.ours(&args), bench.original(&args));
        assert_eq!(
            (ours.ran.code, theirs.ran.code),
            (Some(code), Some(code)),
            "{args:?}: {}",
            ours.ran.stderr
        );
    }
}

/// What `--only-print` says, in its order.
fn printed(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.lines().map(shape).collect()
}

#[test]
fn only_print_prints_what_the_original_prints() {
    let Some(bench) = Bench::start("only_print_prints_what_the_original_prints") else { return };
    let own = [
        "--create=create table t (a int);insert into t values (1)",
        "--delimiter=;",
        "--query=select a from t",
    ];
    for args in [
        &["-a", "-i2", "-c1,2", "--number-of-queries=2", "--auto-generate-sql-write-number=3"][..],
        &[
            "-a",
            "-c1",
            "--no-drop",
            "--auto-generate-sql-execute-number=3",
            "-x2",
            "--auto-generate-sql-write-number=1",
        ],
        &[
            own[0],
            own[1],
            own[2],
            "-i2",
            "-c1,2",
            "-e",
            "innodb,memory:max_rows=3",
            "--pre-query=select 8",
        ],
        &[
            own[0],
            own[1],
            own[2],
            "--post-query=select 9",
            "--detach=1",
            "--number-of-queries=3",
            "--init-command=do 1",
        ],
        &[own[2], "-i2", "-c2"],
        &[
            "-a",
            "--auto-generate-sql-load-type=key",
            "--auto-generate-sql-guid-primary",
            "--number-of-queries=2",
        ],
    ] {
        let args = [args, &["--only-print"]].concat();
        assert_eq!(
            printed(&bench.ours(&args).ran),
            printed(&bench.original(&args).ran),
            "{args:?}"
        );
    }
    // One COMMIT less, and none of the connection that prepares.
    let args = [own[0], own[1], own[2], "--commit=2", "--number-of-queries=4", "--only-print"];
    let commits = |ran: &Ran| printed(ran).iter().filter(|sql| *sql == "COMMIT;").count();
    assert_eq!((commits(&bench.ours(&args).ran), commits(&bench.original(&args).ran)), (2, 3));
}

#[test]
fn verbose_messages_are_as_in_the_original() {
    let Some(bench) = Bench::start("verbose_messages_are_as_in_the_original") else { return };
    let own = ["--query=select 5", "--create=create table t (a int)"];
    for args in [
        &["-a", "-vv", "-i2", "-c1,2", "-e", "innodb,memory", "--number-of-queries=8"][..],
        &[
            "-a",
            "-vv",
            "--auto-generate-sql-load-type=key",
            "--auto-generate-sql-guid-primary",
            "--number-of-queries=8",
        ],
        &[own[0], own[1], "-vv", "-c2"],
    ] {
        let (ours, theirs) = (bench.ours(&[args, &["--classic"]].concat()), bench.original(args));
        assert_eq!(lines(&ours.ran.stdout), lines(&theirs.ran.stdout), "{args:?}");
    }
    let said = bench.ours(&[own[0], own[1], "-vvv", "-i2", "--classic"]).ran.stdout;
    let said: Vec<_> = said.lines().filter(|line| line.ends_with(';')).collect();
    let one = [
        "CREATE SCHEMA `mysqlslap`;",
        "create table t (a int);",
        "DROP SCHEMA IF EXISTS `mysqlslap`;",
    ];
    assert_eq!(said, [one, one].concat(), "each statement that is sent, except by clients");
}

#[test]
fn who_logs_in_is_who_runs_the_program() {
    let Some(bench) = Bench::start("who_logs_in_is_who_runs_the_program") else { return };
    let socket = bench.socket();
    let words = ["--no-defaults", socket.as_str(), "-a", "-pwrong"];
    let denied = |program: &str, words: &[&str]| {
        let mut command = bench.place.program(Path::new(program), words);
        let ran: Ran =
            command.env("USER", "another_user").env_remove("LOGNAME").output().unwrap().into();
        let name = ran
            .stderr
            .split("Access denied for user ")
            .nth(1)
            .and_then(|rest| rest.split('@').next());
        name.map_or_else(|| panic!("{}", ran.stderr), str::to_owned)
    };
    let ours = denied(env!("CARGO_BIN_EXE_truetps"), &[&["slap"], &words[..]].concat());
    assert_eq!(ours, denied(ORIGINAL, &[&words[..], &["--skip-ssl"]].concat()));
    assert_ne!(ours, "'another_user'");
    let no_name =
        denied(env!("CARGO_BIN_EXE_truetps"), &[&["slap"], &words[..], &["--user="]].concat());
    assert_eq!(no_name, ours);
}

#[test]
fn an_authority_that_is_named_must_have_signed_the_servers_certificate() {
    let test = "an_authority_that_is_named_must_have_signed_the_servers_certificate";
    let Some(binary) = mariadb(test) else { return };
    let place = Place::new();
    let certificates = Certificates::make(place.path());
    let path = |name: &str| certificates.path(name).display().to_string();
    let (cert, key) = (path("server.pem"), path("server.key"));
    let owned = Owned::start(&binary, &[("ssl_cert", &cert), ("ssl_key", &key)]);
    owned.execute(&["CREATE USER t@'%' REQUIRE SSL", "GRANT ALL ON *.* TO t@'%'"]);
    let port = format!("--port={}", owned.port);
    let run = |program: &str, word: &[&str], ca: &str| {
        let ca = format!("--ssl-ca={}", path(ca));
        let words = ["--no-defaults", "--host=127.0.0.1", port.as_str(), "--user=t", "-as", &ca];
        Ran::from(place.program(Path::new(program), &[word, &words[..]].concat()).output().unwrap())
    };
    for (ca, code) in [("ca.pem", Some(0)), ("other-ca.pem", Some(1))] {
        let ours = run(env!("CARGO_BIN_EXE_truetps"), &["slap"], ca);
        assert_eq!((ours.code, run(ORIGINAL, &[], ca).code), (code, code), "{ca}: {}", ours.stderr);
    }
}

#[test]
fn a_query_that_cannot_be_prepared_is_no_failed_connection() {
    let Some(bench) = Bench::start("a_query_that_cannot_be_prepared_is_no_failed_connection")
    else {
        return;
    };
    let seen = bench.ours(&[
        "--prepared",
        "--query=select a from none_such",
        "--create=create table t (a int)",
    ]);
    assert_eq!(seen.ran.code, Some(1), "{}", seen.ran.stdout);
    let expect = "mysqlslap: Cannot prepare a query: ";
    assert!(
        seen.ran.stderr.contains(expect) && !seen.ran.stderr.contains("when connecting"),
        "{}",
        seen.ran.stderr
    );
}
