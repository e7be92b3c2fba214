//! Kills of truetps with an emulated disk mounted, at random moments: nothing is left after a
//! cleaning, and mounts of others stay. It takes minutes, so that it runs only where it is asked
//! for:
//!
//! ```text
//! TRUETPS_KILLS=50 TRUETPS_SEED=1 cargo test -p truetps --test private_servers kills_on_disks -- --nocapture
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;

use crate::common::{Place, Ran, has_disks, has_server, mounts_below, signal, wait_until};

const RUN: [&str; 8] = [
    "run",
    "insert",
    "--disk=sata-ssd",
    "--connections=2",
    "--warm-up=0.2",
    "--measure=9",
    "--table-rows=500",
    "--no-probe",
];
/// The kernel removes a FUSE connection a moment after its last file is closed.
const CONNECTION_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Draws of a test, repeatable by their seed (SplitMix64).
struct Draws(u64);

impl Draws {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn seconds(&mut self, from: f64, to: f64) -> Duration {
        Duration::from_secs_f64(from + self.share() * (to - from))
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Which processes are killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Truetps,
    /// The helper, and truetps a moment later, while it finds out.
    HelperFirst(Duration),
    Both,
}

impl Victim {
    fn draw(draws: &mut Draws) -> Self {
        match draws.share() {
            share if share < 0.6 => Self::Truetps,
            share if share < 0.85 => Self::HelperFirst(draws.seconds(0.0, 1.0)),
            _ => Self::Both,
        }
    }

    /// Returns the number of helpers that were killed.
    fn kill(self, place: &Place, child: &mut Child) -> usize {
        let helpers = if matches!(self, Self::Truetps) { Vec::new() } else { helpers(place) };
        for pid in &helpers {
            signal(*pid, Signal::KILL);
        }
        if let Self::HelperFirst(pause) = self {
            thread::sleep(pause);
        }
        // It may have ended by itself after the end of its helper.
        let _ = child.kill();
        child.wait().unwrap();
        helpers.len()
    }
}

/// Processes with the folder of private servers on their command line.
fn processes(place: &Place) -> Vec<(u32, String)> {
    let home = place.home().display().to_string();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let named = numbers.map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).replace('\0', " "))
    });
    named.filter(|(_, line)| line.contains(&home)).collect()
}

fn helpers(place: &Place) -> Vec<u32> {
    processes(place)
        .into_iter()
        .filter(|(_, line)| line.contains("disk-helper"))
        .map(|(pid, _)| pid)
        .collect()
}

