//! The records of an experiment and of a trial, before the load.

use std::path::Path;

use truetps_plan::Plan;
use truetps_probe::{clock, host_facts};
use truetps_record::{
    Experiment, HostFacts, NoEvidence, SCHEMA_VERSION, ScheduledTrial, ServerFacts, Trial, Validity,
};

/// The facts that every experiment has before its first trial.
pub struct ExperimentStart<'a> {
    pub plan: &'a Plan,
    pub tool_version: &'a str,
    pub workers: u32,
    pub host: HostFacts,
    pub server: Option<ServerFacts>,
    /// The folder of private servers.
    pub sandbox_dir: Option<String>,
    /// The address of an external server.
    pub server_address: Option<String>,
    pub schedule: Vec<ScheduledTrial>,
    pub command: Vec<String>,
}

/// An experiment on one server, in the order of its schedule. The caller replaces what differs.
pub fn new_experiment(start: ExperimentStart<'_>) -> Experiment {
    Experiment {
        schema_version: SCHEMA_VERSION,
        tool_version: start.tool_version.to_owned(),
        name: start.plan.name.clone(),
        created_at: clock::now_rfc3339(),
        quick: false,
        seed: start.plan.design.seed,
        workers: start.workers,
        host: start.host,
        server: start.server,
        servers: Vec::new(),
        disks: Vec::new(),
        couplings: Vec::new(),
        sandbox_dir: start.sandbox_dir,
        server_address: start.server_address,
        schedule: start.schedule,
        extensions: Vec::new(),
        random_order: false,
        slo: None,
        external: None,
        command: start.command,
        asked: None,
        part: None,
        parts: Vec::new(),
        parts_missing: Vec::new(),
    }
}

/// A trial that begins now.
pub fn new_trial(
    plan: &Plan,
    scheduled: &ScheduledTrial,
    server: Option<ServerFacts>,
    tool_version: &str,
) -> Trial {
    Trial {
        schema_version: SCHEMA_VERSION,
        tool_version: tool_version.to_owned(),
        name: scheduled.name.clone(),
        block: scheduled.block,
        position: scheduled.position,
        role: scheduled.role,
        configuration: scheduled.configuration.clone(),
        workload: plan.workload.kind.name().to_owned(),
        seed: plan.design.seed,
        server,
        started_at: clock::now_rfc3339(),
        ended_at: None,
        validity: Validity::partial(NoEvidence::NotEnded),
        engine: None,
        measured: None,
        profile: None,
        script: None,
        logged: None,
        beside: Vec::new(),
        surroundings: None,
        repeated_after: None,
        notes: Vec::new(),
        start: None,
        parts: Vec::new(),
    }
}

/// This host without its disk, which is irrelevant for a server that may be on another.
pub fn host_of_external_server() -> HostFacts {
    HostFacts {
        file_system: None,
        device: None,
        rotational: None,
        ..host_facts(Path::new("/"), None)
    }
}
