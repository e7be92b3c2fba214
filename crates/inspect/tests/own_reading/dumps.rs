//! What the clients print of a server's settings, beside the settings that the server itself
//! reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use truetps_inspect::{server_options, side_of_path, side_of_server};
use truetps_knowledge::{SettingsSide, diff};
use truetps_record::{Flavour, SettingValue};
use truetps_sandbox::{
    Catalogue, HostLimits, RunningServer, Sandbox, SandboxOptions, ServerBinary, ServerLoad,
    Settings, StartOptions, chosen_settings, effective_variables,
};
use truetps_testkit::mysql_family::{mariadb, mysql};
use truetps_testkit::{TestHome, private_postgres};

use crate::programs::{our_output, output_of, write};

/// A private server with a small redo log.
fn started(home: &TestHome, binary: &ServerBinary) -> (Sandbox, RunningServer) {
    let load = ServerLoad { connections_max: 10, statements_per_connection: 1 };
    let chosen =
        chosen_settings(HostLimits::read().memory_bytes, load, binary.flavour, binary.version);
    let mut settings = Settings::new(binary.family(), &chosen);
    for (name, value) in [("innodb_log_file_size", "16M"), ("innodb_redo_log_capacity", "32M")] {
        if settings.get(name).is_some() {
            settings.set(name, SettingValue::Text(value.to_owned()));
        }
    }
    let sandbox = Sandbox::create(
        home.home(),
        binary,
        &SandboxOptions::new(Settings::empty(binary.family())),
    )
    .unwrap();
    let server = sandbox.start(&StartOptions::new(settings)).unwrap();
    (sandbox, server)
}

fn variables(server: &RunningServer) -> BTreeMap<String, String> {
    effective_variables(&mut server.connect(Duration::from_mins(1)).unwrap()).unwrap()
}

/// Nearly all variables of the server, with their values: those that no report shows, and states,
/// are left out.
fn check(
    side: &SettingsSide,
    of_server: &BTreeMap<String, String>,
    binary: &ServerBinary,
    form: &str,
) {
    assert!(
        side.is_complete && side.settings.len() + 40 > of_server.len(),
        "{form}: {}",
        side.settings.len()
    );
    assert_eq!(
        (side.flavour, side.version.clone()),
        (Some(binary.flavour), Some(binary.version.to_string())),
        "{form}"
    );
    for (name, found) in &side.settings {
        let wanted = of_server.get(name).map_or("", |value| value.trim());
        assert_eq!(found.value.trim(), wanted, "{form}: {name}");
    }
}

/// Nothing that could matter differs from what truetps itself reads of the server, which is the
/// same one.
fn check_same(server: &RunningServer, side: &SettingsSide, schema: &str, form: &str) {
    let mut asked = side_of_server(&server.target(schema)).unwrap();
    // A status, which no dump of variables has.
    asked.settings.remove("innodb_redo_log_enabled");
    let shown = diff(&asked, side);
    let shown: Vec<_> = shown.shown().map(|difference| &difference.name).collect();
    assert!(shown.is_empty(), "{form}: {shown:?}");
}

fn read(dir: &Path, text: &[u8]) -> SettingsSide {
    let path = dir.join("dump");
    write(&path, text);
    side_of_path(&path, None).unwrap()
}

#[test]
fn variables_as_the_mysql_client_prints_them() {
    let test = "variables_as_the_mysql_client_prints_them";
    let servers = mariadb(test).into_iter().chain(mysql(test).map(|(binary, _)| binary));
    for binary in servers {
        let home = TestHome::new();
        let (_sandbox, server) = started(&home, &binary);
        let of_server = variables(&server);
        let socket = format!("--socket={}", server.socket().display());
        for form in ["--table", "--batch", "-BN", "--vertical", "--xml", "-BX"] {
            for statement in ["SHOW GLOBAL VARIABLES", "SHOW VARIABLES"] {
                let words = ["--no-defaults", "--user=root", &socket, form, "--execute", statement];
                let output = our_output(Path::new("mariadb"), &words);
                assert!(output.status.success(), "{output:?}");
                let mut side = read(home.folder(), &output.stdout);
                check_same(
                    &server,
                    &side,
                    "mysql",
                    &format!("{} {form} {statement}", binary.flavour),
                );
                if statement == "SHOW VARIABLES" {
                    side.settings.retain(|name, found| of_server.get(name) == Some(&found.value));
                }
                check(
                    &side,
                    &of_server,
                    &binary,
                    &format!("{} {form} {statement}", binary.flavour),
                );
            }
        }
        let path = home.folder().join("dump");
        let error = server_options(&path, binary.flavour, &binary.version.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains("all variables of a server"), "{error}");
    }
}

