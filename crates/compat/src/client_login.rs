//! The account in an option file of MySQL's programs: the group `[client]`, for callers that use
//! nothing else of the file.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use thiserror::Error;
use truetps_driver::Password;

use crate::mysql_words::OptionFiles;

/// The account in the file. The server's address is in a DSN.
#[derive(Debug, Default)]
pub struct ClientLogin {
    pub user: Option<String>,
    pub password: Option<Password>,
    pub warnings: Vec<String>,
}

/// Why no login can be read from a file.
#[derive(Debug, Error)]
pub enum NoLogin {
    #[error("{0}")]
    Unread(String),
    /// MySQL's programs ignore such a file. Ignoring it here would log in as another account than
    /// the one it names.
    #[error("'{}' is not read: it is world-writable", path.display())]
    OpenToAll { path: PathBuf },
}

impl NoLogin {
    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unread(_) => None,
            Self::OpenToAll { path } => Some(format!("chmod o-w '{}'", path.display())),
        }
    }
}

/// Reads `[client]` of this file and of the files that it includes.
pub fn client_login(path: &Path) -> Result<ClientLogin, NoLogin> {
    let mut words = VecDeque::from([format!("--defaults-file={}", path.display())]);
    let files = OptionFiles::take_options(&mut words, &["client"], &|_| None);
    let read = files.read().map_err(|refusal| NoLogin::Unread(refusal.text))?;
    if let Some(path) = read.open_to_all.into_iter().next() {
        return Err(NoLogin::OpenToAll { path });
    }
    let mut login = ClientLogin { warnings: read.warnings, ..ClientLogin::default() };
    for word in read.words {
        match word.split_once('=') {
            Some(("--user", user)) => login.user = Some(user.to_owned()),
            Some(("--password", password)) => login.password = Some(Password::new(password)),
            _ => {}
        }
    }
    Ok(login)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn no_login_where_a_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (main, part) = (dir.path().join("my.cnf"), dir.path().join("part.cnf"));
        fs::write(&main, format!("[client]\nuser=me\n!include {}\n", part.display())).unwrap();
        fs::write(&part, "[client]\npassword=x\n").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&main, 0o600);
        mode(&part, 0o644);
        let login = client_login(&main).unwrap();
        assert_eq!((login.user.as_deref(), login.password), (Some("me"), Some(Password::new("x"))));
        for open in [&part, &main] {
            mode(open, 0o666);
            let error = client_login(&main).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("'{}' is not read: it is world-writable", open.display())
            );
            assert_eq!(error.hint(), Some(format!("chmod o-w '{}'", open.display())));
        }
    }
}
