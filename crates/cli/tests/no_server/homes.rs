//! Folders of private servers: what was left in them, and homes where little can be done.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use rustix::process::geteuid;

use crate::common::{Place, Ran, has_server, wait_until};

/// Makes what a killed truetps leaves in a server's folder.
fn leave(place: &Place, id: &str) -> PathBuf {
    place.good(&["server", "list"]);
    let folder = place.home().join("servers").join(id);
    fs::create_dir_all(folder.join("data")).unwrap();
    let owner = r#"{"schema_version":1,"owner_pid":4194305,"flavour":"mysql","version":"8.0.36"}"#;
    fs::write(folder.join("owner.json"), owner).unwrap();
    File::create(folder.join("lock")).unwrap();
    folder
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands for a server that was started by hand")]
fn a_leftover_that_is_kept_is_named() {
    let place = Place::new();
    let folder = leave(&place, "4194305-1");
    let mut by_hand = std::process::Command::new("/bin/sh");
    by_hand
        .args(["-c", "read line", "mysqld"])
        .arg(format!("--datadir={}", folder.join("data").display()));
    // It ends with its input.
    let mut child = by_hand.stdin(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    wait_until("its arguments", || !fs::read(format!("/proc/{pid}/cmdline")).unwrap().is_empty());
    let kept = place.good(&["server", "clean"]);
    drop(child.stdin.take());
    child.wait().unwrap();
    let kept_line = format!("kept {}: process {pid} runs", folder.display());
    for expect in [kept_line, format!("hint: `ps -fp {pid}` shows what it is")] {
        assert!(kept.stderr.contains(&expect), "{}should contain\n{expect}", kept.stderr);
    }
    assert!(!kept.stderr.contains("nothing to clean") && folder.join("owner.json").is_file());
}

/// A file system of its own on a folder, until it is dropped.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// `None`, with a line, where tests may not mount: they run as root with the right to mount, or
    /// leave this out.
    pub(crate) fn mount(place: &Place, test: &str) -> Option<Self> {
        let path = place.path().join("disk");
        fs::create_dir(&path).unwrap();
        if let Err(error) = mount("none", &path, "tmpfs", MountFlags::empty(), c"size=4m,mode=755")
        {
            // Past the harness, which hides what passing tests print.
            let _ =
                writeln!(std::io::stderr(), "SKIPPED {test}: a tmpfs cannot be mounted: {error}");
            return None;
        }
        Some(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves room for so many bytes. Returns the file that takes the rest.
    pub(crate) fn fill_but(&self, bytes: u64) -> PathBuf {
        self.fill();
        let path = self.0.join("fill");
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(path.metadata().unwrap().len() - bytes).unwrap();
        path
    }

    fn fill(&self) {
        let full = fs::write(self.0.join("fill"), vec![0; 8 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }

    fn make_read_only(&self) {
        mount_remount(&self.0, MountFlags::RDONLY, c"").unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// What uses a home.
const COMMANDS: [&[&str]; 5] = [
    &["server", "list"],
    &["server", "clean"],
    &["server", "add", "a"],
    &["server", "start", "a"],
    &[
        "run",
        "insert",
        "--measure",
        "0.5",
        "--warm-up",
        "0.1",
        "--table-rows",
        "100",
        "--connections",
        "1",
    ],
];

/// Runs a command with this home; `None`: for want of a server it says nothing about homes.
fn at(place: &Place, home: &Path, words: &[&str]) -> Option<Ran> {
    let needs_server = words[0] == "run" || words[1] == "add";
    (!needs_server || has_server())
        .then(|| place.command(words).env("TRUETPS_SANDBOX_DIR", home).output().unwrap().into())
}

/// Each command is refused, with these words and a hint.
fn all_refused(place: &Place, home: &Path, expect: &str) {
    for words in COMMANDS {
        let Some(ran) = at(place, home, words) else { continue };
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(expect) && ran.stderr.contains("hint: "),
            "{words:?}: {}",
            ran.stderr
        );
        assert_eq!(
            ran.stderr.matches(&home.display().to_string()).count(),
            1,
            "{words:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_home_on_a_full_disk_is_reported_before_anything_starts() {
    let place = Place::new();
    let Some(disk) =
        Disk::mount(&place, "a_home_on_a_full_disk_is_reported_before_anything_starts")
    else {
        return;
    };
    let home = disk.0.join("home");
    assert_eq!(at(&place, &home, COMMANDS[0]).unwrap().code, Some(0));
    disk.fill();
    for words in &COMMANDS[..2] {
        assert_eq!(at(&place, &home, words).unwrap().code, Some(0), "{words:?}");
    }
    for words in [COMMANDS[2], COMMANDS[4]] {
        let Some(ran) = at(&place, &home, words) else { continue };
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("No space left") && ran.stderr.contains("hint: free some space"),
            "{}",
            ran.stderr
        );
        assert_eq!(
            ran.stderr.matches("home").count(),
            1,
            "the path stands there twice: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_home_on_a_read_only_disk_is_refused() {
    let place = Place::new();
    let Some(disk) = Disk::mount(&place, "a_home_on_a_read_only_disk_is_refused") else { return };
    let home = disk.0.join("home");
    at(&place, &home, COMMANDS[0]).unwrap();
    disk.make_read_only();
    for home in [home, disk.0.join("new")] {
        all_refused(&place, &home, "Read-only file system");
    }
}

#[test]
fn a_foreign_folder_and_a_linked_one_are_refused_and_left_as_they_are() {
    let place = Place::new();
    let (foreign, link) = (place.path().join("foreign"), place.path().join("link"));
    let files = ["servers/12-3/lock", "servers/12-3/data/f", "templates/mine/f", "named/x/f", "f"];
    for name in files {
        fs::create_dir_all(foreign.join(name).parent().unwrap()).unwrap();
        fs::write(foreign.join(name), "precious").unwrap();
    }
    fs::create_dir(place.path().join("empty")).unwrap();
    for (home, target, expect) in [
        (foreign.clone(), None, "truetps has not created"),
        (link.clone(), Some("foreign"), "symbolic link"),
        (place.path().join("link to empty"), Some("empty"), "symbolic link"),
    ] {
        if let Some(target) = target {
            symlink(target, &home).unwrap();
        }
        for words in COMMANDS {
            let Some(ran) = at(&place, &home, words) else { continue };
            assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
            assert!(
                ran.stderr.contains(expect) && ran.stderr.contains("--sandbox-dir"),
                "{words:?}: {}",
                ran.stderr
            );
        }
    }
    assert!(files.iter().all(|name| fs::read_to_string(foreign.join(name)).unwrap() == "precious"));
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 4, "nothing was made beside them");
    assert_eq!(fs::read_dir(place.path().join("empty")).unwrap().count(), 0);
}

#[test]
fn a_closed_umask_closes_no_folder_of_a_home() {
    let place = Place::new();
    let home = place.path().join("home");
    for words in &COMMANDS[..2] {
        let script = ["-c", "umask 077; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_truetps")];
        let mut command = place.program(Path::new("/bin/sh"), &[&script, *words].concat());
        let ran: Ran = command.env("TRUETPS_SANDBOX_DIR", &home).output().unwrap().into();
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
    }
    let open = if geteuid().is_root() { 0o711 } else { 0o700 };
    for folder in [home.clone(), home.join("servers"), home.join("templates")] {
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            open,
            "{}",
            folder.display()
        );
    }
}
