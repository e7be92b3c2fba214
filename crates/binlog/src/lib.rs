//! The binlog files of MySQL and MariaDB, as far as preallocation needs them.
//!
//! - `walk` ([`walk`](fn@walk)): from event to event to the last good one. `group`: events of one
//!   transaction of MariaDB.
//! - `tail` ([`decide`]): what may be cut behind that event.
//! - `event` ([`head`]): what the first events say of a file. `events` ([`events`](fn@events)): the
//!   events of a file in memory, for readers of their contents. `file_name` ([`file_number`]):
//!   which files belong to a basename.
//! - [`state`]: the page in which the preloaded library and the command line share their state.
//! - `tested`: the servers of `scripts/servers.toml` with which preallocation was tested.
//!
//! *Invariant:* no clock and no file: callers bring the bytes ([`ReadAt`]). The preloaded library
//! runs this code inside a server, so that nothing here may panic, whatever the bytes are; the
//! lints below and `tail_tests.rs` hold that.

#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod checksum;
mod event;
mod events;
mod file_name;
mod group;
pub mod state;
mod tail;
mod tested;
#[cfg(test)]
mod testing;
mod walk;
mod window;

pub use checksum::Crc32;
pub use event::{BinlogChecksum, BinlogHead, HEAD_BYTES, head};
pub use events::events;
pub use file_name::file_number;
pub use tail::{BinlogAge, TailDecision, Untrimmable, decide};
pub use tested::{TestedServer, is_tested, tested_servers};
pub use walk::{BinlogWalk, WalkStop, walk};
pub use window::ReadAt;
