//! The factor `prealloc`: whether, and how, binlogs are preallocated.

use std::fmt;

use crate::SettingValue;

/// A factor that is neither a setting of the server nor of the load: `0` is off, a number is that
/// many prepared files, and `ahead` fills the active file ahead of its writes.
pub const PREALLOC: &str = "prealloc";

/// Prepared files at most.
pub const PREALLOC_FILES_MAX: u32 = 64;

/// How a server's binlogs are preallocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreallocMode {
    /// Zeros ahead of the writes, in the active file.
    Ahead,
    /// So many whole files, each renamed when the server makes a new one.
    Pool(u32),
}

impl fmt::Display for PreallocMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ahead => f.write_str("ahead"),
            Self::Pool(files) => write!(f, "{files}"),
        }
    }
}

/// The meaning of a level: `None` is off.
pub fn prealloc_mode(level: &SettingValue) -> Result<Option<PreallocMode>, String> {
    match (level.as_int(), level) {
        (_, SettingValue::Bool(false)) | (Some(0), _) => Ok(None),
        (Some(files), _) if (1..=i64::from(PREALLOC_FILES_MAX)).contains(&files) => {
            Ok(Some(PreallocMode::Pool(files as u32)))
        }
        (_, SettingValue::Text(text)) if text == "ahead" => Ok(Some(PreallocMode::Ahead)),
        _ => Err(format!(
            "`{level}` is neither 0, nor a number of files up to {PREALLOC_FILES_MAX}, nor \"ahead\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let text = |text: &str| SettingValue::Text(text.to_owned());
        assert_eq!(prealloc_mode(&SettingValue::Int(0)), Ok(None));
        assert_eq!(prealloc_mode(&SettingValue::Int(10)), Ok(Some(PreallocMode::Pool(10))));
        assert_eq!(prealloc_mode(&text("ahead")), Ok(Some(PreallocMode::Ahead)));
        for wrong in
            [SettingValue::Int(-1), SettingValue::Int(65), SettingValue::Bool(true), text("on")]
        {
            assert!(prealloc_mode(&wrong).is_err(), "{wrong}");
        }
    }
}
