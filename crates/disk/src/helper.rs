//! The process that owns an emulated disk: it mounts it, obeys commands on its standard input, and
//! removes it when that ends, however its owner has ended. After the command to stay it ignores
//! that, and unmounts the disk at a signal.
//!
//! It does nothing with files of its own disk: a thread that waits for the disk cannot be killed,
//! and a killed process whose thread waits for an answer of its own never ends. So the owner
//! measures the disk, and programs mount it.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::block_lab::BlockLab;
use crate::device::DiskCrash;
use crate::error::DiskError;
use crate::file_system_lab::FileSystemLab;
use crate::lab::{DiskLab, DiskOptions};
use crate::mounts::lock_folder;
use crate::{LabLevel, missing_for};

/// A line to the helper, after the first one, which has the [`DiskOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperCommand {
    /// Whether requests take the time of the profile.
    Timed(bool),
    /// What the host adds to a request, in µs.
    HostTime(f64),
    /// How many flushes the disk had so far.
    FlushCount,
    /// From now on nothing reaches the disk, whatever runs on it.
    Cut(DiskCrash),
    /// The host starts again, after a cut; everything that ran on the disk is dead.
    Crash(DiskCrash),
    /// From now on the end of the input ends nothing.
    Stay,
}

/// A line from the helper: one for the options, and one for each command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperAnswer {
    /// The disk is mounted.
    Ready,
    Done,
    FlushCount(u64),
    Crashed {
        blocks_lost: u64,
    },
    Failed {
        problem: String,
    },
}

/// Runs the helper until its input ends; one that stays, until `wait_for_signal` returns, which
/// waits until the process is asked to end, and nothing uses the disk any more.
pub fn run_helper(
    input: impl BufRead,
    mut output: impl Write,
    wait_for_signal: impl FnOnce(),
) -> io::Result<()> {
    let mut lines = input.lines();
    let Some(first) = lines.next().transpose()? else { return Ok(()) };
    let created = serde_json::from_str(&first)
        .map_err(io::Error::from)
        .map(|options: DiskOptions| create_lab(options));
    let mut lab = match created? {
        Ok(lab) => lab,
        Err(error) => return answer(&mut output, &failed(&error)),
    };
    answer(&mut output, &HelperAnswer::Ready)?;
    let mut stays = false;
    for line in lines {
        // An owner that is gone reads no answer, and its input ends soon.
        let Ok(command) = serde_json::from_str(&line?) else { break };
        stays |= command == HelperCommand::Stay;
        if answer(&mut output, &obey(lab.as_mut(), command)).is_err() {
            break;
        }
    }
    if stays {
        wait_for_signal();
        lab.unmount_once_unused().map_err(io::Error::other)?;
    }
    lab.remove().map_err(io::Error::other)
}

fn obey(lab: &mut dyn DiskLab, command: HelperCommand) -> HelperAnswer {
    match command {
        HelperCommand::Timed(is_timed) => {
            lab.set_timed(is_timed);
            HelperAnswer::Done
        }
        HelperCommand::HostTime(each_us) => {
            lab.set_host_us(each_us);
            HelperAnswer::Done
        }
        HelperCommand::FlushCount => HelperAnswer::FlushCount(lab.flush_count()),
        HelperCommand::Cut(crash) => crashed(lab.cut(crash)),
        HelperCommand::Crash(crash) => crashed(lab.crash(crash)),
        HelperCommand::Stay => HelperAnswer::Done,
    }
}

fn crashed(lost: Result<u64, DiskError>) -> HelperAnswer {
    lost.map_or_else(|error| failed(&error), |blocks_lost| HelperAnswer::Crashed { blocks_lost })
}

fn failed(error: &DiskError) -> HelperAnswer {
    HelperAnswer::Failed { problem: error.to_string() }
}

fn answer(output: &mut impl Write, answer: &HelperAnswer) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    output.flush()
}

/// Makes and mounts a disk.
pub(crate) fn create_lab(options: DiskOptions) -> Result<Box<dyn DiskLab>, DiskError> {
    if let Some(missing) = missing_for(options.level).into_iter().next() {
        return Err(missing);
    }
    let lock = lock_folder(&options.folder)?;
    Ok(match options.level {
        LabLevel::Block => Box::new(BlockLab::create(options, lock)?),
        LabLevel::FileSystem => Box::new(FileSystemLab::create(options, lock)?),
    })
}
