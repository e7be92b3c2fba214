//! The process that owns an emulated disk: it mounts it, obeys commands on its standard input, and removes it when that
//! ends, however its owner has ended.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::block_lab::{BlockLab, DiskOptions};
use crate::device::DiskCrash;
use crate::error::DiskError;
use crate::flush_times::FlushTimes;

/// A line to the helper, after the first one, which has the [`DiskOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperCommand {
    /// Whether requests take the time of the profile.
    Timed(bool),
    FlushTimes,
    /// Everything that runs on the disk is dead.
    Crash(DiskCrash),
}

/// A line from the helper: one for the options, and one for each command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperAnswer {
    /// The disk is mounted.
    Ready,
    Done,
    FlushTimes(FlushTimes),
    Crashed {
        blocks_lost: u64,
    },
    Failed {
        problem: String,
    },
}

/// Runs the helper until its input ends.
pub fn run_helper(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut lines = input.lines();
    let Some(first) = lines.next().transpose()? else { return Ok(()) };
    let created =
        serde_json::from_str(&first).map_err(io::Error::from).map(|options: DiskOptions| BlockLab::create(options));
    let mut lab = match created? {
        Ok(lab) => lab,
        Err(error) => return answer(&mut output, &failed(&error)),
    };
    answer(&mut output, &HelperAnswer::Ready)?;
    for line in lines {
        // An owner that is gone reads no answer, and its input ends soon.
        let Ok(command) = serde_json::from_str(&line?) else { break };
        if answer(&mut output, &obey(&mut lab, command)).is_err() {
            break;
        }
    }
    lab.remove().map_err(io::Error::other)
}

fn obey(lab: &mut BlockLab, command: HelperCommand) -> HelperAnswer {
    match command {
        HelperCommand::Timed(is_timed) => {
            lab.set_timed(is_timed);
            HelperAnswer::Done
        }
        HelperCommand::FlushTimes => lab.flush_times().map_or_else(|error| failed(&error), HelperAnswer::FlushTimes),
        HelperCommand::Crash(crash) => match lab.crash(crash) {
            Ok(blocks_lost) => HelperAnswer::Crashed { blocks_lost },
            Err(error) => failed(&error),
        },
    }
}

fn failed(error: &DiskError) -> HelperAnswer {
    HelperAnswer::Failed { problem: error.to_string() }
}

fn answer(output: &mut impl Write, answer: &HelperAnswer) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    output.flush()
}
