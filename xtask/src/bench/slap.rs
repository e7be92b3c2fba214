//! `bench slap`: `truetps slap` beside mariadb-slap and `truetps mtls` beside mtls-perf-bench, as neighbours in time.
//!
//! Each program runs a fixed number of queries from its start to its end. What is taken is observed from outside: the wall
//! time of the process, and the CPU time of it and of all processes that it has started.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use truetps_probe::clock;
use truetps_sandbox::ServerLoad;

use crate::bench::figures::{geometric_mean, geometric_spread, spread};
use crate::bench::lua::{at_least, at_most};
use crate::bench::options::{KeptOptions, PairOptions};
use crate::bench::private_server::PrivateServer;
use crate::bench::programs::{commit, new_command, output};
use crate::bench::report::{Side, host_line, result_folder, write_result};
use crate::bench::server::Server;

const INSERT: &str = "insert into t values (NULL,2,'sadasda')";
const INSERT_CREATE: &str = "create table t (id int auto_increment primary key, a int, b varchar(20))";
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

struct SlapRow {
    cell: SlapFigure,
    pair: u32,
    side: Side,
    taken: Result<SlapRunTime, String>,
}

pub(crate) fn run(root: &Path, options: &SlapBenchOptions) -> anyhow::Result<()> {
    let truetps = options.truetps.clone().unwrap_or_else(|| root.join("target/release/truetps"));
    let version = output("mariadb-slap", "mariadb-slap is in Debian's package mariadb-client")?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut settings = options.kept.settings.clone();
    for (name, value) in [("skip_networking", "OFF"), ("bind_address", "127.0.0.1"), ("port", &port.to_string())] {
        settings.push((name.to_owned(), value.to_owned()));
    }
    let load = ServerLoad { connections_max: 200, statements_per_connection: 2 };
    let mut server = PrivateServer::start_bare(load, &settings)?;
    server.execute("CREATE DATABASE tempdb")?;
    server.execute(&format!("CREATE USER {MTLS_USER}@'127.0.0.1' IDENTIFIED BY '{MTLS_USER}'"))?;
    server.execute(&format!("GRANT ALL ON tempdb.* TO {MTLS_USER}@'127.0.0.1'"))?;
    let about = format!(
        "# truetps slap and mtls beside mariadb-slap and mtls-perf-bench, on a private server\n\n- truetps{}\n- {}\n{}{}\
         - {} pairs for each row, in changing order; a run is a whole program: wall time, and CPU time of all its \
         processes\n- {}\n",
        commit(root),
        version.lines().next().unwrap_or_default(),
        server.describe(&options.kept.settings),
        host_line(),
        options.pairs.count,
        clock::now_rfc3339(),
    );
    println!("{about}");
    let mut rows = Vec::new();
    for cell in CELLS {
        if cell.work == Work::Mtls && options.mtls.is_none() {
            println!("{}: left out, --mtls names no program", cell.name());
            continue;
        }
        for pair in 0..options.pairs.count {
            let order = if pair.is_multiple_of(2) { [Side::Ours, Side::Theirs] } else { [Side::Theirs, Side::Ours] };
            for side in order {
                let programs = SlapPrograms { truetps: &truetps, mtls: options.mtls.as_deref(), port };
                let taken = programs.take(cell, side, &mut server).map_err(|error| format!("{error:#}"));
                let row = SlapRow { cell, pair, side, taken };
                println!("{}", line(&row));
                rows.push(row);
            }
        }
    }
    let tables = tables(&rows);
    println!("\n{tables}");
    if !options.kept.no_result {
        let folder = result_folder(root, "slap")?;
        write_result(&folder, &format!("{about}\n{tables}"), &csv(&rows))?;
        println!("kept in {}", folder.display());
    }
    Ok(())
}

struct SlapPrograms<'a> {
    truetps: &'a Path,
    mtls: Option<&'a Path>,
    port: u16,
}

impl SlapPrograms<'_> {
    fn take(&self, cell: SlapFigure, side: Side, server: &mut PrivateServer) -> anyhow::Result<SlapRunTime> {
        if cell.work == Work::Mtls {
            server.execute("DROP TABLE IF EXISTS tempdb.t")?;
            once(self.mtls(cell, side, "create")?)?;
        }
        let command =
            if cell.work == Work::Mtls { self.mtls(cell, side, "insert")? } else { self.slap(cell, side, server) };
        let pid = server.pid();
        let server_cpu = || truetps_probe::process_use(pid).map(|used| used.cpu).context("the server has ended");
        let (cpu_before, server_before, began) = (children_cpu()?, server_cpu()?, Instant::now());
        once(command)?;
        let seconds = began.elapsed().as_secs_f64();
        let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / cell.queries as f64;
        Ok(SlapRunTime {
            tps: cell.queries as f64 / seconds,
            client_us: us(children_cpu()?.saturating_sub(cpu_before)),
            server_us: us(server_cpu()?.saturating_sub(server_before)),
        })
    }

    fn slap(&self, cell: SlapFigure, side: Side, server: &PrivateServer) -> Command {
        let mut command = match side {
            Side::Ours => {
                let mut command = new_command(self.truetps);
                command.arg("slap");
                command
            }
            Side::Theirs => new_command("mariadb-slap"),
        };
        let (query, create) = match cell.work {
            Work::HotRow => (HOT_ROW, HOT_ROW_CREATE),
            Work::Insert | Work::Mtls => (INSERT, INSERT_CREATE),
        };
        command.args(["--no-defaults", "--user=root", "--delimiter=;"]);
        command.arg(format!("--socket={}", server.socket().display()));
        command.arg(format!("--query={query}")).arg(format!("--create={create}"));
        command.arg(format!("--concurrency={}", cell.clients)).arg(format!("--number-of-queries={}", cell.queries));
        if side == Side::Ours {
            command.arg("--runs=none");
        }
        command
    }

    fn mtls(&self, cell: SlapFigure, side: Side, action: &str) -> anyhow::Result<Command> {
        let mut command = match side {
            Side::Ours => {
                let mut command = new_command(self.truetps);
                command.args(["mtls", "--runs=none"]);
                command
            }
            Side::Theirs => new_command(self.mtls.context("no mtls-perf-bench")?),
        };
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
        bail!("{}: {}", ran.status, String::from_utf8_lossy(&said).lines().last().unwrap_or_default());
    }
    Ok(())
}

