//! Why the parts of a load did not work together.

use thiserror::Error;
use truetps_driver::DriverError;

/// The variable of the environment that has the secret of the parts.
pub const PARTS_SECRET: &str = "TRUETPS_PARTS_SECRET";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PartsError {
    /// In words for the user.
    #[error("{0}")]
    Apart(String),
    #[error(
        "the parts of this load have no secret: without a password of the account, {PARTS_SECRET} \
         is needed, and it is not set"
    )]
    NoSecret,
}

impl PartsError {
    pub(crate) fn apart(problem: impl Into<String>) -> Self {
        Self::Apart(problem.into())
    }

    /// A hint for the user.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Apart(_) => None,
            Self::NoSecret => Some(format!(
                "set {PARTS_SECRET} to the same text for all parts, such as the output of: openssl \
                 rand -hex 16"
            )),
        }
    }
}

impl From<DriverError> for PartsError {
    fn from(error: DriverError) -> Self {
        Self::Apart(format!("the table of the parts: {error}"))
    }
}
