//! The command lines and reports of mysqlslap and mtls-perf-bench.
//!
//! Names and texts are theirs; what is measured is measured by the engine as everywhere else, and kept in a run folder.
//!
//! - `mysql_words`: command lines and option files of MySQL's programs.
//! - `client_login`: the account of an option file, for `--dsn`.
//! - `slap`: mysqlslap.
//! - `mtls`: mtls-perf-bench.
//! - `run`: what both do alike, from what is asked of a run to what came of it.
//! - `ssl`: TLS by the options of MySQL's programs, for both.
//! - `ending` and `farewell`: Ctrl-C, what it ends and what is said.
//! - `mask`: the command line without its passwords.
//! - `recording`: the run folder of such a run.
//! - `truth`: the lines that follow the original report, and say what that leaves out.

mod client_login;
mod ending;
mod interrupt_messages;
mod mask;
mod mtls;
mod mysql_words;
mod recording;
mod run;
mod slap;
mod ssl;
mod supplement;
mod terminal;

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use client_login::{ClientLogin, NoLogin, client_login};
pub use interrupt_messages::InterruptMessages;
pub use mtls::masked as masked_mtls;
pub use mtls::run as run_mtls;
pub use slap::masked as masked_slap;
pub use slap::run as run_slap;
pub use terminal::{NoPassword, ask_password};

/// A variable of the environment with words that the list of processes does not show: no child gets it.
pub const HIDDEN_WORDS: &str = "TRUETPS_HIDDEN_WORDS";

/// What a program is run in.
pub struct CompatEnv<'a> {
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// Cores that clients may be spread over.
    pub cores: u32,
    /// The user has asked for the end.
    pub stop: Arc<AtomicBool>,
    /// What he is told then.
    pub farewell: Arc<InterruptMessages>,
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}