/// CPU time of all processes that have ended, with those that they had started: proc(5), `cutime` and `cstime`.
fn children_cpu() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    let ticks = parse_children(&text).context("/proc/self/stat has another form")?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

fn parse_children(stat: &str) -> Option<u64> {
    // The name may have spaces and brackets in it.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

fn program(work: Work, side: Side) -> &'static str {
    match (work, side) {
        (Work::Mtls, Side::Ours) => "truetps mtls",
        (_, Side::Ours) => "truetps slap",
        (Work::Mtls, Side::Theirs) => "mtls-perf-bench",
        (_, Side::Theirs) => "mariadb-slap",
    }
}

fn line(row: &SlapRow) -> String {
    let what = format!("{}, pair {}: {}", row.cell.name(), row.pair + 1, program(row.cell.work, row.side));
    match &row.taken {
        Ok(taken) => format!(
            "{what}: {:.0} tps, client {:.2} µs, server {:.1} µs a query",
            taken.tps, taken.client_us, taken.server_us
        ),
        Err(problem) => format!("{what}: no figure: {problem}"),
    }
}

fn tables(rows: &[SlapRow]) -> String {
    let mut text = String::from(
        "Ratios of neighbours, ours to theirs: geometric means [min..max]; goals are held against the means:\n\n\
         | what | tps | goal | client CPU a query | goal | server CPU a query | pairs |\n|---|---|---|---|---|---|---|\n",
    );
    for cell in CELLS {
        let of = |side, pair| {
            let found = rows.iter().find(|row| row.cell == cell && row.side == side && row.pair == pair)?;
            found.taken.as_ref().ok().copied()
        };
        let pairs: Vec<(SlapRunTime, SlapRunTime)> = rows
            .iter()
            .filter(|row| row.cell == cell && row.side == Side::Ours)
            .filter_map(|row| of(Side::Ours, row.pair).zip(of(Side::Theirs, row.pair)))
            .collect();
        let ratios = |figure: fn(&SlapRunTime) -> f64| -> Vec<f64> {
            pairs.iter().map(|(ours, theirs)| figure(ours) / figure(theirs)).collect()
        };
        let (tps, cpu) = (ratios(|taken| taken.tps), ratios(|taken| taken.client_us));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            cell.name(),
            geometric_spread(&tps, 2),
            at_least(1.0, geometric_mean(&tps)),
            geometric_spread(&cpu, 2),
            at_most(cell.cpu_goal, geometric_mean(&cpu)),
            geometric_spread(&ratios(|taken| taken.server_us), 2),
            pairs.len(),
        );
    }
    text += "\nFigures of each, medians [min..max]:\n\n| what | program | tps | client CPU µs a query | server CPU µs a query |\n\
             |---|---|---|---|---|\n";
    for cell in CELLS {
        for side in [Side::Ours, Side::Theirs] {
            let taken: Vec<SlapRunTime> = rows
                .iter()
                .filter(|row| row.cell == cell && row.side == side)
                .filter_map(|row| row.taken.as_ref().ok().copied())
                .collect();
            let all = |figure: fn(&SlapRunTime) -> f64| taken.iter().map(figure).collect::<Vec<_>>();
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                cell.name(),
                program(cell.work, side),
                spread(&all(|taken| taken.tps), 0),
                spread(&all(|taken| taken.client_us), 2),
                spread(&all(|taken| taken.server_us), 1),
            );
        }
    }
    text
}

fn csv(rows: &[SlapRow]) -> String {
    let mut text = String::from("what,program,pair,tps,client_us_per_query,server_us_per_query,problem\n");
    for row in rows {
        let (figures, problem) = match &row.taken {
            Ok(taken) => (format!("{:.1},{:.3},{:.2}", taken.tps, taken.client_us, taken.server_us), ""),
            Err(problem) => (",,".to_owned(), problem.as_str()),
        };
        let name = program(row.cell.work, row.side);
        let _ = writeln!(
            text,
            "\"{}\",{name},{},{figures},\"{}\"",
            row.cell.name(),
            row.pair + 1,
            problem.replace('"', "'")
        );
    }
    text
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
