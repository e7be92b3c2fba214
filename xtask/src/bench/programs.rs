//! The programs that are compared, and how each is started with the same load: one INSERT of one
//! row a transaction, into one table of sysbench's shape.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use truetps_record::{DriveMode, Protocol, SqlDialect};
use truetps_workload::RandomStream;

use crate::bench::client::{SCHEMA, TABLE_ROWS};
use crate::bench::options::{parse_word, word};

/// Long enough for any window, and for the slowest start; a run is ended when its window is over.
const RUN_SECONDS: &str = "3600";

/// The reference client has a workspace and a lock file of its own, so that nothing of it comes
/// near the product's dependencies.
const REFERENCE_TARGET: &str = "target/reference-client";

/// How the engine of truetps drives its clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct DriveChoice {
    /// auto, blocking or multiplexed
    #[arg(long, default_value = "auto", value_parser = parse_word::<DriveMode>)]
    pub(crate) mode: DriveMode,
    /// Worker threads [default: half of the cores]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    Truetps(DriveChoice),
    /// Another build of `xtask`: the same engine before a change.
    Build(PathBuf),
    Sysbench,
    Mysqlslap,
    MysqlAsync,
}

/// What a program is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BenchLoad<'a> {
    /// The engine of truetps also takes HOST:PORT.
    pub(crate) socket: &'a Path,
    pub(crate) connections: u32,
    pub(crate) protocol: Protocol,
    /// Folder for files that a program reads.
    pub(crate) files: &'a Path,
}

/// The value of `--against`; `None` is `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Against(pub(crate) Option<Program>);

impl Against {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let program = match text.split_once(':') {
            None if text == "none" => return Ok(Self(None)),
            None if text == "sysbench" => Program::Sysbench,
            None if text == "mysqlslap" => Program::Mysqlslap,
            None if text == "mysql_async" => Program::MysqlAsync,
            Some(("build", path)) => Program::Build(path.into()),
            Some(("self", drive)) => {
                let (mode, workers) =
                    drive.split_once(':').map_or((drive, None), |(mode, n)| (mode, Some(n)));
                let workers =
                    workers.map(|n| n.parse().map_err(|_| "not self:MODE:WORKERS")).transpose()?;
                Program::Truetps(DriveChoice { mode: parse_word(mode)?, workers })
            }
            _ => {
                let known =
                    "sysbench, mysqlslap, mysql_async, self:MODE[:WORKERS], build:PATH, none";
                return Err(format!("not one of {known}"));
            }
        };
        Ok(Self(Some(program)))
    }
}

impl Program {
    /// A short name, for tables.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Truetps(DriveChoice { mode: DriveMode::Auto, workers: None }) => {
                "truetps".to_owned()
            }
            Self::Truetps(DriveChoice { mode, workers: None }) => format!("truetps {}", word(mode)),
            Self::Truetps(DriveChoice { mode, workers: Some(n) }) => {
                format!("truetps {} ×{n}", word(mode))
            }
            Self::Build(_) => "truetps, other build".to_owned(),
            Self::Sysbench => "sysbench".to_owned(),
            Self::Mysqlslap => "mysqlslap".to_owned(),
            Self::MysqlAsync => "mysql_async".to_owned(),
        }
    }

    /// Sessions beside those that send the load.
    pub(crate) fn extra_sessions(&self) -> u32 {
        // mysqlslap's first connection makes the schema, and stays.
        u32::from(*self == Self::Mysqlslap)
    }

    /// Makes sure that the program is there, and says what it is and what it does differently.
    pub(crate) fn describe(&self, root: &Path) -> anyhow::Result<String> {
        Ok(match self {
            Self::Truetps(_) => format!("{}: this tree{}", self.name(), commit(root)),
            Self::Build(path) => format!("{}: {}", self.name(), path.display()),
            Self::Sysbench => {
                let version =
                    output("sysbench", "apt-get install --no-install-recommends sysbench")?;
                format!(
                    "{version}: `oltp_insert`; for prepared statements the script \
                     `xtask/src/bench/prepared_insert.lua`"
                )
            }
            Self::Mysqlslap => {
                let version = output(
                    "mariadb-slap",
                    "apt-get install --no-install-recommends mariadb-client",
                )?;
                format!(
                    "{version}: makes no rows of its own; it sends the same {SLAP_STATEMENTS} \
                     texts again and again, every client in the same order, so that it spends \
                     nothing on making values"
                )
            }
            Self::MysqlAsync => {
                let args = [
                    "--manifest-path",
                    "bench/reference-client/Cargo.toml",
                    "--target-dir",
                    REFERENCE_TARGET,
                ];
                build_release("bench/reference-client", root, &args)?;
                "mysql_async: `bench/reference-client`, one tokio thread, one task a connection"
                    .to_owned()
            }
        })
    }

    pub(crate) fn command(&self, root: &Path, load: &BenchLoad<'_>) -> anyhow::Result<Command> {
        Ok(match self {
            Self::Truetps(drive) => our_command(&std::env::current_exe()?, *drive, load),
            Self::Build(path) => our_command(path, DriveChoice::default(), load),
            Self::Sysbench => sysbench_command(load)?,
            Self::Mysqlslap => mysqlslap_command(load)?,
            Self::MysqlAsync => {
                let mut command =
                    new_command(root.join(REFERENCE_TARGET).join("release/reference-client"));
                command
                    .arg(load.socket)
                    .args([&load.connections.to_string(), &word(load.protocol)]);
                command
            }
        })
    }
}

