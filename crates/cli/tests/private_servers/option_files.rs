//! Option files of real servers: what a server starts with, a private server starts with, and it
//! has the values that the server makes of them.

use truetps_testkit::mysql_family::{fetched_server, mariadb};

use crate::common::{Ends, Place, SMALL_REDO};

/// Valid together only; rounded when the server starts; limited by this host; without an effect.
const FILE: &str = "[mysqld]\n\
    collation-server = utf8mb4_general_ci\ncharacter-set-server = utf8mb4\nskip-external-locking\n\
    innodb_buffer_pool_size = 250M\ninnodb_buffer_pool_instances = 8\nopen_files_limit = 99999999\n";

fn check(server: &str, program: &str, more: &str, notes: &[&str], values: &[(&str, &str)]) {
    let place = Place::with_templates();
    let _ends = Ends(&place);
    place.write("my.cnf", &format!("{FILE}{more}"));
    let added = place.good(&["server", "add", "prod", program, "--my-cnf", "my.cnf"]);
    for note in notes {
        assert!(added.stderr.contains(note), "{server}: {note}: {}", added.stderr);
    }
    place.good(&["server", "start", "prod", "--set", "innodb_log_file_size=32M"]);
    for (name, value) in values {
        let asked = place.good(&["server", "sql", "prod", &format!("SELECT @@GLOBAL.{name}")]);
        assert!(
            asked.stdout.lines().any(|line| line == *value),
            "{server}: {name}: {}",
            asked.stdout
        );
    }
    place.good(&["server", "stop", "prod"]);
}

#[test]
fn mariadb_starts_with_it() {
    let Some(binary) = mariadb("mariadb_starts_with_it") else { return };
    let notes = [
        "skip_external_locking: this server takes it without an effect",
        "innodb_buffer_pool_instances: this server takes it without an effect",
        "key_buffer is read as key_buffer_size",
        "open_files_limit = 99999999: the server takes",
    ];
    let values = [("collation_server", "utf8mb4_general_ci"), ("key_buffer_size", "17825792")];
    check("mariadb", binary.path.to_str().unwrap(), "key_buffer = 17M\n", &notes, &values);
}

#[test]
fn mysql_starts_with_it() {
    for name in ["mysql-5.7", "mysql-8.0"] {
        let Some(server) = fetched_server("mysql_starts_with_it", name) else { continue };
        let notes = [
            "innodb_buffer_pool_size = 250M: the server takes 268435456",
            "innodb_buffer_pool_instances = 8: the server takes 1",
            "open_files_limit = 99999999: the server takes",
        ];
        // By the server's own report.
        let values = [
            ("collation_server", "utf8mb4_general_ci"),
            ("innodb_buffer_pool_size", "268435456"),
            ("innodb_buffer_pool_instances", "1"),
        ];
        check(name, server.basedir.to_str().unwrap(), "", &notes, &values);
    }
}

/// An abbreviation is none to MySQL, which does not start with it; nor does any server with a name
/// that it does not know.
#[test]
fn what_a_server_refuses_is_refused() {
    let Some(server) = fetched_server("what_a_server_refuses_is_refused", "mysql-8.0") else {
        return;
    };
    let place = Place::new();
    for line in ["key_buffer = 17M", "skip-nonsense", "collation-server = utf8mb4_nonsense"] {
        place.write("my.cnf", &format!("{FILE}{line}\n"));
        let name = line.split([' ', '=']).next().unwrap().replace('-', "_").replace("skip_", "");
        place.refused(
            &["server", "add", "bad", server.basedir.to_str().unwrap(), "--my-cnf", "my.cnf"],
            &[&format!("`{name}")],
        );
    }
}

/// By what the server's own reader says of each file.
#[test]
fn a_file_is_read_where_the_server_reads_it() {
    let Some(binary) = mariadb("a_file_is_read_where_the_server_reads_it") else { return };
    let place = Place::new();
    let own = "[mysqld]\nmax_connections = 77\n";
    for (n, (text, is_read)) in [
        // A comment in GBK.
        ([&b"[mysqld]\n# \xb2\xe2\xca\xd4\nmax_connections = 77\n"[..]].concat(), true),
        (own.replace('\n', "\r\n").into_bytes(), true),
        (format!("# first\n\n{own}").into_bytes(), true),
        (format!("max_connections = 77\n{own}").into_bytes(), false),
    ]
    .into_iter()
    .enumerate()
    {
        let path = place.path().join("my.cnf");
        std::fs::write(&path, &text).unwrap();
        let named = format!("--defaults-file={}", path.display());
        let mut server = place.program(&binary.path, &[&named, "--print-defaults"]);
        let server = server.output().unwrap();
        let is_taken = server.status.success()
            && String::from_utf8_lossy(&server.stdout).contains("max_connections");
        let name = format!("own{n}");
        let added = place.run(&[
            "server",
            "add",
            &name,
            binary.path.to_str().unwrap(),
            "--my-cnf",
            "my.cnf",
        ]);
        assert_eq!(
            (is_taken, added.code == Some(0)),
            (is_read, is_read),
            "{n}: {server:?} {}",
            added.stderr
        );
    }
}

