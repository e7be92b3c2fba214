//! The registration of a named server: `server.json`.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use truetps_record::{Family, Flavour, Version};

use crate::error::{NamedError, SandboxError};
use crate::home::home_folder::Home;
use crate::program::binary::ServerBinary;
use crate::settings::version::{is_of_mysql, keeps_redo_size};
use crate::system::json_file::{check_schema_version, read_json_file, write_json_file};

const SCHEMA_VERSION: u32 = 1;
pub(crate) const REGISTRATION: &str = "server.json";

/// `server.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedServer {
    schema_version: u32,
    pub name: String,
    /// The server's program.
    pub program: PathBuf,
    pub flavour: Flavour,
    /// Number part: `8.0.15`.
    pub version: String,
    /// The path named when it was added; `None`: the installed server.
    pub source: Option<PathBuf>,
    /// Whether the program's tree was unpacked for it, and is removed with it.
    pub unpacked: bool,
    /// The user's own option file, read when the server was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option_file: Option<ServerOptionFile>,
}

/// What the servers of a name take of an option file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerOptionFile {
    pub path: PathBuf,
    pub settings: IndexMap<String, String>,
}

impl NamedServer {
    /// `program`: where the examined program will be.
    pub(crate) fn new(
        name: &str,
        binary: &ServerBinary,
        program: PathBuf,
        source: Option<PathBuf>,
        unpacked: bool,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            name: name.to_owned(),
            program,
            flavour: binary.flavour,
            version: binary.version.to_string(),
            source,
            unpacked,
            option_file: None,
        }
    }

    /// Settings of its option file, which all others override.
    pub fn base_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.option_file.iter().flat_map(|file| &file.settings);
        settings.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `None`: no server is registered in this folder.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, SandboxError> {
        let path = folder.join(REGISTRATION);
        let Some(server) = read_json_file::<Self>(&path)? else { return Ok(None) };
        check_schema_version(&path, server.schema_version, SCHEMA_VERSION)?;
        Ok(Some(server))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), SandboxError> {
        write_json_file(&folder.join(REGISTRATION), self)
    }

    /// `mysql 8.0.15`.
    pub fn what(&self) -> String {
        format!("{} {}", self.flavour, self.version)
    }

    pub fn family(&self) -> Family {
        Family::from(self.flavour)
    }

    /// Whether it is a MySQL of at least this version.
    fn is_mysql_from(&self, version: &str) -> bool {
        is_of_mysql(self.flavour) && Version::parse(&self.version) >= Version::parse(version)
    }

    /// Its redo log size can be changed only after a clean stop; see `data/old_redo.rs`.
    pub(crate) fn keeps_redo_size(&self) -> bool {
        keeps_redo_size(self.flavour, &self.version)
    }

    /// Datadirs are compatible within a series. MySQL 8.0 and later records the version that last
    /// used the data, and refuses to open them with an older one.
    pub(crate) fn takes_data_of(&self, before: &Self) -> bool {
        let goes_back = before.is_mysql_from("8.0") && !self.is_mysql_from(&before.version);
        self.data_series() == before.data_series() && !goes_back
    }

    /// Servers with equal ones have compatible datadirs.
    fn data_series(&self) -> (Flavour, Option<(u32, Option<u32>)>) {
        (self.flavour, series(self.flavour, &self.version))
    }

    /// The current program: it must be the one that was added.
    pub fn binary(&self, home: &Home) -> Result<ServerBinary, SandboxError> {
        let binary =
            ServerBinary::examine(&self.program, home.user()).map_err(NamedError::Program)?;
        if (binary.flavour, binary.version.to_string()) == (self.flavour, self.version.clone()) {
            return Ok(binary);
        }
        let (was, is) = (self.what(), format!("{} {}", binary.flavour, binary.version));
        Err(NamedError::Changed { name: self.name.clone(), was, is }.into())
    }
}

/// `8.0` of `8.0.15`, `15` of `15.18`: versions with compatible datadirs.
fn series(flavour: Flavour, version: &str) -> Option<(u32, Option<u32>)> {
    let (major, minor) = Version::parse(version)?.series();
    Some((major, (flavour != Flavour::Postgresql).then_some(minor)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn named_server(name: &str, flavour: Flavour, version: &str) -> NamedServer {
        NamedServer {
            schema_version: SCHEMA_VERSION,
            name: name.to_owned(),
            program: PathBuf::from("/nowhere/mysqld"),
            flavour,
            version: version.to_owned(),
            source: None,
            unpacked: false,
            option_file: None,
        }
    }

    #[test]
    fn whose_data_a_server_takes() {
        use Flavour::{Mariadb, Mysql, Postgresql};
        let server = |flavour, version: &str| named_server("a", flavour, version);
        let takes =
            |flavour, is: &str, was: &str| server(flavour, is).takes_data_of(&server(flavour, was));
        assert!(takes(Mysql, "8.0.36", "8.0.15") && takes(Mysql, "8.0.36", "8.0.36"));
        assert!(!takes(Mysql, "8.0.15", "8.0.36") && !takes(Mysql, "8.4.0", "8.0.36"));
        assert!(takes(Mysql, "5.7.22", "5.7.29") && takes(Mariadb, "10.11.8", "10.11.19"));
        assert!(takes(Postgresql, "15.18", "15.1") && takes(Postgresql, "15.1", "15.18"));
        assert!(
            !takes(Postgresql, "16.1", "15.18") && !server(Postgresql, "15.1").keeps_redo_size()
        );
        assert!(!server(Mariadb, "10.11.8").takes_data_of(&server(Mysql, "10.11.8")));
    }
}
