//! Wrong input, found before anything starts. None of these needs a server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use truetps_files::trusted_path;

use crate::common::{Place, Ran};

/// A plan that is fine, for tests that break it.
const PLAN: &str = "name = \"small\"\nabout = \"a test\"\n[workload]\nname = \
                    \"insert\"\n[factors]\nconnections = [1]\n";

/// Runs each line: arguments, exit code, and words that stderr must have.
fn check(place: &Place, table: &[(&[&str], i32, &[&str])]) {
    for (args, code, words) in table {
        let Ran { code: found, stderr, stdout } = place.run(args);
        assert_eq!(found, Some(*code), "{args:?}\n{stdout}\n{stderr}");
        for word in *words {
            assert!(stderr.contains(word), "{args:?} should say {word:?}:\n{stderr}");
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of command lines")]
fn wrong_words_on_the_command_line() {
    let place = Place::new();
    check(
        &place,
        &[
            (&["swep"], 2, &["swep", "sweep"]),
            (
                &["sweep", "durabilty"],
                2,
                &["unknown plan `durabilty`", "did you mean `durability`?"],
            ),
            (&["sweep", "xyz"], 2, &["unknown plan `xyz`", "durability"]),
            (&["sweep", "missing.toml"], 2, &["missing.toml", "No such file"]),
            (&["sweep", "--blocks", "0"], 2, &["--blocks"]),
            (&["sweep", "--format", "xml"], 2, &["xml", "json"]),
            (&["sweep", "--resume", "--quick"], 2, &["--quick"]),
            (&["sweep", "--resume", "--mode", "blocking"], 2, &["--mode"]),
            (&["run", "insrt"], 2, &["unknown workload `insrt`", "insert"]),
            (
                &["run", "update-indx"],
                2,
                &["unknown workload `update-indx` (did you mean `update-index`"],
            ),
            (
                &["run", "insert", "--hot-rows", "2"],
                2,
                &["`--hot-rows` means nothing to `insert`", "`hot-row`"],
            ),
            (
                &["run", "hot-row", "--tables", "2"],
                2,
                &["`--tables` means nothing to `hot-row`", "`insert`"],
            ),
            (
                &["run", "hot-row", "--hot-rows", "0"],
                2,
                &["`--hot-rows`: 0 is not between 1 and 100000"],
            ),
            (&["run", "insert", "--table-rows", "0"], 2, &["`--table-rows`: 0 is not between"]),
            (
                &["run", "update-index", "--distribution", "zipfan"],
                2,
                &["--distribution", "did you mean `zipfian`?"],
            ),
            (
                &["run", "update-index", "--distribution", "pareto:h=2"],
                2,
                &["`h`: 2 is not above 0 and at most 1"],
            ),
            (
                &["run", "delete-insert", "--key", "other"],
                2,
                &["--key: unknown key `other`", "`auto`"],
            ),
            (
                &["run", "read-write", "--mix", "selects=1"],
                2,
                &["--mix selects=1: unknown statement `selects`"],
            ),
            (
                &["run", "read-write", "--mix", "point_selects"],
                2,
                &["--mix point_selects", "NAME=COUNT"],
            ),
            (
                &["run", "custom"],
                2,
                &["the workload `custom` is in a plan", "truetps sweep MY-PLAN.toml"],
            ),
            (&["run", "sql"], 2, &["the workload `sql` is in a plan", "truetps help workloads"]),
            (
                &["run", "my-plan.toml"],
                2,
                &["`my-plan.toml` is a plan", "truetps sweep my-plan.toml"],
            ),
            (&["run", "durability"], 2, &["`durability` is a plan", "truetps sweep durability"]),
            (&["run", "insert", "--connections", "0"], 2, &["--connections"]),
            (&["run", "insert", "--measure=-1"], 2, &["`--measure`: -1 is not between"]),
            (&["run", "insert", "--measure=0"], 2, &["`--measure`"]),
            (
                &["run", "insert", "--table-rows=18446744073709551615"],
                2,
                &["`--table-rows`", "is not between"],
            ),
            (&["run", "insert", "--set", "novalue"], 2, &["--set novalue", "NAME=VALUE"]),
            (&["run", "insert", "--transactions=18446744073709551615"], 2, &["--transactions"]),
            (
                &["sweep", "insert"],
                2,
                &["`insert` with connections=8 is one configuration", "--vary NAME=LEVEL,LEVEL"],
            ),
            (&["sweep", "insrt"], 2, &["unknown plan `insrt`", "did you mean `insert`?"]),
            (&["sweep", "insert", "--vary", "a=1,1"], 2, &["`factors.a`: names a level twice"]),
            (
                &["sweep", "insert", "--vary", "a"],
                2,
                &["--vary", "has no `=`: write NAME=LEVEL,LEVEL"],
            ),
            (&["sweep", "insert", "--vary=a=1,2", "--vary=a=1"], 2, &["--vary a: is given twice"]),
            (&["sweep", "insert", "--vary=a=1,2", "--set=a=1"], 2, &["--set a: is a factor too"]),
            (
                &["sweep", "insert", "--vary=connections=1", "-c=1"],
                2,
                &["--vary connections and --connections"],
            ),
            (
                &["sweep", "insert", "-c=1,abc"],
                2,
                &["invalid value 'abc'", "not a whole number, such as 8"],
            ),
            (&["sweep", "insert", "-c=1,2", "--measure=0"], 2, &["`--measure`: 0 is not between"]),
            (
                &["sweep", "hot-rows", "--table-rows=5"],
                2,
                &["--table-rows: the workload `hot-row` has tables of its own"],
            ),
            (
                &["sweep", "insert", "-c=1,2", "--save-plan=x"],
                2,
                &["--save-plan x: a plan's file ends in .toml"],
            ),
            (&["sweep", "--resume", "--vary=a=1,2"], 2, &["cannot be used with"]),
            (
                &["plan", "check", "insert"],
                2,
                &["`insert` is a workload", "truetps sweep insert --vary"],
            ),
            (
                &["run", "insert", "-c=1,8"],
                2,
                &["not a whole number", "truetps sweep WORKLOAD -c 1,8"],
            ),
            (&["run", "insert", "--repeat=0"], 2, &["--repeat"]),
            (&["run", "insert", "--repeat=2", "--find-max"], 2, &["cannot be used with"]),
            (&["sweep", "durability", "--resume"], 2, &["--resume", "cannot be used with"]),
        ],
    );
}

#[test]
fn wrong_words_for_folders_and_the_gateway() {
    check(
        &Place::new(),
        &[
            (&["report"], 2, &["runs/latest", "hint: start an experiment"]),
            (
                &["report", "."],
                2,
                &["not a run folder: it has neither experiment.json nor run.json"],
            ),
            (&["sweep", "--resume", "nowhere"], 2, &["nowhere"]),
            (&["gateway"], 2, &["--dsn"]),
            (&["gateway", "--dsn=mysql://x@h/s"], 2, &["no table is named", "--table"]),
            (
                &["gateway", "--dsn=mysql://x@h/s", "--table=a/b"],
                2,
                &["`a/b` cannot be a part of a path"],
            ),
            (
                &["gateway", "--dsn=mysql://x@h/s", "--table=t", "--listen=0.0.0.0:0"],
                2,
                &["--listen-remote"],
            ),
            (
                &[
                    "gateway",
                    "--dsn=mysql://x@h/s",
                    "--table=t",
                    "--listen=0.0.0.0:0",
                    "--listen-remote",
                ],
                2,
                &["without a token", "TRUETPS_GATEWAY_TOKENS"],
            ),
            (&["gateway", "--private", "--dsn=mysql://x@h/s"], 2, &["cannot be used with"]),
            (
                &["gateway", "--dsn=mysql://x@h/s", "--config=missing.toml"],
                2,
                &["missing.toml", "No such file"],
            ),
        ],
    );
}

#[test]
fn wrong_plans_are_named_with_file_and_key() {
    let place = Place::new();
    let with = |from: &str, to: &str| PLAN.replace(from, to);
    place.write("key.toml", &with("[factors]", "[factor]"));
    place.write("level.toml", &with("[1]", "[\"one\"]"));
    place.write("syntax.toml", &with("[1]", "[1"));
    place.write("workload.toml", &with("insert", "inserts"));
    place.write("unused.toml", &with("\"insert\"", "\"insert\"\nkey = \"auto\""));
    let custom = "\"custom\"\n[[workload.table]]\nname = \"t\"\ncreate = [\"CREATE TABLE t (a \
                  INT)\"]\n\
                  [[workload.statements]]\nsql = \"INSERT INTO t VALUES (?)\"";
    place.write("custom.toml", &with("\"insert\"", custom));
    place.write(
        "huge.toml",
        &with("[1]", "[1]\n[design]\nblocks = 1000\n[load]\nmeasure_s = 86400"),
    );
    check(
        &place,
        &[
            (
                &["sweep", "./key.toml"],
                2,
                &["key.toml", "unknown key `factor` in `plan`", "did you mean `factors`?"],
            ),
            (
                &["sweep", "./level.toml"],
                2,
                &["`factors.connections`", "`one` is not a whole number"],
            ),
            (&["sweep", "./syntax.toml"], 2, &["syntax.toml", "line 6"]),
            (&["plan", "check", "./workload.toml"], 2, &["unknown workload `inserts`"]),
            (
                &["plan", "check", "./unused.toml"],
                2,
                &["`workload.key` means nothing to `insert`", "`delete-insert`"],
            ),
            (
                &["plan", "check", "./custom.toml"],
                2,
                &["`workload.statements[0]`: 1 `?` and 0 `params`"],
            ),
            (&["sweep", "./custom.toml"], 2, &["`workload.statements[0]`: 1 `?` and 0 `params`"]),
            (&["sweep", "./huge.toml"], 2, &["takes long", "about 48 0", "--yes"]),
        ],
    );
}

#[test]
fn no_server_program_is_an_error_that_says_where_it_looked() {
    let place = Place::new();
    let empty = place.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    check(
        &place,
        &[
            (&["sweep", "--basedir", empty], 2, &["empty", "hint:"]),
            (&["plan", "check", "durability", "--basedir", empty], 2, &["empty", "hint:"]),
        ],
    );
    assert!(!place.path().join("runs").exists(), "nothing was started, nothing was recorded");
}

#[test]
fn a_folder_of_the_user_is_no_place_for_private_servers() {
    let place = Place::new();
    let precious = place.path().join("disk/servers/prod/data/file");
    std::fs::create_dir_all(precious.parent().unwrap()).unwrap();
    std::fs::write(&precious, "precious").unwrap();
    let disk = place.path().join("disk");
    for words in [
        &["server", "list"][..],
        &["server", "clean"],
        &["server", "add", "a"],
        &["sweep", "--quick"],
    ] {
        let ran: Ran =
            place.command(words).env("TRUETPS_SANDBOX_DIR", &disk).output().unwrap().into();
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        for expect in ["has not created", "servers/prod", "hint: ", "--sandbox-dir", "disk/truetps"]
        {
            assert!(
                ran.stderr.contains(expect),
                "{words:?}: {}\nshould contain {expect}",
                ran.stderr
            );
        }
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 1, "nothing was made beside it");
}

#[test]
fn folders_that_cannot_be_used() {
    let place = Place::new();
    let file = place.write("a file", "");
    let ran: Ran = place
        .command(&["server", "list"])
        .env("TRUETPS_SANDBOX_DIR", &file)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("a file") && ran.stderr.contains("--sandbox-dir"),
        "{}",
        ran.stderr
    );
}

#[test]
fn shipped_plans_are_listed_and_shown_whole() {
    let place = Place::new();
    let list = place.run(&["plan", "list"]);
    assert_eq!(list.code, Some(0));
    assert!(list.stdout.contains("durability") && list.stdout.contains(" min "), "{}", list.stdout);
    let full = place.run(&["plan", "list", "--full"]);
    assert!(
        full.stdout.contains("durability") && full.stdout.contains("trials"),
        "{}",
        full.stdout
    );
    let show = place.run(&["plan", "show", "durability"]);
    assert_eq!(show.stdout, include_str!("../../../../plans/durability.toml"));
}

#[test]
fn every_format_and_every_guide_is_in_the_documents() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let help = Place::new().run(&["report", "-h"]).stdout;
    let (_, formats) = help.split_once("--format").unwrap();
    let (_, formats) = formats.split_once("[possible values: ").unwrap();
    let (formats, _) = formats.split_once(']').unwrap();
    let page = std::fs::read_to_string(docs.join("reference/run-folder.md")).unwrap();
    let (_, table) = page.split_once("| `--format` | output |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    for format in formats.split_whitespace().map(|word| word.trim_end_matches(',')) {
        assert!(table.contains(&format!("`{format}`")), "{format}");
    }
    let readme = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let (english, chinese) = (readme("README.md"), readme("README.zh-CN.md"));
    for guide in std::fs::read_dir(docs.join("guides")).unwrap() {
        let name = guide.unwrap().file_name().into_string().unwrap();
        let readme = if name.ends_with(".zh-CN.md") { &chinese } else { &english };
        assert!(readme.contains(&format!("(guides/{name})")), "{name}");
    }
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    for word in ["sweep", "run", "plan", "report", "server", "Exit codes"] {
        assert!(help.stdout.contains(word), "{word}");
    }
    // The answer of a sweep hints at both.
    let sweep = place.run(&["sweep", "--help"]).stdout;
    for command in ["truetps explain old.cnf new.cnf", "truetps pool"] {
        assert!(sweep.contains(command), "{command}: {sweep}");
    }
    assert_eq!(place.run(&["server", "list"]).code, Some(0));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of command lines")]
fn preallocation_without_a_server() {
    let place = Place::new();
    check(
        &place,
        &[
            (
                &["sweep", "insert", "--vary", "prealloc=0,fast"],
                2,
                &["neither 0, nor a number of files", "\"ahead\""],
            ),
            (
                &["sweep", "insert", "--vary", "prealloc=0,65"],
                2,
                &["`65` is neither 0, nor a number of files up to 64"],
            ),
            (
                &[
                    "sweep",
                    "insert",
                    "--vary",
                    "prealloc=0,ahead",
                    "--dsn",
                    "mysql://root@127.0.0.1:1",
                ],
                2,
                &["prealloc as a factor is for private servers", "truetps prealloc advise"],
            ),
            (
                &[
                    "sweep",
                    "insert",
                    "--vary",
                    "table_rows=1,2",
                    "--dsn",
                    "mysql://root@127.0.0.1:1",
                ],
                2,
                &["table_rows"],
            ),
            (
                &["prealloc", "status", "."],
                2,
                &["no binlog is in this folder", "/var/log/mysql/binlog"],
            ),
            (
                &["prealloc", "status", "postgresql://me@127.0.0.1:1/x"],
                2,
                &["PostgreSQL has no binlog"],
            ),
            (&["prealloc", "pause", "./binlog"], 2, &["binlog.prealloc"]),
            (&["prealloc", "trim", "./binlog"], 2, &["no binlog of this basename"]),
            (
                &["prealloc", "install", "/data/binlog", "--mode", "0"],
                2,
                &["--mode 0: is off", "uninstall"],
            ),
            (
                &["prealloc", "install", "/data/binlog", "--service", "../x"],
                2,
                &["--service ../x: is not the name"],
            ),
            (
                &["explain", "--plan", "insert"],
                2,
                &["A and B are missing, and the plan insert does not compare two"],
            ),
            (&["explain", "x.cnf", "--plan", "hot-row"], 2, &["B is missing"]),
        ],
    );
    installation_without_a_server(&place);
    // A path from here becomes one from the root; this one has a blank in it.
    place.refused(
        &["prealloc", "install", "./binlog"],
        &["a character that a file of systemd cannot have"],
    );
    // A binlog of which a crash has left nothing but zeros.
    place.write("binlog.000001", &"\u{0}".repeat(100));
    let trimmed = place.run(&["prealloc", "trim", "./binlog"]);
    assert_eq!(trimmed.code, Some(0), "{}{}", trimmed.stdout, trimmed.stderr);
    assert!(
        trimmed.stdout.contains("binlog.000001: cut from 100 to 0 bytes; only zeros were behind"),
        "{}",
        trimmed.stdout
    );
    assert!(
        trimmed.stdout.contains("1 of 1 binlog end with their last event"),
        "{}",
        trimmed.stdout
    );
}

/// Root's unit names this program: only where no other user can replace it, or the folder of the
/// library.
fn installation_without_a_server(place: &Place) {
    let install = ["prealloc", "install", "/var/lib/mysql/binlog", "--service", "mysql.service"];
    let installed = place.run(&install);
    let expected: &[&str] = match trusted_path(Path::new(env!("CARGO_BIN_EXE_truetps"))) {
        Ok(_) => &[
            "/etc/systemd/system/mysql.service.d/truetps-prealloc.conf",
            "Environment=\"TRUETPS_PREALLOC=basename=/var/lib/mysql/binlog;mode=ahead\"",
            "Nothing was written",
        ],
        Err(_) => &["STOP  the program would run", "Nothing is installed"],
    };
    assert!(
        expected.iter().all(|words| installed.stdout.contains(words)),
        "{}{}",
        installed.stdout,
        installed.stderr
    );
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = open.path().join("truetps");
    fs::copy(env!("CARGO_BIN_EXE_truetps"), &program).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the program in another folder")]
    let ran = std::process::Command::new(&program)
        .args(install)
        .arg("--library-dir")
        .arg(open.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(4), "{text}");
    for words in [
        "STOP  the program would run",
        "STOP  the folder of the library would run",
        "Nothing is installed",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// The plan has no binlog, and would find after an hour that `sync_binlog` makes no difference.
#[test]
fn a_plan_without_a_binlog_gets_one_where_sync_binlog_is_varied() {
    let place = Place::new();
    let saved = |name: &str, more: &[&str]| {
        let args = [&["sweep", "--vary", "sync_binlog=0,1", "--save-plan", name], more].concat();
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (std::fs::read_to_string(place.path().join(name)).unwrap(), ran.stderr)
    };
    let (plan, said) = saved("varied.toml", &[]);
    assert!(plan.contains("log_bin = true"), "{plan}");
    assert!(
        said.contains("log_bin = ON replaces log_bin = OFF of the plan: sync_binlog has no effect"),
        "{said}"
    );
    let (plan, said) = saved("typed.toml", &["--set", "log_bin=OFF"]);
    assert!(
        !plan.contains("log_bin = true") && !said.contains("replaces"),
        "the user's own word\n{plan}{said}"
    );
}
