//! Settings of a user's own option file, as the base configuration of private servers.

use truetps_record::SettingValue;

use crate::binary::ServerBinary;
use crate::catalogue::{Catalogue, CatalogueError};
use crate::server_user::ServerUser;

/// A line of an option file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSetting {
    pub name: String,
    pub value: String,
    /// A server that does not know it ignores it: the prefix `loose-`.
    pub is_loose: bool,
}

/// What a private server takes of an option file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseSettings {
    pub kept: Vec<(String, String)>,
    /// Names, and why a private server does not take them.
    pub ignored: Vec<(String, String)>,
}

/// Sorts the settings of an option file: a private server has its own folder, socket and account.
///
/// # Errors
///
/// The server does not know a setting, or refuses its value: it would not start with this file.
pub fn base_settings(
    binary: &ServerBinary,
    user: &ServerUser,
    of_file: &[FileSetting],
) -> Result<BaseSettings, CatalogueError> {
    let catalogue = Catalogue::ask(binary, user)?;
    let mut base = BaseSettings::default();
    for FileSetting { name, value, is_loose } in of_file {
        match catalogue.check(name, &SettingValue::Text(value.clone())) {
            Ok(()) => base.kept.push((name.clone(), value.clone())),
            Err(CatalogueError::Reserved { reason, .. }) => base.ignored.push((name.clone(), reason.to_owned())),
            Err(CatalogueError::NoVariable { .. }) => {
                base.ignored.push((name.clone(), "it has no variable, and so cannot be verified".to_owned()));
            }
            Err(CatalogueError::Unknown { .. }) if *is_loose => {
                base.ignored.push((name.clone(), "this server does not know it (loose)".to_owned()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(base)
}
