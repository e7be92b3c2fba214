//! Real mounts of the file-system lab.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags, RenameFlags, fallocate, flock, statvfs};

use super::operations::DATA_SYNC;
use crate::flush_times::FlushTimes;
use crate::helper::{HelperAnswer, create_lab, run_helper};
use crate::lab::{DiskLab, LabLevel};
use crate::mounts::clean_disk;
use crate::test_disks::{
    can_measure, can_mount, check_cleaning_after_a_kill, entries, measured_lab, near, options,
    times_of, until_right,
};
use crate::{DiskCrash, DiskOptions};

const LEVEL: LabLevel = LabLevel::FileSystem;
const POWER: DiskCrash = DiskCrash::Power { survival: 0.0, seed: 1 };

fn measured(folder: &Path, profile: &str) -> (Box<dyn DiskLab>, PathBuf) {
    with_files(measured_lab(options(LEVEL, folder, profile)))
}

/// One without times.
fn create(folder: &Path, profile: &str) -> (Box<dyn DiskLab>, PathBuf) {
    with_files(create_lab(options(LEVEL, folder, profile)).unwrap())
}

fn with_files(lab: Box<dyn DiskLab>) -> (Box<dyn DiskLab>, PathBuf) {
    let files = lab.options().files();
    (lab, files)
}

/// Opened with flags beside those for reading and writing.
fn open_with(path: &Path, flags: OFlags) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).custom_flags(flags.bits() as i32);
    options.open(path).unwrap()
}

/// A page at an address that direct writes accept.
fn write_page(file: &File, byte: u8, offset: u64) {
    let buffer = vec![byte; 8192];
    let skipped = buffer.as_ptr().align_offset(4096);
    file.write_all_at(&buffer[skipped..skipped + 4096], offset).unwrap();
}

fn write_synced(path: &Path, content: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(content).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_flush_costs_what_the_profile_says() {
    let Some(_quiet) = can_measure(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (lab, _) = measured(folder.path(), "hdd7200");
    lab.set_timed(true);
    let is_right = |found: &FlushTimes| {
        near(found.overwrite_us_p50, 8_333.0, 0.1)
            && (25_000.0 * 0.98..34_000.0).contains(&found.append_us_p50)
    };
    let found = until_right(|| times_of(lab.as_ref()), is_right);
    assert!(is_right(&found), "{found:?}");
    assert!(
        near(found.overwrite_flushes, 1.0, 0.02) && near(found.append_flushes, 2.0, 0.02),
        "{found:?}"
    );
    lab.remove().unwrap();
    assert_eq!(entries(folder.path()), ["lock"]);
}

#[test]
fn a_disk_without_moving_parts_takes_what_its_profile_says() {
    let Some(_quiet) = can_measure(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (lab, _) = measured(folder.path(), "sata-ssd");
    lab.set_timed(true);
    let expect = lab.options().profile.overwrite_us();
    let is_right =
        |found: &FlushTimes| (found.overwrite_us_p50 - expect).abs() < expect * 0.1 + 150.0;
    let found = until_right(|| times_of(lab.as_ref()), is_right);
    assert!(is_right(&found), "{expect} {found:?}");
}

#[test]
fn names_lead_to_files_as_posix_has_it() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_lab, files) = create(folder.path(), "native");
    let path = |name: &str| files.join(name);
    // A rename over an open file.
    fs::write(path("old"), "old").unwrap();
    let mut open = File::open(path("old")).unwrap();
    fs::write(path("new"), "newer").unwrap();
    fs::rename(path("new"), path("old")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(
        (text.as_str(), fs::read_to_string(path("old")).unwrap().as_str()),
        ("old", "newer")
    );
    assert_eq!(open.metadata().unwrap().nlink(), 0);
    // Two names of one file.
    fs::hard_link(path("old"), path("second")).unwrap();
    assert_eq!(
        fs::metadata(path("old")).unwrap().ino(),
        fs::metadata(path("second")).unwrap().ino()
    );
    assert_eq!(fs::metadata(path("old")).unwrap().nlink(), 2);
    File::options().append(true).open(path("second")).unwrap().write_all(b" text").unwrap();
    fs::remove_file(path("second")).unwrap();
    assert_eq!(fs::read_to_string(path("old")).unwrap(), "newer text");
    assert_eq!(fs::metadata(path("old")).unwrap().nlink(), 1);
    // Without a name, but open.
    let mut nameless = open_with(&path("nameless"), OFlags::empty());
    fs::remove_file(path("nameless")).unwrap();
    nameless.write_all(b"kept").unwrap();
    nameless.sync_all().unwrap();
    nameless.seek(SeekFrom::Start(0)).unwrap();
    text.clear();
    nameless.read_to_string(&mut text).unwrap();
    assert_eq!(text, "kept");
    // Renames that must not replace, or that exchange.
    fs::write(path("one"), "1").unwrap();
    fs::write(path("two"), "2").unwrap();
    let rename = |flags| {
        rustix::fs::renameat_with(rustix::fs::CWD, path("one"), rustix::fs::CWD, path("two"), flags)
    };
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(rustix::io::Errno::EXIST));
    rename(RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read_to_string(path("one")).unwrap(), "2");
    // A link, and a folder that moves with what is in it.
    symlink("one", path("link")).unwrap();
    assert_eq!(fs::read_to_string(path("link")).unwrap(), "2");
    fs::create_dir_all(path("a/b")).unwrap();
    fs::write(path("a/b/c"), "c").unwrap();
    fs::rename(path("a"), path("d")).unwrap();
    assert_eq!(fs::read_to_string(path("d/b/c")).unwrap(), "c");
    assert_eq!(
        fs::remove_dir(path("d")).unwrap_err().kind(),
        std::io::ErrorKind::DirectoryNotEmpty
    );
    fs::remove_dir_all(path("d")).unwrap();
    assert!(File::create_new(path("one")).is_err());
    std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let mut names = entries(&files);
    names.sort();
    assert_eq!(names, ["link", "old", "one", "socket", "two"]);
}

#[test]
fn folders_of_any_size_are_listed_while_they_change() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_lab, files) = create(folder.path(), "native");
    (0..700).for_each(|number| {
        drop(File::create(files.join(format!("a-rather-long-name-{number}"))).unwrap());
    });
    for entry in fs::read_dir(&files).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert!(entries(&files).is_empty());
}

