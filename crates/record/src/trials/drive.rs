//! How the load is driven: the protocol, the threads and the spacing of starts.

use serde::{Deserialize, Serialize};

/// How statements are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Prepared once a session, executed with binary parameters.
    #[default]
    Prepared,
    /// Whole SQL text each time.
    Text,
}

/// Time between the scheduled starts of an open loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Always the same; each client's own phase where the rate is a client's.
    #[default]
    Constant,
    /// Exponentially distributed, as of many independent users.
    Poisson,
}

/// How threads drive clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveMode {
    /// The engine decides by the number of clients.
    #[default]
    Auto,
    /// A thread for each client, which waits for that socket alone.
    Blocking,
    /// Few threads, each with many clients on an event loop.
    Multiplexed,
}
