//! The command lines and reports of mysqlslap (`truetps slap`) and mtls-perf-bench
//! (`truetps mtls`).
//!
//! Names and texts are the originals'. Options become a load and a workload,
//! `truetps_trial::run_trial` runs them, and the plan in the run folder is a record of the run.
//!
//! - `mysql_words`: command lines and option files of MySQL's programs. `client_login`: the account
//!   of an option file, for `--dsn`. `mask`: the command line without its passwords. `terminal`:
//!   asks for a password.
//! - `slap` and `mtls`: the two programs. `run`: common to both, from the run's options
//!   (`RunRequest`) to its results (`TrialResult`). `ssl`: TLS with the options of MySQL's
//!   programs, for both.
//! - `ending` and `interrupt_messages`: the first Ctrl-C ends statements with KILL, on connections
//!   that the driver has listed (`truetps_driver::ConnectionIds`); the texts for the first and the
//!   second one.
//! - `environment` ([`CompatEnv`]): what the calling program passes to both.
//! - `recording`: the run folder of such a run. `supplement`: the lines after the original report,
//!   with what that leaves out.
//!
//! *Invariant:* only schemas that this run has created are dropped. Output goes to the writers of
//! [`CompatEnv`]; only the prompt for a password goes to the terminal itself.

mod client_login;
mod ending;
mod environment;
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

pub use client_login::{ClientLogin, NoLogin, client_login};
pub use environment::{CompatEnv, HIDDEN_WORDS};
pub use interrupt_messages::InterruptMessages;
pub use mtls::masked as masked_mtls;
pub use mtls::run as run_mtls;
pub use slap::masked as masked_slap;
pub use slap::run as run_slap;
pub use terminal::{NoPassword, ask_password};
