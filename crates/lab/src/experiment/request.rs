//! What is asked for when an experiment is started.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use truetps_folder::ExperimentFolder;
use truetps_plan::Plan;
use truetps_record::{Asked, Experiment};

use crate::extension::AskForMore;
use crate::trial::server_provider::ServerSource;

/// A file may have any number.
const WORKERS_MAX: u32 = 1024;

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
    pub source: ServerSource<'a>,
    pub workers: u32,
    pub pin: &'a Pin,
    pub tool_version: &'a str,
    pub command: Vec<String>,
    /// What was typed, for a command that goes on with the experiment.
    pub asked: Asked,
    /// Set by the user: end the running trial and keep what was measured.
    pub stop: &'a AtomicBool,
    /// Whether to add blocks when all trials have run.
    pub more: Option<AskForMore<'a>>,
}

impl ExperimentRequest<'_> {
    /// The request for the rest of an experiment. The number of workers is part of the measured
    /// configuration, and what must be restored is recorded in the experiment's folder.
    pub(crate) fn again<'b>(
        &'b self,
        folder: &'b ExperimentFolder,
        experiment: &Experiment,
    ) -> ExperimentRequest<'b> {
        ExperimentRequest {
            runs: folder.path(),
            workers: experiment.workers.clamp(1, WORKERS_MAX),
            command: self.command.clone(),
            asked: self.asked.clone(),
            ..*self
        }
    }
}
