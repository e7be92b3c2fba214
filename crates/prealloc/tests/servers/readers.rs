//! All that reads binlogs sees their content and no zeros.

use std::path::{Path, PathBuf};
use std::time::Instant;

use truetps_binlog::state::{PreallocCondition, StatusWord};
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, MEBI, SOON};
use crate::load::make_table;

pub(crate) fn files_have_their_logical_sizes(server: &FetchedServer) {
    let bench = Bench::new(server);
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    assert_eq!(bench.page().condition(), Some(PreallocCondition::Live));
    assert_eq!(bench.word(StatusWord::pid), u64::from(running.pid()));
    assert!(bench.log().contains("[truetps-prealloc] live"), "{}", bench.log());
    assert_eq!(client.query_value("SELECT @@GLOBAL.log_bin").unwrap().as_deref(), Some("1"));
    for n in 0..40_u64 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, 'x')")).unwrap();
        bench.assert_sizes_are_real(&mut client);
        if n % 4 == 3 {
            client.execute("FLUSH BINARY LOGS").unwrap();
        }
    }
    let names = client.query("SHOW BINARY LOGS").unwrap().rows;
    for row in &names {
        let name = row[0].as_deref().unwrap();
        let events = client.query(&format!("SHOW BINLOG EVENTS IN '{name}'")).unwrap().rows;
        let end = events.last().unwrap().get(4).unwrap().clone();
        assert_eq!(end, row[1], "the last event of {name} ends at its size");
    }
    // More than there are places for files.
    for _ in 0..100 {
        client.execute("FLUSH BINARY LOGS").unwrap();
    }
    bench.wait_until_ahead();
    let names = client.query("SHOW BINARY LOGS").unwrap().rows;
    let kept = names[names.len() - 2][0].clone().unwrap();
    // MariaDB keeps files until its checkpoint has passed them.
    let end = Instant::now() + SOON;
    while bench.files().len() > 2 {
        assert!(Instant::now() < end, "{:?}", bench.files());
        client.execute(&format!("PURGE BINARY LOGS TO '{kept}'")).unwrap();
    }
    let reset = if bench.is_mariadb || server.name != "mysql-9.7" {
        "RESET MASTER"
    } else {
        "RESET BINARY LOGS AND GTIDS"
    };
    client.execute(reset).unwrap();
    assert_eq!(bench.files(), [bench.file(1)]);
    bench.wait_until_ahead();
    client.execute("INSERT INTO t.k VALUES (1000, 'behind the reset')").unwrap();
    bench.assert_sizes_are_real(&mut client);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    assert_eq!((bench.page().marker(), bench.word(StatusWord::errors)), (None, 0));
    assert_eq!(bench.word(StatusWord::logical_end), bench.word(StatusWord::filled_end));
    assert!(bench.word(StatusWord::truncations) >= 10, "{:?}", bench.page());
}

pub(crate) fn a_large_transaction_grows_the_file(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    if server.name == "mariadb-11.8" {
        // The cache of a large transaction becomes a binlog by its renaming.
        bench.set("binlog_large_commit_threshold", "10M");
    }
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    let text = "w".repeat(6 * MEBI as usize);
    client.execute("BEGIN").unwrap();
    for n in 0..9 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, '{text}')")).unwrap();
    }
    client.execute("COMMIT").unwrap();
    client.execute("INSERT INTO t.k VALUES (100, 'small')").unwrap();
    bench.assert_sizes_are_real(&mut client);
    let largest =
        bench.files().iter().map(|file| std::fs::metadata(file).unwrap().len()).max().unwrap();
    assert!(largest > 54 * MEBI, "{largest}");
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}

pub(crate) fn closed_active_and_remote_files_are_read(server: &FetchedServer) {
    let Some(program) = mysqlbinlog(server) else {
        eprintln!("SKIPPED mysqlbinlog with {}: there is no such program", server.name);
        return;
    };
    let loader = server.basedir.join("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    let bench = Bench::new(server);
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    client.execute("INSERT INTO t.k VALUES (1, 'closed')").unwrap();
    client.execute("FLUSH BINARY LOGS").unwrap();
    client.execute("INSERT INTO t.k VALUES (2, 'active')").unwrap();
    bench.wait_until_ahead();
    let active = bench.word(StatusWord::active_file);
    let read = |words: &[&str]| run(&loader, &program, words);
    let path = |number: u64| bench.file(number).display().to_string();
    let (text, is_good) = read(&[&path(active - 1)]);
    assert!(is_good && text.contains("VALUES (1, 'closed')"), "{text}");
    let socket = format!("--socket={}", running.socket().display());
    let name = format!("binlog.{active:06}");
    let (text, is_good) =
        read(&["--no-defaults", "--read-from-remote-server", "--user=root", &socket, &name]);
    assert!(is_good && text.contains("VALUES (2, 'active')"), "remote: {text}");
    // It complains about the zeros, behind all events.
    let (text, _) = read(&["--no-defaults", &path(active)]);
    assert!(text.contains("VALUES (2, 'active')"), "active: {text}");
    bench.switch(false);
    let (text, is_good) = read(&["--no-defaults", &path(active)]);
    assert!(is_good && text.contains("VALUES (2, 'active')"), "paused: {text}");
    assert_eq!(bench.page().condition(), Some(PreallocCondition::Paused));
}

/// The program of the server's own version: others do not know all of its events.
fn mysqlbinlog(server: &FetchedServer) -> Option<PathBuf> {
    let folders = [server.basedir.join("bin"), PathBuf::from("/usr/bin")];
    let folders = &folders[..if server.name == "mariadb-10.11" { 2 } else { 1 }];
    let names = if server.name.starts_with("mariadb") {
        ["mariadb-binlog", "mysqlbinlog"]
    } else {
        ["mysqlbinlog"; 2]
    };
    folders
        .iter()
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// A fetched server may have a loader and libraries of its own.
fn run(loader: &Path, program: &Path, words: &[&str]) -> (String, bool) {
    #[expect(clippy::disallowed_methods, reason = "a program that ends at once")]
    let mut command = std::process::Command::new(if loader.is_file() { loader } else { program });
    if loader.is_file() {
        let libraries = loader.parent().unwrap();
        let private = libraries.parent().unwrap().join("mysql/private");
        command
            .arg("--library-path")
            .arg(format!("{}:{}", libraries.display(), private.display()))
            .arg(program);
    }
    let output = command.args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.success())
}
