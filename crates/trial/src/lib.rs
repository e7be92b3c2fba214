//! One trial on a server that is ready for it: in experiments (`lab`) and in the programs of
//! `compat`.
//!
//! - `run` ([`run_trial`]): drives the load of a [`TrialContext`], records it, and judges whether
//!   it was whole.
//! - `pacing` turns a plan into the engine's pacing. `generator` ([`make_room_for_clients`]): open
//!   files and ports of the load generator.
//! - `server_session` ([`ServerSession`]): sessions of a server of the MySQL family, and how their
//!   statements are ended.
//!
//! *Invariant:* nothing is changed in a server; sessions and statements are ended only where the
//! caller names them.

mod generator;
mod pacing;
mod run;
mod server_session;

pub use generator::make_room_for_clients;
pub use run::{
    FAILED_SHARE_MAX, RanTrial, StartGate, TrialContext, connect_timeout, load_of, run_trial,
};
pub use server_session::ServerSession;
