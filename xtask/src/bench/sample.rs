//! One run of one program, seen from outside.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use truetps_probe::{HostCpu, ProcessUse, process_use};

/// Connecting takes sysbench a few seconds for 1,000 sessions on a small machine, and minutes for
/// 5,000.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const START_TIMEOUT_PER_SESSION: Duration = Duration::from_millis(60);
/// Between the first statements and the window.
pub(crate) const SETTLE: Duration = Duration::from_millis(700);

/// What a benchmark needs of a server, whichever it is.
pub(crate) trait Server {
    fn socket(&self) -> &Path;

    fn pid(&self) -> u32;

    /// Empties the table, so that each program starts alike.
    fn empty(&mut self) -> anyhow::Result<()>;

    /// Sessions beside the observer's own.
    fn sessions(&mut self) -> anyhow::Result<u64>;

    /// Transactions of the load since the server started: INSERTs, unless another statement was
    /// chosen.
    fn statements(&mut self) -> anyhow::Result<u64>;
}

/// What one program did in its window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ResourceSample {
    pub(crate) tps: f64,
    pub(crate) client_us: f64,
    pub(crate) server_us: f64,
    pub(crate) client_cores: f64,
    pub(crate) server_cores: f64,
    /// Cores that were busy with anything but client and server: 0 on a quiet machine.
    pub(crate) cores_elsewhere: f64,
    pub(crate) cores_idle: f64,
    pub(crate) client_rss_bytes: u64,
    /// The longer of the two looks, in ms: the moment of a count is unsure by that.
    pub(crate) look_ms: f64,
}

/// Starts the program, waits until all its sessions work, and watches it for `window`.
fn measure_run(
    mut command: Command,
    sessions: u32,
    window: Duration,
    server: &mut dyn Server,
) -> anyhow::Result<ResourceSample> {
    server.empty()?;
    let mut log = tempfile::tempfile()?;
    let mut child = command
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .spawn()
        .context("starting the program")?;
    let sample = watch(&mut child, sessions, window, server);
    // It runs longer than its window, by intent.
    let _ = child.kill();
    let _ = child.wait();
    let limit = start_timeout(sessions);
    wait_until(limit, "the end of all sessions", || Ok(server.sessions()? == 0))?;
    sample.map_err(|error| match last_words(&mut log) {
        Some(words) => error.context(words),
        None => error,
    })
}

/// A run as [`RunTable::measure`](crate::bench::comparison::RunTable::measure) wants it: without a
/// server nothing more can be measured.
pub(crate) fn measure_program(
    command: Command,
    sessions: u32,
    window: Duration,
    server: &mut dyn Server,
) -> anyhow::Result<anyhow::Result<ResourceSample>> {
    let taken = measure_run(command, sessions, window, server);
    if taken.is_err() {
        server.sessions()?;
    }
    Ok(taken)
}

pub(crate) fn start_timeout(sessions: u32) -> Duration {
    START_TIMEOUT + START_TIMEOUT_PER_SESSION * sessions
}

fn last_words(log: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    log.rewind().and_then(|()| log.read_to_end(&mut bytes)).ok()?;
    cause(&String::from_utf8_lossy(&bytes))
}

/// Where a program says why it gives up: a line with a word of that kind, or its last one.
pub(crate) fn cause(text: &str) -> Option<String> {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut causes = lines
        .iter()
        .filter(|line| ["FATAL", "rror", "PANIC"].iter().any(|word| line.contains(word)));
    causes.next().or(lines.last()).map(|line| line.chars().take(200).collect())
}

fn watch(
    child: &mut Child,
    sessions: u32,
    window: Duration,
    server: &mut dyn Server,
) -> anyhow::Result<ResourceSample> {
    let limit = start_timeout(sessions);
    let before = server.statements()?;
    wait_until(limit, &format!("{sessions} sessions"), || {
        check_alive(child)?;
        Ok(server.sessions()? >= u64::from(sessions))
    })?;
    wait_until(limit, "the first statements", || {
        check_alive(child)?;
        Ok(server.statements()? > before)
    })?;
    sleep(SETTLE);
    let first = SampleLook::now(child.id(), server)?;
    sleep(window);
    let last = SampleLook::now(child.id(), server)?;
    check_alive(child)?;
    let left = server.sessions()?;
    if left != u64::from(sessions) {
        bail!("{left} of {sessions} sessions were there at the end");
    }
    first.until(&last)
}

pub(crate) fn check_alive(child: &mut Child) -> anyhow::Result<()> {
    match child.try_wait()? {
        Some(status) => bail!("the program has ended early: {status}"),
        None => Ok(()),
    }
}

pub(crate) fn wait_until(
    limit: Duration,
    what: &str,
    mut good: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !good()? {
        if began.elapsed() > limit {
            bail!("{what} did not come within {} s", limit.as_secs());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// All counters at one moment.
pub(crate) struct SampleLook {
    /// In the middle of the question for statements.
    at: Instant,
    took: Duration,
    statements: u64,
    client: ProcessUse,
    server: ProcessUse,
    host: HostCpu,
}

impl SampleLook {
    pub(crate) fn now(client: u32, server: &mut dyn Server) -> anyhow::Result<Self> {
        let began = Instant::now();
        let statements = server.statements()?;
        let took = began.elapsed();
        Ok(Self {
            at: began + took / 2,
            took,
            statements,
            client: process_use(client).context("the program has ended early")?,
            server: process_use(server.pid()).context("the server has ended")?,
            host: HostCpu::read().context("/proc/stat cannot be read")?,
        })
    }

    pub(crate) fn until(&self, last: &Self) -> anyhow::Result<ResourceSample> {
        let seconds = (last.at - self.at).as_secs_f64();
        let statements = (last.statements - self.statements) as f64;
        if statements == 0.0 {
            bail!("no statement in {seconds:.1} s");
        }
        let client_s = last.client.cpu.saturating_sub(self.client.cpu).as_secs_f64();
        let server_s = last.server.cpu.saturating_sub(self.server.cpu).as_secs_f64();
        // Time that the hypervisor took counts as busy.
        let busy_s = host_s(self.host.busy + self.host.steal, last.host.busy + last.host.steal)
            - client_s
            - server_s;
        Ok(ResourceSample {
            tps: statements / seconds,
            client_us: client_s * 1e6 / statements,
            server_us: server_s * 1e6 / statements,
            client_cores: client_s / seconds,
            server_cores: server_s / seconds,
            // Clock ticks are counted at slightly different moments.
            cores_elsewhere: (busy_s / seconds).max(0.0),
            cores_idle: host_s(self.host.idle, last.host.idle) / seconds,
            client_rss_bytes: last.client.rss_bytes,
            look_ms: self.took.max(last.took).as_secs_f64() * 1e3,
        })
    }
}

fn host_s(first_ticks: u64, last_ticks: u64) -> f64 {
    let ticks_a_second = rustix::param::clock_ticks_per_second() as f64;
    last_ticks.saturating_sub(first_ticks) as f64 / ticks_a_second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_among_what_a_program_said() {
        use std::io::Write;
        let mut log = tempfile::tempfile().unwrap();
        assert_eq!(last_words(&mut log), None);
        log.write_all(b"sysbench 1.0\n\nFATAL: cannot connect\ndone\n").unwrap();
        assert_eq!(last_words(&mut log).as_deref(), Some("FATAL: cannot connect"));
    }
}
