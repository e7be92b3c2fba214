//! Benchmarks of truetps itself beside other programs, alternating, on one private server or on one
//! that does nothing. These are not tests: speed is judged by ratios of neighbouring runs, and the
//! result is kept with its date.

mod client;
mod comparison;
mod engine;
mod figures;
mod folder;
mod gateway;
mod goals;
mod lateness;
mod lua;
mod null;
mod null_protocol;
mod null_server;
mod options;
mod pin;
mod prealloc;
mod private_server;
mod probe;
mod programs;
mod sample;
mod sessions;
mod slap;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use client::ClientOptions;
use folder::ReportBenchOptions;
use gateway::GatewayBenchOptions;
use lateness::LatenessOptions;
use lua::LuaBenchOptions;
use options::BenchOptions;
use prealloc::PreallocBenchOptions;
use probe::ProbeBenchOptions;
use sessions::SessionsOptions;
use slap::SlapBenchOptions;

/// Benchmarks of truetps itself: cargo run --release -p xtask -- bench …
///
/// Results are stored under bench/runs. docs/reference/benchmarks.md describes each benchmark.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Client CPU, throughput and memory beside another program's, alternating, on a private server
    Engine(BenchOptions),
    /// Client CPU and throughput against a server that does nothing, each on a core of its own
    #[command(
        mut_arg("connections", |arg| arg.default_value("8,64,1000,5000")),
        mut_arg("protocols", |arg| arg.default_value("text,prepared")),
        mut_arg("against", |arg| arg.default_value("mysql_async"))
    )]
    Null(BenchOptions),
    /// How late an open loop starts its transactions
    Lateness(LatenessOptions),
    /// How long it takes to connect many sessions to null servers, and how much memory they hold
    Sessions(SessionsOptions),
    /// `truetps sysbench` beside sysbench: the same Lua scripts, alternating, on a private server
    #[command(mut_arg("settings", |arg| {
        arg.help("A setting of the private server, which has thread_handling=pool-of-threads")
    }))]
    Lua(LuaBenchOptions),
    /// `truetps slap` and `mtls` beside mariadb-slap and mtls-perf-bench
    Slap(SlapBenchOptions),
    /// What it costs to watch a server: with and without the probe, and with waits timed
    Probe(ProbeBenchOptions),
    /// What a preallocated binlog brings: one server process, with and without, alternating, on an
    /// emulated disk
    Prealloc(PreallocBenchOptions),
    /// Rows a second through the gateway beside a service with a pool of connections, alternating
    Gateway(GatewayBenchOptions),
    /// How long `truetps report` takes over an hour of measurements, and how large its page is
    Report(ReportBenchOptions),
}

impl Bench {
    pub(crate) fn run(self, root: &Path) -> anyhow::Result<()> {
        match self {
            Self::Engine(options) => engine::run(root, &options),
            Self::Null(options) => null::run(root, &options),
            Self::Lateness(options) => lateness::run(root, &options),
            Self::Sessions(options) => sessions::run(root, &options),
            Self::Lua(options) => lua::run(root, &options),
            Self::Slap(options) => slap::run(root, &options),
            Self::Probe(options) => probe::run(root, &options),
            Self::Prealloc(options) => prealloc::run(root, &options),
            Self::Gateway(options) => gateway::run(root, &options),
            Self::Report(options) => folder::run(root, options),
        }
    }
}

/// Processes that the benchmarks start.
#[derive(Subcommand)]
pub(crate) enum Helper {
    /// The engine as a process of its own
    #[command(hide = true, name = "bench-client")]
    Client(ClientOptions),
    /// A server that answers OK to everything
    #[command(hide = true, name = "bench-null-server")]
    NullServer { socket: PathBuf },
    /// Becomes another program on one core
    #[command(hide = true, name = "bench-pin")]
    Pin {
        core: u32,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<OsString>,
    },
}

impl Helper {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Client(options) => client::run(&options),
            Self::NullServer { socket } => null_server::run(&socket),
            Self::Pin { core, program } => pin::run(core, &program),
        }
    }
}