#[test]
fn attributes_and_locks_are_kept() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_lab, files) = create(folder.path(), "native");
    let path = files.join("file");
    fs::write(&path, "text").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let past = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = open_with(&path, OFlags::empty());
    file.set_modified(past).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(
        (metadata.mode() & 0o7777, metadata.modified().unwrap(), metadata.len()),
        (0o640, past, 4)
    );
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (12, 34));
    }
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    let other = File::open(&path).unwrap();
    assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
    let stat = statvfs(&files).unwrap();
    assert!(
        stat.f_blocks * stat.f_frsize == 256 << 20
            && stat.f_bavail < stat.f_blocks
            && stat.f_bavail > 0
    );
}

#[test]
fn sizes_holes_and_allocations_are_kept() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_lab, files) = create(folder.path(), "native");
    let path = files.join("file");
    let file = open_with(&path, OFlags::empty());
    file.write_all_at(b"end", 1 << 20).unwrap();
    let mut found = [1; 8];
    file.read_exact_at(&mut found, 4096).unwrap();
    assert_eq!(found, [0; 8]);
    file.write_all_at(&[7; 10_000], 0).unwrap();
    file.set_len(5000).unwrap();
    file.set_len(9000).unwrap();
    let content = fs::read(&path).unwrap();
    assert!(
        content.len() == 9000
            && content[4999] == 7
            && content[5000..].iter().all(|byte| *byte == 0)
    );
    fallocate(&file, FallocateFlags::empty(), 0, 1 << 20).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 2 << 20).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 4096).unwrap();
    file.read_exact_at(&mut found, 0).unwrap();
    assert_eq!(found, [0; 8]);
    file.read_exact_at(&mut found, 4096).unwrap();
    assert_eq!(found, [7; 8]);
    let full = fallocate(&file, FallocateFlags::empty(), 0, 1 << 30);
    assert_eq!(full, Err(rustix::io::Errno::NOSPC));
    fs::copy(&path, files.join("copy")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), fs::read(files.join("copy")).unwrap());
    let mut appending = File::options().append(true).open(&path).unwrap();
    appending.write_all(b"appended").unwrap();
    assert!(fs::read(&path).unwrap().ends_with(b"appended"));
}

