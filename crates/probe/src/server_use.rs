//! CPU time and memory of a server, with one process or one for each session.

use std::fs;
use std::time::Duration;

use crate::process::ProcessStat;

/// CPU time and memory of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerUse {
    /// When the process began, in ticks since boot: together with its number it identifies the
    /// process.
    pub started: u64,
    /// CPU time of the process and all its children, ended ones included.
    pub cpu: Duration,
    /// `None` if there are children: their shared memory would be counted several times.
    pub rss_bytes: Option<u64>,
}

/// Number of attempts: a child that ends while the others are read would be counted twice, or not
/// at all.
const TRIES: u32 = 20;

/// `None` if the server is gone, or its processes start and end too fast to be counted.
pub fn server_use(pid: u32) -> Option<ServerUse> {
    (0..TRIES).find_map(|_| {
        let before = ProcessStat::read(pid)?;
        let children: Vec<_> = process_numbers()
            .filter_map(ProcessStat::read)
            .filter(|stat| stat.parent == pid)
            .collect();
        // When a child ends, its time is added to the ended children of its parent.
        let is_stable = ProcessStat::read(pid)?.ended_ticks == before.ended_ticks;
        is_stable.then(|| {
            let ticks: u64 = children.iter().map(|child| child.ticks).sum();
            let ticks = before.ticks + before.ended_ticks + ticks;
            ServerUse {
                started: before.started,
                cpu: Duration::from_secs_f64(
                    ticks as f64 / rustix::param::clock_ticks_per_second() as f64,
                ),
                rss_bytes: children
                    .is_empty()
                    .then(|| before.rss_pages * rustix::param::page_size() as u64),
            }
        })
    })
}

pub(crate) fn process_numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// A process and its children at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FamilyUse {
    /// The process first.
    pub(crate) pids: Vec<u32>,
    /// When the process began, in ticks since boot.
    pub(crate) started: u64,
    /// CPU time in clock ticks, ended children included.
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    /// Memory of the process alone.
    pub(crate) rss_pages: u64,
}

/// For frequent calls: it does not read all processes of the host if the kernel lists children.
/// `None` if the process is gone, or its children start and end too fast.
pub(crate) fn family_of(pid: u32) -> Option<FamilyUse> {
    (0..TRIES).find_map(|_| {
        let before = ProcessStat::read(pid)?;
        let children: Vec<_> = children_of(pid)
            .into_iter()
            .filter_map(|child| Some((child, ProcessStat::read(child)?)))
            .collect();
        let is_stable = ProcessStat::read(pid)?.ended_ticks == before.ended_ticks;
        is_stable.then(|| FamilyUse {
            pids: [pid].into_iter().chain(children.iter().map(|(child, _)| *child)).collect(),
            started: before.started,
            ticks: before.ticks
                + before.ended_ticks
                + children.iter().map(|(_, stat)| stat.ticks).sum::<u64>(),
            threads: before.threads + children.iter().map(|(_, stat)| stat.threads).sum::<u64>(),
            rss_pages: before.rss_pages,
        })
    })
}

fn children_of(pid: u32) -> Vec<u32> {
    match fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
        Ok(text) => text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect(),
        Err(_) => process_numbers()
            .filter(|number| ProcessStat::read(*number).is_some_and(|stat| stat.parent == pid))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_count_and_their_memory_does_not() {
        #[expect(clippy::disallowed_methods, reason = "a child of a test")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(server_use(std::process::id()).unwrap().rss_bytes, None);
        assert_eq!(family_of(child.id()).unwrap().pids, [child.id()]);
        // In the middle of its exec a process has no memory yet.
        let has_memory =
            || server_use(child.id()).unwrap().rss_bytes.is_some_and(|bytes| bytes > 0);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !has_memory() {
            assert!(std::time::Instant::now() < deadline, "a process that runs has memory");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(server_use(child.id()), None);
    }
}
