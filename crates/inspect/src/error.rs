//! Why a side cannot be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use truetps_driver::DriverError;
use truetps_files::{OptionFileError, TextError};
use truetps_folder::FolderError;
use truetps_probe::FlushProbeError;
use truetps_record::CaptureError;

#[derive(Debug, Error)]
pub enum InspectError {
    #[error("{server}: {source}")]
    Server { server: String, source: DriverError },
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: TextError },
    #[error("{}: {source}", path.display())]
    Capture { path: PathBuf, source: CaptureError },
    #[error("{}: no trial has recorded the server's variables", path.display())]
    NoVariables { path: PathBuf },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Options(#[from] OptionFileError),
    #[error(transparent)]
    Flush(#[from] FlushProbeError),
    #[error(
        "a flush cannot be measured: only a server behind a unix socket, in this pid namespace, is \
             known to be on this host"
    )]
    FlushElsewhere,
    /// Not what it seems to be.
    #[error("{}: {what}", path.display())]
    NoSource { path: PathBuf, what: &'static str, hint: &'static str },
    #[error("{}: {name} has two values: `{}` and `{}`", path.display(), values[0], values[1])]
    Twice { path: PathBuf, name: String, values: [String; 2] },
    #[error("{}: has no server settings, such as in [mysqld]{}", path.display(), notes_text(notes))]
    NoSettings { path: PathBuf, notes: Vec<String> },
}

impl InspectError {
    /// Advice.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Server { source, .. } => return source.hint(),
            // An existing file that cannot be read is the one that was meant.
            Self::Read { source: TextError::Io(error), .. }
                if error.kind() != io::ErrorKind::NotFound =>
            {
                return None;
            }
            Self::Read { .. } => {
                "give a capture, a dump of settings, an option file, a run folder, a server as \
                 mysql://… or postgresql://…, or the name of one (`truetps server list`); only \
                 `truetps explain` takes NAME=VALUE,NAME=VALUE, and the word defaults"
            }
            Self::Capture { source, .. } => source.hint(),
            Self::NoVariables { .. } => {
                "the variables are recorded when a trial ends: name an experiment that has one"
            }
            Self::Options(OptionFileError::Encoding { .. }) => "save the file as UTF-8",
            Self::Options(OptionFileError::Line { .. }) => "a server would refuse that line, too",
            Self::Options(OptionFileError::Read { .. } | OptionFileError::Cut { .. }) => {
                return None;
            }
            Self::NoSource { hint, .. } => hint,
            Self::Twice { .. } => {
                "it shows several servers or several moments: keep one of the results"
            }
            Self::Flush(_) => {
                "name a folder that this user may write to, on the disk of the server's data"
            }
            Self::FlushElsewhere => "name the server by its socket, or leave the folder out",
            Self::NoSettings { .. } | Self::Options(OptionFileError::BeforeGroup { .. }) => {
                "server settings belong to [mysqld], [mariadb] or [server]"
            }
            Self::Folder(error) => return error.hint(),
        };
        Some(text.to_owned())
    }
}

/// The omitted groups are the likely reason.
fn notes_text(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}
