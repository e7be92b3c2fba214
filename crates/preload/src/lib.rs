//! Binlog preallocation from the outside. The build of this crate makes the library of `prealloc`
//! and puts it into the program as bytes ([`LIBRARY`]): a user installs one file.
//!
//! - `preload` ([`Preload`]): what makes a server load the library.
//! - `state_file` ([`StateFile`]): reads the page that the library and the command line share, and
//!   writes the switch.
//! - `trim` ([`trim`](fn@trim)): repairs binlogs for a server that starts without the library, with
//!   the decision of `binlog`.
//!
//! *Invariant:* a binlog is changed only in `trim`, and only while no process has it open.

mod library;
mod preload;
mod state_file;
mod trim;

pub use library::{LIBRARY, LIBRARY_NAME, place};
pub use preload::{Preload, VARIABLE};
pub use state_file::{StateError, StateFile, why_not_live};
pub use trim::{TrimError, Trimmed, TrimmedFile, trim};
