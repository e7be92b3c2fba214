//! Binlog preallocation from the outside: the library that a server preloads ([`LIBRARY`]), what makes a server use it
//! ([`Preload`]), the state that it shares ([`StateFile`]), and the repair of binlogs for a server that starts without it
//! ([`trim`]).

mod library;
mod preload;
mod state_file;
mod trim;

pub use library::{LIBRARY, LIBRARY_NAME, place};
pub use preload::{Preload, VARIABLE};
pub use state_file::{StateError, StateFile, why_not_live};
pub use trim::{TrimError, Trimmed, TrimmedFile, trim};
