//! The emulated disk that a private server was on.

use serde::{Deserialize, Serialize};

/// What the host adds to a request, at most.
const HOST_US: f64 = 150.0;
/// Faster disks are not emulated faithfully: what the host adds is too large a part.
const PLANNED_US_MIN: f64 = 200.0;
const TOLERANCE: f64 = 0.1;

/// What of a disk is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskLevel {
    /// The device: the file system on it is a real one. Folders of the first versions have no
    /// other.
    #[default]
    Block,
    /// The file system: its journal is modelled, and metadata is never lost.
    FileSystem,
}

impl DiskLevel {
    /// Its name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::FileSystem => "file_system",
        }
    }
}

/// An emulated disk, as it was measured before its first trial: one client that writes pages of 4
/// KiB and flushes each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskFacts {
    /// The name that the plan has for it.
    pub profile: String,
    #[serde(default)]
    pub level: DiskLevel,
    /// What the profile says of a page that is overwritten and flushed.
    pub planned_overwrite_us: f64,
    /// What it took.
    pub overwrite_us_p50: f64,
    /// What a page took that was appended to a file.
    pub append_us_p50: f64,
    /// Flushes of the disk for each.
    pub overwrite_flushes: f64,
    pub append_flushes: f64,
}

impl DiskFacts {
    /// Whether the disk is as fast as its profile says.
    pub fn is_held(&self) -> bool {
        let planned = self.planned_overwrite_us;
        planned >= PLANNED_US_MIN
            && self.overwrite_us_p50 >= planned * (1.0 - TOLERANCE)
            && self.overwrite_us_p50 <= planned * (1.0 + TOLERANCE) + HOST_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_fast_or_too_slow_for_its_profile_is_not_held() {
        let check = |planned_overwrite_us, overwrite_us_p50, expect: bool| {
            let disk = DiskFacts {
                profile: "x".to_owned(),
                level: DiskLevel::Block,
                planned_overwrite_us,
                overwrite_us_p50,
                append_us_p50: 0.0,
                overwrite_flushes: 1.0,
                append_flushes: 2.0,
            };
            assert_eq!(disk.is_held(), expect, "{planned_overwrite_us} {overwrite_us_p50}");
        };
        check(8333.0, 8340.0, true);
        check(8333.0, 7000.0, false);
        check(8333.0, 9900.0, false);
        check(775.0, 900.0, true);
        check(100.0, 110.0, false);
    }

    #[test]
    fn a_disk_of_an_old_folder_is_a_block_device() {
        let text = r#"{"profile":"x","planned_overwrite_us":1.0,"overwrite_us_p50":1.0,"append_us_p50":1.0,
            "overwrite_flushes":1.0,"append_flushes":2.0}"#;
        let disk: DiskFacts = serde_json::from_str(text).unwrap();
        assert_eq!(disk.level, DiskLevel::Block);
        let disk = DiskFacts { level: DiskLevel::FileSystem, ..disk };
        assert!(serde_json::to_string(&disk).unwrap().contains(r#""level":"file_system""#));
    }
}
