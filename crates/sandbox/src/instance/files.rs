//! The files of an instance in its server's folder, and the process that runs on them.

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use truetps_record::{Family, SettingValue};

use super::note::{Note, Process};
use crate::data::template::copy_template;
use crate::error::SandboxError;
use crate::home::home_folder::Home;
use crate::home::server_paths::ServerPaths;
use crate::named::{COPY, InstanceDisk, datadir_of, host_datadir};
use crate::program::binary::ServerBinary;
use crate::settings::server_settings::Settings;
use crate::system::datadir_servers::{is_server, kill_marked, marks, server_marked};
use crate::system::folders::remove_tree;
use crate::system::json_file::{read_json_file, write_json_file};
use crate::system::processes::KILL_TIME_LIMIT;

#[derive(Debug, Clone)]
pub(super) struct InstanceFiles {
    folder: PathBuf,
    family: Family,
    /// Its socket is the one without a port.
    pub(super) paths: ServerPaths,
    pub(super) disk: InstanceDisk,
}

impl InstanceFiles {
    pub(super) fn new(folder: &Path, family: Family) -> Self {
        let disk = InstanceDisk::of(folder);
        let paths = ServerPaths {
            datadir: datadir_of(folder),
            ..ServerPaths::in_folder(folder, family, None)
        };
        Self { folder: folder.to_owned(), family, paths, disk }
    }

    /// The files of an instance that is to be started: on its disk, if it has or gets one.
    pub(super) fn to_start(&self, gets_disk: bool) -> Self {
        let datadir = if gets_disk { self.disk.datadir() } else { datadir_of(&self.folder) };
        Self { paths: ServerPaths { datadir, ..self.paths.clone() }, ..self.clone() }
    }

    pub(super) fn places(&self, port: Option<u16>) -> ServerPaths {
        let datadir = self.paths.datadir.clone();
        ServerPaths { datadir, ..ServerPaths::in_folder(&self.folder, self.family, port) }
    }

    /// Whether there are data on the host's own disk.
    pub(super) fn has_data_on_host(&self) -> bool {
        host_datadir(&self.folder).exists()
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
        let datadir = &self.paths.datadir;
        match note.and_then(|note| note.process) {
            Some(noted) => {
                Some(noted).filter(|process| is_server(process.pid, process.start_ticks, datadir))
            }
            None => server_marked(datadir, &marks(&self.folder))
                .map(|(pid, start_ticks)| Process { pid, start_ticks }),
        }
    }

    /// Kills the servers that were started here.
    pub(super) fn kill_strays(&self) {
        let _ = kill_marked(&self.paths.datadir, &marks(&self.folder), KILL_TIME_LIMIT);
    }

    /// Creates the datadir if it is missing. Returns the settings with which it was created.
    pub(super) fn make_datadir(
        &self,
        home: &Home,
        binary: &ServerBinary,
        wanted: &Settings,
    ) -> Result<Settings, SandboxError> {
        let initial = self.folder.join("initial.json");
        if self.paths.datadir.exists() {
            let pairs =
                read_json_file::<IndexMap<String, SettingValue>>(&initial)?.unwrap_or_default();
            return Ok(Settings::empty(self.family)
                .with(pairs.iter().map(|(name, value)| (name.as_str(), value))));
        }
        // Renamed when complete: a partial copy is not a datadir.
        let beside = self.paths.datadir.with_file_name(COPY);
        remove_tree(&beside)?;
        copy_template(home, binary, wanted, &beside)?;
        // Before the data exist: data without it would be taken for data created without settings.
        let pairs: IndexMap<&str, &SettingValue> = wanted.iter().collect();
        write_json_file(&initial, &pairs)?;
        fs::rename(&beside, &self.paths.datadir).map_err(SandboxError::io("rename", &beside))?;
        Ok(wanted.clone())
    }
}
