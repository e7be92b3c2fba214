//! Looks at servers, and reads what was seen of them.
//!
//! - `capture`: a running server becomes a [`truetps_record::Capture`].
//! - `ask_mysql` and `ask_postgres`: what each family is asked.
//! - `sides`: captures, servers, run folders and option files as sides of a comparison.
//!
//! Nothing is changed in a server, and nothing is written beside its data.

mod ask_mysql;
mod ask_postgres;
mod capture;
mod error;
mod options;
mod sides;

pub use capture::{CaptureOptions, capture};
pub use error::InspectError;
pub use sides::{side_of_capture, side_of_path, side_of_server};
