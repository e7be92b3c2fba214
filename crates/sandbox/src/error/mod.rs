//! The errors of this crate, with hints for the user. They know no other module.

mod binary;
mod catalogue;
mod limit;
mod named;
mod sandbox;

pub use binary::{BinaryError, Other};
pub use catalogue::CatalogueError;
pub use limit::LimitError;
pub use named::NamedError;
pub use sandbox::SandboxError;