#[test]
fn settings_as_psql_prints_them() {
    let Some(binary) = private_postgres("settings_as_psql_prints_them") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let of_server = variables(&server);
    let folder = server.socket().parent().unwrap().display().to_string();
    let port = server.socket().extension().unwrap().to_str().unwrap().to_owned();
    let columns = "SELECT name, setting, unit, source FROM pg_settings";
    let captured = side_of_server(&server.target("postgres")).unwrap();
    for statement in [
        columns,
        "SELECT * FROM pg_settings ORDER BY name",
        "SELECT name, setting FROM pg_settings",
    ] {
        for form in [
            &[][..],
            &["-A"],
            &["--csv"],
            &["-x"],
            &["-A", "-F", "\t"],
            &["-P", "border=2"],
            &["-P", "linestyle=unicode"],
            &["-P", "linestyle=unicode", "-P", "border=2"],
            &["-P", "format=wrapped", "-P", "columns=70"],
            &["-P", "format=wrapped", "-P", "columns=90", "-P", "border=2"],
            &["-P", "format=wrapped", "-P", "columns=80", "-P", "linestyle=unicode"],
        ] {
            let words =
                [&["-X", "-h", &folder, "-p", &port, "-U", "postgres", "-c", statement], form]
                    .concat();
            let output = our_output(Path::new("psql"), &words);
            assert!(output.status.success(), "{output:?}");
            let side = read(home.folder(), &output.stdout);
            check(&side, &of_server, &binary, &format!("{form:?} {statement}"));
            // A name that only one of two sides has would be shown as a difference: `TimeZone`.
            let other: Vec<_> = side
                .settings
                .keys()
                .filter(|name| !captured.settings.contains_key(*name))
                .collect();
            assert!(other.is_empty(), "{other:?}");
            check_same(&server, &side, "postgres", &format!("{form:?} {statement}"));
        }
    }
}

