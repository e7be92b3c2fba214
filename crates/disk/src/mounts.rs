//! Mounts and loop devices of emulated disks, as the kernel lists them: what a killed run has left,
//! and only that.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};

use fuser::BackgroundSession;

use crate::device::open_private;
use crate::error::{DiskError, FUSERMOUNT};
use crate::programs::output_of;
use crate::served_file::SUBTYPE;

/// The lock of a disk's process.
const LOCK: &str = "lock";
/// Time limit for processes that still use files of a disk, and are ending.
const BUSY_TIME_LIMIT: Duration = Duration::from_secs(20);
/// Time limit for a loop device to let go of its file.
const DETACH_TIME_LIMIT: Duration = Duration::from_secs(3);
const BUSY_LOOK: Duration = Duration::from_millis(20);

/// A line of /proc/self/mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MountEntry {
    /// Minor number of the file system: the number of a FUSE connection.
    minor: u32,
    point: PathBuf,
    source: String,
}

impl MountEntry {
    /// Whether it shows one of these loop devices.
    fn is_of_loop(&self, loops: &[u32]) -> bool {
        loops.iter().any(|number| self.source == format!("/dev/loop{number}"))
    }
}

/// All mounts, in the order in which they were made.
fn mount_entries() -> Result<Vec<MountEntry>, DiskError> {
    const LIST: &str = "/proc/self/mountinfo";
    let text = fs::read_to_string(LIST).map_err(DiskError::io("read", Path::new(LIST)))?;
    Ok(text.lines().filter_map(mount_entry).collect())
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/loop0 rw,errors=continue`
fn mount_entry(line: &str) -> Option<MountEntry> {
    let (first, second) = line.split_once(" - ")?;
    let mut fields = first.split(' ').skip(2);
    let minor = fields.next()?.split_once(':')?.1.parse().ok()?;
    let point = PathBuf::from(unescaped(fields.nth(1)?));
    let source = unescaped(second.split(' ').nth(1)?);
    Some(MountEntry { minor, point, source })
}

/// The kernel writes blanks, tabs, line ends and backslashes as octal numbers.
fn unescaped(text: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.into_iter().fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// Number of a loop device, by the file that it shows.
pub(crate) fn loops_below(folder: &Path) -> Vec<u32> {
    let numbers = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let numbers =
        numbers.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("loop")?.parse().ok());
    let below = numbers.filter(|number: &u32| {
        let file = fs::read_to_string(format!("/sys/block/loop{number}/loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim_end()).starts_with(folder))
    });
    below.collect()
}

/// The process of a disk holds this lock in its folder.
pub(crate) fn lock_folder(folder: &Path) -> Result<File, DiskError> {
    let path = folder.join(LOCK);
    let lock = open_private(&path).map_err(DiskError::io("open", &path))?;
    let locked = lock.try_lock().map_err(|held| io::Error::other(held.to_string()));
    locked.map_err(DiskError::io("lock", &path))?;
    Ok(lock)
}

/// Whether a living process serves the disk in this folder.
pub fn is_disk_served(folder: &Path) -> bool {
    let opened = File::options().read(true).open(folder.join(LOCK));
    opened.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether something is mounted in this folder.
pub fn has_mounts(folder: &Path) -> bool {
    let (Ok(folder), Ok(all)) = (folder.canonicalize(), mount_entries()) else { return false };
    all.iter().any(|one| one.point.starts_with(&folder))
}

/// Removes mounts and loop devices of the emulated disk in a folder of truetps, whose owner is
/// dead. Its process may be removing them by itself, and is awaited; one that hangs loses its disk.
/// Anything else that is mounted there is an error, and stays.
pub fn clean_disk(folder: &Path) -> Result<(), DiskError> {
    if let Err(_held) = lock_within(folder, BUSY_TIME_LIMIT) {
        // A killed process that waits for an answer of its own never ends: now it gets none.
        abort_served(folder)?;
        lock_within(folder, BUSY_TIME_LIMIT)?;
    }
    remove_mounts(folder)
}

fn lock_within(folder: &Path, time_limit: Duration) -> Result<File, DiskError> {
    let end = Instant::now() + time_limit;
    loop {
        match lock_folder(folder) {
            Err(_) if Instant::now() < end => thread::sleep(BUSY_LOOK),
            other => return other,
        }
    }
}

/// Aborts the FUSE connections of this folder. An unmount by force does so, and fails where the
/// loop device has the file open.
fn abort_served(folder: &Path) -> Result<(), DiskError> {
    let folder = folder.canonicalize().map_err(DiskError::io("find", folder))?;
    for mount in mount_entries()? {
        if mount.source == SUBTYPE && mount.point.starts_with(&folder) {
            let _ = unmount(&mount.point, UnmountFlags::FORCE);
            // What a user has mounted, the user may abort here, where the kernel shows it.
            let _ = fs::write(format!("/sys/fs/fuse/connections/{}/abort", mount.minor), "1");
        }
    }
    Ok(())
}

pub(crate) fn remove_mounts(folder: &Path) -> Result<(), DiskError> {
    let folder = folder.canonicalize().map_err(DiskError::io("find", folder))?;
    let mounts: Vec<_> =
        mount_entries()?.into_iter().filter(|mount| mount.point.starts_with(&folder)).collect();
    let loops = loops_below(&folder);
    if let Some(other) =
        mounts.iter().find(|mount| !mount.is_of_loop(&loops) && mount.source != SUBTYPE)
    {
        let problem = format!("{} is mounted there, and not by truetps: it stays", other.source);
        return Err(DiskError::Io {
            what: "clean",
            path: other.point.clone(),
            source: io::Error::other(problem),
        });
    }
    // Its process may hang, and answer no request: an unmount would wait for ever.
    abort_served(&folder)?;
    for mount in mounts.iter().rev().filter(|mount| mount.is_of_loop(&loops)) {
        unmount_or_detach(&mount.point)?;
    }
    for number in loops {
        detach_loop(&PathBuf::from(format!("/dev/loop{number}")))?;
    }
    for mount in mounts.iter().rev().filter(|mount| mount.source == SUBTYPE) {
        unmount_or_detach(&mount.point)?;
    }
    Ok(())
}

fn unmount_or_detach(point: &Path) -> Result<(), DiskError> {
    if !rustix::process::geteuid().is_root() {
        let words = ["-u", "-z", "--"].map(OsStr::new).into_iter().chain([point.as_os_str()]);
        return output_of(FUSERMOUNT, &words.collect::<Vec<_>>(), Stdio::null()).map(drop);
    }
    let unmounted = match unmount(point, UnmountFlags::empty()) {
        // It is none any more.
        Err(rustix::io::Errno::INVAL) => Ok(()),
        other => other.or_else(|_| unmount(point, UnmountFlags::DETACH)),
    };
    unmounted.map_err(|errno| DiskError::io("unmount", point)(errno.into()))
}

/// Unmounts a file system whose last processes are ending.
pub(crate) fn unmount_when_free(point: &Path) -> Result<(), DiskError> {
    unmount_within(point, BUSY_TIME_LIMIT)
}

/// By a program: see `helper.rs`.
pub(crate) fn unmount_within(point: &Path, time_limit: Duration) -> Result<(), DiskError> {
    let began = Instant::now();
    let is_root = rustix::process::geteuid().is_root();
    let (program, words) =
        if is_root { ("umount", ["-i", "-n"]) } else { (FUSERMOUNT, ["-u", "--"]) };
    let words: Vec<_> = words.iter().map(OsStr::new).chain([point.as_os_str()]).collect();
    loop {
        match output_of(program, &words, Stdio::null()) {
            Err(_) if !is_mounted_at(point) => return Ok(()),
            Err(_) if began.elapsed() < time_limit => thread::sleep(BUSY_LOOK),
            other => return other.map(drop),
        }
    }
}

/// Waits for the threads of a file system that was unmounted: they end with the last reference to
/// its mount.
pub(crate) fn wait_until_unserved(
    session: BackgroundSession,
    point: &Path,
) -> Result<(), DiskError> {
    let failed = DiskError::io("unmount", point);
    let end = Instant::now() + BUSY_TIME_LIMIT;
    while !session.guard.is_finished() {
        if Instant::now() >= end {
            return Err(failed(io::Error::other(
                "another mount namespace, such as a container's, still has it",
            )));
        }
        thread::sleep(BUSY_LOOK);
    }
    session.join().map_err(failed)
}

fn is_mounted_at(point: &Path) -> bool {
    mount_entries().is_ok_and(|all| all.iter().any(|one| one.point == point))
}

/// Detaches a loop device and waits until it has let go of its file, which is a moment later.
pub(crate) fn detach_loop(device: &Path) -> Result<(), DiskError> {
    output_of("losetup", &["--detach".as_ref(), device.as_os_str()], Stdio::null())?;
    let name = device.file_name().unwrap_or_default();
    let file = Path::new("/sys/block").join(name).join("loop/backing_file");
    let end = Instant::now() + DETACH_TIME_LIMIT;
    // A file system that was unmounted lazily keeps it for as long as one of its files is open.
    while file.exists() && Instant::now() < end && !is_mounted(device) {
        thread::sleep(BUSY_LOOK);
    }
    Ok(())
}

fn is_mounted(device: &Path) -> bool {
    mount_entries()
        .is_ok_and(|mounts| mounts.iter().any(|mount| Path::new(&mount.source) == device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_read() {
        let line =
            r"36 35 98:7 / /tmp/a\040b rw,noatime shared:1 - fuse.x truetps-disk rw,user_id=0";
        let entry = MountEntry { minor: 7, point: "/tmp/a b".into(), source: SUBTYPE.to_owned() };
        assert_eq!(mount_entry(line), Some(entry));
        assert_eq!(mount_entry("36 35"), None);
        assert!(mount_entries().unwrap().iter().any(|mount| mount.point == Path::new("/")));
    }

    #[test]
    fn a_folder_without_mounts_is_clean() {
        let folder = tempfile::tempdir().unwrap();
        clean_disk(folder.path()).unwrap();
    }
}
