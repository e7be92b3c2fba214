//! `bench probe`: the cost of probing a server. The same load in alternating runs on one server without a probe and
//! with it, and on a second server that times its waits.
//!
//! Both servers run all the time, and one has a load. Figures are taken from the folder of `truetps run`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, value_parser};
use truetps_folder::ExperimentFolder;
use truetps_probe::clock;
use truetps_record::Flavour;
use truetps_sandbox::{ServerLoad, with_waits};

use crate::bench::figures::{geometric_interval, geometric_spread, spread};
use crate::bench::options::{KeptOptions, seconds};
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{commit, new_command};
use crate::bench::report::{host_line, result_folder, write_result};
use crate::bench::server::Server;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeSetup {
    Unwatched,
    Watched,
    /// On the server that times its waits.
    Waits,
}

const KINDS: [ProbeSetup; 3] = [ProbeSetup::Unwatched, ProbeSetup::Watched, ProbeSetup::Waits];

impl ProbeSetup {
    fn name(self) -> &'static str {
        match self {
            Self::Unwatched => "no probe",
            Self::Watched => "probe",
            Self::Waits => "probe, waits timed",
        }
    }
}

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

struct ProbeRow {
    connections: u32,
    round: u32,
    kind: ProbeSetup,
    taken: Result<ProbeRunTime, String>,
}

pub(crate) fn run(root: &Path, options: &ProbeBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    let most = options.connections.iter().copied().max().unwrap_or(1);
    let load = ServerLoad { connections_max: most, statements_per_connection: 8 };
    let start = |extra: &[(String, String)]| PrivateServer::start_of(options.basedir.as_deref(), load, extra);
    let plain = start(&options.kept.settings)?;
    // All servers of the family have these in the same words.
    let waits = with_waits(options.kept.settings.clone(), Flavour::Mariadb);
    let timed = start(&waits)?;
    let runs = tempfile::tempdir()?;
    let about = format!(
        "# What the probe costs\n\n- truetps{}\n{}{}- `{}`, {} rounds of three for each number of clients, in changing \
         order; {} s measured, read every {}\n- {}\n",
        commit(root),
        plain.describe(&options.kept.settings),
        host_line(),
        options.workload,
        options.rounds,
        options.window.as_secs_f64(),
        options.interval,
        clock::now_rfc3339(),
    );
    println!("{about}");
    let mut rows = Vec::new();
    for connections in options.connections.iter().copied() {
        for round in 0..options.rounds {
            for turn in 0..KINDS.len() {
                let kind = KINDS[(turn + round as usize) % KINDS.len()];
                let server = if kind == ProbeSetup::Waits { &timed } else { &plain };
                let taken = take(&truetps, options, connections, kind, server.socket(), runs.path());
                let row = ProbeRow { connections, round, kind, taken: taken.map_err(|error| format!("{error:#}")) };
                println!("{}", line(&row));
                rows.push(row);
            }
        }
    }
    let tables = tables(&options.connections, &rows);
    println!("\n{tables}");
    if !options.kept.no_result {
        let folder = result_folder(root, "probe")?;
        write_result(&folder, &format!("{about}\n{tables}"), &csv(&rows))?;
        println!("kept in {}", folder.display());
    }
    Ok(())
}

