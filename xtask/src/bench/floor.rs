//! `bench floor`: what the kernel charges for the statements and answers alone, in several forms of epoll and io_uring,
//! and how near the engine is. The floor clients send statements that were made before, and only count the answers.

mod client;
mod epoll_client;
mod refusal;
mod traffic;
mod uring;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::bail;
use clap::{Parser, value_parser};
use serde::{Deserialize, Serialize};
use truetps_driver::Endpoint;
use truetps_record::Protocol;

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::engine::resource_columns;
use crate::bench::figures::spread;
use crate::bench::null::{self, CLIENT_CORE, SERVER_CORE};
use crate::bench::options::{KeptOptions, PairOptions, parse_word, seconds, word};
use crate::bench::pin::pinned;
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{BenchLoad, DriveChoice, Program, new_command};
use crate::bench::sample::{ResourceSample, Server, measure_program};

pub(crate) use client::{FloorClientOptions, run as run_client};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FloorServer {
    Null,
    /// The same over TCP.
    NullTcp,
    Mariadb,
}

/// How a floor client waits, receives and sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FloorVariant {
    Epoll,
    EpollEdge,
    EpollTurns,
    Uring,
    UringLinked,
    UringDeferred,
    Multishot,
    MultishotDeferred,
    MultishotSqpoll,
}

const VARIANTS: [FloorVariant; 9] = [
    FloorVariant::Epoll,
    FloorVariant::EpollEdge,
    FloorVariant::EpollTurns,
    FloorVariant::Uring,
    FloorVariant::UringLinked,
    FloorVariant::UringDeferred,
    FloorVariant::Multishot,
    FloorVariant::MultishotDeferred,
    FloorVariant::MultishotSqpoll,
];

/// What ratios refer to.
const BASE: FloorVariant = FloorVariant::Epoll;

impl FloorVariant {
    fn describe(self) -> &'static str {
        match self {
            Self::Epoll => "epoll_wait, recv, send, level-triggered, as in the engine",
            Self::EpollEdge => "epoll, edge-triggered",
            Self::EpollTurns => "`epoll` that receives all answers of a turn before it sends",
            Self::Uring => "io_uring, a receive and a send for each statement, all of a turn in one submission",
            Self::UringLinked => "`uring` with each receive linked behind its send",
            Self::UringDeferred => "`uring` with SINGLE_ISSUER, COOP_TASKRUN and DEFER_TASKRUN",
            Self::Multishot => "io_uring, one multishot receive a session into provided buffers, batched sends",
            Self::MultishotDeferred => "`multishot` with the same three",
            Self::MultishotSqpoll => {
                "`multishot` with SQPOLL: a kernel thread polls, on any core; its CPU time is the client's"
            }
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct FloorBenchOptions {
    /// Numbers of connections, with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "8,64,1000,5000", value_parser = value_parser!(u32).range(1..))]
    connections: Vec<u32>,
    /// null, null-tcp, mariadb, with commas
    #[arg(long = "server", value_delimiter = ',', default_value = "null", value_parser = parse_word::<FloorServer>)]
    servers: Vec<FloorServer>,
    /// Variants beside epoll, with commas [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_word::<FloorVariant>)]
    variants: Vec<FloorVariant>,
    #[command(flatten)]
    pairs: PairOptions,
    #[command(flatten)]
    kept: KeptOptions,
    /// Length of a window in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "3", value_parser = seconds)]
    window: Duration,
}

impl FloorBenchOptions {
    /// The base is the last one.
    fn variants(&self) -> Vec<FloorVariant> {
        let chosen = if self.variants.is_empty() { &VARIANTS[..] } else { &self.variants };
        chosen.iter().copied().filter(|variant| *variant != BASE).chain([BASE]).collect()
    }
}

pub(crate) fn run(root: &Path, options: &FloorBenchOptions) -> anyhow::Result<()> {
    if !options.kept.settings.is_empty() && !options.servers.contains(&FloorServer::Mariadb) {
        bail!("the null server has no settings: --set is for --server mariadb");
    }
    let engine = Program::Truetps(DriveChoice::default());
    let programs = FloorPrograms(options.variants());
    let mut about = format!("- {}\n", engine.describe(root)?);
    for variant in &programs.0 {
        let _ = writeln!(about, "- {}: {}", word(variant), variant.describe());
    }
    let mut servers = Vec::new();
    for server in options.servers.iter().copied() {
        servers.push((server, RunningFloorServer::start(server, options, &mut about)?));
    }
    let _ = writeln!(
        about,
        "- text protocol; {} rounds for each cell, in changing order; windows of {} s, observed from outside (/proc and \
         the server's count of statements)",
        options.pairs.count,
        options.window.as_secs_f64()
    );
    let title = "The floor: the same bytes sent and received by programs that do nothing else, beside the engine";
    let mut table = RunTable::new(programs, title, &about, options.kept.folder(root, "floor"));
    for (server, running) in &mut servers {
        for connections in options.connections.iter().copied() {
            let variants = options.variants();
            table.measure((*server, connections), 0..options.pairs.count, |program| {
                let command = match program.checked_sub(1) {
                    None => engine.command(root, &running.load(connections))?,
                    Some(n) => client_command(variants[n], &running.endpoint, connections)?,
                };
                let command = pinned(command, running.core)?;
                measure_program(command, connections, options.window, &mut *running.server)
            })?;
        }
    }
    table.end();
    Ok(())
}

fn client_command(variant: FloorVariant, endpoint: &str, connections: u32) -> anyhow::Result<Command> {
    let mut command = new_command(std::env::current_exe()?);
    command.args(["bench-floor-client", &word(variant), endpoint, &connections.to_string()]);
    Ok(command)
}

struct RunningFloorServer {
    server: Box<dyn Server>,
    /// As a word of a command line.
    endpoint: String,
    /// The core of the clients.
    core: Option<u32>,
}

impl RunningFloorServer {
    fn start(server: FloorServer, options: &FloorBenchOptions, about: &mut String) -> anyhow::Result<Self> {
        let connections = options.connections.iter().copied().max().unwrap_or(1);
        if server == FloorServer::Mariadb {
            let server = PrivateServer::start(connections, &options.kept.settings)?;
            *about += &server.describe(&options.kept.settings);
            let endpoint = server.socket().display().to_string();
            return Ok(Self { server: Box::new(server), endpoint, core: None });
        }
        let mut running = null::start(connections)?;
        let (endpoint, way) = match server {
            FloorServer::NullTcp => (running.tcp_endpoint()?, "TCP on the loopback"),
            _ => (Endpoint::Unix(running.socket().to_owned()), "a unix socket"),
        };
        let _ = writeln!(
            about,
            "- {}: a null server, which answers OK to everything, on core {SERVER_CORE}; clients on core {CLIENT_CORE}; \
             {way}",
            word(server)
        );
        Ok(Self { server: Box::new(running), endpoint: endpoint.to_string(), core: Some(CLIENT_CORE) })
    }

    /// Of the engine.
    fn load(&self, connections: u32) -> BenchLoad<'_> {
        BenchLoad { socket: Path::new(&self.endpoint), connections, protocol: Protocol::Text, files: Path::new(".") }
    }
}

/// The floor clients; the engine comes before them.
struct FloorPrograms(Vec<FloorVariant>);

impl BenchComparison for FloorPrograms {
    type Cell = (FloorServer, u32);
    type Run = ResourceSample;
    const CELL: &'static [&'static str] = &["server", "connections"];

