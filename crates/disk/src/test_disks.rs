//! What tests of real disks of both levels have in common.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::flush_times::{FlushTimes, flush_times};
use crate::helper::create_lab;
use crate::lab::DiskLab;
use crate::mounts::remove_mounts;
use crate::{DiskOptions, DiskProfile, LabLevel, missing_for};

/// A test that measures has the machine for itself: each other would disturb its times.
static QUIET: RwLock<()> = RwLock::new(());
/// Other work on this machine disturbs measurements: one of several has to be right.
const MEASUREMENTS_MAX: u32 = 12;

/// `None`, with a line on stderr, where this machine cannot mount disks of this level.
pub(crate) fn can_mount(level: LabLevel) -> Option<RwLockReadGuard<'static, ()>> {
    is_possible(level).then(|| QUIET.read().unwrap_or_else(PoisonError::into_inner))
}

/// Whether a test that measures can run.
pub(crate) fn can_measure(level: LabLevel) -> Option<RwLockWriteGuard<'static, ()>> {
    is_possible(level).then(|| QUIET.write().unwrap_or_else(PoisonError::into_inner))
}

fn is_possible(level: LabLevel) -> bool {
    let missing = missing_for(level).into_iter().next();
    if let Some(missing) = &missing {
        let must = std::env::var_os("TRUETPS_REQUIRE_DISKS").is_some();
        assert!(!must, "TRUETPS_REQUIRE_DISKS is set, and this machine lacks {missing}");
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!(
                "SKIPPED: disks of level `{}` cannot be mounted here: {missing}",
                level.name()
            );
        }
    }
    missing.is_none()
}

/// Measures until `is_right`, and returns the last measurement if it never is.
pub(crate) fn until_right<T>(mut measure: impl FnMut() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let mut found = measure();
    for _ in 1..MEASUREMENTS_MAX {
        if is_right(&found) {
            break;
        }
        found = measure();
    }
    found
}

pub(crate) fn options(level: LabLevel, folder: &Path, profile: &str) -> DiskOptions {
    let profile = DiskProfile::find(profile).unwrap();
    DiskOptions {
        level,
        folder: folder.to_owned(),
        profile,
        bytes: 256 << 20,
        seed: 1,
        keeps_image: false,
    }
}

pub(crate) fn times_of(lab: &dyn DiskLab) -> FlushTimes {
    flush_times(&lab.options().files(), &mut || Ok(lab.flush_count())).unwrap()
}

/// As its owner makes it.
pub(crate) fn measured_lab(options: DiskOptions) -> Box<dyn DiskLab> {
    let level = options.level;
    let lab = create_lab(options).unwrap();
    lab.set_host_us(times_of(lab.as_ref()).host_us(level));
    lab
}

pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

pub(crate) fn near(found: f64, expect: f64, share: f64) -> bool {
    (found / expect - 1.0).abs() < share
}

/// A disk whose process is dead is removed, and not waited for.
pub(crate) fn check_cleaning_after_a_kill(level: LabLevel) {
    let Some(_mounts) = can_mount(level) else { return };
    let folder = tempfile::tempdir().unwrap();
    let lab = create_lab(options(level, folder.path(), "native")).unwrap();
    let files = lab.options().files();
    let open = File::create(files.join("open")).unwrap();
    std::mem::forget(lab);
    // This process has its lock, as a helper that hangs would.
    remove_mounts(folder.path()).unwrap();
    assert!(fs::read_dir(&files).unwrap().next().is_none());
    drop(open);
    remove_mounts(folder.path()).unwrap();
}
