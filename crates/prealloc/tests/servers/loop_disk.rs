//! A file system on a loop device, for the binlogs of a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::process::geteuid;

use crate::common::{Bench, MEBI};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopFileSystem {
    Ext4,
    Xfs,
}

impl LoopFileSystem {
    pub(crate) const ALL: [Self; 2] = [Self::Ext4, Self::Xfs];

    fn is_here(self) -> bool {
        let known = || fs::read_to_string("/proc/filesystems").unwrap().contains("\txfs\n");
        self == Self::Ext4 || (has_program("mkfs.xfs") && known())
    }

    fn make(self, image: &str) {
        match self {
            Self::Ext4 => {
                let extended = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
                run_well("mkfs.ext4", &["-q", "-F", "-m", "0", "-E", extended, image])
            }
            Self::Xfs => run_well("mkfs.xfs", &["-q", "-f", "-K", image]),
        };
    }

    /// Options that make an ext4 commit its journal by syncs alone, and not by time; an xfs does
    /// that each 30 s.
    fn mount_options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["-t", "ext4", "-o", "commit=300"],
            Self::Xfs => &["-t", "xfs"],
        }
    }
}

pub(crate) struct LoopDisk {
    kind: LoopFileSystem,
    image: PathBuf,
    device: String,
    pub(crate) mounted: PathBuf,
}

fn run(program: &str, words: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "programs that end at once")]
    std::process::Command::new(program).args(words).output().unwrap()
}

fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

fn run_well(program: &str, words: &[&str]) -> String {
    let output = run(program, words);
    assert!(
        output.status.success(),
        "{program} {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl LoopDisk {
    /// A disk of its own for the binlogs and their index. `None`: it cannot be made here.
    pub(crate) fn for_binlogs(bench: &mut Bench, kind: LoopFileSystem, mebi: u64) -> Option<Self> {
        if !geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: only root with loop devices can mount a disk");
            return None;
        }
        if !kind.is_here() {
            eprintln!("SKIPPED on {kind:?}: no program that makes it, or a kernel without it");
            return None;
        }
        // A smaller xfs is refused by its program.
        let mebi = if kind == LoopFileSystem::Xfs { mebi.max(320) } else { mebi };
        let folder = bench.home.folder();
        let image = folder.join("image");
        fs::File::create(&image).unwrap().set_len(mebi * MEBI).unwrap();
        kind.make(path(&image));
        let mut disk = Self { kind, image, device: String::new(), mounted: folder.join("disk") };
        fs::create_dir(&disk.mounted).unwrap();
        disk.mount();
        let user = bench.home.home().user();
        std::os::unix::fs::chown(&disk.mounted, Some(user.uid), Some(user.gid)).unwrap();
        bench.basename = disk.mounted.join("binlog");
        bench.set("log_bin", path(&bench.basename.clone()));
        Some(disk)
    }

    fn mount(&mut self) {
        self.device =
            run_well("losetup", &["--find", "--show", "--direct-io=on", path(&self.image)]);
        let words =
            [&["-i", "-n"][..], self.kind.mount_options(), &[&self.device, path(&self.mounted)]]
                .concat();
        run_well("mount", &words);
    }

    fn unmount(&self) {
        run("umount", &[path(&self.mounted)]);
        run("losetup", &["--detach", &self.device]);
    }

    /// Flushes since it was mounted: the last but one of its numbers.
    pub(crate) fn flushes(&self) -> u64 {
        let name = self.device.trim_start_matches("/dev/");
        let text = fs::read_to_string("/proc/diskstats").unwrap();
        let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(name)).unwrap();
        line.split_whitespace().nth(18).unwrap().parse().unwrap()
    }

    /// What is on the device now, and not only in the memory of the system. Nothing may write to
    /// it.
    pub(crate) fn keep_device(&self) {
        run_well("cp", &["--sparse=always", path(&self.image), path(&self.kept())]);
    }

    /// The system crashed when the device was kept, and starts again. The server is dead.
    pub(crate) fn crash_to_kept(&mut self) {
        self.unmount();
        fs::rename(self.kept(), &self.image).unwrap();
        self.mount();
    }

    fn kept(&self) -> PathBuf {
        self.image.with_extension("kept")
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