    fn cell_words(&self, (server, connections): Self::Cell) -> Vec<String> {
        vec![word(server), connections.to_string()]
    }

    fn programs(&self, _: Self::Cell) -> Vec<String> {
        std::iter::once("truetps".to_owned()).chain(self.0.iter().map(word)).collect()
    }

    fn columns(&self) -> Vec<FigureColumn<ResourceSample>> {
        resource_columns()
    }

    fn ratio_title(&self) -> String {
        format!("Ratios to {} of the same round, medians [min..max]", word(BASE))
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        spread(ratios, decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> FloorBenchOptions {
        FloorBenchOptions::try_parse_from([&["floor"], args].concat()).unwrap()
    }

    #[test]
    fn ratios_are_to_epoll() {
        assert_eq!(parse(&[]).variants().len(), VARIANTS.len());
        let options = parse(&["--variants", "epoll,multishot", "--server", "null-tcp,mariadb"]);
        assert_eq!(options.servers, [FloorServer::NullTcp, FloorServer::Mariadb]);
        let programs = FloorPrograms(options.variants());
        let cell = (FloorServer::Null, 64);
        assert_eq!(programs.programs(cell), ["truetps", "multishot", "epoll"]);
        let run = |n, tps| (cell, 0, n, Ok(ResourceSample { tps, ..ResourceSample::default() }));
        let refused = (cell, 0, 1, Err("no io_uring: forbidden".to_owned()));
        let text = RunTable::of_runs(programs, [run(0, 90.0), refused, run(2, 100.0)]).tables();
        assert!(text.contains("| null | 64 | truetps | **0.90** [0.90..0.90] |"), "{text}");
        assert!(text.contains("| null | 64 | multishot | no figure: no io_uring: forbidden |"), "{text}");
    }

    #[test]
    fn wrong_words_are_named() {
        for (option, value) in [("--variants", "poll"), ("--server", "oracle"), ("--connections", "0")] {
            let error = FloorBenchOptions::try_parse_from(["floor", option, value]).unwrap_err().to_string();
            assert!(error.contains(value) && error.contains(option), "{error}");
        }
    }
}
