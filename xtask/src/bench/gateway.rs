//! `bench gateway`: rows a second that are acknowledged after their commit, by `truetps gateway`
//! and by a service with a pool of connections (`examples/clients-1000`, in Go), on one private
//! server, alternating. `truetps verify` is the load, and compares the table after each run.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Parser, value_parser};
use truetps_folder::ExperimentFolder;
use truetps_probe::process_use;

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::figures::{geometric_interval, geometric_spread};
use crate::bench::goals::BenchGoal;
use crate::bench::options::KeptOptions;
use crate::bench::programs::{commit, new_command};
use crate::bench::sample::wait_until;

const SERVER: &str = "bench-gateway";
const SCHEMA: &str = "ingest";
const TABLE: &str = "client_rows";
const PASSWORD: &str = "bench";
const START_TIME: Duration = Duration::from_secs(20);
/// 2^19 rows.
const ROWS_POWER: u32 = 19;
const PURGE_TIME: Duration = Duration::from_mins(1);
const HISTORY_SHORT: u64 = 50;
/// The kernel counts CPU time in clock ticks, which are too coarse for a shorter run.
const CPU_ROWS_MIN: u64 = 1_000;

#[derive(Debug, Parser)]
pub(crate) struct GatewayBenchOptions {
    /// Pairs of runs
    #[arg(long, value_name = "N", default_value = "5", value_parser = value_parser!(u32).range(1..))]
    pairs: u32,
    /// Length of a run in seconds
    #[arg(long = "seconds", value_name = "S", default_value = "8", value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
    /// Disks: names of `truetps disk list`; `native` is the host's
    #[arg(
        long,
        value_name = "PROFILE",
        value_delimiter = ',',
        default_value = "native,flush-10ms"
    )]
    disks: Vec<String>,
    /// Clients that send the next row after each answer; 0: none of these runs
    #[arg(long, value_name = "N", default_value = "1500")]
    closed: u32,
    /// Clients that send a row a second each; 0: none of these runs
    #[arg(long, value_name = "N", default_value = "1000")]
    open: u32,
    /// Connections of the pool
    #[arg(long, value_name = "N", default_value = "10", value_parser = value_parser!(u32).range(1..))]
    pool: u32,
    /// Another truetps whose gateway is measured, too: an earlier build
    #[arg(long, value_name = "PATH")]
    other: Option<PathBuf>,
    /// This program [default: target/release/truetps]
    #[arg(long, value_name = "PATH")]
    truetps: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptOptions,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ClientLoad {
    Closed(u32),
    /// A row a second each.
    Open(u32),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct GatewayCell {
    /// Its number in the options' list.
    disk: usize,
    load: ClientLoad,
}

#[derive(Debug, Clone, Copy)]
struct GatewayRun {
    rows: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// CPU time of the gateway or the service.
    cpu_us_per_row: f64,
    rss_mb: f64,
}

#[derive(Debug, Clone)]
enum RowService {
    Gateway(PathBuf),
    Pool { program: PathBuf, connections: u32 },
}

pub(crate) fn run(root: &Path, options: &GatewayBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    let files = tempfile::tempdir()?;
    let service = build_service(root, files.path())?;
    let mut services = vec![RowService::Gateway(truetps.clone())];
    services.extend(options.other.clone().map(RowService::Gateway));
    services.push(RowService::Pool { program: service, connections: options.pool });
    let about = format!(
        "- truetps{}\n- {} rounds of runs of {} s; MariaDB or MySQL of the system, \
         innodb_flush_log_at_trx_commit = 1; load, service and server on the same cores\n- rows of \
         100 bytes by `truetps verify` over HTTP/1.1, each table compared with the answers \
         afterwards\n",
        commit(root),
        options.pairs,
        options.seconds
    );
    let comparison = GatewayComparison {
        disks: options.disks.clone(),
        pool: options.pool,
        has_other: options.other.is_some(),
    };
    let title = "Rows a second, acknowledged after their commit";
    let mut table = RunTable::new(comparison, title, &about, options.kept.folder(root, "gateway"));
    for disk in 0..options.disks.len() {
        let server = BenchServer::start(&truetps, &options.disks[disk], &options.kept.settings)?;
        let loads = [ClientLoad::Closed(options.closed), ClientLoad::Open(options.open)];
        for load in loads.into_iter().filter(|load| load.clients() > 0) {
            table.measure(GatewayCell { disk, load }, 0..options.pairs, |program| {
                Ok(measure(&server, &services[program], load, options.seconds, files.path()))
            })?;
        }
    }
    table.end();
    Ok(())
}

/// One run on an empty table.
fn measure(
    server: &BenchServer,
    service: &RowService,
    load: ClientLoad,
    seconds: u32,
    files: &Path,
) -> anyhow::Result<GatewayRun> {
    server.empty()?;
    let service = ServiceProcess::start(service, server.port, files)?;
    let before = process_use(service.child.id()).context("the service has ended")?;
    verify(server, &service.url, load, seconds, files)?;
    let after = process_use(service.child.id()).context("the service has ended")?;
    let folder = ExperimentFolder::open(&files.join("latest"))?;
    let rows = folder
        .verification()?
        .and_then(|found| found.comparison)
        .context("the table was not compared")?
        .rows;
    let schedule = folder.experiment()?.schedule;
    let trial = folder.trial(&schedule.first().context("the run has no trial")?.name)?;
    let trial = trial.and_then(|trial| trial.measured).context("the run has no figures")?;
    let cpu_us = after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6;
    Ok(GatewayRun {
        rows: rows.acknowledged as f64 / f64::from(seconds),
        p50_ms: trial.response.response_us_p50.map_or(f64::NAN, |us| us / 1e3),
        p99_ms: trial.response.response_us_p99.map_or(f64::NAN, |us| us / 1e3),
        cpu_us_per_row: if rows.acknowledged < CPU_ROWS_MIN {
            f64::NAN
        } else {
            cpu_us / rows.acknowledged as f64
        },
        rss_mb: after.rss_bytes as f64 / 1e6,
    })
}

fn verify(
    server: &BenchServer,
    url: &str,
    load: ClientLoad,
    seconds: u32,
    files: &Path,
) -> anyhow::Result<()> {
    let mut command = new_command(&server.truetps);
    command.args([
        "--quiet",
        "verify",
        url,
        "--server",
        SERVER,
        "--table",
        &format!("{SCHEMA}.{TABLE}"),
    ]);
    command.args(["--clients", &load.clients().to_string(), "--measure", &seconds.to_string()]);
    match load {
        ClientLoad::Closed(_) => command.arg("--closed-loop"),
        ClientLoad::Open(_) => command.args(["--rate", "1/s"]),
    };
    let ran = command.arg("--runs").arg(files).stdin(Stdio::null()).output()?;
    // 3: not all answers are known, which a pool that is too small causes.
    let words = if ran.stderr.is_empty() { &ran.stdout } else { &ran.stderr };
    ensure!(
        matches!(ran.status.code(), Some(0 | 3)),
        "truetps verify: {}: {}",
        ran.status,
        String::from_utf8_lossy(words)
    );
    Ok(())
}

fn build_service(root: &Path, files: &Path) -> anyhow::Result<PathBuf> {
    let program = files.join("service");
    let mut build = new_command(Path::new("go"));
    build
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(root.join("examples/clients-1000"));
    let built = build.output().context("go builds the service with a pool: https://go.dev/dl")?;
    ensure!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr));
    Ok(program)
}

