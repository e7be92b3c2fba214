//! Texts of files, of a bounded length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

/// Why a file has no usable text.
#[derive(Debug, Error)]
pub enum TextError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is larger than {bytes_max} bytes")]
    TooLong { bytes_max: u64 },
    #[error("is not valid UTF-8")]
    NotText,
}

impl TextError {
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// A text from whatever can be read: pipes and devices have no length that could be asked for, and
/// a file may grow.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String, TextError> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|_| TextError::NotText)
}

/// The bytes of a file in any encoding.
pub fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, TextError> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(TextError::TooLong { bytes_max });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_read_to_the_limit() {
        let error = read_text(Path::new("/dev/zero"), 1000).unwrap_err();
        assert!(matches!(error, TextError::TooLong { bytes_max: 1000 }), "{error}");
        assert!(read_text(Path::new("/nowhere"), 1000).unwrap_err().is_not_found());
        assert_eq!(read_text(Path::new("/dev/null"), 0).unwrap(), "");
    }
}
