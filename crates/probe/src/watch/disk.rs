//! The disk of a server's datadir.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{major, minor, stat};

use crate::watch::reading::ProbeReading;

const SECTOR_BYTES: f64 = 512.0;

/// Fields of the kernel's `stat` of a block device, counted from 0, with the factor of each.
const FIELDS: [(&str, usize, f64); 7] = [
    ("disk.reads", 0, 1.0),
    ("disk.read_bytes", 2, SECTOR_BYTES),
    ("disk.writes", 4, 1.0),
    ("disk.write_bytes", 6, SECTOR_BYTES),
    ("disk.io_ms", 9, 1.0),
    // Missing in kernels before 5.5.
    ("disk.flushes", 15, 1.0),
    ("disk.flush_ms", 16, 1.0),
];

/// The device under a folder.
#[derive(Debug)]
pub(crate) struct Disk {
    /// Its counters, or why they are missing.
    stat: Result<PathBuf, String>,
}

impl Disk {
    /// Servers of both families have the datadir as their working directory.
    pub(crate) fn under_process(pid: u32) -> Self {
        Self::under(Path::new(&format!("/proc/{pid}/cwd")))
    }

    fn under(folder: &Path) -> Self {
        let stat = match stat(folder) {
            Err(error) => Err(format!("the server's datadir: {}", io::Error::from(error))),
            Ok(found) => {
                let (major, minor) = (major(found.st_dev), minor(found.st_dev));
                fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))
                    .map(|device| whole(&device).join("stat"))
                    .map_err(|_| "there is no block device under the server's datadir".to_owned())
            }
        };
        Self { stat }
    }

    pub(crate) fn read(&self, reading: &mut ProbeReading) {
        let text = match &self.stat {
            Err(why) => Err(why.clone()),
            Ok(path) => {
                fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
            }
        };
        match text {
            Ok(text) => read_fields(&text, reading),
            Err(why) => reading.absent("disk", why),
        }
    }
}

/// Flushes go to a whole disk, and are not counted for its partitions.
fn whole(device: &Path) -> PathBuf {
    let parent = device.parent().filter(|_| device.join("partition").exists());
    parent.unwrap_or(device).to_owned()
}

fn read_fields(text: &str, reading: &mut ProbeReading) {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    for (name, field, worth) in FIELDS {
        if let Some(value) = fields.get(field).and_then(|field| field.parse::<f64>().ok()) {
            reading.put(name, value * worth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_device() {
        let mut reading = ProbeReading::default();
        read_fields("  5 1 80 7  6 2 160 9  0 33 44  0 0 0 0  11 12\n", &mut reading);
        let value = |name: &str| reading.values.get(name).copied();
        assert_eq!((value("disk.reads"), value("disk.read_bytes")), (Some(5.0), Some(40_960.0)));
        assert_eq!((value("disk.writes"), value("disk.write_bytes")), (Some(6.0), Some(81_920.0)));
        assert_eq!(
            (value("disk.io_ms"), value("disk.flushes"), value("disk.flush_ms")),
            (Some(33.0), Some(11.0), Some(12.0))
        );
        let mut old = ProbeReading::default();
        read_fields("5 1 80 7 6 2 160 9 0 33 44", &mut old);
        assert!(!old.values.contains_key("disk.flushes"), "an old kernel does not count them");
    }

    #[test]
    fn no_disk_has_a_reason() {
        let mut reading = ProbeReading::default();
        Disk::under(Path::new("/proc")).read(&mut reading);
        assert_eq!(reading.absent.len(), 1, "{reading:?}");
    }
}
