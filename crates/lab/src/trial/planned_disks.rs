//! The emulated disks that a plan names.

use std::path::PathBuf;

use truetps_disk::{DiskError, DiskProfile, FlushTimes, LabLevel, choose_level};
use truetps_plan::Plan;
use truetps_record::{DiskFacts, DiskLevel};
use truetps_sandbox::SandboxDisk;

use crate::error::LabError;

/// The profiles of the disks of private servers.
#[derive(Debug, Clone)]
pub struct PlannedDisks {
    /// By the name that the plan has for it.
    profiles: Vec<(String, DiskProfile)>,
    /// What of them is emulated: the best that this machine can.
    level: LabLevel,
    /// The program of truetps.
    helper: PathBuf,
}

impl PlannedDisks {
    /// Finds the profiles of a plan, if this machine can mount disks. `helper`: the program of
    /// truetps, which runs the disks.
    pub fn of(plan: &Plan, helper: PathBuf) -> Result<Self, DiskError> {
        let names = plan.disk_names();
        let level = if names.is_empty() { LabLevel::Block } else { choose_level()? };
        let names = names.into_iter();
        let profiles = names.map(|name| Ok((name.to_owned(), DiskProfile::find(name)?)));
        Ok(Self { profiles: profiles.collect::<Result<_, DiskError>>()?, level, helper })
    }

    pub(crate) fn profile(&self, name: &str) -> Option<&DiskProfile> {
        self.profiles.iter().find(|(known, _)| known == name).map(|(_, profile)| profile)
    }

    pub(crate) fn sandbox_disk(&self, name: &str, seed: u64) -> Result<SandboxDisk, LabError> {
        let profile = self.profile(name).ok_or_else(|| {
            truetps_sandbox::SandboxError::from(DiskError::UnknownProfile { name: name.to_owned() })
        })?;
        Ok(SandboxDisk {
            level: self.level,
            profile: profile.clone(),
            seed,
            helper: self.helper.clone(),
        })
    }

    /// A disk of the plan, as it was measured.
    pub(crate) fn disk_facts(&self, name: &str, found: &FlushTimes) -> Option<DiskFacts> {
        Some(DiskFacts {
            profile: name.to_owned(),
            level: match self.level {
                LabLevel::Block => DiskLevel::Block,
                LabLevel::FileSystem => DiskLevel::FileSystem,
            },
            planned_overwrite_us: self.profile(name)?.overwrite_us(),
            overwrite_us_p50: found.overwrite_us_p50,
            append_us_p50: found.append_us_p50,
            overwrite_flushes: found.overwrite_flushes,
            append_flushes: found.append_flushes,
        })
    }
}
