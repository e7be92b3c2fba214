//! The gain itself: flushes of the binlog's disk for each commit, which the kernel counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::process::geteuid;
use truetps_testkit::mysql_family::FetchedServer;

use crate::common::{Bench, MEBI, SOON};
use crate::load::make_table;

const COMMITS: u64 = 300;

/// An ext4 on a loop device.
struct LoopDisk {
    device: String,
    mounted: PathBuf,
}

fn run(program: &str, words: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "programs that end at once")]
    std::process::Command::new(program).args(words).output().unwrap()
}

fn run_well(program: &str, words: &[&str]) -> String {
    let output = run(program, words);
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl LoopDisk {
    /// `None`: only root can mount it.
    fn mount(folder: &Path) -> Option<Self> {
        if !geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: only root with loop devices can count flushes");
            return None;
        }
        let image = folder.join("image");
        fs::File::create(&image).unwrap().set_len(256 * MEBI).unwrap();
        let device = run_well("losetup", &["--find", "--show", image.to_str().unwrap()]);
        let disk = Self { device, mounted: folder.join("disk") };
        run_well("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", &disk.device]);
        fs::create_dir(&disk.mounted).unwrap();
        run_well("mount", &["-i", "-n", "-t", "ext4", &disk.device, disk.mounted.to_str().unwrap()]);
        Some(disk)
    }

    /// Flushes since it exists: the last but one of its numbers.
    fn flushes(&self) -> u64 {
        let name = self.device.trim_start_matches("/dev/");
        let text = fs::read_to_string("/proc/diskstats").unwrap();
        let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(name)).unwrap();
        line.split_whitespace().nth(18).unwrap().parse().unwrap()
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        run("umount", &[self.mounted.to_str().unwrap()]);
        run("losetup", &["--detach", &self.device]);
    }
}

pub(crate) fn a_commit_flushes_the_disk_once(server: &FetchedServer) {
    let mut bench = Bench::new(server);
    let Some(disk) = LoopDisk::mount(bench.home.folder()) else { return };
    let user = bench.home.home().user();
    std::os::unix::fs::chown(&disk.mounted, Some(user.uid), Some(user.gid)).unwrap();
    bench.set("log_bin", &disk.mounted.join("binlog").display().to_string());
    bench.set("max_binlog_size", "1G");
    bench.basename = disk.mounted.join("binlog");
    let running = bench.start(true);
    let mut client = running.connect(SOON).unwrap();
    make_table(&mut client);
    let mut key = 0;
    let mut per_commit = || {
        let before = disk.flushes();
        for _ in 0..COMMITS {
            key += 1;
            client.execute(&format!("INSERT INTO t.k VALUES ({key}, '{}')", "x".repeat(300))).unwrap();
        }
        (disk.flushes() - before) as f64 / COMMITS as f64
    };
    let both = [false, true].map(|is_on| {
        bench.switch(is_on);
        if is_on {
            bench.wait_until_ahead();
        }
        per_commit()
    });
    eprintln!("{}: {:.2} flushes for each commit without zeros, {:.2} with them", server.name, both[0], both[1]);
    assert!(both[0] > 1.9 && both[1] < 1.15, "{both:?}");
    drop(client);
    assert!(running.stop(SOON).unwrap().clean);
    bench.assert_all_sound();
}