/// As they are copied from a session of the client, with statements, several results, and the lines
/// below each.
#[test]
fn results_of_a_session() {
    let Some(binary) = mariadb("results_of_a_session") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let of_server = variables(&server);
    let socket = format!("--socket={}", server.socket().display());
    let printed = |form: &str, statements: &str| {
        let words =
            ["--no-defaults", "--user=root", &socket, "-vvv", form, "--execute", statements];
        let output = our_output(Path::new("mariadb"), &words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The last name of each result is beside the line that counts its rows.
    let three = "SHOW GLOBAL VARIABLES LIKE 'sync%'; SHOW GLOBAL VARIABLES LIKE 'ft%'; SHOW GLOBAL \
                 VARIABLES LIKE 'wait%'";
    let columns = "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE FROM \
                   information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL";
    for form in ["--table", "--vertical"] {
        check(
            &read(home.folder(), printed(form, "SHOW GLOBAL VARIABLES").as_bytes()),
            &of_server,
            &binary,
            form,
        );
        let few = read(home.folder(), printed(form, three).as_bytes());
        let wanted: Vec<_> = of_server
            .iter()
            .filter(|(name, _)| ["sync", "ft_", "wait"].iter().any(|part| name.starts_with(part)))
            .collect();
        let found: Vec<_> = few.settings.iter().map(|(name, found)| (name, &found.value)).collect();
        assert_eq!(found, wanted, "{form}");
        // A value may have the character between the columns.
        check(&read(home.folder(), printed(form, columns).as_bytes()), &of_server, &binary, form);
        for prefix in ["    ", "> "] {
            let quoted = format!("{prefix}{}", printed("--table", "SHOW GLOBAL VARIABLES"));
            let quoted = quoted.replace('\n', &format!("\n{prefix}"));
            check(&read(home.folder(), quoted.as_bytes()), &of_server, &binary, prefix);
        }
        let twice = printed(
            form,
            "SHOW VARIABLES LIKE 'wait_t%'; SET wait_timeout = 7; SHOW VARIABLES LIKE 'wait_t%'",
        );
        let path = home.folder().join("dump");
        write(&path, twice.as_bytes());
        let error = side_of_path(&path, None).unwrap_err().to_string();
        assert!(error.contains("wait_timeout has two values: `28800` and `7`"), "{error}");
    }
    let status = "SHOW GLOBAL STATUS; SELECT * FROM information_schema.GLOBAL_STATUS";
    for form in ["--table", "--vertical", "--batch", "-BN", "--xml"] {
        for statement in status.split("; ") {
            let path = home.folder().join("dump");
            write(
                &path,
                &our_output(
                    Path::new("mariadb"),
                    &["--no-defaults", "--user=root", &socket, form, "-e", statement],
                )
                .stdout,
            );
            let error = side_of_path(&path, None).unwrap_err().to_string();
            assert!(
                error.contains("is SHOW STATUS: counters, and not settings"),
                "{form} {statement}: {error}"
            );
        }
    }
    let both = printed("--table", "SHOW GLOBAL VARIABLES; SHOW GLOBAL STATUS LIKE 'Innodb%'");
    check(&read(home.folder(), both.as_bytes()), &of_server, &binary, "variables and status");
}

/// As programs for tables export them, and a page shows them.
#[test]
fn exports_of_variables() {
    let Some(binary) = mariadb("exports_of_variables") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let of_server = variables(&server);
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows = |row: &dyn Fn(&str, &str) -> String| -> String {
        of_server
            .iter()
            .filter(|(_, value)| !value.contains('\n'))
            .map(|(name, value)| row(name, value))
            .collect()
    };
    for (form, text) in [
        (
            "with quotes",
            format!(
                "\"Variable_name\",\"Value\"\n{}",
                rows(&|name, value| format!("{},{}\n", quoted(name), quoted(value)))
            ),
        ),
        ("without a header", rows(&|name, value| format!("{name},{}\n", quoted(value)))),
        (
            "with semicolons",
            format!(
                "Variable_name;Value\r\n{}",
                rows(&|name, value| format!("{name};{}\r\n", quoted(value)))
            ),
        ),
        (
            "of Markdown",
            format!(
                "# Server\n\n| Setting | Value |\n|:---|---:|\n{}\nEnd\n",
                rows(&|name, value| format!("| {name} | {value} |\n"))
            ),
        ),
        ("without rules", rows(&|name, value| format!("| {name} | {value} |\n"))),
        (
            "with a tab at the end",
            rows(&|name, value| format!("{name}\t{}\t\n", value.replace('\\', "\\\\"))),
        ),
    ] {
        check(&read(home.folder(), text.as_bytes()), &of_server, &binary, form);
    }
}

/// Results of two columns are read without their names, and wider ones refused.
#[test]
fn rows_of_psql_without_a_header() {
    let Some(binary) = private_postgres("rows_of_psql_without_a_header") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let of_server = variables(&server);
    let folder = server.socket().parent().unwrap().display().to_string();
    let port = server.socket().extension().unwrap().to_str().unwrap().to_owned();
    let printed = |statement: &str, form: &[&str]| {
        let words =
            [&["-X", "-h", &folder, "-p", &port, "-U", "postgres", "-c", statement], form].concat();
        let output = our_output(Path::new("psql"), &words);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    for columns in ["name, setting", "name, setting, unit, category, short_desc"] {
        let select = format!("SELECT {columns} FROM pg_settings");
        for (statement, form) in [
            (select.clone(), &["-At"][..]),
            (select.clone(), &["-At", "-F", "\t"]),
            (select.clone(), &["-t", "--csv"]),
            (select.clone(), &["-t"]),
            (format!("COPY ({select}) TO STDOUT"), &[]),
            (format!("COPY ({select}) TO STDOUT WITH CSV"), &[]),
        ] {
            let path = home.folder().join("dump");
            write(&path, &printed(&statement, form));
            let read = side_of_path(&path, None);
            if columns == "name, setting" {
                check(&read.unwrap(), &of_server, &binary, &format!("{form:?} {statement}"));
            } else {
                let error = read.unwrap_err().to_string();
                assert!(
                    error.contains("without the names of its columns"),
                    "{form:?} {statement}: {error}"
                );
            }
        }
    }
    // Of the lines of a file, the last one counts.
    let conf = server.datadir().join("postgresql.auto.conf");
    write(&conf, b"max_wal_size = '2GB'\nwork_mem = '7MB'\nmax_wal_size = '3GB'\n");
    let lines = printed("SELECT * FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'", &[]);
    let side = read(home.folder(), &lines);
    let value = |name: &str| side.settings[name].value.as_str();
    assert_eq!((value("max_wal_size"), value("work_mem")), ("3GB", "7MB"));
}

/// With units, which the table of settings has in a column of its own.
#[test]
fn what_psql_shows_of_all() {
    let Some(binary) = private_postgres("what_psql_shows_of_all") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let folder = server.socket().parent().unwrap().display().to_string();
    let port = server.socket().extension().unwrap().to_str().unwrap().to_owned();
    // The second one is what reports of slow queries are asked for.
    for statement in ["SHOW ALL", "SELECT name, current_setting(name), source FROM pg_settings"] {
        let words = ["-X", "-h", &folder, "-p", &port, "-U", "postgres", "-c", statement];
        let side = read(home.folder(), &our_output(Path::new("psql"), &words).stdout);
        let value = |name: &str| side.settings[name].value.as_str();
        assert_eq!(
            (value("wal_level"), value("max_wal_size"), side.is_complete),
            ("replica", "2GB", true)
        );
        assert_eq!(side.kind, "pg_settings");
    }
}

/// What SET PERSIST has written, and what `--print-defaults` says of a file.
#[test]
fn what_a_mysql_keeps_and_prints() {
    let Some((binary, _)) = mysql("what_a_mysql_keeps_and_prints") else { return };
    let home = TestHome::new();
    let (_sandbox, server) = started(&home, &binary);
    let mut client = server.connect(Duration::from_mins(1)).unwrap();
    for statement in
        ["SET PERSIST sync_binlog = 7", "SET PERSIST_ONLY innodb_doublewrite_pages = 64"]
    {
        client.query(statement).unwrap();
    }
    let text = fs::read(server.datadir().join("mysqld-auto.cnf")).unwrap();
    let side = read(home.folder(), &text);
    let value = |name: &str| side.settings[name].value.as_str();
    assert_eq!(
        (value("sync_binlog"), value("innodb_doublewrite_pages"), side.settings.len()),
        ("7", "64", 2)
    );
    assert_eq!((side.kind.as_str(), side.is_complete), ("mysqld-auto.cnf", false));

    let file = home.folder().join("my.cnf");
    write(&file, b"[mysqld]\nsync-binlog=7\nskip-innodb-doublewrite\nsql_mode=\n");
    let words = [format!("--defaults-file={}", file.display()), "--print-defaults".to_owned()];
    let printed = output_of(&binary.path, &words.each_ref().map(String::as_str)).stdout;
    let dump = home.folder().join("dump");
    write(&dump, &printed);
    let [of_file, of_dump] = [&file, &dump]
        .map(|path| server_options(path, binary.flavour, &binary.version.to_string()).unwrap());
    let values = |side: &SettingsSide| -> Vec<_> {
        side.settings.iter().map(|(name, found)| (name.clone(), found.value.clone())).collect()
    };
    assert_eq!(values(&of_file), values(&of_dump));
    assert!(
        Catalogue::ask(&binary, home.home().user()).unwrap().default_value("sync_binlog").is_some()
    );
}

/// Files that are taken for others.
#[test]
fn what_is_no_source_of_settings() {
    let dir = tempfile::tempdir().unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid \
                   sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize \
                   12345\n";
    let unknown = "Variable_name\tValue\nx\t7\ny\t8\n";
    for (text, expect) in [
        (pointer, "is a pointer of Git LFS"),
        (unknown, "none of its rows is a known setting"),
        ("{\"Items\": [{\"Key\": \"a\"}]}", "is not a capture"),
        ("<html>\n<body>404</body>\n", "line 1 is neither"),
    ] {
        let path = dir.path().join("file");
        fs::write(&path, text).unwrap();
        for error in [side_of_path(&path, None), server_options(&path, Flavour::Postgresql, "15.8")]
        {
            let error = error.unwrap_err().to_string();
            let is_json = text.starts_with('{') && error.contains("line 1 is neither");
            assert!(error.contains(expect) || is_json, "{text}: {error}");
        }
    }
}
