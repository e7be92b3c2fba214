//! The secret of the parts: what all of them know, and no other account of the server does.

use truetps_driver::Password;

use super::error::PartsError;
use crate::trial::server_provider::ExternalServer;

/// The secret that the user has given to all parts, or else the password of the account: parts
/// usually have the same.
pub(crate) fn parts_secret(external: &ExternalServer) -> Result<&Password, PartsError> {
    let secret = external.parts_secret.as_ref().or(external.target.login.password.as_ref());
    secret.filter(|secret| !secret.is_empty()).ok_or(PartsError::NoSecret)
}
