//! What is asked for when an experiment is started.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use truetps_plan::Plan;

use crate::extension::AskForMore;
use crate::server_provider::ServerSource;

/// Cores that the load generator and private servers are bound to; an empty list binds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    pub generator: Vec<u32>,
    pub server: Vec<u32>,
}

/// An experiment to run.
pub struct ExperimentRequest<'a> {
    /// The plan as it is run.
    pub plan: &'a Plan,
    pub quick: bool,
    pub runs: &'a Path,
    pub place: ServerSource<'a>,
    pub workers: u32,
    pub pin: &'a Pin,
    pub tool_version: &'a str,
    pub command: Vec<String>,
    /// Set by the user: end the running trial and keep what was measured.
    pub stop: &'a AtomicBool,
    /// Whether to add blocks when all trials have run.
    pub more: Option<AskForMore<'a>>,
}
