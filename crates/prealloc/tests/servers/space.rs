//! Little space, and a limit of file sizes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::geteuid;
use truetps_binlog::state::StatusWord;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, MEBI, SOON};
use crate::load::{Load, keys_in_binlogs, keys_in_table, make_table};
use crate::loop_disk::{LoopDisk, LoopFileSystem};

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
    let (logical, real) = (
        client.query("SHOW BINARY LOGS").unwrap().rows,
        fs::metadata(bench.file(1)).unwrap().len(),
    );
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

/// The disk becomes full while zeros are ahead of the server: it writes into them, and then behaves
/// as without the library.
pub(crate) fn a_full_disk_loses_nothing(server: &FetchedServer) {
    let survives = [false, true].map(|has_library| survives_a_full_disk(server, has_library));
    assert_eq!(survives[0], survives[1]);
}

/// Whether the server is alive on the full disk. `None`: no disk can be made here.
fn survives_a_full_disk(server: &FetchedServer, has_library: bool) -> Option<bool> {
    let mut bench = Bench::new(server);
    let disk = LoopDisk::for_binlogs(&mut bench, LoopFileSystem::Ext4, 64)?;
    bench.set("max_binlog_size", "1G");
    bench.options = "free_floor_mib=8";
    let running = bench.start(has_library);
    make_table(&mut running.connect(SOON).unwrap());
    if has_library {
        bench.wait_until_ahead();
    }
    fill(&disk.mounted);
    let inside = || if has_library { bench.word(StatusWord::writes_inside) } else { 0 };
    let before = inside();
    let load = Load::start(&running, 1);
    wait_until_stuck(&load);
    assert!(!has_library || inside() > before, "zeros were used: {:?}", bench.page());
    let is_alive = running.exit_status_if_dead().is_none();
    eprintln!(
        "{}: full, library {has_library}: {} rows, alive {is_alive}",
        server.name,
        load.count()
    );
    running.kill().unwrap();
    let acknowledged = load.end();
    fs::remove_file(disk.mounted.join("ballast")).unwrap();
    let running = bench.start(has_library);
    let mut client = running.connect(SOON).unwrap();
    let (table, binlogs) = (keys_in_table(&mut client), keys_in_binlogs(&bench));
    assert!(acknowledged.is_subset(&table), "{}", bench.log());
    assert!(table.is_subset(&binlogs), "{}", bench.log());
    // The disk may have become full between a statement and its commit: such a group is none to
    // servers and replicas.
    assert!(binlogs.difference(&table).count() <= 1, "{}", bench.log());
    client.execute("INSERT INTO t.k VALUES (77777777, 'x')").unwrap();
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    if has_library {
        bench.assert_all_sound();
    }
    Some(is_alive)
}

/// Until not even a block is left.
fn fill(folder: &Path) {
    let mut ballast = fs::File::create(folder.join("ballast")).unwrap();
    let mut bytes = MEBI as usize;
    while bytes > 0 {
        if ballast.write_all(&vec![1; bytes]).is_err() {
            bytes /= 2;
        }
    }
    ballast.sync_all().unwrap();
}

/// Until no row has been acknowledged for a while.
fn wait_until_stuck(load: &Load) {
    let (mut count, mut since) = (load.count(), Instant::now());
    while since.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(50));
        if load.count() != count {
            (count, since) = (load.count(), Instant::now());
        }
    }
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
