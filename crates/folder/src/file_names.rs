//! Names of the files in a run folder.

/// Name of the link to the newest experiment.
pub const LATEST: &str = "latest";

pub(crate) const EXPLANATION: &str = "explanation.json";
pub(crate) const POOL: &str = "pool.json";
pub(crate) const VERIFICATION: &str = "verification.json";
pub(crate) const RUN: &str = "run.json";
pub(crate) const INTERVALS: &str = "intervals.jsonl";
pub(crate) const LATENCY: &str = "latency.hdr";
pub(crate) const PROBE: &str = "probe.jsonl";
pub(crate) const SYSBENCH: &str = "sysbench.json";
pub(crate) const SCRIPT: &str = "script.json";

/// Files that a trial may leave, in the order in which they are shown.
pub(crate) const TRIAL_FILES: [&str; 10] = [
    RUN,
    INTERVALS,
    LATENCY,
    PROBE,
    SYSBENCH,
    SCRIPT,
    "server/my.cnf",
    "server/postgresql.conf",
    "server/variables.json",
    "server/error.log",
];