/// Servers read `GB` as `G`, and so do the checks of what this host has.
#[test]
fn sizes_in_gb_are_checked_as_well() {
    if mariadb("sizes_in_gb_are_checked_as_well").is_none() {
        return;
    }
    let place = Place::with_templates();
    for unit in ["G", "GB", "GiB"] {
        let pool = format!("innodb_buffer_pool_size=90000{unit}");
        place.refused(
            &["run", "insert", "-c", "1", "--set", &pool],
            &["a buffer pool of 96636765 MB need"],
        );
        // The largest that MariaDB takes, 512 GiB, and more than the disks of tests have.
        let log = format!("innodb_log_file_size=512{unit}");
        place.refused(&["run", "insert", "-c", "1", "--set", &log], &["not enough disk space"]);
    }
}

/// Each of two lines is fine, and both are not; or one is fine beside another only, which the
/// server says when it starts.
#[test]
fn lines_that_are_wrong_together_are_named() {
    let Some(server) = fetched_server("lines_that_are_wrong_together_are_named", "mysql-8.0")
    else {
        return;
    };
    let place = Place::with_templates();
    let _ends = Ends(&place);
    let program = server.basedir.to_str().unwrap();
    place.write(
        "my.cnf",
        "[mysqld]\nmax_connections=77\ncharacter-set-server=latin1\ncollation-server=utf8mb4_general_ci\n",
    );
    let words = "`character_set_server`, `collation_server` are not accepted together: the server \
                 says: COLLATION";
    place.refused(&["server", "add", "bad", program, "--my-cnf", "my.cnf"], &[words]);
    place.write("my.cnf", "[mysqld]\nmax_connections=77\ngtid_mode=ON\n");
    place.good(&["server", "add", "gtid", program, "--my-cnf", "my.cnf"]);
    let started = place.run(&["server", "start", "gtid", "--set", "innodb_log_file_size=32M"]);
    assert_ne!(started.code, Some(0));
    let said = "of its settings the log names gtid_mode = ON)";
    assert!(
        started.stderr.contains(said) && !started.stderr.contains("max_connections"),
        "{}",
        started.stderr
    );
}

/// A large pool, whose parts the server chooses by itself, and a value that it rounds when InnoDB
/// starts.
#[test]
fn a_large_pool_of_a_file_is_what_the_server_makes_of_it() {
    for name in ["mysql-8.0", "mysql-9.7"] {
        let Some(server) = fetched_server("a_large_pool_of_a_file", name) else { continue };
        let place = Place::with_templates();
        let _ends = Ends(&place);
        place.write(
            "my.cnf",
            "[mysqld]\ninnodb_buffer_pool_size = 1100M\ninnodb_log_write_ahead_size = 3000\n",
        );
        place.good(&[
            "server",
            "add",
            "prod",
            server.basedir.to_str().unwrap(),
            "--my-cnf",
            "my.cnf",
        ]);
        let started = place.good(&["server", "start", "prod"]);
        let asked =
            place.good(&["server", "sql", "prod", "SELECT @@innodb_buffer_pool_size DIV 1048576"]);
        // By its manual: 8 parts in 8.0; from 8.4 on fewer, by the number of processors.
        let pool: u32 = asked.stdout.lines().find_map(|line| line.trim().parse().ok()).unwrap();
        assert!(
            pool > 1100 && pool.is_multiple_of(128),
            "{name}: {} {}",
            asked.stdout,
            started.stderr
        );
        let said = "innodb_log_write_ahead_size = 2560 of its option file: the server takes 2048";
        assert!(started.stderr.contains(said), "{name}: {}", started.stderr);
        place.good(&["server", "stop", "prod"]);
    }
}

#[test]
fn an_answer_tells_the_file_from_what_truetps_chose() {
    let Some(binary) = mariadb("an_answer_tells_the_file_from_what_truetps_chose") else { return };
    let place = Place::with_templates();
    place.write("my.cnf", "[mysqld]\ntmp_table_size = 17M\n");
    let program = format!("--basedir={}", binary.path.display());
    let run = [
        "run",
        "insert",
        "-c=1",
        "--measure=0.7",
        "--warm-up=0.1",
        "--table-rows=300",
        SMALL_REDO,
        &program,
    ];
    let short = place
        .good(&[&run[..], &["--my-cnf", "my.cnf"]].concat())
        .stdout
        .replace("\n          ", " ");
    let chosen =
        "Settings  chosen by truetps, because the option file does not set them: buffer pool ";
    assert!(short.contains(chosen), "{short}");
    let full = place.good(&["report", "--full"]).stdout.replace("\n          ", " ");
    let line = |word: &str| {
        full.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{full}"))
    };
    assert!(line("Server").contains("tmp_table_size=17M"), "{full}");
    let own = line("Settings");
    assert!(own.contains("innodb_buffer_pool_size=") && !own.contains("tmp_table_size"), "{own}");
    assert!(
        own.ends_with("(chosen by truetps: neither the plan nor the option file sets them)"),
        "{own}"
    );
    assert!(!place.good(&run).stdout.contains(chosen), "no file was given");
}