#[test]
fn writes_past_the_page_cache_and_into_it_see_each_other() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_lab, files) = create(folder.path(), "native");
    let path = files.join("file");
    let (direct, buffered) = (open_with(&path, OFlags::DIRECT), open_with(&path, OFlags::empty()));
    let mut found = [0; 1];
    for byte in 1..20 {
        write_page(&direct, byte, 0);
        buffered.read_exact_at(&mut found, 4095).unwrap();
        assert_eq!(found, [byte]);
        buffered.write_all_at(&[byte + 100], 4095).unwrap();
        write_page(&direct, byte, 4096);
        buffered.read_exact_at(&mut found, 4095).unwrap();
        assert_eq!(found, [byte + 100]);
    }
    assert_eq!(fs::read(&path).unwrap().len(), 8192);
}

#[test]
fn a_synchronous_write_is_one_flush() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "native");
    let data_sync = OFlags::from_bits_retain(DATA_SYNC);
    for (name, flags) in [("buffered", data_sync), ("direct", data_sync | OFlags::DIRECT)] {
        let file = open_with(&files.join(name), flags);
        write_page(&file, 1, 0);
        let before = lab.flush_count();
        (2..=11).for_each(|byte| write_page(&file, byte, 0));
        assert_eq!(lab.flush_count() - before, 10, "{name}");
    }
    lab.crash(POWER).unwrap();
    for name in ["buffered", "direct"] {
        assert_eq!(fs::read(files.join(name)).unwrap(), [11; 4096], "{name}");
    }
}

#[test]
fn a_crash_takes_what_was_not_synced() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "hdd7200");
    for (number, crash) in [DiskCrash::Os, POWER].into_iter().enumerate() {
        let path = |name: &str| files.join(format!("{name}-{number}"));
        for name in ["kept", "overwritten", "grown"] {
            write_synced(&path(name), &[1; 10_000]);
        }
        fs::write(path("never"), "never synced").unwrap();
        let overwritten = open_with(&path("overwritten"), OFlags::empty());
        overwritten.write_all_at(&[2; 300], 5000).unwrap();
        drop(overwritten);
        File::options().append(true).open(path("grown")).unwrap().write_all(&[2; 10_000]).unwrap();
        // Its undo follows the file.
        fs::rename(path("overwritten"), path("renamed")).unwrap();
        lab.crash(crash).unwrap();
        for name in ["kept", "renamed", "grown"] {
            assert!(fs::read(path(name)).unwrap() == [1; 10_000], "{name} {number}");
        }
        assert_eq!(fs::read(path("never")).unwrap(), [0; 0]);
        assert!(!path("overwritten").exists());
    }
    // It is a whole file system after its crashes.
    write_synced(&files.join("later"), b"later");
    lab.crash(POWER).unwrap();
    assert_eq!(fs::read(files.join("later")).unwrap(), b"later");
}

#[test]
fn the_cache_of_the_device_is_lost_with_the_power_only() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "hdd7200");
    let path = files.join("file");
    write_synced(&path, &vec![1; 40 * 4096]);
    let write = |byte: u8| {
        let file = open_with(&path, OFlags::DIRECT);
        (0..40).for_each(|block| write_page(&file, byte, block * 4096));
        // A later write into the page cache, over what is in the device's cache.
        open_with(&path, OFlags::empty()).write_all_at(&[9], 0).unwrap();
    };
    write(2);
    assert_eq!(lab.crash(DiskCrash::Os).unwrap(), 0);
    assert!(fs::read(&path).unwrap() == vec![2; 40 * 4096]);
    assert_eq!(lab.crash(POWER).unwrap(), 40);
    assert!(fs::read(&path).unwrap() == vec![1; 40 * 4096]);
    let mut survivors = Vec::new();
    for _ in 0..2 {
        write(3);
        lab.crash(DiskCrash::Power { survival: 0.5, seed: 7 }).unwrap();
        survivors.push(fs::read(&path).unwrap());
        write_synced(&path, &vec![1; 40 * 4096]);
    }
    assert!(survivors[0] == survivors[1] && survivors[0].contains(&1) && survivors[0].contains(&3));
}

