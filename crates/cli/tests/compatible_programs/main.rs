//! The command lines of sysbench, mysqlslap and mtls-perf-bench, beside the originals where these
//! are installed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says loudly what it skips"
)]

#[path = "../../../driver/tests/servers/support/certificates.rs"]
#[allow(dead_code, reason = "the support code of the driver's tests, of which a part is used here")]
mod certificates;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../report/src/schema_check.rs"]
mod schema_check;
#[path = "../support/mod.rs"]
mod support;

mod example_workloads;
mod mtls;
mod recorded_runs;
mod slap;
mod surroundings;
mod sysbench;
mod sysbench_beyond;
mod sysbench_comparison;
mod sysbench_ends;
mod sysbench_recording;
mod sysbench_stalls;
