//! Files as sides of a comparison.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod option_files;
mod two_versions;
