//! CPU time, memory and I/O of processes: the load generator, and a server with one process or one
//! for each session.

use std::collections::BTreeMap;
use std::fs;

use crate::own_cpu;
use crate::server_use::family_of;
use crate::watch::reading::ProbeReading;

/// With more threads, reading each of them would cost too much.
const THREADS_MAX: usize = 256;

/// A process and its children.
#[derive(Debug)]
pub(crate) struct Processes {
    /// The prefix of the names.
    what: &'static str,
    pid: u32,
    /// When the server's process began, which detects a reused process number. `None`: it was
    /// already gone.
    started: Option<u64>,
    has_children: bool,
    switches: Switches,
}

impl Processes {
    pub(crate) fn of_server(pid: u32) -> Self {
        Self {
            what: "server",
            pid,
            started: family_of(pid).map(|family| family.started),
            has_children: true,
            switches: Switches::default(),
        }
    }

    /// Only CPU time and context switches.
    pub(crate) fn of_generator(pid: u32) -> Self {
        Self {
            what: "generator",
            pid,
            started: None,
            has_children: false,
            switches: Switches::default(),
        }
    }

    pub(crate) fn read(&mut self, reading: &mut ProbeReading) {
        let what = self.what;
        let pids =
            if self.has_children { self.with_children(reading) } else { self.alone(reading) };
        if pids.is_empty() {
            return reading.absent(
                what,
                "its process cannot be read: it has ended, or belongs to another user",
            );
        }
        let name = format!("{what}.context_switches");
        match threads_of(&pids) {
            Err(threads) => {
                let why = format!(
                    "it has more than {THREADS_MAX} threads ({threads}), and looking at each would \
                     cost too much"
                );
                reading.absent(&name, why);
            }
            Ok(threads) => {
                self.switches.add(
                    threads.iter().filter_map(|path| Some((path.as_str(), switches_of(path)?))),
                );
                reading.put(&name, self.switches.sum);
            }
        }
    }

    /// The clock for the generator has a finer resolution than the one for other processes.
    fn alone(&self, reading: &mut ProbeReading) -> Vec<u32> {
        reading.put("generator.cpu_us", own_cpu().as_nanos() as f64 / 1e3);
        vec![self.pid]
    }

    fn with_children(&self, reading: &mut ProbeReading) -> Vec<u32> {
        let Some(family) =
            family_of(self.pid).filter(|family| Some(family.started) == self.started)
        else {
            return Vec::new();
        };
        let tick_us = 1e6 / rustix::param::clock_ticks_per_second() as f64;
        reading.put("server.cpu_us", family.ticks as f64 * tick_us);
        reading.put("server.threads", family.threads as f64);
        // Memory that several processes share would be counted once for each.
        if family.pids.len() == 1 {
            reading.put(
                "server.rss_bytes",
                (family.rss_pages * rustix::param::page_size() as u64) as f64,
            );
        } else {
            reading.absent("server.rss_bytes", "it is several processes, which share memory");
        }
        let io: Option<Vec<_>> = family.pids.iter().map(|pid| io_of(*pid)).collect();
        match io {
            Some(io) => {
                reading.put("server.read_bytes", io.iter().map(|(read, _)| read).sum());
                reading.put("server.write_bytes", io.iter().map(|(_, written)| written).sum());
            }
            None => {
                for name in ["server.read_bytes", "server.write_bytes"] {
                    reading.absent(
                        name,
                        "/proc/PID/io: it belongs to another user, or a process has just ended",
                    );
                }
            }
        }
        family.pids
    }
}

/// `/proc/PID/task/TID/status` of all threads; their number, if there are too many.
fn threads_of(pids: &[u32]) -> Result<Vec<String>, usize> {
    if pids.len() > THREADS_MAX {
        return Err(pids.len());
    }
    let mut paths = Vec::new();
    for pid in pids {
        let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        paths.extend(entries.map(|entry| format!("{}/status", entry.path().display())));
    }
    if paths.len() > THREADS_MAX { Err(paths.len()) } else { Ok(paths) }
}

/// Bytes that a process read from disks and wrote to them, including its ended threads and
/// children.
fn io_of(pid: u32) -> Option<(f64, f64)> {
    parse_io(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
}

fn parse_io(text: &str) -> Option<(f64, f64)> {
    Some((field(text, "read_bytes:")?, field(text, "write_bytes:")?))
}

fn switches_of(path: &str) -> Option<f64> {
    parse_switches(&fs::read_to_string(path).ok()?)
}

/// Voluntary and involuntary switches.
fn parse_switches(text: &str) -> Option<f64> {
    Some(field(text, "voluntary_ctxt_switches:")? + field(text, "nonvoluntary_ctxt_switches:")?)
}

/// The number in the line that begins with this name.
fn field(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// Adds up the threads' counts. A thread that ends takes its count with it, but the sum must not
/// fall.
#[derive(Debug, Default)]
struct Switches {
    last: BTreeMap<String, f64>,
    sum: f64,
}

impl Switches {
    fn add<'a>(&mut self, threads: impl Iterator<Item = (&'a str, f64)>) {
        let now: BTreeMap<String, f64> =
            threads.map(|(path, count)| (path.to_owned(), count)).collect();
        for (path, count) in &now {
            // A reused number counts from zero.
            let before =
                self.last.get(path).copied().filter(|before| before <= count).unwrap_or(0.0);
            self.sum += count - before;
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_takes_nothing_away() {
        let mut switches = Switches::default();
        let mut check = |threads: &[(&str, f64)], sum: f64| {
            switches.add(threads.iter().copied());
            assert!((switches.sum - sum).abs() < 1e-9, "{switches:?}, not {sum}");
        };
        check(&[("1", 10.0), ("2", 5.0)], 15.0);
        check(&[("1", 12.0)], 17.0);
        // Another thread, which reuses the number of an ended one.
        check(&[("1", 12.0), ("2", 3.0)], 20.0);
    }

    #[test]
    fn a_number_that_is_given_out_again_is_another_process() {
        let mut server = Processes::of_server(std::process::id());
        let mut reading = ProbeReading::default();
        server.read(&mut reading);
        assert!(reading.values.contains_key("server.cpu_us"), "{reading:?}");
        // As after the end of a server: a later process has its number.
        server.started = server.started.map(|ticks| ticks - 1);
        let mut reading = ProbeReading::default();
        server.read(&mut reading);
        assert!(reading.values.is_empty() && reading.absent[0].what == "server", "{reading:?}");
    }

    #[test]
    fn texts_of_proc() {
        let status = "Name:\tmariadbd\nThreads:\t8\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(parse_switches(status), Some(157.0));
        assert_eq!(parse_switches("Name:\tx\n"), None);
        let io = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: \
                  8192\ncancelled_write_bytes: 0\n";
        assert_eq!(parse_io(io), Some((4096.0, 8192.0)));
    }
}
