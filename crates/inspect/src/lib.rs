//! Captures servers, and reads captures.
//!
//! - `capture`: a running server becomes a [`truetps_record::Capture`]. `ask_mysql` and
//!   `ask_postgres`: the queries to each family.
//! - `sides`: captures, servers, run folders, option files (`options`) and dumps of clients,
//!   servers and clouds (`dump`) as sides of a comparison. `tests/own_reading` gives the same files
//!   to the servers' own programs.
//!
//! *Invariants:* nothing is changed in a server; only a measured flush writes a temporary file
//! beside its data. Values that may be secret never leave the server.

mod ask_mysql;
mod ask_postgres;
mod capture;
mod dump;
mod error;
mod options;
mod sides;

pub use capture::{CaptureOptions, capture};
pub use error::InspectError;
pub use sides::{server_options, side_of_capture, side_of_path, side_of_server};
