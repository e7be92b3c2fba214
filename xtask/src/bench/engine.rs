//! The engine beside Debian's sysbench: `oltp_insert`, text protocol, one table, on a private server.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use truetps_driver::{Client, Dialect};
use truetps_record::SettingValue;
use truetps_sandbox::{
    Catalogue, Home, Needs, RunningServer, Sandbox, SandboxOptions, ServerLoad, Settings, StartOptions,
    chosen_settings, find, raise_open_files,
};

use crate::bench::client::{SCHEMA, TABLE_ROWS, workload_spec};
use crate::bench::report::{Pair, Report};
use crate::bench::sample::{Sample, take};

const CONNECTIONS: [u32; 3] = [8, 64, 1000];

pub(crate) struct Options {
    pub(crate) pairs: u32,
    pub(crate) window: Duration,
    pub(crate) keep: bool,
    pub(crate) settings: Vec<(String, String)>,
}

impl Options {
    fn parse(args: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self { pairs: 5, window: Duration::from_secs(3), keep: true, settings: Vec::new() };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match *word {
                "--pairs" => options.pairs = value()?.parse().context("--pairs")?,
                "--seconds" => options.window = Duration::from_secs_f64(value()?.parse().context("--seconds")?),
                "--set" => {
                    let (name, level) = value()?.split_once('=').context("--set NAME=VALUE")?;
                    options.settings.push((name.to_owned(), level.to_owned()));
                }
                "--dry" => options.keep = false,
                other => bail!("unknown option {other}"),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse(args)?;
    let sysbench = sysbench_version()?;
    let home = Home::open(None)?;
    let binary = find(None, None, home.user())?;
    let memory = truetps_probe::host_facts(home.path(), None).memory_bytes;
    let most = CONNECTIONS[CONNECTIONS.len() - 1];
    let chosen = Catalogue::ask(&binary, home.user())?.keep_known(chosen_settings(
        memory,
        ServerLoad { connections_max: most, statements_per_connection: 1 },
        binary.flavour,
        binary.version,
    ));
    let mut settings = Settings::new(&chosen);
    // No flush and no binlog: the server is as fast as it can be, so that the generator shows.
    settings.set("innodb_flush_log_at_trx_commit", SettingValue::Int(0));
    for (name, level) in &options.settings {
        settings.set(name, SettingValue::Text(level.clone()));
    }
    raise_open_files(&Needs::of(&settings))?;
    let sandbox = Sandbox::create(&home, &binary, &SandboxOptions { settings: settings.clone(), data_bytes: 1 << 30 })?;
    let server = sandbox.start(&StartOptions::new(settings))?;
    let mut client = Client::connect_unix(server.socket(), "root", None, Duration::from_mins(1))?;
    load(&mut client)?;
    let threading = client.query_value("SELECT @@GLOBAL.thread_handling")?.unwrap_or_default();
    let mut report = Report::new(&binary.version_text, &threading, &sysbench, &options);
    println!("{}", report.head());
    for connections in CONNECTIONS {
        for n in 0..options.pairs {
            let pair = pair(n, connections, options.window, &server, &mut client)?;
            println!("{}", report.add(connections, pair));
        }
    }
    println!("\n{}", report.table());
    if options.keep {
        println!("kept in {}", report.keep(root)?.display());
    }
    Ok(())
}

/// The two programs as neighbours; who comes first changes from pair to pair.
fn pair(
    n: u32,
    connections: u32,
    window: Duration,
    server: &RunningServer,
    client: &mut Client,
) -> anyhow::Result<Pair> {
    let mut ours = None;
    let mut theirs = None;
    for turn in 0..2 {
        if (turn + n).is_multiple_of(2) {
            ours = Some(take(our_command(server, connections)?, connections, window, server, client)?);
        } else {
            theirs = Some(take(sysbench_command(server, connections), connections, window, server, client)?);
        }
    }
    let both: Option<(Sample, Sample)> = ours.zip(theirs);
    let (ours, theirs) = both.context("a pair has two")?;
    Ok(Pair { ours, theirs })
}

fn load(client: &mut Client) -> anyhow::Result<()> {
    let workload = truetps_workload::build(&workload_spec(), Dialect::Mysql, 1)?;
    client.execute(&format!("CREATE DATABASE {SCHEMA}"))?;
    client.execute(&format!("USE {SCHEMA}"))?;
    for table in workload.tables() {
        for sql in table.create_sql() {
            client.execute(sql)?;
        }
    }
    Ok(())
}

/// Long enough for any window; it is ended when that is over.
const RUN_SECONDS: &str = "600";

#[expect(clippy::disallowed_methods, reason = "a benchmark starts the programs that it compares")]
fn our_command(server: &RunningServer, connections: u32) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench-client").arg(server.socket()).args([&connections.to_string(), RUN_SECONDS, "text"]);
    Ok(command)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark starts the programs that it compares")]
fn sysbench_command(server: &RunningServer, connections: u32) -> Command {
    let mut command = Command::new("sysbench");
    command
        .arg("oltp_insert")
        .arg(format!("--mysql-socket={}", server.socket().display()))
        .args(["--mysql-user=root", &format!("--mysql-db={SCHEMA}"), &format!("--table-size={TABLE_ROWS}")])
        .args([&format!("--threads={connections}"), &format!("--time={RUN_SECONDS}"), "run"]);
    command
}

#[expect(clippy::disallowed_methods, reason = "a benchmark starts the programs that it compares")]
fn sysbench_version() -> anyhow::Result<String> {
    let output = Command::new("sysbench").arg("--version").output();
    let output = output.context("sysbench is needed: apt-get install --no-install-recommends sysbench")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
