//! Where runs are recorded.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};

pub enum RunsFolder {
    Kept(PathBuf),
    /// Removed with this value.
    Temporary(TempDir),
}

impl RunsFolder {
    /// `runs`: the value of `--runs`; `None` keeps nothing.
    ///
    /// # Errors
    ///
    /// No temporary folder can be made.
    pub fn choose(runs: Option<&Path>) -> io::Result<Self> {
        runs.map_or_else(|| tempdir().map(Self::Temporary), |runs| Ok(Self::Kept(runs.to_owned())))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}