impl ClientLoad {
    fn clients(self) -> u32 {
        match self {
            Self::Closed(clients) | Self::Open(clients) => clients,
        }
    }
}

/// A private server with a name and a TCP port, which is removed at the end.
struct BenchServer {
    truetps: PathBuf,
    port: u16,
}

impl BenchServer {
    fn start(truetps: &Path, disk: &str, settings: &[(String, String)]) -> anyhow::Result<Self> {
        let server = Self { truetps: truetps.to_owned(), port: free_port()? };
        server.command(&["add", SERVER])?;
        let port = server.port.to_string();
        let mut start =
            vec!["start", SERVER, "--port", &port, "--set", "innodb_flush_log_at_trx_commit=1"];
        let settings: Vec<_> =
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for setting in &settings {
            start.extend(["--set", setting]);
        }
        if disk != "native" {
            start.extend(["--disk", disk]);
        }
        server.command(&start)?;
        server.sql(&format!(
            "CREATE DATABASE {SCHEMA}; CREATE USER saver@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON {SCHEMA}.* TO saver@'127.0.0.1'; CREATE TABLE {SCHEMA}.{TABLE} (client \
             BIGINT NOT NULL, seq BIGINT NOT NULL, payload VARCHAR(1000) NOT NULL, PRIMARY KEY \
             (client, seq)) ENGINE=InnoDB"
        ))?;
        server.grow()?;
        Ok(server)
    }

