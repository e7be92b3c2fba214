//! Becomes another program on one core: `bench-pin CORE PROGRAM [ARGUMENT…]`. The process id stays,
//! so that it can be watched.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::bench::programs::new_command;

pub(crate) fn run(core: u32, program: &[OsString]) -> anyhow::Result<()> {
    let [program, rest @ ..] = program else { bail!("bench-pin needs a program") };
    let core = core as usize;
    if core >= CpuSet::MAX_CPU {
        bail!("core {core} is beyond what the kernel knows");
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).with_context(|| format!("core {core}"))?;
    Err(new_command(program).args(rest).exec()).with_context(|| program.display().to_string())
}

/// The command, bound to a core from its first moment; `None`: wherever the kernel puts it.
pub(crate) fn pinned(command: Command, core: Option<u32>) -> anyhow::Result<Command> {
    let Some(core) = core else { return Ok(command) };
    let mut pinned = new_command(std::env::current_exe()?);
    pinned
        .args(["bench-pin", &core.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    Ok(pinned)
}
