//! Why something cannot be looked at.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::DriverError;
use truetps_record::{CaptureError, FolderError};

#[derive(Debug, Error)]
pub enum InspectError {
    #[error("{server}: {source}")]
    Server { server: String, source: DriverError },
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: larger than {limit_bytes} bytes, which no capture and no option file is", path.display())]
    TooLarge { path: PathBuf, limit_bytes: u64 },
    #[error("{}: is not text, so no capture and no option file", path.display())]
    Binary { path: PathBuf },
    #[error("{}: {source}", path.display())]
    Capture { path: PathBuf, source: CaptureError },
    #[error("{}: is no run folder: it has neither experiment.json nor run.json", path.display())]
    NoRunFolder { path: PathBuf },
    #[error("{}: no trial in it has recorded the server's variables", path.display())]
    NoVariables { path: PathBuf },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{}: line {line} is neither a group, a setting nor a comment of an option file", path.display())]
    Options { path: PathBuf, line: usize },
    #[error("{}: has no setting of a server, as [mysqld] has", path.display())]
    NoSettings { path: PathBuf },
    #[error("{}: includes other files too deeply", path.display())]
    Depth { path: PathBuf },
}

impl InspectError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Server { source, .. } => return source.hint(),
            Self::Read { .. } | Self::Binary { .. } => {
                "give a capture, an option file, a run folder, or a server as mysql://… or postgresql://…"
            }
            Self::Capture { source, .. } => source.hint(),
            Self::NoRunFolder { .. } => "name the folder of an experiment (runs/latest) or of one of its trials",
            Self::NoVariables { .. } => "the variables are recorded when a trial ends: name an experiment that has one",
            Self::Options { .. } => "a capture is made with `truetps server capture DSN -o FILE`",
            Self::NoSettings { .. } => "settings of a server stand below [mysqld], [mariadb] or [server]",
            Self::Folder(error) => return error.hint(),
            Self::TooLarge { .. } | Self::Depth { .. } => return None,
        };
        Some(text.to_owned())
    }
}