fn loops_below(folder: &Path) -> Vec<String> {
    let files = fs::read_dir("/sys/block").unwrap().flatten();
    let files =
        files.filter_map(|entry| fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files.filter(|file| file.contains(&folder.display().to_string())).collect()
}

/// Mounts, a loop device and a disk that are not of the killed runs.
struct Foreign {
    place: Place,
    /// Lists the FUSE connections of this machine.
    connections: PathBuf,
    disk: Child,
    mounts: Vec<String>,
}

impl Foreign {
    fn make() -> Self {
        let place = Place::with_templates();
        let below = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (connections, memory, files) = (below("connections"), below("memory"), below("files"));
        mount("none", &connections, "fusectl", MountFlags::empty(), None).unwrap();
        mount("theirs", &memory, "tmpfs", MountFlags::empty(), None).unwrap();
        let image = place.path().join("image");
        fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
        let device = printed("losetup", &["--find".as_ref(), "--show".as_ref(), image.as_path()]);
        printed("mkfs.ext4", &["-q".as_ref(), Path::new(device.trim())]);
        mount(Path::new(device.trim()), &files, "ext4", MountFlags::empty(), None).unwrap();
        let disk = Self::start_disk(&place, &below("disk"));
        let mounts = mounts_below(place.path());
        assert_eq!(mounts.len(), 5, "{mounts:?}");
        let foreign = Self { place, connections, disk, mounts };
        foreign.files().iter().for_each(|file| fs::write(file, "theirs").unwrap());
        foreign
    }

    /// An emulated disk of another process.
    fn start_disk(place: &Place, folder: &Path) -> Child {
        let mut command = place.command(&["disk-helper", folder.to_str().unwrap()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let profile = serde_json::json!({"name": "theirs", "about": "", "volatile_cache_mb": 1});
        let options = serde_json::json!({
            "folder": folder, "profile": profile, "bytes": 256 << 20, "seed": 1, "owner": [0, 0]
        });
        writeln!(child.stdin.as_mut().unwrap(), "{options}").unwrap();
        let files = folder.join("files");
        wait_until("the disk of another process", || {
            mounts_below(&files).len() == 1 && files.join("lost+found").exists()
        });
        child
    }

    fn files(&self) -> [PathBuf; 3] {
        ["memory/file", "files/file", "disk/files/file"].map(|name| self.place.path().join(name))
    }

    fn check(&mut self) {
        assert_eq!(mounts_below(self.place.path()), self.mounts);
        assert!(self.disk.try_wait().unwrap().is_none(), "the disk of another process has ended");
        for file in self.files() {
            assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        }
    }

    /// Which of these FUSE connections are there, and mounted nowhere: another process may have got
    /// their numbers.
    fn connections_left(&self, ours: &BTreeSet<String>) -> BTreeSet<String> {
        let mounted = connections(&fs::read_to_string("/proc/self/mountinfo").unwrap());
        let left =
            ours.difference(&mounted).filter(|number| self.connections.join(number).exists());
        left.cloned().collect()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        drop(self.disk.stdin.take());
        let _ = self.disk.wait();
        let image = self.place.path().join("image");
        for name in ["files", "memory", "connections"] {
            let _ = unmount(self.place.path().join(name), UnmountFlags::DETACH);
        }
        let device = printed(
            "losetup",
            &["--noheadings".as_ref(), "--output=NAME".as_ref(), "-j".as_ref(), image.as_path()],
        );
        if !device.trim().is_empty() {
            printed("losetup", &["--detach".as_ref(), Path::new(device.trim())]);
        }
    }
}

/// Numbers of the FUSE connections in a list of mounts: the minor numbers of their file systems.
fn connections(mounts: &str) -> BTreeSet<String> {
    let fuse = mounts.lines().filter(|line| line.contains(" - fuse"));
    fuse.filter_map(|line| line.split(' ').nth(2)?.strip_prefix("0:").map(str::to_owned)).collect()
}

fn printed(program: &str, words: &[&Path]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a real tool")]
    let ran: Ran = Command::new(program).args(words).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{program} {words:?}: {}", ran.stderr);
    ran.stdout
}

/// Everything that a cleaning must have removed, right after it.
fn check_nothing_is_left(place: &Place, foreign: &Foreign, connections: &BTreeSet<String>) {
    assert_eq!(mounts_below(&place.home()), Vec::<String>::new());
    assert_eq!(loops_below(place.path()), Vec::<String>::new());
    assert_eq!(processes(place), Vec::new());
    let servers = fs::read_dir(place.home().join("servers")).unwrap();
    let servers: Vec<_> =
        servers.map(|entry| entry.unwrap().file_name()).filter(|name| name != ".lock").collect();
    assert!(servers.is_empty(), "{servers:?}");
    let end = Instant::now() + CONNECTION_TIME_LIMIT;
    while !foreign.connections_left(connections).is_empty() {
        assert!(
            Instant::now() < end,
            "FUSE connections {:?}",
            foreign.connections_left(connections)
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn killed_runs_on_a_disk_leave_nothing_after_a_cleaning() {
    let (Some(kills), seed) = (number("TRUETPS_KILLS"), number("TRUETPS_SEED").unwrap_or(1)) else {
        eprintln!("SKIPPED: takes minutes; TRUETPS_KILLS=50 runs it");
        return;
    };
    if !has_server() || !has_disks("killed_runs_on_a_disk_leave_nothing_after_a_cleaning") {
        return;
    }
    let (place, mut foreign, mut draws) = (Place::with_templates(), Foreign::make(), Draws(seed));
    let (mut longest, mut helpers_killed, mut mounted) = (Duration::ZERO, 0, 0);
    for kill in 1..=kills {
        let (after, victim) = (draws.seconds(0.1, 8.0), Victim::draw(&mut draws));
        let mut child =
            place.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(after);
        let mounts = mounts_below(&place.home());
        mounted += usize::from(!mounts.is_empty());
        helpers_killed += victim.kill(&place, &mut child);
        let began = Instant::now();
        place.good(&["server", "clean"]);
        let took = began.elapsed();
        longest = longest.max(took);
        eprintln!("kill {kill}: {victim:?} after {after:.2?}, cleaned in {took:.2?}");
        check_nothing_is_left(&place, &foreign, &connections(&mounts.join("\n")));
        foreign.check();
    }
    eprintln!(
        "{kills} kills, seed {seed}: {mounted} with a mounted disk, {helpers_killed} helpers \
         killed, longest cleaning {longest:.2?}"
    );
}
