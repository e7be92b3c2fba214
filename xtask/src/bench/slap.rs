//! `bench slap`: `truetps slap` beside mariadb-slap and `truetps mtls` beside mtls-perf-bench, as
//! neighbours in time.
//!
//! Each program runs a fixed number of queries from its start to its end. What is taken is observed
//! from outside: the wall time of the process, and the CPU time of it and of all processes that it
//! has started.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use truetps_sandbox::ServerLoad;

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::goals::BenchGoal;
use crate::bench::options::{KeptOptions, PairOptions};
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{commit, new_command, output};
use crate::bench::sample::Server;

const INSERT: &str = "insert into t values (NULL,2,'sadasda')";
const INSERT_CREATE: &str =
    "create table t (id int auto_increment primary key, a int, b varchar(20))";
const HOT_ROW: &str = "UPDATE goods SET cnt=cnt-1 WHERE ID=1";
const HOT_ROW_CREATE: &str =
    "create table goods (id int primary key, cnt int); insert into goods values (1, 100000000)";
const MTLS_USER: &str = "mtls";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Insert,
    HotRow,
    Mtls,
}

/// A row of the table: what, by how many clients, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SlapFigure {
    work: Work,
    clients: u32,
    queries: u64,
    /// Ratio of client CPU a query, at most.
    cpu_goal: f64,
}

const CELLS: [SlapFigure; 5] = [
    SlapFigure { work: Work::Insert, clients: 50, queries: 100_000, cpu_goal: 0.6 },
    SlapFigure { work: Work::Insert, clients: 100, queries: 100_000, cpu_goal: 0.6 },
    SlapFigure { work: Work::HotRow, clients: 50, queries: 40_000, cpu_goal: 0.6 },
    SlapFigure { work: Work::HotRow, clients: 100, queries: 40_000, cpu_goal: 0.6 },
    SlapFigure { work: Work::Mtls, clients: 8, queries: 20_000, cpu_goal: 0.1 },
];

impl SlapFigure {
    fn name(&self) -> String {
        let word = match self.work {
            Work::Insert => "slap, insert",
            Work::HotRow => "slap, hot row",
            Work::Mtls => "mtls, insert",
        };
        format!("{word}, {} clients", self.clients)
    }
}

#[derive(Debug, Parser)]
pub(crate) struct SlapBenchOptions {
    #[command(flatten)]
    pairs: PairOptions,
    /// This program [default: target/release/truetps]
    #[arg(long, value_name = "PATH")]
    truetps: Option<PathBuf>,
    /// mtls-perf-bench, which is in no package: without it its row is left out
    #[arg(long, value_name = "PATH")]
    mtls: Option<PathBuf>,
    #[command(flatten)]
    kept: KeptOptions,
}

/// One run of a program.
#[derive(Debug, Clone, Copy)]
struct SlapRunTime {
    tps: f64,
    client_us: f64,
    server_us: f64,
}

pub(crate) fn run(root: &Path, options: &SlapBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    let version = output("mariadb-slap", "mariadb-slap is in Debian's package mariadb-client")?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut settings = options.kept.settings.clone();
    for (name, value) in
        [("skip_networking", "OFF"), ("bind_address", "127.0.0.1"), ("port", &port.to_string())]
    {
        settings.push((name.to_owned(), value.to_owned()));
    }
    let load = ServerLoad { connections_max: 200, statements_per_connection: 2 };
    let mut server = PrivateServer::start_bare(None, load, &settings)?;
    server.client.execute("CREATE DATABASE tempdb")?;
    server
        .client
        .execute(&format!("CREATE USER {MTLS_USER}@'127.0.0.1' IDENTIFIED BY '{MTLS_USER}'"))?;
    server.client.execute(&format!("GRANT ALL ON tempdb.* TO {MTLS_USER}@'127.0.0.1'"))?;
    let about = format!(
        "- truetps{}\n- {}\n{}- {} rounds for each row, in changing order; a run is a whole \
         program: wall time, and CPU time of all its processes\n",
        commit(root),
        version.lines().next().unwrap_or_default(),
        server.describe(&options.kept.settings),
        options.pairs.count,
    );
    let title =
        "truetps slap and mtls beside mariadb-slap and mtls-perf-bench, on a private server";
    let mut table = RunTable::new(SlapComparison, title, &about, options.kept.folder(root, "slap"));
    for cell in CELLS {
        if cell.work == Work::Mtls && options.mtls.is_none() {
            println!("{}: left out, --mtls names no program", cell.name());
            continue;
        }
        let programs = SlapPrograms { truetps: &truetps, mtls: options.mtls.as_deref(), port };
        table.measure(cell, 0..options.pairs.count, |program| {
            Ok(programs.measure_run(cell, program == 0, &mut server))
        })?;
    }
    table.end();
    Ok(())
}

struct SlapComparison;

