//! `bench prealloc`: what a preallocated binlog brings. Neighbouring trials on one server process
//! that has preloaded the library, which is switched on and off; each server, disk and workload is
//! a sweep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use clap::{Parser, value_parser};
use truetps_folder::ExperimentFolder;
use truetps_record::{TrialRole, Validity};

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::figures::{geometric_interval, geometric_spread};
use crate::bench::goals::BenchGoal;
use crate::bench::options::KeptOptions;
use crate::bench::programs::{commit, new_command};

/// A gain is asked for on this disk only.
const GOAL_DISK: &str = "flush-2ms";
const GOAL_MARIADB: f64 = 1.4;
const GOAL_MYSQL: f64 = 1.5;
const NEVER_BELOW: f64 = 0.98;
/// A level of this benchmark only: the server has loaded the library, which is switched off;
/// without it nothing is loaded.
const LOADED: &str = "loaded";

#[derive(Debug, Parser)]
pub(crate) struct PreallocBenchOptions {
    /// Pairs of neighbouring trials
    #[arg(long, value_name = "N", default_value = "6", value_parser = value_parser!(u32).range(1..))]
    pairs: u32,
    /// Length of the measure phase in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "2")]
    window: f64,
    /// Servers: names of `truetps server list`, or `installed`
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "installed")]
    servers: Vec<String>,
    /// Disks: names of `truetps disk list`, or paths of profiles
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', default_value = "flush-2ms")]
    disks: Vec<String>,
    /// Workloads
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "insert,update-index")]
    workloads: Vec<String>,
    /// The level that is compared with 0; `loaded`: a server with the library, switched off, is
    /// compared with one without it
    #[arg(long, value_name = "LEVEL", default_value = "ahead")]
    level: String,
    /// Levels of sync_binlog
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1")]
    sync: Vec<u32>,
    /// Numbers of connections, with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "50,100", value_parser = value_parser!(u32).range(1..))]
    connections: Vec<u32>,
    /// This program [default: target/release/truetps]
    #[arg(long, value_name = "PATH")]
    truetps: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptOptions,
}

/// Indices into the options' lists, and the number of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PreallocCell {
    server: usize,
    disk: usize,
    workload: usize,
    sync: u32,
    connections: u32,
}

#[derive(Debug, Clone, Copy)]
struct PreallocRun {
    tps: f64,
    p99_us: f64,
    server_us: f64,
}

pub(crate) fn run(root: &Path, options: &PreallocBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    if options.level == LOADED && options.connections.len() < 2 {
        bail!(
            "--level {LOADED} needs two numbers of --connections: the stock server's sweep has no \
             other factor"
        );
    }
    let about = format!(
        "- truetps{}\n- {} pairs of trials of {} s in random order, {}; redo log and binlog on the \
         same emulated disk, innodb_flush_log_at_trx_commit = 1\n",
        commit(root),
        options.pairs,
        options.window,
        if options.level == LOADED {
            "each on a server of its own"
        } else {
            "on one server process"
        }
    );
    let folder = options.kept.folder(root, "prealloc");
    let runs = tempfile::tempdir()?;
    let mut cells = Vec::new();
    for server in 0..options.servers.len() {
        for disk in 0..options.disks.len() {
            for workload in 0..options.workloads.len() {
                cells.extend(options.sync.iter().map(|sync| (server, disk, workload, *sync)));
            }
        }
    }
    let comparison = PreallocComparison {
        servers: options.servers.clone(),
        disks: options.disks.clone(),
        workloads: options.workloads.clone(),
        level: options.level.clone(),
    };
    let mut table = RunTable::new(comparison, "What a preallocated binlog brings", &about, folder);
    for (server, disk, workload, sync) in cells {
        let of = |connections| PreallocCell { server, disk, workload, sync, connections };
        let sweep = |levels: &str, blocks| {
            sweep(root, &truetps, options, of(0), levels, blocks, runs.path())
        };
        let is_loaded = options.level == LOADED;
        let whole = if is_loaded {
            Trials::new()
        } else {
            sweep(&format!("0,{}", options.level), options.pairs)?
        };
        for round in 0..options.pairs {
            let mut found = [whole.clone(), whole.clone()];
            if is_loaded {
                // The library cannot be loaded into a server that runs: each trial has a server of
                // its own.
                for program in [round % 2, 1 - round % 2].map(|program| program as usize) {
                    found[program] = sweep(["0,ahead", "0"][program], 1)?;
                }
            }
            for connections in options.connections.iter().copied() {
                table.measure(of(connections), round..round + 1, |program| {
                    let block = if is_loaded { 0 } else { round };
                    let is_off = is_loaded || program == 1;
                    Ok(found[program]
                        .remove(&(connections, block, is_off))
                        .context("the trial gave no result"))
                })?;
            }
        }
    }
    table.end();
    Ok(())
}