fn take(
    truetps: &Path,
    options: &ProbeBenchOptions,
    connections: u32,
    kind: ProbeSetup,
    socket: &Path,
    runs: &Path,
) -> anyhow::Result<ProbeRunTime> {
    let mut command = new_command(truetps);
    command.args(["run", &options.workload, "--warm-up=2"]);
    command.arg(format!("--measure={}", options.window.as_secs_f64())).arg(format!("--connections={connections}"));
    command.arg(format!("--dsn=mysql://root@?socket={}", socket.display())).arg("--runs").arg(runs);
    command.arg(match kind {
        ProbeSetup::Unwatched => "--no-probe".to_owned(),
        ProbeSetup::Watched | ProbeSetup::Waits => format!("--probe-interval={}", options.interval),
    });
    // Journals of these servers are gone with them.
    command.env("XDG_STATE_HOME", runs.join("state")).env_remove("TRUETPS_DSN");
    let ran = command.stdin(Stdio::null()).output().with_context(|| truetps.display().to_string())?;
    if !ran.status.success() {
        bail!("{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr).lines().last().unwrap_or_default());
    }
    let trial = ExperimentFolder::open(&runs.join("latest"))?.trial("trial-0001")?.context("no trial")?;
    let measured = trial.measured.context("nothing was measured")?;
    Ok(ProbeRunTime {
        tps: measured.tps,
        p99_us: measured.response.response_us_p99.context("no response time")?,
        server_us: measured.resources.server_cpu_us_per_tx.context("no CPU of the server")?,
    })
}

fn line(row: &ProbeRow) -> String {
    let what = format!("{} clients, round {}: {}", row.connections, row.round + 1, row.kind.name());
    match &row.taken {
        Ok(taken) => {
            format!(
                "{what}: {:.0} tps, p99 {:.0} µs, server {:.2} µs a transaction",
                taken.tps, taken.p99_us, taken.server_us
            )
        }
        Err(problem) => format!("{what}: no figure: {problem}"),
    }
}

fn tables(connections: &[u32], rows: &[ProbeRow]) -> String {
    let of = |clients: u32, round: u32, kind: ProbeSetup| {
        let found = rows.iter().find(|row| (row.connections, row.round, row.kind) == (clients, round, kind))?;
        found.taken.as_ref().ok().copied()
    };
    let rounds = rows.iter().map(|row| row.round + 1).max().unwrap_or(0);
    let mut text = String::from(
        "Ratios to the run without a probe of the same round: geometric means [min..max], for tps with the 95 % interval of the \
         mean:\n\n\
         | clients | what | tps | 95 % interval | p99 | server CPU a transaction | rounds |\n|---|---|---|---|---|---|---|\n",
    );
    for clients in connections.iter().copied() {
        for kind in [ProbeSetup::Watched, ProbeSetup::Waits] {
            let pairs: Vec<(ProbeRunTime, ProbeRunTime)> = (0..rounds)
                .filter_map(|round| of(clients, round, kind).zip(of(clients, round, ProbeSetup::Unwatched)))
                .collect();
            let ratios = |figure: fn(&ProbeRunTime) -> f64| -> Vec<f64> {
                pairs.iter().map(|(watched, unwatched)| figure(watched) / figure(unwatched)).collect()
            };
            let _ = writeln!(
                text,
                "| {clients} | {} | {} | {} | {} | {} | {} |",
                kind.name(),
                geometric_spread(&ratios(|taken| taken.tps), 4),
                geometric_interval(&ratios(|taken| taken.tps), 4),
                geometric_spread(&ratios(|taken| taken.p99_us), 3),
                geometric_spread(&ratios(|taken| taken.server_us), 4),
                pairs.len(),
            );
        }
    }
    text += "\nFigures of each, medians [min..max]:\n\n| clients | what | tps | p99 µs | server CPU µs a transaction |\n\
             |---|---|---|---|---|\n";
    for clients in connections.iter().copied() {
        for kind in KINDS {
            let taken: Vec<ProbeRunTime> = (0..rounds).filter_map(|round| of(clients, round, kind)).collect();
            let all = |figure: fn(&ProbeRunTime) -> f64| taken.iter().map(figure).collect::<Vec<_>>();
            let _ = writeln!(
                text,
                "| {clients} | {} | {} | {} | {} |",
                kind.name(),
                spread(&all(|taken| taken.tps), 0),
                spread(&all(|taken| taken.p99_us), 0),
                spread(&all(|taken| taken.server_us), 2),
            );
        }
    }
    text
}

fn csv(rows: &[ProbeRow]) -> String {
    let mut text = String::from("clients,round,what,tps,p99_us,server_us_per_tx,problem\n");
    for row in rows {
        let (figures, problem) = match &row.taken {
            Ok(taken) => (format!("{:.1},{:.1},{:.3}", taken.tps, taken.p99_us, taken.server_us), ""),
            Err(problem) => (",,".to_owned(), problem.as_str()),
        };
        let problem = problem.replace('"', "'");
        let _ = writeln!(text, "{},{},\"{}\",{figures},\"{problem}\"", row.connections, row.round + 1, row.kind.name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_a_round() {
        let row = |round, kind, tps| {
            let taken = Ok(ProbeRunTime { tps, p99_us: 10.0, server_us: 5.0 });
            ProbeRow { connections: 8, round, kind, taken }
        };
        let rows = [
            row(0, ProbeSetup::Unwatched, 100.0),
            row(0, ProbeSetup::Watched, 99.0),
            row(1, ProbeSetup::Watched, 50.0),
        ];
        let text = tables(&[8], &rows);
        assert!(text.contains("| 8 | probe | **0.9900** [0.9900..0.9900] | – |"), "{text}");
        assert!(text.contains("| 8 | probe, waits timed | – | – | – | – | 0 |"), "{text}");
        assert!(csv(&rows).contains("8,2,\"probe\",50.0,10.0,5.000,\"\""));
    }
}
