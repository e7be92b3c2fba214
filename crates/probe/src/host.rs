//! Facts of the machine.

use std::fs;
use std::path::Path;

use rustix::fs::{major, minor, stat, statfs};
use truetps_record::{FlushProbe, HostFacts};

use crate::affinity::usable_cores;

/// Facts of this host; the facts of the disk are about the one under `data_dir`.
pub fn host_facts(data_dir: &Path, flush: Option<FlushProbe>) -> HostFacts {
    let uname = rustix::system::uname();
    let device = device_under(data_dir);
    HostFacts {
        hostname: uname.nodename().to_string_lossy().into_owned(),
        kernel: format!(
            "{} {}",
            uname.sysname().to_string_lossy(),
            uname.release().to_string_lossy()
        ),
        cpu_model: cpu_field("model name").unwrap_or_default(),
        cores: usable_cores(),
        memory_bytes: memory_bytes().unwrap_or(0),
        virtualisation: virtualisation(),
        file_system: file_system_of(data_dir),
        rotational: device.as_deref().and_then(is_rotational),
        device,
        flush,
    }
}

fn cpu_field(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line =
        text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A virtual machine shows the CPU flag `hypervisor`; a container leaves a marker file.
fn virtualisation() -> Option<String> {
    let flags = cpu_field("flags")?;
    let mut kinds = Vec::new();
    if flags.split(' ').any(|flag| flag == "hypervisor") {
        let product = fs::read_to_string("/sys/class/dmi/id/product_name").unwrap_or_default();
        let product = product.trim();
        kinds.push(if product.is_empty() {
            "virtual machine".to_owned()
        } else {
            format!("virtual machine ({product})")
        });
    }
    if ["/.dockerenv", "/run/.containerenv"].iter().any(|marker| Path::new(marker).exists()) {
        kinds.push("container".to_owned());
    }
    Some(if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") })
}

/// Type of the file system that the path is on, as named in the list of mounts; by its magic number
/// if the mount is not visible (in a chroot).
fn file_system_of(path: &Path) -> Option<String> {
    mounted_type(path).or_else(|| {
        let magic = statfs(path).ok()?.f_type as u64;
        MAGICS.iter().find(|(number, _)| *number == magic).map(|(_, name)| (*name).to_owned())
    })
}

/// From statfs(2).
const MAGICS: [(u64, &str); 6] = [
    (0xef53, "ext2/ext3/ext4"),
    (0x5846_5342, "xfs"),
    (0x0102_1994, "tmpfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlay"),
    (0x2fc1_2fc1, "zfs"),
];

/// The mount with the longest matching mount point.
fn mounted_type(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let text = fs::read_to_string("/proc/self/mountinfo").ok()?;
    parse_mountinfo(&text)
        .filter(|(mount_point, _)| path.starts_with(mount_point))
        .max_by_key(|(mount_point, _)| mount_point.len())
        .map(|(_, kind)| kind)
}

/// Mount points and types; proc(5) writes a space in a path as `\040`.
fn parse_mountinfo(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.lines().filter_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mount_point = front.split(' ').nth(4)?.replace("\\040", " ");
        Some((mount_point, back.split(' ').next()?.to_owned()))
    })
}

/// Name of the block device under a path.
fn device_under(path: &Path) -> Option<String> {
    let device = stat(path).ok()?.st_dev;
    let link = fs::read_link(format!("/sys/dev/block/{}:{}", major(device), minor(device))).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// A partition has no queue of its own: the disk has it.
fn is_rotational(device: &str) -> Option<bool> {
    let base = fs::canonicalize(format!("/sys/class/block/{device}")).ok()?;
    let candidates = [base.join("queue/rotational"), base.parent()?.join("queue/rotational")];
    let text = candidates.iter().find_map(|path| fs::read_to_string(path).ok())?;
    Some(text.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_with_a_space_in_a_path() {
        let text = "36 35 98:0 / / rw - ext4 /dev/vda rw\n37 36 0:1 / /a\\040b rw shared:1 - tmpfs \
                    tmpfs rw\n";
        let mounts: Vec<_> = parse_mountinfo(text).collect();
        assert_eq!(mounts, [("/".into(), "ext4".into()), ("/a b".into(), "tmpfs".into())]);
    }

    #[test]
    fn this_host_has_cores_and_a_file_system() {
        let facts = host_facts(Path::new("/"), None);
        assert!(facts.cores >= 1 && facts.memory_bytes > 0 && !facts.kernel.is_empty());
        assert!(facts.file_system.is_some());
    }
}
