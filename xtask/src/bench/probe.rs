//! `bench probe`: the cost of probing a server. The same load in alternating runs on one server
//! without a probe and with it, and on a second server that times its waits.
//!
//! Both servers run all the time, and one has a load. Figures are taken from the folder of
//! `truetps run`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, value_parser};
use truetps_folder::ExperimentFolder;
use truetps_record::Flavour;
use truetps_sandbox::{ServerLoad, with_waits};

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::figures::{geometric_interval, geometric_spread};
use crate::bench::options::{KeptOptions, seconds};
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{commit, new_command};
use crate::bench::sample::Server;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeSetup {
    Unwatched,
    Watched,
    /// On the server that times its waits.
    Waits,
}

/// Compared with the last one.
const SETUPS: [ProbeSetup; 3] = [ProbeSetup::Watched, ProbeSetup::Waits, ProbeSetup::Unwatched];

#[derive(Debug, Parser)]
pub(crate) struct ProbeBenchOptions {
    /// Rounds of three runs
    #[arg(long = "pairs", value_name = "N", default_value = "10", value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Length of the measure phase in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "10", value_parser = seconds)]
    window: Duration,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: String,
    /// Numbers of connections, with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "8,64", value_parser = value_parser!(u32).range(1..))]
    connections: Vec<u32>,
    #[arg(long, value_name = "NAME", default_value = "insert")]
    workload: String,
    /// This program [default: target/release/truetps]
    #[arg(long, value_name = "PATH")]
    truetps: Option<PathBuf>,
    /// Another server than the system's
    #[arg(long, value_name = "DIR")]
    basedir: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptOptions,
}

/// One run.
#[derive(Debug, Clone, Copy)]
struct ProbeRunTime {
    tps: f64,
    p99_us: f64,
    server_us: f64,
}

pub(crate) fn run(root: &Path, options: &ProbeBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    let most = options.connections.iter().copied().max().unwrap_or(1);
    let load = ServerLoad { connections_max: most, statements_per_connection: 8 };
    let basedir = options.basedir.as_deref();
    let plain = PrivateServer::start_bare(basedir, load, &options.kept.settings)?;
    // All servers of the family have these in the same words.
    let waits = with_waits(options.kept.settings.clone(), Flavour::Mariadb);
    let timed = PrivateServer::start_bare(basedir, load, &waits)?;
    let runs = tempfile::tempdir()?;
    let about = format!(
        "- truetps{}\n{}- `{}`, {} rounds of three for each number of clients, in changing order; \
         {} s measured, read every {}\n",
        commit(root),
        plain.describe(&options.kept.settings),
        options.workload,
        options.rounds,
        options.window.as_secs_f64(),
        options.interval,
    );
    let folder = options.kept.folder(root, "probe");
    let mut table = RunTable::new(ProbeComparison, "What the probe costs", &about, folder);
    for connections in options.connections.iter().copied() {
        table.measure(connections, 0..options.rounds, |program| {
            let setup = SETUPS[program];
            let server = if setup == ProbeSetup::Waits { &timed } else { &plain };
            Ok(measure_run(&truetps, options, connections, setup, server.socket(), runs.path()))
        })?;
    }
    table.end();
    Ok(())
}

struct ProbeComparison;

impl BenchComparison for ProbeComparison {
    type Cell = u32;
    type Run = ProbeRunTime;
    const CELL: &'static [&'static str] = &["clients"];

    fn cell_words(&self, clients: u32) -> Vec<String> {
        vec![clients.to_string()]
    }

    fn programs(&self, _: u32) -> Vec<String> {
        ["probe", "probe, waits timed", "no probe"].map(str::to_owned).to_vec()
    }

    fn columns(&self) -> Vec<FigureColumn<ProbeRunTime>> {
        vec![
            FigureColumn::compared("tps", "tps", [0, 4], |run| run.tps),
            FigureColumn::compared("p99_us", "p99 µs", [0, 3], |run| run.p99_us),
            FigureColumn::compared(
                "server_us_per_tx",
                "server CPU µs a transaction",
                [2, 4],
                |run| run.server_us,
            ),
        ]
    }

    fn ratio_title(&self) -> String {
        "Ratios to the run without a probe of the same round: geometric means [min..max], and the \
         95 % intervals of the means"
            .to_owned()
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        format!("{}, {}", geometric_spread(ratios, decimals), geometric_interval(ratios, decimals))
    }
}

fn measure_run(
    truetps: &Path,
    options: &ProbeBenchOptions,
    connections: u32,
    setup: ProbeSetup,
    socket: &Path,
    runs: &Path,
) -> anyhow::Result<ProbeRunTime> {
    let mut command = new_command(truetps);
    command.args(["run", &options.workload, "--warm-up=2"]);
    command
        .arg(format!("--measure={}", options.window.as_secs_f64()))
        .arg(format!("--connections={connections}"));
    command.arg(format!("--dsn=mysql://root@?socket={}", socket.display())).arg("--runs").arg(runs);
    command.arg(match setup {
        ProbeSetup::Unwatched => "--no-probe".to_owned(),
        ProbeSetup::Watched | ProbeSetup::Waits => format!("--probe-interval={}", options.interval),
    });
    // Journals of these servers are gone with them.
    command.env("XDG_STATE_HOME", runs.join("state")).env_remove("TRUETPS_DSN");
    let ran =
        command.stdin(Stdio::null()).output().with_context(|| truetps.display().to_string())?;
    if !ran.status.success() {
        bail!(
            "{}: {}",
            ran.status,
            String::from_utf8_lossy(&ran.stderr).lines().last().unwrap_or_default()
        );
    }
    let trial =
        ExperimentFolder::open(&runs.join("latest"))?.trial("trial-0001")?.context("no trial")?;
    let measured = trial.measured.context("nothing was measured")?;
    Ok(ProbeRunTime {
        tps: measured.tps,
        p99_us: measured.response.response_us_p99.context("no response time")?,
        server_us: measured.resources.server_cpu_us_per_tx.context("no CPU of the server")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_one_round() {
        let runs = [(0, 2, 100.0), (0, 0, 99.0), (1, 0, 50.0)].map(|(round, program, tps)| {
            (8, round, program, Ok(ProbeRunTime { tps, p99_us: 10.0, server_us: 5.0 }))
        });
        let table = RunTable::of_runs(ProbeComparison, runs);
        let text = table.tables();
        assert!(text.contains("| 8 | probe | **0.9900** [0.9900..0.9900], – |"), "{text}");
        assert!(text.contains("| 8 | probe, waits timed | –, – | –, – | –, – | 0 |"), "{text}");
        assert!(table.raw().contains("8,2,probe,50.000,10.000,5.000,"), "{}", table.raw());
    }
}
