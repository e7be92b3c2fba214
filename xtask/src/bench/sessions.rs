//! `bench sessions`: how long the engine takes to connect many sessions to null servers, and how
//! much memory they hold, at first and later. More sessions than a process may have open files are
//! divided among processes: each client process has a null server process of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, value_parser};
use serde::{Deserialize, Serialize};
use truetps_driver::Endpoint;
use truetps_probe::process_use;
use truetps_sandbox::{HostLimits, Needs, raise_open_files};

use crate::bench::comparison::{BenchComparison, FigureColumn, RunTable};
use crate::bench::null::{CLIENT_CORE, SERVER_CORE};
use crate::bench::null_server::NullServer;
use crate::bench::options::{KeptOptions, PairOptions, parse_word, seconds, starts_a_second, word};
use crate::bench::pin::pinned;
use crate::bench::private_server::with_hint;
use crate::bench::programs::new_command;
use crate::bench::sample::{SETTLE, SampleLook, Server, check_alive, start_timeout, wait_until};

/// Open files of a process besides its sessions.
const OTHER_FILES: u64 = 256;
/// A client's measure phase: the bench ends it.
const LONG_S: &str = "1000000";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SessionWay {
    Unix,
    Tcp,
}

#[derive(Debug, Parser)]
pub(crate) struct SessionsOptions {
    /// Numbers of sessions, with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1000,10000,50000", value_parser = value_parser!(u32).range(1..))]
    connections: Vec<u32>,
    /// unix, tcp, or both with a comma
    #[arg(long = "way", value_delimiter = ',', default_value = "unix,tcp", value_parser = parse_word::<SessionWay>)]
    ways: Vec<SessionWay>,
    /// Starts a second of all sessions together
    #[arg(long, default_value = "1000", value_parser = starts_a_second)]
    rate: f64,
    #[command(flatten)]
    pairs: PairOptions,
    #[command(flatten)]
    kept: KeptOptions,
    /// Seconds between the first and the last reading of memory
    #[arg(long = "seconds", value_name = "S", default_value = "10", value_parser = seconds)]
    window: Duration,
}

pub(crate) fn run(root: &Path, options: &SessionsOptions) -> anyhow::Result<()> {
    let by_files = sessions_of_a_process(options.connections.iter().copied().max().unwrap_or(1))?;
    let by_ports = sessions_of_an_address();
    let about = format!(
        "- {} starts a second of all sessions together, one INSERT each, as text; {} runs of {} \
         s\n- null servers on core {SERVER_CORE}, the engine on core {CLIENT_CORE}; at most \
         {by_files} sessions a process, because of the limit of open files, and by TCP at most \
         {by_ports}, half of the local ports\n- connecting: from the start of the first process \
         until the servers count all sessions, logged in or about to be\n",
        options.rate,
        options.pairs.count,
        options.window.as_secs_f64(),
    );
    let title = "Many sessions: time to connect, and memory";
    let mut table =
        RunTable::new(ManySessions, title, &about, options.kept.folder(root, "sessions"));
    for way in options.ways.iter().copied() {
        let per_process = if way == SessionWay::Tcp { by_files.min(by_ports) } else { by_files };
        for connections in options.connections.iter().copied() {
            table.measure((way, connections), 0..options.pairs.count, |_| {
                let parts = SessionParts::start(way, &shares(connections, per_process))?;
                Ok(parts.measure(options.rate, options.window))
            })?;
        }
    }
    table.end();
    Ok(())
}

/// Raises the limit of open files, for this many if that is possible.
fn sessions_of_a_process(connections: u32) -> anyhow::Result<u32> {
    let hard = HostLimits::read().open_files.1.unwrap_or(u64::MAX);
    let possible = u64::from(connections).min(hard.saturating_sub(OTHER_FILES)).max(1);
    let needs = Needs { connections: possible, other_files: OTHER_FILES, ..Needs::default() };
    raise_open_files(&needs).map_err(with_hint)?;
    Ok(u32::try_from(possible)?)
}

/// The kernel looks for free ports in one half of the range first. When they are taken, each new
/// connection searches all of them in vain: 16,667 sessions with one server took 10 s, and 14,000
/// 1.5 s.
fn sessions_of_an_address() -> u32 {
    let ports = HostLimits::read().local_ports.unwrap_or(u64::from(u16::MAX));
    u32::try_from(ports / 2).unwrap_or(u32::MAX).max(1)
}

/// As few as possible, equal up to one.
fn shares(connections: u32, per_process: u32) -> Vec<u32> {
    let parts = connections.div_ceil(per_process);
    (0..parts).map(|part| connections / parts + u32::from(part < connections % parts)).collect()
}

/// Servers, each with its share of the sessions.
struct SessionParts(Vec<SessionPart>);

struct SessionPart {
    server: NullServer,
    endpoint: Endpoint,
    sessions: u32,
}

/// Client processes, ended when they are dropped.
struct SessionClients(Vec<Child>);

