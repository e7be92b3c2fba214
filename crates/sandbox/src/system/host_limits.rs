//! Limits of this host, read before anything starts.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, geteuid, getrlimit};

/// Current limits. `None` = no limit, or it could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLimits {
    pub is_root: bool,
    pub memory_bytes: u64,
    /// Memory available without swapping, in this control group and on the host.
    pub memory_available_bytes: Option<u64>,
    pub threads_now: u64,
    pub threads_max: Option<u64>,
    pub pid_max: Option<u64>,
    pub max_map_count: Option<u64>,
    /// Processes and threads that the control groups still allow, and the file with the limit.
    pub control_group_left: Option<(PathBuf, u64)>,
    /// `ulimit -u`, soft and hard.
    pub processes: (Option<u64>, Option<u64>),
    /// Ports that connections of this host may have: the size of net.ipv4.ip_local_port_range,
    /// which holds for IPv6, too.
    pub local_ports: Option<u64>,
    /// `ulimit -n`, soft and hard.
    pub open_files: (Option<u64>, Option<u64>),
}

impl HostLimits {
    pub fn read() -> Self {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kernel = |name: &str| read_number(&Path::new("/proc/sys").join(name));
        let groups = own_groups();
        let available = kilobytes(&memory, "MemAvailable:");
        let group_available = groups.iter().filter_map(|group| memory_left(group)).min();
        Self {
            is_root: geteuid().is_root(),
            memory_bytes: kilobytes(&memory, "MemTotal:").unwrap_or(0),
            memory_available_bytes: [available, group_available].into_iter().flatten().min(),
            threads_now: threads_now(&fs::read_to_string("/proc/loadavg").unwrap_or_default()),
            threads_max: kernel("kernel/threads-max"),
            pid_max: kernel("kernel/pid_max"),
            max_map_count: kernel("vm/max_map_count"),
            control_group_left: groups
                .iter()
                .filter_map(|group| pids_left(group))
                .min_by_key(|(_, left)| *left),
            processes: soft_and_hard(getrlimit(Resource::Nproc)),
            local_ports: local_ports(
                &fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default(),
            ),
            open_files: soft_and_hard(getrlimit(Resource::Nofile)),
        }
    }
}

fn soft_and_hard(limit: Rlimit) -> (Option<u64>, Option<u64>) {
    (limit.current, limit.maximum)
}

/// `32768 60999`: the first and the last one.
fn local_ports(range: &str) -> Option<u64> {
    let mut ends = range.split_ascii_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    Some((last + 1).saturating_sub(first))
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// `0.00 0.01 0.05 2/345 6789`: running and all threads of the system.
fn threads_now(loadavg: &str) -> u64 {
    let threads = loadavg.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/'));
    threads.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// Folders of the process's control groups, from its own up to the root: version 2, and the two
/// controllers of version 1.
fn own_groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_folders(&text).into_iter().filter(|folder| folder.is_dir()).collect()
}

fn group_folders(cgroup: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mount = match controllers {
            "" => PathBuf::from("/sys/fs/cgroup"),
            "pids" | "memory" => Path::new("/sys/fs/cgroup").join(controllers),
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

fn pids_left(group: &Path) -> Option<(PathBuf, u64)> {
    let file = group.join("pids.max");
    let most = read_number(&file)?;
    Some((file, most.saturating_sub(read_number(&group.join("pids.current")).unwrap_or(0))))
}

/// Memory that a group may still use. Cached files count as free: the kernel drops them first.
fn memory_left(group: &Path) -> Option<u64> {
    let version_2 =
        read_number(&group.join("memory.max")).zip(read_number(&group.join("memory.current")));
    let (most, used) = version_2.or_else(|| {
        read_number(&group.join("memory.limit_in_bytes"))
            .zip(read_number(&group.join("memory.usage_in_bytes")))
    })?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok())
        .unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel() {
        assert_eq!(
            kilobytes("MemTotal:  24 kB\nMemAvailable:   7 kB\n", "MemAvailable:"),
            Some(7 << 10)
        );
        assert_eq!((local_ports("32768\t60999\n"), local_ports("")), (Some(28_232), None));
        assert_eq!(threads_now("0.00 0.01 0.05 2/345 6789\n"), 345);
        let folders = group_folders("0::/user.slice/a b\n");
        assert_eq!(
            folders,
            ["/sys/fs/cgroup/user.slice/a b", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
                .map(PathBuf::from)
        );
        let folders = group_folders("12:pids:/x\n3:cpu,cpuacct:/x\n1:name=systemd:/x\n");
        assert_eq!(folders, ["/sys/fs/cgroup/pids/x", "/sys/fs/cgroup/pids"].map(PathBuf::from));
    }

    #[test]
    fn groups_are_counted_down() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("pids.max", "max\n");
        assert_eq!(pids_left(dir.path()), None);
        write("pids.max", "100\n");
        write("pids.current", "30\n");
        assert_eq!(pids_left(dir.path()), Some((dir.path().join("pids.max"), 70)));
        write("memory.max", "1000\n");
        write("memory.current", "900\n");
        write("memory.stat", "anon 1\ninactive_file 500\n");
        assert_eq!(memory_left(dir.path()), Some(600));
    }

    #[test]
    fn this_host_can_be_read() {
        let limits = HostLimits::read();
        assert!(limits.memory_bytes > 0 && limits.threads_now > 0);
    }
}
