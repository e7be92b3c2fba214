//! The sysbench personality: existing scripts and command lines run unmodified.
//!
//! - `options`: the command line, and the options that scripts declare.
//! - `lua`: the states that scripts run in, and their API.
//! - `sql`: connections, statements and results of scripts, over the sessions of `truetps_driver`.
//! - `run`: threads, clients, events, time.
//! - `rand`: the random numbers of scripts.
//! - `output`: every printed line.
//! - `parts`: a run as one part of a load that several processes make.

mod exit_code;
mod interrupt;
mod lua;
mod options;
mod output;
mod parts;
mod program;
mod rand;
mod recording;
mod run;
mod sql;

pub use interrupt::Interrupt;
pub use options::masked;
pub use parts::{MeetParts, PartsMeeting, PartsRequest};
pub use program::{SysbenchEnv, run as run_program};
pub use run::ServerWarning;
