//! Who logs in, by an option file of MySQL's programs: the group `[client]`, for whoever has no other use of such a file.

use std::collections::VecDeque;
use std::path::Path;

use truetps_driver::Password;

use crate::mysql_words::OptionFiles;

/// What the file says of the account. Where the server is stands in a DSN.
#[derive(Debug, Default)]
pub struct ClientLogin {
    pub user: Option<String>,
    pub password: Option<Password>,
    pub warnings: Vec<String>,
}

/// Reads `[client]` of this file, and of those that it includes.
pub fn client_login(path: &Path) -> Result<ClientLogin, String> {
    let mut words = VecDeque::from([format!("--defaults-file={}", path.display())]);
    let read = OptionFiles::take(&mut words, &["client"], &|_| None).read().map_err(|refusal| refusal.text)?;
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
