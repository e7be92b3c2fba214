//! An emulated disk as its owner sees it: the helper process that holds it.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::device::DiskCrash;
use crate::error::DiskError;
use crate::flush_times::{FlushTimes, flush_times};
use crate::helper::{HelperAnswer, HelperCommand};
use crate::lab::DiskOptions;
use crate::mounts::clean_disk;

/// A mounted disk. Dropping it unmounts it, and removes it unless its image is to be kept.
#[derive(Debug)]
pub struct EmulatedDisk {
    options: DiskOptions,
    child: Child,
    /// `None`: its input was closed, so that it ends.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl EmulatedDisk {
    /// Starts a helper, the process that [`run_helper`](crate::run_helper) runs in, and waits until
    /// the disk is mounted. Requests take no time yet.
    pub fn mount(mut helper: Command, options: DiskOptions) -> Result<Self, DiskError> {
        // A group of its own: Ctrl-C at the terminal ends truetps first, which ends the disk.
        helper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = helper.spawn();
        let mut child = started.map_err(DiskError::io("start", Path::new(helper.get_program())))?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("its output is piped"));
        let first = serde_json::to_string(&options).expect("options have only numbers and texts");
        let mut disk = Self { options, child, commands, answers };
        match disk.ask(&first)? {
            HelperAnswer::Ready => disk.measure_host()?,
            other => return Err(unexpected(&other)),
        }
        Ok(disk)
    }

    /// Measures what the host adds to a request, while the disk itself takes no time.
    fn measure_host(&mut self) -> Result<(), DiskError> {
        let each_us = self.flush_times()?.host_us(self.options.level);
        self.done(HelperCommand::HostTime(each_us))
    }

    /// The folder of its file system.
    pub fn files(&self) -> PathBuf {
        self.options.files()
    }

    /// How its process ended, if it did: all files of the disk are gone then.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Whether requests take the time of the profile.
    pub fn set_timed(&mut self, is_timed: bool) -> Result<(), DiskError> {
        self.done(HelperCommand::Timed(is_timed))
    }

    pub fn flush_times(&mut self) -> Result<FlushTimes, DiskError> {
        let files = self.files();
        flush_times(&files, &mut || self.flush_count().map_err(io::Error::other))
    }

    fn flush_count(&mut self) -> Result<u64, DiskError> {
        match self.command(HelperCommand::FlushCount)? {
            HelperAnswer::FlushCount(flushes) => Ok(flushes),
            other => Err(unexpected(&other)),
        }
    }

    /// From now on nothing reaches the disk, whatever runs on it: its answers are not true any
    /// more. Returns the blocks of which its cache lost something. [`crash`](Self::crash) ends
    /// that.
    pub fn cut(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        self.lose(HelperCommand::Cut(crash))
    }

    /// The host crashes, unless the disk is cut already, and starts again. Everything that ran on
    /// the disk must be dead. Returns the blocks of which its cache lost something.
    pub fn crash(&mut self, crash: DiskCrash) -> Result<u64, DiskError> {
        self.lose(HelperCommand::Crash(crash))
    }

    fn lose(&mut self, command: HelperCommand) -> Result<u64, DiskError> {
        match self.command(command)? {
            HelperAnswer::Crashed { blocks_lost } => Ok(blocks_lost),
            other => Err(unexpected(&other)),
        }
    }

    /// Keeps the disk mounted when this process ends. SIGTERM ends its own process, which unmounts
    /// it.
    pub fn stay(mut self) -> Result<(), DiskError> {
        self.done(HelperCommand::Stay)?;
        // Dropping it does nothing from now on.
        self.commands = None;
        Ok(())
    }

    fn done(&mut self, command: HelperCommand) -> Result<(), DiskError> {
        match self.command(command)? {
            HelperAnswer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn command(&mut self, command: HelperCommand) -> Result<HelperAnswer, DiskError> {
        let line = serde_json::to_string(&command).expect("a command has only numbers and texts");
        self.ask(&line)
    }

    fn ask(&mut self, line: &str) -> Result<HelperAnswer, DiskError> {
        let commands =
            self.commands.as_mut().ok_or_else(|| helper_ended(&"its input was closed"))?;
        // A failed write has the same cause as the missing answer, which has its exit status.
        let _ = writeln!(commands, "{line}");
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer);
        if read.map_err(|error| helper_ended(&error))? == 0 {
            let status = self
                .child
                .wait()
                .map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(helper_ended(&status));
        }
        serde_json::from_str(&answer).map_err(|error| helper_ended(&error))
    }

    /// Unmounts and removes it, and reports failures; dropping it does the same silently.
    pub fn remove(mut self) -> Result<(), DiskError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), DiskError> {
        if self.commands.take().is_none() {
            return Ok(());
        }
        let status = self
            .child
            .wait()
            .map_err(|error| DiskError::HelperEnded { problem: error.to_string() })?;
        if status.success() {
            return Ok(());
        }
        // It was killed, or could not unmount.
        clean_disk(&self.options.folder)
    }
}

impl Drop for EmulatedDisk {
    fn drop(&mut self) {
        // What is left is found by the next cleaning.
        let _ = self.end();
    }
}

fn helper_ended(problem: &dyn std::fmt::Display) -> DiskError {
    DiskError::HelperEnded { problem: problem.to_string() }
}

fn unexpected(answer: &HelperAnswer) -> DiskError {
    match answer {
        HelperAnswer::Failed { problem } => DiskError::Failed { problem: problem.clone() },
        other => DiskError::HelperEnded { problem: format!("it answered {other:?}") },
    }
}
