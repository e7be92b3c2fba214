//! The files of an instance in its server's folder, and the process that runs on them.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use truetps_record::{Family, SettingValue};

use super::note::{Note, Process};
use crate::binary::ServerBinary;
use crate::error::SandboxError;
use crate::family::{self, ServerPaths};
use crate::home::{Home, give, make_private, remove_tree};
use crate::json_file::{read_json_file, write_json_file};
use crate::log_tail::tail;
use crate::processes::{KILL_TIME_LIMIT, is_server, kill_marked, marks, server_marked};
use crate::server_user::ServerUser;
use crate::settings::Settings;
use crate::template::copy_template;
use crate::unfinished::COPY;

#[derive(Debug, Clone)]
pub(super) struct InstanceFiles {
    folder: PathBuf,
    family: Family,
}

impl InstanceFiles {
    pub(super) fn new(folder: &Path, family: Family) -> Self {
        Self { folder: folder.to_owned(), family }
    }

    pub(super) fn datadir(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn places(&self, port: Option<u16>) -> ServerPaths {
        ServerPaths {
            datadir: self.datadir(),
            tmp: self.folder.join("tmp"),
            socket: self.folder.join("run").join(family::socket_name(self.family, port)),
            pid_file: self.pid_file(),
            error_log: self.error_log(),
            console_log: self.console_log(),
            option_file: self.folder.join("options"),
        }
    }

    pub(super) fn pid_file(&self) -> PathBuf {
        self.folder.join("run/pid")
    }

    pub(super) fn error_log(&self) -> PathBuf {
        self.folder.join("error.log")
    }

    fn console_log(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// See [`super::Instance::log_tail`].
    pub(super) fn log_tail(&self, lines: usize) -> String {
        let log = tail(&self.error_log(), 0, lines);
        if log.is_empty() { tail(&self.console_log(), 0, lines) } else { log }
    }

    fn note_path(&self) -> PathBuf {
        self.folder.join("instance.json")
    }

    pub(super) fn note(&self) -> Result<Option<Note>, SandboxError> {
        Note::read(&self.note_path())
    }

    pub(super) fn write_note(&self, note: &Note) -> Result<(), SandboxError> {
        write_json_file(&self.note_path(), note)
    }

    /// The process of the instance, if it runs.
    pub(super) fn running(&self, note: Option<&Note>) -> Option<Process> {
        let datadir = self.datadir();
        match note.and_then(|note| note.process) {
            Some(noted) => Some(noted).filter(|process| is_server(process.pid, process.start_ticks, &datadir)),
            None => {
                server_marked(&datadir, &marks(&self.folder)).map(|(pid, start_ticks)| Process { pid, start_ticks })
            }
        }
    }

    /// Kills the servers that were started here.
    pub(super) fn kill_strays(&self) {
        let _ = kill_marked(&self.datadir(), &marks(&self.folder), KILL_TIME_LIMIT);
    }

    /// Empties the folders of a server that ended, and creates missing logs.
    pub(super) fn make_folders_and_logs(&self, user: &ServerUser) -> Result<(), SandboxError> {
        for name in ["run", "tmp"] {
            let path = self.folder.join(name);
            remove_tree(&path)?;
            make_private(&path, user)?;
        }
        for log in [self.error_log(), self.console_log()] {
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).mode(0o600).open(&log) {
                Ok(_) => give(&log, user)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SandboxError::io("make", &log)(error)),
            }
        }
        Ok(())
    }

    /// Creates the datadir if it is missing. Returns the settings with which it was created.
    pub(super) fn make_datadir(
        &self,
        home: &Home,
        binary: &ServerBinary,
        wanted: &Settings,
    ) -> Result<Settings, SandboxError> {
        let initial = self.folder.join("initial.json");
        if self.datadir().exists() {
            let pairs = read_json_file::<IndexMap<String, SettingValue>>(&initial)?.unwrap_or_default();
            return Ok(Settings::default().with(pairs.iter().map(|(name, value)| (name.as_str(), value))));
        }
        // Renamed when complete: a partial copy is not a datadir.
        let beside = self.folder.join(COPY);
        remove_tree(&beside)?;
        copy_template(home, binary, wanted, &beside)?;
        // Before the data exist: data without it would be taken for data created without settings.
        let pairs: IndexMap<&str, &SettingValue> = wanted.iter().collect();
        write_json_file(&initial, &pairs)?;
        fs::rename(&beside, self.datadir()).map_err(SandboxError::io("rename", &beside))?;
        Ok(wanted.clone())
    }
}
