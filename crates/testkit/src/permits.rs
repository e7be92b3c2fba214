//! Permits that all test programs of a run share. `xtask` starts the programs beside each other,
//! makes a folder with one file for each permit, and names it in a variable. A permit is a lock on
//! a file: it goes with the process that has it.

use std::fs::{self, File};
use std::io;
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
        Some(Self(lock_all(slots(&folder()?), File::lock_shared)))
    }

    /// No test with any permit runs in any other program.
    pub(crate) fn all() -> Option<Self> {
        Some(Self(lock_all(slots(&folder()?), File::lock)))
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
fn lock_all(slots: Vec<File>, lock: impl Fn(&File) -> io::Result<()>) -> Vec<File> {
    for slot in &slots {
        lock(slot).unwrap_or_else(|error| panic!("{FOLDER}: {error}"));
    }
    slots
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
        let quiet = lock_all(slots(dir.path()), File::lock_shared);
        let beside = lock_all(slots(dir.path()), File::lock_shared);
        assert!(all.iter().all(|slot| slot.try_lock().is_err()), "{quiet:?} {beside:?}");
        drop((quiet, beside));
        let _alone = lock_all(slots(dir.path()), File::lock);
        assert!(all.iter().all(|slot| slot.try_lock_shared().is_err()));
    }
}
