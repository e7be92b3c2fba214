//! Binlogs in other places, files that are none, and children of the server.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, SOON};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};

/// The server reaches the folder through a symbolic link, and its index is elsewhere.
pub(crate) fn a_link_to_the_folder_and_an_index_elsewhere(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    let folders = ["logs", "index"].map(|name| bench.home.folder().join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
        let user = bench.home.home().user();
        chown(folder, Some(user.uid), Some(user.gid)).unwrap();
    }
    let link = bench.home.folder().join("link");
    symlink(&folders[0], &link).unwrap();
    bench.set("log_bin", &link.join("binlog").display().to_string());
    bench.set("log_bin_index", &folders[1].join("other.index").display().to_string());
    bench.basename = folders[0].join("binlog");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    bench.assert_sizes_are_real(&mut client);
    let load = Load::start(&running, 1);
    std::thread::sleep(std::time::Duration::from_millis(400));
    drop(client);
    running.kill().unwrap();
    let acknowledged = load.end();
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    assert!(bench.word(StatusWord::trims) > 0, "{}", bench.log());
    let table = keys_in_table(&mut client);
    assert_eq!(acknowledged.difference(&table).count(), 0);
    assert_eq!(table, keys_in_binlogs(&bench));
    bench.assert_sizes_are_real(&mut client);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    // Aria's log has the shape of a binlog's name; its contents are compared below.
    let own =
        fs::read_dir(bench.sandbox.datadir()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(own.into_iter().all(|name| !name.to_string_lossy().contains("prealloc")));
}

/// Aria's log has names of the same form as binlogs, and the contents that it has without the
/// library.
pub(crate) fn the_log_of_aria_is_as_without(server: &FetchedServer) {
    let both = [true, false].map(|has_library| {
        let bench = Bench::new(server);
        let running = bench.start(has_library);
        let mut client = running.connect(SOON).unwrap();
        client.execute("CREATE DATABASE t").unwrap();
        if !bench.is_mariadb {
            return Vec::new();
        }
        client
            .execute("CREATE TABLE t.a (id INT PRIMARY KEY, v VARCHAR(1000)) ENGINE=Aria")
            .unwrap();
        for n in 0..200 {
            client
                .execute(&format!("INSERT INTO t.a VALUES ({n}, '{}')", "a".repeat(900)))
                .unwrap();
        }
        if has_library {
            bench.wait_until_ahead();
        }
        drop(client);
        assert!(running.stop(SOON).unwrap().clean);
        fs::read(bench.sandbox.datadir().join("aria_log.00000001")).unwrap()
    });
    let [with, without] =
        both.map(|bytes| (bytes.len(), bytes.iter().rposition(|byte| *byte != 0)));
    assert_eq!(with, without);
}

/// Copies a program in another process: a descriptor that this one has open for writing may be
/// inherited by the server of another test, and a program that is open for writing cannot be
/// started.
pub(crate) fn copy_program(from: impl AsRef<OsStr>, to: &Path) {
    #[expect(clippy::disallowed_methods, reason = "a program that ends at once")]
    let status = std::process::Command::new("cp").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// A program of the server's name, which shows what its children get, and one of another name.
#[test]
fn children_do_not_load_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let library = program.parent().unwrap().join("libtruetps_prealloc.so");
    let shown = |name: &str, preload: &str| {
        let shell = dir.path().join(name);
        copy_program("/bin/sh", &shell);
        #[expect(clippy::disallowed_methods, reason = "a program that ends at once")]
        let mut command = std::process::Command::new(shell);
        command.args(["-c", "/usr/bin/env"]).env_clear().env("LD_PRELOAD", preload);
        let value = format!("basename={}/binlog", dir.path().display());
        let output = command.env("TRUETPS_PREALLOC", value).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let library = library.display().to_string();
    let both = |text: &str| (text.contains("LD_PRELOAD=/"), text.contains("TRUETPS_PREALLOC="));
    assert_eq!(both(&shown("mysqld", &library)), (false, false));
    assert_eq!(both(&shown("mysqld_safe", &library)), (true, true), "a wrapper hands it on");
    let others = shown("mariadbd", &format!("/lib/other-not-there.so:{library}"));
    assert!(others.contains("LD_PRELOAD=/lib/other-not-there.so\n"), "{others}");
}

/// A program of the server's name reads the index: before that, a file of zeros is trimmed, unless
/// it is open elsewhere.
#[test]
fn a_file_that_is_open_elsewhere_is_not_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let library = program.parent().unwrap().join("libtruetps_prealloc.so");
    let (server, file) = (dir.path().join("mariadbd"), dir.path().join("binlog.000001"));
    copy_program("/bin/cat", &server);
    fs::write(&file, [0; 9000]).unwrap();
    fs::write(dir.path().join("binlog.index"), "./binlog.000001\n").unwrap();
    let run = || {
        #[expect(clippy::disallowed_methods, reason = "a program that ends at once")]
        let mut command = std::process::Command::new(&server);
        command.arg(dir.path().join("binlog.index")).env("LD_PRELOAD", &library);
        let value = format!("basename={}/binlog", dir.path().display());
        let output = command.env("TRUETPS_PREALLOC", value).output().unwrap();
        assert_eq!(output.stdout, b"./binlog.000001\n");
        (String::from_utf8(output.stderr).unwrap(), fs::metadata(&file).unwrap().len())
    };
    let open = fs::File::open(&file).unwrap();
    let (note, bytes) = run();
    assert!(bytes == 9000 && note.contains("another process has it open"), "{note}");
    drop(open);
    let (note, bytes) = run();
    assert!(bytes == 0 && note.contains("was trimmed after a crash: 9000 to 0 bytes"), "{note}");
}
