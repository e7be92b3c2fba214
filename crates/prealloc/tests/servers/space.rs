//! Little space, and a limit of file sizes.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::geteuid;
use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, MEBI, SOON};
use crate::load::make_table;

/// A small file system of memory, unmounted with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`: only root can mount it.
    fn mount(bench: &Bench, mebi: u64) -> Option<Self> {
        if !geteuid().is_root() {
            eprintln!("SKIPPED: only root can mount a small disk");
            return None;
        }
        let folder = bench.home.folder().join("small");
        fs::create_dir(&folder).unwrap();
        let options = std::ffi::CString::new(format!("size={mebi}m,mode=777")).unwrap();
        mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
        Some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

fn write_ballast(folder: &Path, mebi: usize) {
    fs::write(folder.join("ballast"), vec![1; mebi << 20]).unwrap();
}

pub(crate) fn the_fill_leaves_free_space(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    let Some(disk) = SmallDisk::mount(&bench, 64) else { return };
    bench.set("log_bin", &disk.0.join("binlog").display().to_string());
    bench.set("max_binlog_size", "1G");
    bench.basename = disk.0.join("binlog");
    bench.options = "free_floor_mib=40";
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    write_ballast(&disk.0, 30);
    let text = "x".repeat(MEBI as usize);
    for n in 0..8 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, '{text}')")).unwrap();
    }
    bench.wait_for(StatusWord::floor_stops, |stops| stops > 0);
    let (logical, real) = (client.query("SHOW BINARY LOGS").unwrap().rows, fs::metadata(bench.file(1)).unwrap().len());
    let logical: u64 = logical.last().unwrap()[1].as_ref().unwrap().parse().unwrap();
    assert!(real - logical < MEBI, "{real} {logical}");
    fs::remove_file(disk.0.join("ballast")).unwrap();
    client.execute("INSERT INTO t.k VALUES (100, 'x')").unwrap();
    bench.wait_until_ahead();
    // Until nothing is left, without a floor.
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
    bench.options = "free_floor_mib=0";
    let running = bench.start(true);
    write_ballast(&disk.0, 44);
    let mut client = running.connect(SOON).unwrap();
    for n in 200..204 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, '{text}')")).unwrap();
    }
    drop(client);
    running.kill().unwrap();
    fs::remove_file(disk.0.join("ballast")).unwrap();
    let running = bench.start(true);
    let rows = running.connect(SOON).unwrap().query_value("SELECT COUNT(*) FROM t.k").unwrap();
    assert_eq!(rows.as_deref(), Some("13"));
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}

/// As the server's user: root in a container may not change the limits of others.
fn limit_file_size(bench: &Bench, pid: u32, bytes: u64) {
    use std::os::unix::process::CommandExt;
    let user = bench.home.home().user();
    #[expect(clippy::disallowed_methods, reason = "a program that ends at once")]
    let mut command = std::process::Command::new("prlimit");
    command.arg(format!("--pid={pid}")).arg(format!("--fsize={bytes}"));
    if user.switch {
        command.gid(user.gid).uid(user.uid);
    }
    assert!(command.status().unwrap().success());
}

pub(crate) fn a_limit_of_file_sizes_stops_the_fill_only(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    bench.set("max_binlog_size", "1G");
    bench.options = "free_floor_mib=64;ahead_mib=128";
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    bench.wait_until_ahead();
    limit_file_size(&bench, running.pid(), 44 * MEBI);
    let text = "x".repeat(MEBI as usize);
    for n in 0..30 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, '{text}')")).unwrap();
    }
    bench.wait_for(StatusWord::errors, |errors| errors > 0);
    for n in 100..110 {
        client.execute(&format!("INSERT INTO t.k VALUES ({n}, 'x')")).unwrap();
    }
    assert!(bench.log().contains("is not filled further: error 27"), "{}", bench.log());
    bench.assert_sizes_are_real(&mut client);
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}