impl Drop for SessionClients {
    fn drop(&mut self) {
        for client in &mut self.0 {
            // It may have ended by itself.
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

impl SessionParts {
    fn start(way: SessionWay, shares: &[u32]) -> anyhow::Result<Self> {
        let mut parts = Vec::new();
        for sessions in shares.iter().copied() {
            let mut server = NullServer::start(SERVER_CORE)?;
            let endpoint = match way {
                SessionWay::Unix => Endpoint::Unix(server.socket().to_owned()),
                SessionWay::Tcp => server.tcp_endpoint()?,
            };
            parts.push(SessionPart { server, endpoint, sessions });
        }
        Ok(Self(parts))
    }

    fn measure(mut self, rate: f64, window: Duration) -> anyhow::Result<SessionsRun> {
        let began = Instant::now();
        let rate = rate / self.0.len() as f64;
        let mut clients = SessionClients(Vec::new());
        for part in &self.0 {
            let client =
                pinned(part.client(rate)?, Some(CLIENT_CORE))?.stdout(Stdio::null()).spawn();
            clients.0.push(client.context("starting the engine")?);
        }
        let sessions = self.0.iter().map(|part| part.sessions).sum();
        wait_until(start_timeout(sessions), &format!("{sessions} sessions"), || {
            clients.0.iter_mut().try_for_each(check_alive)?;
            self.all_connected()
        })?;
        let connect_s = began.elapsed().as_secs_f64();
        sleep(SETTLE);
        let first_rss_bytes = clients.rss_bytes()?;
        let first = self.look(&clients)?;
        sleep(window);
        let last = self.look(&clients)?;
        let mut run = SessionsRun {
            processes: clients.0.len(),
            connect_s,
            first_rss_bytes,
            last_rss_bytes: clients.rss_bytes()?,
            tps: 0.0,
            client_cores: 0.0,
        };
        for (first, last) in first.iter().zip(&last) {
            let sample = first.until(last)?;
            run.tps += sample.tps;
            run.client_cores += sample.client_cores;
        }
        anyhow::ensure!(self.all_connected()?, "sessions were lost");
        Ok(run)
    }

    fn all_connected(&mut self) -> anyhow::Result<bool> {
        for part in &mut self.0 {
            if part.server.sessions()? < u64::from(part.sessions) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn look(&mut self, clients: &SessionClients) -> anyhow::Result<Vec<SampleLook>> {
        self.0
            .iter_mut()
            .zip(&clients.0)
            .map(|(part, client)| SampleLook::now(client.id(), &mut part.server))
            .collect()
    }
}

impl SessionPart {
    fn client(&self, rate: f64) -> anyhow::Result<Command> {
        let mut command = new_command(std::env::current_exe()?);
        command.args([
            "bench-client",
            &self.endpoint.to_string(),
            &self.sessions.to_string(),
            LONG_S,
        ]);
        command.args(["--rate", &rate.to_string()]);
        Ok(command)
    }
}

impl SessionClients {
    fn rss_bytes(&self) -> anyhow::Result<u64> {
        let used = self.0.iter().map(|client| {
            process_use(client.id()).context("a client has ended").map(|used| used.rss_bytes)
        });
        used.sum()
    }
}

/// Figures of all processes together.
#[derive(Debug)]
struct SessionsRun {
    processes: usize,
    connect_s: f64,
    /// Right after connecting.
    first_rss_bytes: u64,
    last_rss_bytes: u64,
    tps: f64,
    client_cores: f64,
}

struct ManySessions;

impl BenchComparison for ManySessions {
    type Cell = (SessionWay, u32);
    type Run = SessionsRun;
    const CELL: &'static [&'static str] = &["by", "sessions"];

    fn cell_words(&self, (way, connections): Self::Cell) -> Vec<String> {
        vec![word(way), connections.to_string()]
    }

    fn programs(&self, _: Self::Cell) -> Vec<String> {
        vec!["truetps".to_owned()]
    }

    fn columns(&self) -> Vec<FigureColumn<SessionsRun>> {
        vec![
            FigureColumn::shown("processes", "processes", 0, |run| run.processes as f64),
            FigureColumn::shown("connect_s", "connecting s", 2, |run| run.connect_s),
            FigureColumn::shown("first_rss_mb", "memory MB, connected", 1, |run| {
                run.first_rss_bytes as f64 / 1e6
            }),
            FigureColumn::shown("last_rss_mb", "memory MB, at the end", 1, |run| {
                run.last_rss_bytes as f64 / 1e6
            }),
            FigureColumn::shown("tps", "tps", 0, |run| run.tps),
            FigureColumn::shown("client_cores", "client cores", 2, |run| run.client_cores),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_divided_equally_among_few_processes() {
        assert_eq!(shares(50_000, 19_744), [16_667, 16_667, 16_666]);
        assert_eq!(shares(7, 7), [7]);
        assert_eq!(shares(8, 7), [4, 4]);
    }
}
