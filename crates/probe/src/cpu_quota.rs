//! The CPU quota of this process's control groups: a container may have fewer CPUs than the cores
//! that it sees.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The tightest quota that applies to this process.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuQuota {
    /// In CPUs, such as 1.5.
    pub cores: f64,
    /// The control group that has it.
    folder: PathBuf,
}

impl CpuQuota {
    /// `None` if there is none.
    pub fn of_this_process() -> Option<Self> {
        Self::tightest(groups_of("self"))
    }

    pub fn of_process(pid: u32) -> Option<Self> {
        Self::tightest(groups_of(&pid.to_string()))
    }

    /// Its periods so far: all, and those in which it stopped its processes.
    pub fn periods(&self) -> Option<(u64, u64)> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        Some((count_in(&text, "nr_periods ")?, count_in(&text, "nr_throttled ")?))
    }

    fn tightest(folders: Vec<PathBuf>) -> Option<Self> {
        let quotas =
            folders.into_iter().filter_map(|folder| Some(Self { cores: quota(&folder)?, folder }));
        quotas.min_by(|one, other| one.cores.total_cmp(&other.cores))
    }

    /// Whether another process uses up the same quota.
    pub fn is_shared_with(&self, pid: u32) -> bool {
        groups_of(&pid.to_string()).contains(&self.folder)
    }

    /// CPU time that all processes in the group have used.
    pub fn used(&self) -> Option<Duration> {
        used_of_version_2(&self.folder)
            .or_else(|| used_of_version_1(&self.folder))
            .or_else(|| used_of_version_1(&self.accounting_folder()?))
    }

    /// Version 1 may mount the accounting apart from the quota.
    fn accounting_folder(&self) -> Option<PathBuf> {
        let path = self.folder.strip_prefix(Path::new(MOUNT).join("cpu")).ok()?;
        Some(Path::new(MOUNT).join("cpuacct").join(path))
    }
}

fn count_in(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn used_of_version_2(folder: &Path) -> Option<Duration> {
    let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    count_in(&text, "usage_usec ").map(Duration::from_micros)
}

fn used_of_version_1(folder: &Path) -> Option<Duration> {
    number(&folder.join("cpuacct.usage")).map(Duration::from_nanos)
}

/// Folders of a process's control groups for CPU time, from its own up to the root, in both
/// versions.
fn groups_of(process: &str) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    group_folders(&text)
}

fn group_folders(text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mount = match controllers {
            "" => PathBuf::from(MOUNT),
            _ if controllers.split(',').any(|one| one == "cpu") => {
                Path::new(MOUNT).join(controllers)
            }
            _ => continue,
        };
        let own = mount.join(path.trim_start_matches('/'));
        // A container may show the path of the host: then only the mount itself exists.
        folders.extend(
            own.ancestors().take_while(|folder| folder.starts_with(&mount)).map(Path::to_owned),
        );
    }
    folders
}

/// In CPUs; `None` if the group has none.
fn quota(folder: &Path) -> Option<f64> {
    let max = fs::read_to_string(folder.join("cpu.max")).ok();
    let cores = max.and_then(|text| parse_max(&text)).or_else(|| quota_of_version_1(folder));
    cores.filter(|cores| *cores > 0.0)
}

fn quota_of_version_1(folder: &Path) -> Option<f64> {
    let quota = number(&folder.join("cpu.cfs_quota_us"))?;
    let period = number(&folder.join("cpu.cfs_period_us"))?;
    (period > 0).then(|| quota as f64 / period as f64)
}

/// `150000 100000`, or `max 100000` for none.
fn parse_max(text: &str) -> Option<f64> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse::<f64>().ok());
    let (quota, period) = (fields.next()??, fields.next()??);
    (period > 0.0).then(|| quota / period)
}

/// A quota of -1 stands for none, and is no such number.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_both_versions() {
        assert_eq!(parse_max("150000 100000\n"), Some(1.5));
        assert_eq!(parse_max("max 100000\n"), None);
        assert_eq!(parse_max(""), None);
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str, files: &[(&str, &str)]| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            folder
        };
        let loose = folder(
            "loose",
            &[("cpu.max", "400000 100000"), ("cpu.stat", "usage_usec 7\nuser_usec 3\n")],
        );
        let none =
            folder("none", &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]);
        let tight = folder(
            "tight",
            &[
                ("cpu.cfs_quota_us", "50000\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("cpuacct.usage", "8000\n"),
            ],
        );
        let found = CpuQuota::tightest(vec![loose.clone(), none.clone(), tight.clone()]).unwrap();
        assert_eq!((found.cores, found.folder.clone()), (0.5, tight));
        assert_eq!(found.used(), Some(Duration::from_micros(8)));
        assert_eq!(CpuQuota { cores: 4.0, folder: loose }.used(), Some(Duration::from_micros(7)));
        assert_eq!(CpuQuota::tightest(vec![none]), None);
    }

    #[test]
    fn a_group_and_those_above_it() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(group_folders(text), expect.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        check("0::/a/b\n", &["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        check(
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            &["/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/cpu,cpuacct"],
        );
        check("3:cpuset:/x\n2:cpuacct:/x\n", &[]);
        let apart = CpuQuota { cores: 1.0, folder: PathBuf::from("/sys/fs/cgroup/cpu/x") };
        assert_eq!(apart.accounting_folder(), Some(PathBuf::from("/sys/fs/cgroup/cpuacct/x")));
    }
}