    /// Fills the table once, more than the redo log is long: a log and a table that grow cost each
    /// commit a second flush of the disk, and on a server that has run for a day they do not grow.
    fn grow(&self) -> anyhow::Result<()> {
        self.sql(&format!("INSERT INTO {SCHEMA}.{TABLE} VALUES (0, 0, REPEAT('x', 300))"))?;
        for power in 0..ROWS_POWER {
            let (table, more) = (format!("{SCHEMA}.{TABLE}"), 1 << power);
            self.sql(&format!(
                "INSERT INTO {table} SELECT client + {more}, 0, payload FROM {table}"
            ))?;
        }
        Ok(())
    }

    /// The file of the table keeps its size.
    fn empty(&self) -> anyhow::Result<()> {
        self.sql(&format!("DELETE FROM {SCHEMA}.{TABLE}"))?;
        // Old versions of rows are removed in the background.
        let history = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = \
                       'trx_rseg_history_len'";
        wait_until(PURGE_TIME, "the end of the purge", || {
            let ran = new_command(&self.truetps)
                .args(["--quiet", "server", "sql", SERVER, history])
                .output()?;
            let text = String::from_utf8_lossy(&ran.stdout).into_owned();
            let length = text.split_whitespace().find_map(|word| word.parse::<u64>().ok());
            sleep(Duration::from_millis(200));
            Ok(length.is_some_and(|length| length < HISTORY_SHORT))
        })
    }

    fn sql(&self, sql: &str) -> anyhow::Result<()> {
        self.command(&["sql", SERVER, sql])
    }

