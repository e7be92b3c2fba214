//! One run of one program: observed from outside in the middle of its measured phase, then left to
//! end by itself, so that it reports how many errors it ignored.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::bench::private_server::PrivateServer;
use crate::bench::sample::{
    ResourceSample, SETTLE, SampleLook, Server, cause, check_alive, start_timeout, wait_until,
};

/// Time between the last reading and the program's scheduled end: a reading is slow with thousands
/// of sessions.
const AFTER: Duration = Duration::from_secs(3);
/// Time limit beyond the program's scheduled end.
const END_TIMEOUT: Duration = Duration::from_mins(2);

/// Old versions of rows that are still to be removed when the next program starts, at most.
const HISTORY_MAX: u64 = 1000;
const HISTORY_TIMEOUT: Duration = Duration::from_secs(30);

/// Printed by both programs when the measured phase begins.
const STARTED: &str = "Threads started!";
const ENDED: &str = "SQL statistics:";

pub(crate) struct LuaRunTime {
    pub(crate) seen: ResourceSample,
    /// The largest resident size since the program started.
    pub(crate) peak_bytes: u64,
    pub(crate) said: Said,
    /// The server's count from the start of the program to its end.
    pub(crate) counted: u64,
}

impl LuaRunTime {
    /// Whether server and program agree on the number of transactions: otherwise one of them counts
    /// something else.
    pub(crate) fn agrees(&self, clients: u32) -> bool {
        // Each client may be cut off in a transaction that only one of the two counts; so may an
        // ignored error be.
        let slack = u64::from(clients) + self.said.ignored_errors + self.said.transactions / 100;
        self.counted.abs_diff(self.said.transactions) <= slack
    }
}

/// The program's own statistics of its whole measured phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Said {
    pub(crate) transactions: u64,
    pub(crate) tps: f64,
    pub(crate) ignored_errors: u64,
}

/// `--time` for a window.
pub(crate) fn run_seconds(window: Duration) -> u64 {
    (SETTLE + window + AFTER).as_secs_f64().ceil() as u64
}

/// Waits until the server has finished the previous run's work, so that the next run does not pay
/// for it.
pub(crate) fn settle(server: &mut PrivateServer) {
    let began = Instant::now();
    // Some servers do not report it; a backlog that does not shrink is no reason to stop.
    while server.value("Innodb_history_list_length").is_ok_and(|length| length > HISTORY_MAX) {
        if began.elapsed() > HISTORY_TIMEOUT {
            break;
        }
        sleep(Duration::from_millis(50));
    }
}

pub(crate) fn measure_run(
    mut command: Command,
    clients: u32,
    window: Duration,
    server: &mut dyn Server,
) -> anyhow::Result<LuaRunTime> {
    let files = tempfile::tempdir()?;
    let path = files.path().join("log");
    // Opened for appending, because it is read during the run.
    let log = File::options().create(true).append(true).open(&path)?;
    let before = server.statements()?;
    let mut child =
        command.stdout(log.try_clone()?).stderr(log).spawn().context("starting the program")?;
    let taken = watch(&mut child, &path, clients, window, server);
    if taken.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    wait_until(start_timeout(clients), "the end of all sessions", || Ok(server.sessions()? == 0))?;
    let counted = server.statements()?.saturating_sub(before);
    let taken =
        taken.map(|(seen, peak_bytes, said)| LuaRunTime { seen, peak_bytes, said, counted });
    taken.map_err(|error| match fs::read_to_string(&path).ok().as_deref().and_then(cause) {
        Some(words) => error.context(words),
        None => error,
    })
}

