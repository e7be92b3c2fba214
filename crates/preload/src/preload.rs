//! What makes a server preload the library, and what it is to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use truetps_record::PreallocMode;

/// The environment variable that the library reads.
pub const VARIABLE: &str = "TRUETPS_PREALLOC";
const LOADER_VARIABLE: &str = "LD_PRELOAD";

/// What one server's library does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preload {
    /// Absolute: `/var/lib/mysql/binlog` of `/var/lib/mysql/binlog.000001`.
    pub basename: PathBuf,
    pub mode: PreallocMode,
    /// Size of a prepared file; `None`: the library's own.
    pub file_mib: Option<u64>,
    /// Nothing is filled while the file system has less free space; `None`: the library's own.
    pub free_floor_mib: Option<u64>,
    /// Also on a server version that was not tested.
    pub is_forced: bool,
}

impl Preload {
    pub fn new(basename: PathBuf, mode: PreallocMode) -> Self {
        Self { basename, mode, file_mib: None, free_floor_mib: None, is_forced: false }
    }

    /// The value of [`VARIABLE`].
    pub fn value(&self) -> OsString {
        let mut value = OsString::from("basename=");
        value.push(&self.basename);
        value.push(match self.mode {
            PreallocMode::Ahead => ";mode=ahead".to_owned(),
            PreallocMode::Pool(files) => format!(";mode=pool;files={files}"),
        });
        if let Some(bytes) = self.file_mib {
            value.push(format!(";file_mib={bytes}"));
        }
        if let Some(floor) = self.free_floor_mib {
            value.push(format!(";free_floor_mib={floor}"));
        }
        if self.is_forced {
            value.push(";force=1");
        }
        value
    }

    /// Environment variables of a server that loads it from there.
    pub fn environment(&self, library: &Path) -> [(OsString, OsString); 2] {
        [(LOADER_VARIABLE.into(), library.into()), (VARIABLE.into(), self.value())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_names_what_was_chosen() {
        let mut preload = Preload::new("/data/binlog".into(), PreallocMode::Ahead);
        assert_eq!(preload.value(), "basename=/data/binlog;mode=ahead");
        preload.mode = PreallocMode::Pool(10);
        (preload.file_mib, preload.free_floor_mib, preload.is_forced) = (Some(8), Some(64), true);
        assert_eq!(
            preload.value(),
            "basename=/data/binlog;mode=pool;files=10;file_mib=8;free_floor_mib=64;force=1"
        );
    }
}
