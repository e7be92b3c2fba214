//! Permits that all test programs of a run share. `xtask` starts the programs beside each other,
//! makes a folder with one file for each permit, and names it in a variable. A permit is a lock on
//! a file: it goes with the process that has it.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Variable with the folder. Without it, a test program runs by itself and needs no permit.
const FOLDER: &str = "TRUETPS_TEST_PERMITS";
const PAUSE: Duration = Duration::from_millis(20);
/// Less than the limit of a program (`xtask`): a test that waits for one permit in vain says so.
const WAIT_MAX: Duration = Duration::from_mins(30);

/// The locks go with the files.
#[derive(Debug)]
pub(crate) struct Permits(#[expect(dead_code, reason = "held, not read")] Vec<File>);

impl Permits {
    /// For one test among others.
    pub(crate) fn one() -> Option<Self> {
        Some(Self(vec![lock_one(slots(&folder()?))]))
    }

    /// No test with [`Self::one`] runs in any program, but others with this.
    pub(crate) fn all_shared() -> Option<Self> {
        Some(Self(lock_all(slots(&folder()?), File::try_lock_shared, WAIT_MAX)))
    }

    /// No test with any permit runs in any other program.
    pub(crate) fn all() -> Option<Self> {
        Some(Self(lock_all(slots(&folder()?), File::try_lock, WAIT_MAX)))
    }
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// In one order for all: who waits for a permit while it has others waits for a later one.
#[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
fn slots(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{FOLDER}: {}: no permits", folder.display());
    let opened = paths.iter().map(|path| {
        File::open(path).unwrap_or_else(|error| panic!("{FOLDER}: {}: {error}", path.display()))
    });
    opened.collect()
}

fn lock_one(mut slots: Vec<File>) -> File {
    let began = Instant::now();
    loop {
        if let Some(free) = slots.iter().position(|slot| slot.try_lock().is_ok()) {
            return slots.swap_remove(free);
        }
        assert!(began.elapsed() < WAIT_MAX, "no permit for a test in {WAIT_MAX:?}");
        thread::sleep(PAUSE);
    }
}

#[expect(clippy::panic, reason = "a test helper panics instead of returning errors")]
fn lock_all(
    slots: Vec<File>,
    try_lock: impl Fn(&File) -> Result<(), TryLockError>,
    limit: Duration,
) -> Vec<File> {
    let began = Instant::now();
    for slot in &slots {
        while let Err(error) = try_lock(slot) {
            if let TryLockError::Error(error) = error {
                panic!("{FOLDER}: {error}");
            }
            let waited = began.elapsed();
            assert!(
                waited < limit,
                "not all permits for a test in {limit:?}: one is held by {}",
                holders(slot, &fs::read_to_string("/proc/locks").unwrap_or_default())
            );
            thread::sleep(PAUSE);
        }
    }
    slots
}

/// The processes that have a lock on a file, by the kernel's list of locks.
fn holders(file: &File, locks: &str) -> String {
    let inode = file.metadata().map_or(0, |facts| facts.ino()).to_string();
    let pids = locks.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let (&pid, place) = (fields.get(4)?, fields.get(5)?);
        (place.rsplit(':').next() == Some(&inode)).then_some(pid)
    });
    let named: Vec<_> = pids
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim())
        })
        .collect();
    if named.is_empty() { "an unknown process".to_owned() } else { named.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_excludes_all_and_goes_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        for slot in ["0", "1"] {
            fs::write(dir.path().join(slot), "").unwrap();
        }
        let first = lock_one(slots(dir.path()));
        let second = lock_one(slots(dir.path()));
        let all = slots(dir.path());
        assert!(all.iter().all(|slot| slot.try_lock_shared().is_err()));
        drop((first, second));
        let quiet = lock_all(slots(dir.path()), File::try_lock_shared, WAIT_MAX);
        let beside = lock_all(slots(dir.path()), File::try_lock_shared, WAIT_MAX);
        assert!(all.iter().all(|slot| slot.try_lock().is_err()), "{quiet:?} {beside:?}");
        drop((quiet, beside));
        let _alone = lock_all(slots(dir.path()), File::try_lock, WAIT_MAX);
        assert!(all.iter().all(|slot| slot.try_lock_shared().is_err()));
    }

    #[test]
    #[should_panic(expected = "not all permits for a test in 100ms: one is held by process ")]
    fn a_wait_for_all_ends_and_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("0"), "").unwrap();
        let _held = lock_one(slots(dir.path()));
        lock_all(slots(dir.path()), File::try_lock, Duration::from_millis(100));
    }

    #[test]
    fn holders_have_a_lock_on_this_file() {
        let file = tempfile::tempfile().unwrap();
        let (inode, own) = (file.metadata().unwrap().ino(), std::process::id());
        let locks = format!(
            "1: FLOCK  ADVISORY  READ {own} fe:00:{inode} 0 EOF\n\
             2: FLOCK  ADVISORY  WRITE 1 fe:00:{inode}0 0 EOF\n"
        );
        let found = holders(&file, &locks);
        assert!(found.starts_with(&format!("process {own} (")) && !found.contains(','), "{found}");
        assert_eq!(holders(&file, ""), "an unknown process");
    }
}