/// Trials by connections, block, and whether preallocation is off.
type Trials = BTreeMap<(u32, u32, bool), PreallocRun>;

fn sweep(
    root: &Path,
    truetps: &Path,
    options: &PreallocBenchOptions,
    cell: PreallocCell,
    levels: &str,
    blocks: u32,
    runs: &Path,
) -> anyhow::Result<Trials> {
    let connections = options.connections.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut command = new_command(truetps);
    command.args([
        "sweep",
        &options.workloads[cell.workload],
        "--vary",
        &format!("prealloc={levels}"),
    ]);
    command.args(["-c", &connections, "--blocks", &blocks.to_string()]);
    command.args(["--set", "log_bin=ON", "--set", "innodb_flush_log_at_trx_commit=1"]);
    command.args(["--set", &format!("sync_binlog={}", cell.sync)]);
    command.args([
        "--measure",
        &options.window.to_string(),
        "--disk",
        &options.disks[cell.disk],
        "--quiet",
    ]);
    for (name, value) in &options.kept.settings {
        command.args(["--set", &format!("{name}={value}")]);
    }
    let server = &options.servers[cell.server];
    if server != "installed" {
        command.args(["--server", server]);
    }
    command.arg("--runs").arg(runs).current_dir(root).env_remove("TRUETPS_DSN");
    let ran =
        command.stdin(Stdio::null()).output().with_context(|| truetps.display().to_string())?;
    // 3 is an answer, too: something was not decided.
    if !matches!(ran.status.code(), Some(0 | 3)) {
        bail!("{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
    }
    trials(&ExperimentFolder::open(&runs.join("latest"))?)
}

fn trials(folder: &ExperimentFolder) -> anyhow::Result<Trials> {
    let mut trials = Trials::new();
    let schedule = folder.experiment()?.schedule;
    let mut blocks: Vec<_> = schedule.iter().map(|scheduled| scheduled.block).collect();
    blocks.dedup();
    for scheduled in schedule.iter().filter(|scheduled| scheduled.role == TrialRole::Cell) {
        let Some(measured) = folder
            .trial(&scheduled.name)?
            .filter(|trial| trial.validity == Validity::Valid)
            .and_then(|trial| trial.measured)
        else {
            continue;
        };
        let block = blocks.iter().position(|block| *block == scheduled.block).unwrap_or(0) as u32;
        let key = (
            scheduled.configuration.connections(),
            block,
            scheduled.configuration.prealloc().is_none(),
        );
        let run = PreallocRun {
            tps: measured.tps,
            p99_us: measured.response.response_us_p99.unwrap_or(f64::NAN),
            server_us: measured.resources.server_cpu_us_per_tx.unwrap_or(f64::NAN),
        };
        trials.insert(key, run);
    }
    Ok(trials)
}

struct PreallocComparison {
    servers: Vec<String>,
    disks: Vec<String>,
    workloads: Vec<String>,
    level: String,
}

impl BenchComparison for PreallocComparison {
    type Cell = PreallocCell;
    type Run = PreallocRun;
    const CELL: &'static [&'static str] = &["server", "disk", "workload", "sync_binlog", "clients"];

    fn cell_words(&self, cell: PreallocCell) -> Vec<String> {
        let disk =
            self.disks[cell.disk].rsplit('/').next().unwrap_or_default().trim_end_matches(".toml");
        let (server, workload) =
            (self.servers[cell.server].clone(), self.workloads[cell.workload].clone());
        vec![server, disk.to_owned(), workload, cell.sync.to_string(), cell.connections.to_string()]
    }

    fn programs(&self, _: PreallocCell) -> Vec<String> {
        vec![self.level.clone(), if self.level == LOADED { "stock" } else { "off" }.to_owned()]
    }

    fn columns(&self) -> Vec<FigureColumn<PreallocRun>> {
        vec![
            FigureColumn::compared("tps", "tps", [0, 3], |run| run.tps),
            FigureColumn::compared("p99_us", "p99 µs", [0, 3], |run| run.p99_us),
            FigureColumn::compared(
                "server_us_per_tx",
                "server CPU µs a transaction",
                [1, 3],
                |run| run.server_us,
            ),
        ]
    }

    fn ratio_title(&self) -> String {
        let base = if self.level == LOADED {
            "server without the library"
        } else {
            "trial without preallocation"
        };
        format!(
            "Ratios to the {base} of the same round: geometric means [min..max], and the 95 % \
             intervals of the means"
        )
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        format!("{}, {}", geometric_spread(ratios, decimals), geometric_interval(ratios, decimals))
    }

    fn goal(&self, cell: PreallocCell, key: &str) -> Option<BenchGoal> {
        let is_asked = self.level != LOADED
            && self.disks[cell.disk].ends_with(GOAL_DISK)
            && cell.sync == 1
            && cell.connections >= 50;
        let server = &self.servers[cell.server];
        let is_mariadb = server.contains("maria") || server == "installed";
        let gain = if is_mariadb { GOAL_MARIADB } else { GOAL_MYSQL };
        (key == "tps").then_some(BenchGoal::RatioAtLeast(if is_asked { gain } else { NEVER_BELOW }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_off_may_cost_nothing() {
        let comparison = PreallocComparison {
            servers: vec!["installed".to_owned()],
            disks: vec!["bench/disks/flush-2ms.toml".to_owned()],
            workloads: vec!["insert".to_owned()],
            level: LOADED.to_owned(),
        };
        let cell = PreallocCell { server: 0, disk: 0, workload: 0, sync: 1, connections: 50 };
        assert_eq!(comparison.goal(cell, "tps"), Some(BenchGoal::RatioAtLeast(NEVER_BELOW)));
        assert_eq!(comparison.programs(cell), ["loaded", "stock"]);
    }

    #[test]
    fn goals_are_of_the_disk_with_slow_flushes() {
        let comparison = PreallocComparison {
            servers: vec!["installed".to_owned(), "mysql80".to_owned()],
            disks: vec!["flush-2ms".to_owned(), "native".to_owned()],
            workloads: vec!["insert".to_owned()],
            level: "ahead".to_owned(),
        };
        let cell =
            |server, disk, sync| PreallocCell { server, disk, workload: 0, sync, connections: 50 };
        let goal = |cell| comparison.goal(cell, "tps");
        assert_eq!(goal(cell(0, 0, 1)), Some(BenchGoal::RatioAtLeast(GOAL_MARIADB)));
        assert_eq!(goal(cell(1, 0, 1)), Some(BenchGoal::RatioAtLeast(GOAL_MYSQL)));
        assert_eq!(goal(cell(1, 1, 1)), Some(BenchGoal::RatioAtLeast(NEVER_BELOW)));
        assert_eq!(goal(cell(1, 0, 0)), Some(BenchGoal::RatioAtLeast(NEVER_BELOW)));
        assert_eq!(
            comparison.cell_words(cell(1, 0, 0)),
            ["mysql80", "flush-2ms", "insert", "0", "50"]
        );
        assert_eq!(comparison.goal(cell(0, 0, 1), "p99_us"), None);
    }
}
