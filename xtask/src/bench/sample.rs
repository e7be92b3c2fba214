//! One run of one program, seen from outside.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use truetps_driver::Client;
use truetps_probe::{ProcessUse, process_use};
use truetps_sandbox::RunningServer;

/// Connecting 1,000 sessions takes sysbench a few seconds on a small machine.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Between the first statements and the window.
const SETTLE: Duration = Duration::from_millis(700);

/// What one program did in its window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) tps: f64,
    pub(crate) client_us: f64,
    pub(crate) server_us: f64,
    /// Cores that neither client nor server used: what is not 0 was used by others or by nobody.
    pub(crate) cores_elsewhere: f64,
    pub(crate) client_rss_bytes: u64,
}

/// Starts the program, waits until all its sessions work, and watches it for `window`.
pub(crate) fn take(
    mut command: Command,
    connections: u32,
    window: Duration,
    server: &RunningServer,
    client: &mut Client,
) -> anyhow::Result<Sample> {
    client.execute("TRUNCATE TABLE truetps.sbtest1")?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().context("starting the program")?;
    let sample = watch(&mut child, connections, window, server, client);
    // It runs longer than its window, by intent.
    let _ = child.kill();
    let _ = child.wait();
    wait_until(client, "Threads_connected", |n| n <= 1)?;
    sample
}

fn watch(
    child: &mut Child,
    connections: u32,
    window: Duration,
    server: &RunningServer,
    client: &mut Client,
) -> anyhow::Result<Sample> {
    wait_until(client, "Threads_connected", |n| n > u64::from(connections))?;
    let inserts = status(client, "Com_insert")?;
    wait_until(client, "Com_insert", |n| n > inserts)?;
    sleep(SETTLE);
    let look = |client: &mut Client, child: &Child| -> anyhow::Result<(Instant, u64, ProcessUse, ProcessUse)> {
        let inserts = status(client, "Com_insert")?;
        let client_use = process_use(child.id()).context("the program has ended early")?;
        Ok((Instant::now(), inserts, client_use, process_use(server.pid()).context("the server has ended")?))
    };
    let first = look(client, child)?;
    sleep(window);
    let last = look(client, child)?;
    if let Some(status) = child.try_wait()? {
        bail!("the program has ended early: {status}");
    }
    let seconds = (last.0 - first.0).as_secs_f64();
    let statements = (last.1 - first.1) as f64;
    let used = |first: ProcessUse, last: ProcessUse| last.cpu.saturating_sub(first.cpu).as_secs_f64();
    let (client_s, server_s) = (used(first.2, last.2), used(first.3, last.3));
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    Ok(Sample {
        tps: statements / seconds,
        client_us: client_s * 1e6 / statements,
        server_us: server_s * 1e6 / statements,
        cores_elsewhere: cores - (client_s + server_s) / seconds,
        client_rss_bytes: last.2.rss_bytes,
    })
}

fn status(client: &mut Client, name: &str) -> anyhow::Result<u64> {
    let rows = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?.rows;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
    value.and_then(|text| text.parse().ok()).with_context(|| format!("the server shows no {name}"))
}

fn wait_until(client: &mut Client, name: &str, good: impl Fn(u64) -> bool) -> anyhow::Result<()> {
    let began = Instant::now();
    while !good(status(client, name)?) {
        if began.elapsed() > START_TIMEOUT {
            bail!("{name} did not come to what was expected within {} s", START_TIMEOUT.as_secs());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}