fn our_command(exe: &Path, drive: DriveChoice, load: &BenchLoad<'_>) -> Command {
    let mut command = new_command(exe);
    command.arg("bench-client").arg(load.socket).args([&load.connections.to_string(), RUN_SECONDS]);
    command.args(["--protocol", &word(load.protocol), "--mode", &word(drive.mode)]);
    if let Some(workers) = drive.workers {
        command.args(["--workers", &workers.to_string()]);
    }
    command
}

fn sysbench_command(load: &BenchLoad<'_>) -> anyhow::Result<Command> {
    let mut command = new_command("sysbench");
    match load.protocol {
        Protocol::Text => command.arg("oltp_insert"),
        Protocol::Prepared => {
            let script = load.files.join("prepared_insert.lua");
            fs::write(&script, include_str!("prepared_insert.lua"))?;
            command.arg(script)
        }
    };
    command
        .arg(format!("--mysql-socket={}", load.socket.display()))
        .args(["--mysql-user=root", &format!("--mysql-db={SCHEMA}")])
        .arg(format!("--table-size={TABLE_ROWS}"))
        .args([
            &format!("--threads={}", load.connections),
            &format!("--time={RUN_SECONDS}"),
            "run",
        ]);
    Ok(command)
}

/// Enough that no two neighbours are alike, and few enough that they stay in a cache.
const SLAP_STATEMENTS: usize = 1000;
/// From one to the next in the secondary index, modulo their number: neighbours in the index would
/// cost the server less than the random places of other programs.
const SLAP_STRIDE: usize = 379;
/// More than any window can take.
const SLAP_QUERIES: &str = "2000000000";

fn mysqlslap_command(load: &BenchLoad<'_>) -> anyhow::Result<Command> {
    let file = load.files.join("mysqlslap.sql");
    fs::write(&file, slap_statements()?)?;
    let mut command = new_command("mariadb-slap");
    command
        .args([
            "--no-defaults",
            "--user=root",
            "--silent",
            "--no-drop",
            "--skip-ssl",
            "--delimiter=;",
        ])
        .arg(format!("--socket={}", load.socket.display()))
        .arg(format!("--create-schema={SCHEMA}"))
        .arg(format!("--query={}", file.display()))
        .args([
            format!("--concurrency={}", load.connections),
            format!("--number-of-queries={SLAP_QUERIES}"),
        ]);
    Ok(command)
}

/// The statements of the workload `insert` as text, with values written out.
fn slap_statements() -> anyhow::Result<String> {
    let workload = truetps_workload::build(
        &crate::bench::client::workload_spec(Protocol::Text),
        SqlDialect::Mysql,
        1,
    )?;
    let table = workload.tables().first().context("the workload has a table")?.name.clone();
    let mut random = RandomStream::new(1, 0);
    let mut digits = |groups| {
        let mut bytes = Vec::new();
        random.put_digit_groups(groups, &mut bytes);
        String::from_utf8(bytes)
    };
    let mut text = String::new();
    for n in 0..SLAP_STATEMENTS {
        let place = n * SLAP_STRIDE % SLAP_STATEMENTS;
        let k = place as u64 * TABLE_ROWS / SLAP_STATEMENTS as u64 + 1;
        let (c, pad) = (digits(10)?, digits(5)?);
        writeln!(text, "INSERT INTO {table} (id, k, c, pad) VALUES (0, {k}, '{c}', '{pad}');")?;
    }
    Ok(text)
}

/// Builds a program of the tree, with these arguments besides.
pub(crate) fn build_release(what: &str, root: &Path, args: &[&str]) -> anyhow::Result<()> {
    let mut command = new_command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--locked", "--quiet"]).args(args).current_dir(root);
    if !command.status().context("running cargo")?.success() {
        bail!("{what} could not be built");
    }
    Ok(())
}

pub(crate) fn output(program: &str, remedy: &str) -> anyhow::Result<String> {
    let output = new_command(program).arg("--version").output();
    let output = output.with_context(|| format!("{program} is needed: {remedy}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn commit(root: &Path) -> String {
    let id = git(root, &["rev-parse", "--short", "HEAD"]);
    let changed =
        if git(root, &["status", "--porcelain"]).is_empty() { "" } else { " with changes" };
    if id.is_empty() { id } else { format!(", commit {id}{changed}") }
}

/// Nothing if there is no repository.
fn git(root: &Path, args: &[&str]) -> String {
    let output = new_command("git").args(args).current_dir(root).output();
    output.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark starts the programs that it compares")]
pub(crate) fn new_command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysqlslap_gets_rows_of_the_same_shape() {
        let text = slap_statements().unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), SLAP_STATEMENTS);
        // c has ten groups of eleven digits, pad has five.
        assert!(
            lines.iter().all(|line| line.matches('-').count() == 9 + 4 && line.ends_with(");"))
        );
        assert!(
            lines[0].starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 1, '"),
            "{}",
            lines[0]
        );
    }
}