fn watch(
    child: &mut Child,
    log: &Path,
    clients: u32,
    window: Duration,
    server: &mut dyn Server,
) -> anyhow::Result<(ResourceSample, u64, Said)> {
    wait_until(start_timeout(clients), "the end of the start", || {
        check_alive(child)?;
        has_said(log, STARTED)
    })?;
    sleep(SETTLE);
    let first = SampleLook::now(child.id(), server)?;
    sleep(window);
    let last = SampleLook::now(child.id(), server)?;
    let left = server.sessions()?;
    if has_said(log, ENDED)? || child.try_wait()?.is_some() {
        bail!("the program ended before the window did");
    }
    if left < u64::from(clients) {
        bail!("{left} of {clients} sessions were there at the end");
    }
    if has_children(child.id()) {
        bail!("the program has child processes, whose CPU time and memory would be missing");
    }
    let seen = first.until(&last)?;
    let peak_bytes = end(child, Duration::from_secs(run_seconds(window)) + END_TIMEOUT)?;
    let said = Said::parse(&fs::read_to_string(log)?)
        .context("the statistics at the program's end have another form")?;
    Ok((seen, peak_bytes, said))
}

fn has_said(log: &Path, words: &str) -> anyhow::Result<bool> {
    Ok(fs::read_to_string(log)?.contains(words))
}

/// Waits for the end of the program; returns its largest resident size.
fn end(child: &mut Child, limit: Duration) -> anyhow::Result<u64> {
    let mut peak = 0;
    let mut ending = None;
    wait_until(limit, "the end of the program", || {
        // /proc shows nothing of a program that has ended.
        peak = peak_of(child.id()).unwrap_or(0).max(peak);
        ending = child.try_wait()?;
        Ok(ending.is_some())
    })?;
    match ending {
        Some(status) if !status.success() => bail!("the program failed: {status}"),
        _ if peak == 0 => bail!("/proc does not show the program's memory"),
        _ => Ok(peak),
    }
}

/// Neither program starts any; a release that did would look cheaper than it is.
fn has_children(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().any(|thread| {
        // A kernel may be built without this file.
        let children = fs::read_to_string(thread.path().join("children"));
        !children.unwrap_or_default().trim().is_empty()
    })
}

fn peak_of(pid: u32) -> Option<u64> {
    parse_peak(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// `VmHWM` of proc(5), in bytes.
fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

impl Said {
    /// The lines `transactions: N (R per sec.)` and `ignored errors: N (R per sec.)`.
    fn parse(text: &str) -> Option<Self> {
        let statistics = &text[text.find(ENDED)?..];
        let (transactions, tps) = count_and_rate(statistics, "transactions:")?;
        let (ignored_errors, _) = count_and_rate(statistics, "ignored errors:")?;
        Some(Self { transactions, tps, ignored_errors })
    }
}

fn count_and_rate(statistics: &str, name: &str) -> Option<(u64, f64)> {
    let rest = statistics.lines().find_map(|line| line.trim().strip_prefix(name))?;
    let (count, rate) = rest.trim().split_once('(')?;
    let rate = rate.split_ascii_whitespace().next()?.parse().ok()?;
    Some((count.trim().parse().ok()?, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Threads started!

SQL statistics:
    queries performed:
        read:                            0
        write:                           4808
        other:                           2404
        total:                           7212
    transactions:                        1202   (1200.58 per sec.)
    queries:                             7212   (7203.47 per sec.)
    ignored errors:                      17     (16.98 per sec.)
    reconnects:                          0      (0.00 per sec.)
";

    #[test]
    fn a_report_says_transactions_and_errors() {
        let said = Said { transactions: 1202, tps: 1200.58, ignored_errors: 17 };
        assert_eq!(Said::parse(REPORT), Some(said));
        assert_eq!(Said::parse("Threads started!\ntransactions: 1 (1.0 per sec.)"), None);
        assert_eq!(Said::parse("SQL statistics:\n transactions: many"), None);
    }

    #[test]
    fn the_peak_is_of_the_resident_size() {
        assert_eq!(
            parse_peak("VmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(parse_peak("Name:\tzombie\n"), None);
        assert!(peak_of(std::process::id()).is_some_and(|bytes| bytes > 100_000));
    }

    #[test]
    fn children_are_seen() {
        let mut child = crate::bench::programs::new_command("sleep").arg("60").spawn().unwrap();
        let (parent, leaf) = (has_children(std::process::id()), has_children(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(parent && !leaf);
    }

    #[test]
    fn a_run_is_longer_than_its_window() {
        assert_eq!(run_seconds(Duration::from_secs(5)), 9);
        assert_eq!(run_seconds(Duration::from_millis(1300)), 5);
    }
}
