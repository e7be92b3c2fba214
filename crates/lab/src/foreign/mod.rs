//! What it takes to be a guest on a server that is somebody's: to know which server it is, to ask before anything is
//! made, to set its variables, and to put them back, whatever becomes of this process.
//!
//! - `journal`: what was there before, on disk before the first change.
//! - `hold`: the settings of a run, from its journal to the last one that is put back.
//! - `restore`: what a killed run left.
//! - `globals`: one variable; `identity`: which server; `access`: what the account may and who else is there.

mod access;
mod error;
mod globals;
mod hold;
mod identity;
mod journal;
mod restore;

pub(crate) use access::{account, look_around};
pub use error::ForeignError;
pub(crate) use globals::{check_known, names, planned, value};
pub(crate) use hold::Hold;
pub(crate) use identity::Identity;
pub use journal::{Journal, unfinished};
pub(crate) use journal::{LeftSchema, OpenJournal, refuse_unfinished};
pub use restore::{Restored, restore};
