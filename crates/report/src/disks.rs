//! The emulated disks of an experiment, in words.

use truetps_archive::Run;
use truetps_record::{Configuration, DiskFacts, DiskLevel, Experiment};

use crate::format;

/// One line a disk; empty where servers were on the host's own disk.
pub(crate) fn disks(experiment: &Experiment) -> Vec<String> {
    experiment.disks.iter().map(disk).collect()
}

/// The disk of a configuration, as it was measured. `None`: the host's own, or one that was never
/// measured.
pub(crate) fn disk_of<'a>(run: &'a Run, configuration: &'a Configuration) -> Option<&'a DiskFacts> {
    let name = run.plan.disk_of(configuration)?;
    run.experiment.disks.iter().find(|disk| disk.profile == name)
}

pub(crate) fn disk(disk: &DiskFacts) -> String {
    let DiskFacts {
        profile,
        level,
        planned_overwrite_us,
        overwrite_us_p50,
        append_us_p50,
        append_flushes,
        ..
    } = disk;
    let [planned, overwrite, append] =
        [planned_overwrite_us, overwrite_us_p50, append_us_p50].map(|us| format::duration_us(*us));
    let held = if disk.is_held() { "" } else { "; NOT AS THE PROFILE SAYS" };
    format!(
        "{profile}, emulated (level {}): a page written and flushed takes {overwrite} (profile \
         {planned}), in a growing file {append} ({append_flushes:.1} flushes){held}{}",
        level.name(),
        limits(*level)
    )
}

/// What a level does not show.
fn limits(level: DiskLevel) -> &'static str {
    match level {
        DiskLevel::Block => "",
        DiskLevel::FileSystem => {
            "; the file system's journal is modelled; loss of metadata is not shown"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_not_held_is_marked() {
        let facts = |overwrite_us_p50| DiskFacts {
            profile: "hdd7200".to_owned(),
            level: DiskLevel::Block,
            planned_overwrite_us: 8333.0,
            overwrite_us_p50,
            append_us_p50: 25_000.0,
            overwrite_flushes: 1.0,
            append_flushes: 2.0,
        };
        let text = "hdd7200, emulated (level block): a page written and flushed takes 8.34 ms \
                    (profile 8.33 ms), in a growing file 25.0 ms (2.0 flushes)";
        assert_eq!(disk(&facts(8340.0)), text);
        assert!(disk(&facts(12_000.0)).ends_with("; NOT AS THE PROFILE SAYS"));
        let text = disk(&DiskFacts { level: DiskLevel::FileSystem, ..facts(8340.0) });
        assert!(text.contains("emulated (level file_system)"), "{text}");
        assert!(
            text.ends_with("the file system's journal is modelled; loss of metadata is not shown"),
            "{text}"
        );
    }
}
