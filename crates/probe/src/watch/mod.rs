//! The activity of a server and its host during a measurement: readings, without any thread or
//! clock of their own.
//!
//! [`ServerWatch`] has one session and queries its server; [`HostWatch`] reads /proc and /sys. Both
//! return a [`ProbeReading`] on request, and [`Changes`] removes the unchanged values from it.

mod changes;
mod disk;
mod every_signal;
mod host;
mod mysql;
mod offer;
mod postgres;
mod pressure;
mod processes;
mod reading;
mod server;
mod shape;
mod signals;

pub use changes::Changes;
pub use every_signal::every_signal;
pub use host::HostWatch;
pub use pressure::waited_for_memory;
pub use reading::{ProbeReading, ProbeValues};
pub use server::ServerWatch;