impl BenchComparison for SlapComparison {
    type Cell = SlapFigure;
    type Run = SlapRunTime;
    const CELL: &'static [&'static str] = &["what"];

    fn cell_words(&self, cell: SlapFigure) -> Vec<String> {
        vec![cell.name()]
    }

    fn programs(&self, cell: SlapFigure) -> Vec<String> {
        let names = match cell.work {
            Work::Mtls => ["truetps mtls", "mtls-perf-bench"],
            Work::Insert | Work::HotRow => ["truetps slap", "mariadb-slap"],
        };
        names.map(str::to_owned).to_vec()
    }

    fn columns(&self) -> Vec<FigureColumn<SlapRunTime>> {
        vec![
            FigureColumn::compared("tps", "tps", [0, 2], |run| run.tps),
            FigureColumn::compared("client_us", "client CPU µs a query", [2, 2], |run| {
                run.client_us
            }),
            FigureColumn::compared("server_us", "server CPU µs a query", [1, 2], |run| {
                run.server_us
            }),
        ]
    }

    fn ratio_title(&self) -> String {
        "Ratios of neighbours: geometric means [min..max]; goals are held against the means"
            .to_owned()
    }

    fn goal(&self, cell: SlapFigure, key: &str) -> Option<BenchGoal> {
        match key {
            "tps" => Some(BenchGoal::RatioAtLeast(1.0)),
            "client_us" => Some(BenchGoal::RatioAtMost(cell.cpu_goal)),
            _ => None,
        }
    }
}

struct SlapPrograms<'a> {
    truetps: &'a Path,
    mtls: Option<&'a Path>,
    port: u16,
}

impl SlapPrograms<'_> {
    fn measure_run(
        &self,
        cell: SlapFigure,
        is_ours: bool,
        server: &mut PrivateServer,
    ) -> anyhow::Result<SlapRunTime> {
        if cell.work == Work::Mtls {
            server.client.execute("DROP TABLE IF EXISTS tempdb.t")?;
            once(self.mtls(cell, is_ours, "create")?)?;
        }
        let command = if cell.work == Work::Mtls {
            self.mtls(cell, is_ours, "insert")?
        } else {
            self.slap(cell, is_ours, server)
        };
        let pid = server.pid();
        let (cpu_before, server_before, began) =
            (children_cpu()?, server_cpu(pid)?, Instant::now());
        once(command)?;
        let seconds = began.elapsed().as_secs_f64();
        let queries = cell.queries as f64;
        Ok(SlapRunTime {
            tps: queries / seconds,
            client_us: micros(children_cpu()?.saturating_sub(cpu_before)) / queries,
            server_us: micros(server_cpu(pid)?.saturating_sub(server_before)) / queries,
        })
    }

    fn slap(&self, cell: SlapFigure, is_ours: bool, server: &PrivateServer) -> Command {
        let mut command =
            new_command(if is_ours { self.truetps } else { Path::new("mariadb-slap") });
        if is_ours {
            command.args(["slap", "--runs=none"]);
        }
        let (query, create) = match cell.work {
            Work::HotRow => (HOT_ROW, HOT_ROW_CREATE),
            Work::Insert | Work::Mtls => (INSERT, INSERT_CREATE),
        };
        command.args(["--no-defaults", "--user=root", "--delimiter=;"]);
        command.arg(format!("--socket={}", server.socket().display()));
        command.arg(format!("--query={query}")).arg(format!("--create={create}"));
        command
            .arg(format!("--concurrency={}", cell.clients))
            .arg(format!("--number-of-queries={}", cell.queries));
        command
    }

    fn mtls(&self, cell: SlapFigure, is_ours: bool, action: &str) -> anyhow::Result<Command> {
        let mut command = new_command(if is_ours {
            self.truetps
        } else {
            self.mtls.context("no mtls-perf-bench")?
        });
        if is_ours {
            command.args(["mtls", "--runs=none"]);
        }
        command.args(["--ints=4", "--floats=2", "--varchars=2", action]);
        command.arg(format!("--port={}", self.port));
        command.arg(format!("--user={MTLS_USER}")).arg(format!("--password={MTLS_USER}"));
        command.arg(format!("--parallel={}", cell.clients)).arg(format!("--rows={}", cell.queries));
        Ok(command)
    }
}

/// Runs a program to its end.
fn once(mut command: Command) -> anyhow::Result<()> {
    let ran = command.stdin(Stdio::null()).output().context("starting the program")?;
    if !ran.status.success() {
        let said = [ran.stdout, ran.stderr].concat();
        bail!(
            "{}: {}",
            ran.status,
            String::from_utf8_lossy(&said).lines().last().unwrap_or_default()
        );
    }
    Ok(())
}

/// CPU time of all processes that have ended, with those that they had started: proc(5), `cutime`
/// and `cstime`.
fn children_cpu() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    let ticks = parse_children(&text).context("/proc/self/stat has another form")?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

fn server_cpu(pid: u32) -> anyhow::Result<Duration> {
    truetps_probe::process_use(pid).map(|used| used.cpu).context("the server has ended")
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn parse_children(stat: &str) -> Option<u64> {
    // The name may have spaces and brackets in it.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_of_children_is_read_behind_the_name() {
        let stat = "1 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 30 12 20 0";
        assert_eq!(parse_children(stat), Some(42));
        assert_eq!(parse_children("1 (a"), None);
        let before = children_cpu().unwrap();
        assert!(before < Duration::from_hours(1));
    }
}
