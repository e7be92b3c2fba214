//! Captures servers, and reads captures.
//!
//! - `capture`: a running server becomes a [`truetps_record::Capture`].
//! - `ask_mysql` and `ask_postgres`: the queries to each family.
//! - `sides`: captures, servers, run folders and option files as sides of a comparison.
//!
//! Nothing is changed in a server. Only a measured flush writes a temporary file beside its data.

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
