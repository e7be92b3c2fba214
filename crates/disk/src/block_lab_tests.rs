//! Real disks: a loop device and an ext4, as root.

use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount};

use crate::flush_times::{FlushTimes, flush_times};
use crate::helper::{HelperAnswer, create_lab, run_helper};
use crate::lab::{DiskOptions, LabLevel, check_free};
use crate::measure::measure_disk;
use crate::mounts::{loops_below, unmount_when_free};
use crate::test_disks::{
    can_measure, can_mount, entries, measured_lab, near, times_of, until_right,
};
use crate::{DiskCrash, DiskError, DiskProfile, clean_disk, test_disks};

fn options(folder: &Path, profile: &str) -> DiskOptions {
    test_disks::options(LabLevel::Block, folder, profile)
}

#[test]
fn a_flush_costs_what_the_profile_says() {
    let Some(_quiet) = can_measure(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let lab = measured_lab(options(folder.path(), "hdd7200"));
    lab.set_timed(true);
    let is_right = |found: &FlushTimes| {
        near(found.overwrite_us_p50, 8_333.0, 0.1) && near(found.append_us_p50, 25_000.0, 0.1)
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

/// The kernel's own count, in the statistics of the loop device.
#[test]
fn ext4_flushes_once_for_an_overwrite_and_twice_for_an_append() {
    let Some(_quiet) = can_measure(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let lab = create_lab(options(folder.path(), "native")).unwrap();
    let [number] = loops_below(folder.path())[..] else { panic!("one loop device") };
    let mut flushes = || {
        const FLUSHES: usize = 15;
        let statistics = fs::read_to_string(format!("/sys/block/loop{number}/stat"))?;
        Ok(statistics.split_whitespace().nth(FLUSHES).unwrap().parse().unwrap())
    };
    let found = flush_times(&lab.options().files(), &mut flushes).unwrap();
    assert!(
        near(found.overwrite_flushes, 1.0, 0.02) && near(found.append_flushes, 2.0, 0.02),
        "{found:?}"
    );
}

/// The round trip: a profile is emulated, and the emulated disk is measured.
#[test]
fn a_measured_disk_has_the_profile_that_it_emulates() {
    let Some(_quiet) = can_measure(LabLevel::Block) else { return };
    let measured = |name: &str, is_right: &dyn Fn(&DiskProfile) -> bool| {
        let folder = tempfile::tempdir().unwrap();
        let lab = measured_lab(options(folder.path(), name));
        lab.set_timed(true);
        until_right(|| measure_disk(&lab.options().files()).unwrap().profile("again"), is_right)
    };
    let expect = DiskProfile::find("gp3").unwrap();
    let figures = |one: &DiskProfile| {
        [
            f64::from(one.write_us),
            f64::from(one.iops),
            f64::from(one.bandwidth_mb_s),
            one.overwrite_us(),
        ]
    };
    let is_right = |found: &DiskProfile| {
        let pairs = figures(found).into_iter().zip(figures(&expect));
        pairs.into_iter().all(|(found, expect)| near(found, expect, 0.15))
    };
    let found = measured("gp3", &is_right);
    assert!(is_right(&found), "{found:?}");
    let is_right = |found: &DiskProfile| {
        let rpm = found.rotating.map(|geometry| f64::from(geometry.rpm));
        rpm.is_some_and(|rpm| near(rpm, 7200.0, 0.15)) && near(found.overwrite_us(), 8_333.0, 0.15)
    };
    let found = measured("hdd7200", &is_right);
    assert!(is_right(&found), "{found:?}");
}

#[test]
fn a_crash_takes_what_was_not_flushed() {
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut lab = create_lab(options(folder.path(), "native")).unwrap();
    let files = lab.options().files();
    let power = DiskCrash::Power { survival: 0.0, seed: 1 };
    for (number, crash) in [DiskCrash::Os, power].into_iter().enumerate() {
        let path = |name: &str| files.join(format!("{name}-{number}"));
        let mut kept = File::create(path("kept")).unwrap();
        kept.write_all(b"kept").unwrap();
        kept.sync_all().unwrap();
        fs::write(path("lost"), "lost").unwrap();
        drop(kept);
        lab.crash(crash).unwrap();
        assert_eq!(fs::read_to_string(path("kept")).unwrap(), "kept");
        assert!(!path("lost").exists());
    }
    // The file system is a whole one after its crashes.
    File::create(files.join("later")).unwrap().sync_all().unwrap();
    lab.crash(DiskCrash::Os).unwrap();
    assert!(files.join("later").exists());
}

/// A process in a mount namespace of its own has a copy of each mount, in which the file system of
/// a crashed host lives on.
#[test]
fn a_file_system_of_a_dead_host_writes_nothing() {
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut lab = create_lab(options(folder.path(), "native")).unwrap();
    let file = lab.options().files().join("file");
    let write = |text: &str| {
        let mut file = File::create(&file).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.sync_all().unwrap();
    };
    write("before");
    #[expect(clippy::disallowed_methods, reason = "a process of another mount namespace")]
    let mut dead_host = Command::new("unshare");
    let script = "echo; read go; echo dead > \"$0\"; sync \"$0\"; echo; read go";
    dead_host.args(["--mount", "--propagation=private", "sh", "-c", script]).arg(&file);
    let mut dead_host = dead_host.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut ask, mut answers) =
        (dead_host.stdin.take().unwrap(), dead_host.stdout.take().unwrap());
    answers.read_exact(&mut [0]).unwrap();
    lab.crash(DiskCrash::Os).unwrap();
    write("after the crash");
    ask.write_all(b"go\n").unwrap();
    answers.read_exact(&mut [0]).unwrap();
    lab.crash(DiskCrash::Os).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "after the crash");
    drop(ask);
    dead_host.wait().unwrap();
    lab.remove().unwrap();
}

#[test]
fn a_disk_that_lies_loses_what_was_flushed_when_the_power_fails() {
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut lab = create_lab(options(folder.path(), "lying")).unwrap();
    let path = lab.options().files().join("flushed");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"flushed").unwrap();
    file.sync_all().unwrap();
    drop(file);
    // Its cache survives the end of an operating system.
    lab.crash(DiskCrash::Os).unwrap();
    assert!(path.exists());
    File::options().append(true).open(&path).unwrap().write_all(b" twice").unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let lost = lab.crash(DiskCrash::Power { survival: 0.0, seed: 1 });
    // The file system itself may be gone, as on a real disk of this kind.
    assert!(
        lost.is_err() || fs::read_to_string(&path).map_or(true, |text| text != "flushed twice"),
        "{lost:?}"
    );
}

#[test]
fn a_killed_helper_leaves_nothing_behind_after_the_next_cleaning() {
    test_disks::check_cleaning_after_a_kill(LabLevel::Block);
}

#[test]
fn a_mount_of_the_user_is_left_alone() {
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    mount("theirs", folder.path(), "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(folder.path().join("data"), "theirs").unwrap();
    let error = clean_disk(folder.path()).unwrap_err().to_string();
    assert!(error.contains("theirs is mounted there, and not by truetps"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("data")).unwrap(), "theirs");
    unmount_when_free(folder.path()).unwrap();
}

#[test]
fn a_helper_answers_each_line_and_removes_the_disk_when_its_input_ends() {
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = serde_json::to_string(&options(folder.path(), "native")).unwrap();
    let input = format!(
        "{options}\n{{\"timed\":true}}\n\"flush_count\"\n{{\"crash\":{{\"crash\":\"os\"}}}}\n"
    );
    let mut output = Vec::new();
    run_helper(Cursor::new(input), &mut output, || {}).unwrap();
    let answers = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers: Vec<HelperAnswer> =
        answers.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let [HelperAnswer::Ready, HelperAnswer::Done, HelperAnswer::FlushCount(flushes), crashed] =
        &answers[..]
    else {
        panic!("{answers:?}");
    };
    assert!(*flushes > 0, "{answers:?}");
    assert_eq!(*crashed, HelperAnswer::Crashed { blocks_lost: 0 });
    assert_eq!(entries(folder.path()), ["lock"]);
}

#[test]
fn a_disk_larger_than_the_free_space_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = DiskOptions { bytes: 1 << 50, ..options(folder.path(), "native") };
    let error = check_free(&options).unwrap_err();
    assert!(matches!(error, DiskError::NoSpace { .. }), "{error}");
}

#[test]
fn other_users_reach_neither_image_nor_lock_and_the_file_system_has_no_devices_and_no_set_user_id()
{
    let Some(_mounts) = can_mount(LabLevel::Block) else { return };
    let folder = tempfile::tempdir().unwrap();
    let lab = create_lab(options(folder.path(), "native")).unwrap();
    for name in ["image", "lock"] {
        assert_eq!(fs::metadata(folder.path().join(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
    let files = lab.options().files();
    let facts = fs::metadata(&files).unwrap();
    assert_eq!(
        (facts.uid(), facts.mode() & 0o777),
        (0, 0o755),
        "a server's user renames nothing in it"
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = mounts.lines().find(|line| line.contains(files.to_str().unwrap())).unwrap();
    assert!(line.contains("nosuid") && line.contains("nodev"), "{line}");
    lab.remove().unwrap();
}
