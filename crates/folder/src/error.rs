use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use truetps_record::{Part, SCHEMA_VERSION, printable};

use crate::file_names::LATEST;

#[derive(Debug, Error)]
pub enum FolderError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: another truetps is measuring this experiment", path.display())]
    InUse { path: PathBuf },
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
    #[error("{}: not a run folder: it has neither experiment.json nor run.json", path.display())]
    NoRunFolder { path: PathBuf },
    #[error(
        "{}: written by a newer truetps (schema version {found}; this one reads up to \
         {SCHEMA_VERSION})",
        path.display()
    )]
    Newer { path: PathBuf, found: u64, writer: Option<String> },
}

impl FolderError {
    /// The file or folder of the error.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::InUse { path }
            | Self::Content { path, .. }
            | Self::NoRunFolder { path }
            | Self::Newer { path, .. } => path,
        }
    }

    /// Advice.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::InUse { .. } => "wait until it has ended, or name another folder",
            Self::Newer { writer, .. } => {
                let writer = writer
                    .as_deref()
                    .map_or("the truetps that has written it".to_owned(), |version| {
                        format!("truetps {}", printable(version))
                    });
                return Some(format!("use {writer}, or a newer one"));
            }
            Self::NoRunFolder { path } if path.join(LATEST).exists() => {
                return Some(format!(
                    "contains run folders: name one of them, such as {}",
                    path.join(LATEST).display()
                ));
            }
            Self::NoRunFolder { .. } => {
                "name the folder of an experiment (runs/latest), or of one of its trials"
            }
            Self::Content { .. } | Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }

    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn content(path: &Path, problem: impl fmt::Display) -> Self {
        Self::Content { path: path.to_owned(), problem: format!("{problem}") }
    }
}

#[derive(Debug, Error)]
pub enum HistogramError {
    #[error("writing latency.hdr: {0}")]
    Write(String),
    #[error("latency.hdr: {0}")]
    Read(String),
}

#[derive(Debug, Error)]
pub enum MergeError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{}: is not a part of a load", path.display())]
    NoPart { path: PathBuf },
    #[error("{} and {}: both are part {part}", first.display(), second.display())]
    Twice { part: Part, first: PathBuf, second: PathBuf },
    #[error("{}: is part {part} of another experiment than {}", path.display(), first.display())]
    OtherExperiment { part: Part, path: PathBuf, first: PathBuf },
    #[error("{}: {problem}", path.display())]
    DoesNotFit { path: PathBuf, problem: String },
    /// The parts are read, and the merged folder cannot be written.
    #[error(transparent)]
    Write(FolderError),
    #[error("interrupted: nothing was merged")]
    Interrupted,
}

impl MergeError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Folder(error) | Self::Write(error) => error.hint(),
            Self::NoPart { .. } => {
                Some("name the folders that --part has recorded, such as part-*/latest".to_owned())
            }
            Self::Twice { .. } => Some("name each part once".to_owned()),
            Self::OtherExperiment { .. } => Some(
                "parts of one experiment have the same `part.meeting` in their experiment.json"
                    .to_owned(),
            ),
            Self::DoesNotFit { .. } | Self::Interrupted => None,
        }
    }
}