#[test]
fn a_disk_without_a_volatile_cache_keeps_what_it_has_acknowledged() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "gp3");
    write_page(&open_with(&files.join("direct"), OFlags::DIRECT), 1, 0);
    fs::write(files.join("buffered"), "lost").unwrap();
    assert_eq!(lab.crash(POWER).unwrap(), 0);
    assert_eq!(fs::read(files.join("direct")).unwrap(), [1; 4096]);
    assert_eq!(fs::read(files.join("buffered")).unwrap(), [0; 0]);
}

#[test]
fn a_disk_that_lies_loses_what_was_synced_when_the_power_fails() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "lying");
    write_synced(&files.join("file"), b"synced");
    lab.crash(DiskCrash::Os).unwrap();
    assert_eq!(fs::read(files.join("file")).unwrap(), b"synced");
    lab.crash(POWER).unwrap();
    assert_ne!(fs::read(files.join("file")).unwrap(), b"synced");
}

#[test]
fn metadata_is_durable_at_once() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "hdd7200");
    let names = ["removed", "truncated", "extended", "hole"];
    for name in names {
        write_synced(&files.join(name), &[1; 3 * 4096]);
    }
    for name in names {
        write_page(&open_with(&files.join(name), OFlags::DIRECT), 2, 4096);
    }
    fs::remove_file(files.join("removed")).unwrap();
    open_with(&files.join("truncated"), OFlags::empty()).set_len(5000).unwrap();
    let extended = open_with(&files.join("extended"), OFlags::empty());
    extended.set_len(5000).unwrap();
    extended.set_len(3 * 4096).unwrap();
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(open_with(&files.join("hole"), OFlags::empty()), hole, 4096, 4096).unwrap();
    drop(extended);
    lab.crash(POWER).unwrap();
    assert!(!files.join("removed").exists());
    assert!(fs::read(files.join("truncated")).unwrap() == [1; 5000]);
    let with_zeros = |ranges: std::ops::Range<usize>| {
        let mut content = vec![1; 3 * 4096];
        content[ranges].fill(0);
        content
    };
    assert!(fs::read(files.join("extended")).unwrap() == with_zeros(5000..3 * 4096));
    assert!(fs::read(files.join("hole")).unwrap() == with_zeros(4096..8192));
}

#[test]
fn a_file_that_may_not_be_written_is_restored_too() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut lab, files) = create(folder.path(), "native");
    let path = files.join("key");
    write_synced(&path, b"first");
    fs::write(&path, "other").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    lab.crash(DiskCrash::Os).unwrap();
    // The truncation is durable, and what was written afterwards is not.
    assert_eq!(fs::read(&path).unwrap(), [0; 0]);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o400);
}

#[test]
fn a_killed_helper_leaves_nothing_behind_after_the_next_cleaning() {
    check_cleaning_after_a_kill(LEVEL);
}

#[test]
fn a_helper_serves_this_level_too() {
    let Some(_mounts) = can_mount(LEVEL) else { return };
    let folder = tempfile::tempdir().unwrap();
    let options =
        serde_json::to_string::<DiskOptions>(&options(LEVEL, folder.path(), "native")).unwrap();
    let input = format!("{options}\n{{\"crash\":{{\"crash\":\"os\"}}}}\n\"flush_count\"\n");
    let mut output = Vec::new();
    run_helper(Cursor::new(input), &mut output, || unreachable!("it does not stay")).unwrap();
    let answers = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers: Vec<HelperAnswer> =
        answers.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let expect = [
        HelperAnswer::Ready,
        HelperAnswer::Crashed { blocks_lost: 0 },
        HelperAnswer::FlushCount(0),
    ];
    assert_eq!(answers, expect);
    assert_eq!(entries(folder.path()), ["lock"]);
    clean_disk(folder.path()).unwrap();
}