    fn command(&self, args: &[&str]) -> anyhow::Result<()> {
        let ran = new_command(&self.truetps)
            .args(["--quiet", "server"])
            .args(args)
            .stdin(Stdio::null())
            .output()?;
        ensure!(
            ran.status.success(),
            "truetps server {}: {}",
            args[0],
            String::from_utf8_lossy(&ran.stderr)
        );
        Ok(())
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        for args in [["stop", SERVER], ["remove", SERVER]] {
            if let Err(error) = self.command(&args) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// The gateway, or a service with a pool.
struct ServiceProcess {
    child: Child,
    url: String,
}

impl ServiceProcess {
    fn start(service: &RowService, port: u16, files: &Path) -> anyhow::Result<Self> {
        match service {
            RowService::Gateway(program) => {
                let dsn = format!("mysql://saver@127.0.0.1:{port}/{SCHEMA}");
                let mut command = new_command(program);
                command.args([
                    "gateway",
                    "--dsn",
                    &dsn,
                    "--table",
                    TABLE,
                    "--listen",
                    "127.0.0.1:0",
                ]);
                command.env("TRUETPS_PASSWORD", PASSWORD);
                Self::gateway(command)
            }
            RowService::Pool { program, connections } => {
                let listen = format!("127.0.0.1:{}", free_port()?);
                let file = files.join("dsn");
                fs::write(&file, format!("saver:{PASSWORD}@tcp(127.0.0.1:{port})/{SCHEMA}"))?;
                let mut command = new_command(program);
                command
                    .args(["-listen", &listen, "-pool", &connections.to_string(), "-dsn-file"])
                    .arg(&file);
                let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
                let process = Self { child, url: format!("http://{listen}/rows") };
                wait_until(START_TIME, "the service's port", || {
                    Ok(TcpStream::connect(&listen).is_ok())
                })?;
                Ok(process)
            }
        }
    }

    /// It prints the address that it listens on.
    fn gateway(mut command: Command) -> anyhow::Result<Self> {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut process = Self { child, url: String::new() };
        let stderr = process.child.stderr.take().context("the gateway's messages")?;
        let mut said = String::new();
        for line in BufReader::new(stderr).lines() {
            let line = line?;
            if let Some((_, url)) = line.split_once(": http://") {
                process.url = format!("http://{url}");
                return Ok(process);
            }
            said = said + &line + "\n";
        }
        bail!("the gateway has ended: {said}")
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

struct GatewayComparison {
    disks: Vec<String>,
    pool: u32,
    has_other: bool,
}

impl BenchComparison for GatewayComparison {
    type Cell = GatewayCell;
    type Run = GatewayRun;
    const CELL: &'static [&'static str] = &["disk", "clients"];

    fn cell_words(&self, cell: GatewayCell) -> Vec<String> {
        let load = match cell.load {
            ClientLoad::Closed(clients) => format!("{clients}, closed loop"),
            ClientLoad::Open(clients) => format!("{clients} × 1/s"),
        };
        vec![self.disks[cell.disk].clone(), load]
    }

    fn programs(&self, _: GatewayCell) -> Vec<String> {
        let other = self.has_other.then(|| "gateway, other build".to_owned());
        std::iter::once("gateway".to_owned())
            .chain(other)
            .chain([format!("pool of {}", self.pool)])
            .collect()
    }

    fn columns(&self) -> Vec<FigureColumn<GatewayRun>> {
        vec![
            FigureColumn::compared("rows_per_s", "rows/s", [0, 2], |run| run.rows),
            FigureColumn::shown("p50_ms", "p50 ms", 1, |run| run.p50_ms),
            FigureColumn::compared("p99_ms", "p99 ms", [1, 3], |run| run.p99_ms),
            FigureColumn::compared("cpu_us_per_row", "service CPU µs a row", [1, 2], |run| {
                run.cpu_us_per_row
            }),
            FigureColumn::shown("rss_mb", "service memory MB", 0, |run| run.rss_mb),
        ]
    }

    fn ratio_title(&self) -> String {
        "Ratios to the service with a pool in the same round: geometric means [min..max], and the \
         95 % intervals of the means"
            .to_owned()
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        format!("{}, {}", geometric_spread(ratios, decimals), geometric_interval(ratios, decimals))
    }

    fn goal(&self, cell: GatewayCell, key: &str) -> Option<BenchGoal> {
        match (cell.load, key, self.disks[cell.disk].as_str()) {
            (ClientLoad::Closed(_), "rows_per_s", "native") => Some(BenchGoal::RatioAtLeast(3.0)),
            (ClientLoad::Closed(_), "rows_per_s", "flush-10ms") => {
                Some(BenchGoal::RatioAtLeast(40.0))
            }
            (ClientLoad::Closed(_), "cpu_us_per_row", _) => Some(BenchGoal::LargestAtMost(16.0)),
            (ClientLoad::Open(_), "p99_ms", "flush-10ms") => Some(BenchGoal::LargestAtMost(30.0)),
            (ClientLoad::Open(_), "p99_ms", "flush-60ms") => Some(BenchGoal::LargestAtMost(180.0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_of_their_disk_and_load() {
        let disks = ["native", "flush-10ms", "flush-60ms"].map(str::to_owned).to_vec();
        let comparison = GatewayComparison { disks, pool: 10, has_other: false };
        let goal = |disk, load, key| comparison.goal(GatewayCell { disk, load }, key);
        assert_eq!(
            goal(1, ClientLoad::Closed(1500), "rows_per_s"),
            Some(BenchGoal::RatioAtLeast(40.0))
        );
        assert_eq!(
            goal(0, ClientLoad::Closed(1500), "cpu_us_per_row"),
            Some(BenchGoal::LargestAtMost(16.0))
        );
        assert_eq!(
            goal(2, ClientLoad::Open(1000), "p99_ms"),
            Some(BenchGoal::LargestAtMost(180.0))
        );
        assert_eq!(goal(2, ClientLoad::Closed(1500), "p99_ms"), None);
        let cell = GatewayCell { disk: 1, load: ClientLoad::Open(1000) };
        assert_eq!(comparison.programs(cell), ["gateway", "pool of 10"]);
        assert_eq!(comparison.cell_words(cell), ["flush-10ms", "1000 × 1/s"]);
    }
}
