//! CPU time of all programs of the host, by process: what is neither the server nor this process is
//! another program's.

use std::collections::{BTreeMap, BTreeSet};

use truetps_record::{OtherPrograms, ProgramUse, printable};

use crate::host_cpu::HostCpu;
use crate::process::ProcessStat;
use crate::server_use::process_numbers;

/// With more processes, reading each of them would disturb the load.
const PROCESSES_MAX: usize = 4_000;
/// Programs that are named.
const LARGEST_MAX: usize = 3;
/// A program that used less is not named.
const NAMED_MIN_CORES: f64 = 0.05;
/// Processes above one another; the readings are not of one moment.
const GENERATIONS_MAX: u32 = 64;
/// Servers whose process is not known are not taken for disturbances.
const SERVERS: [&str; 5] = ["mysqld", "mariadbd", "postgres", "postmaster", "connection"];

/// Clock ticks so far.
#[derive(Debug, Clone)]
pub struct ProgramCpu {
    host: HostCpu,
    processes: BTreeMap<u32, ProcessTicks>,
}

#[derive(Debug, Clone, PartialEq)]
struct ProcessTicks {
    name: String,
    stat: ProcessStat,
}

impl ProcessTicks {
    fn read(pid: u32) -> Option<(u32, Self)> {
        let (name, stat) = ProcessStat::read_with_name(pid)?;
        Some((pid, Self { name, stat }))
    }

    /// A number is used again after its process has ended.
    fn is_same_as(&self, other: &Self) -> bool {
        self.stat.started == other.stat.started
    }

    /// With the ticks of children that have ended.
    fn ticks(&self) -> u64 {
        self.stat.ticks + self.stat.ended_ticks
    }
}

impl ProgramCpu {
    /// `None` if /proc cannot be read, or has too many processes.
    pub fn read() -> Option<Self> {
        let host = HostCpu::read()?;
        let numbers: Vec<u32> = process_numbers().take(PROCESSES_MAX + 1).collect();
        (numbers.len() <= PROCESSES_MAX).then(|| Self {
            host,
            processes: numbers.into_iter().filter_map(ProcessTicks::read).collect(),
        })
    }

    /// What others than these two used until `later`, over this time. `None` if one of the two
    /// cannot be seen: its own time would be taken for the others'. `server`: its first process;
    /// `None` if it is not on this host or unknown: then only what can be seen counts, and no
    /// database server.
    pub fn others_until(
        &self,
        later: &Self,
        own: u32,
        server: Option<u32>,
        seconds: f64,
    ) -> Option<OtherPrograms> {
        let ticks_per_core = seconds * rustix::param::clock_ticks_per_second() as f64;
        let of_load = [Some(own), server].into_iter().flatten();
        let is_seen = of_load
            .clone()
            .all(|pid| self.processes.contains_key(&pid) && later.processes.contains_key(&pid));
        if ticks_per_core <= 0.0 || !is_seen {
            return None;
        }
        let used = self.used_until(later);
        let families: BTreeSet<u32> = of_load.flat_map(|pid| later.family(pid)).collect();
        let (mut ours, mut kernel, mut programs) = (0, 0, BTreeMap::<&str, u64>::new());
        for (pid, ticks) in used {
            let process = &later.processes[&pid];
            match () {
                () if process.stat.is_kernel_thread => kernel += ticks,
                () if families.contains(&pid) => ours += ticks,
                () => *programs.entry(&process.name).or_default() += ticks,
            }
        }
        if server.is_none() {
            programs.retain(|name, _| !SERVERS.contains(name));
        }
        let named: u64 = programs.values().sum();
        let all = later.host.programs.saturating_sub(self.host.programs);
        // Hidden programs, and those that were there between the readings alone, are in the host's
        // time only.
        let others = match server {
            Some(_) => all.saturating_sub(ours + kernel),
            None => named,
        };
        let mut largest: Vec<_> = programs
            .into_iter()
            .map(|(name, ticks)| ProgramUse {
                name: printable(name),
                cores: ticks.min(others) as f64 / ticks_per_core,
            })
            .filter(|program| program.cores >= NAMED_MIN_CORES)
            .collect();
        largest.sort_by(|one, other| other.cores.total_cmp(&one.cores));
        largest.truncate(LARGEST_MAX);
        let host = self.host.used_until(&later.host);
        Some(OtherPrograms {
            cores: others as f64 / ticks_per_core,
            of_cores: host.all() as f64 / ticks_per_core,
            idle_cores: host.idle as f64 / ticks_per_core,
            largest,
        })
    }

    /// Ticks that each process used, with the ticks of its children that ended in this time.
    fn used_until(&self, later: &Self) -> BTreeMap<u32, u64> {
        let mut used: BTreeMap<u32, u64> = later
            .processes
            .iter()
            .map(|(pid, process)| {
                let before = self.processes.get(pid).filter(|before| before.is_same_as(process));
                (*pid, process.ticks().saturating_sub(before.map_or(0, ProcessTicks::ticks)))
            })
            .collect();
        // What an ended child had used before this time is among its parent's now.
        for (pid, process) in &self.processes {
            if later.processes.get(pid).is_none_or(|other| !process.is_same_as(other))
                && let Some(heir) = self.heir_of(process, &used)
                && let Some(of_heir) = used.get_mut(&heir)
            {
                *of_heir = of_heir.saturating_sub(process.ticks());
            }
        }
        used
    }

    /// The nearest process above one that has ended that is still there: a parent may have ended,
    /// too.
    fn heir_of(&self, ended: &ProcessTicks, there: &BTreeMap<u32, u64>) -> Option<u32> {
        let mut parent = ended.stat.parent;
        for _ in 0..GENERATIONS_MAX {
            if there.contains_key(&parent) {
                return Some(parent);
            }
            parent = self.processes.get(&parent)?.stat.parent;
        }
        None
    }

    /// A process and all below it.
    fn family(&self, first: u32) -> BTreeSet<u32> {
        let mut family = BTreeSet::from([first]);
        loop {
            let more: Vec<u32> = self
                .processes
                .iter()
                .filter(|(pid, one)| family.contains(&one.stat.parent) && !family.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            if more.is_empty() {
                return family;
            }
            family.extend(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, parent: u32, ticks: u64) -> ProcessTicks {
        let stat = ProcessStat { parent, ticks, ..ProcessStat::default() };
        ProcessTicks { name: name.to_owned(), stat }
    }

    fn kernel_thread(ticks: u64) -> ProcessTicks {
        let mut one = process("kworker", 2, ticks);
        one.stat.is_kernel_thread = true;
        one
    }

    fn reading<const N: usize>(
        programs: u64,
        idle: u64,
        all: [(u32, ProcessTicks); N],
    ) -> ProgramCpu {
        let host = HostCpu { busy: programs, programs, idle, steal: 0 };
        ProgramCpu { host, processes: all.into() }
    }

    /// Two cores, one second: 100 ticks each.
    fn two_readings() -> (ProgramCpu, ProgramCpu) {
        let first = reading(
            1_000,
            0,
            [
                (10, process("truetps", 1, 100)),
                (11, process("mariadbd", 10, 500)),
                (20, process("python3", 1, 40)),
                (21, process("python3", 1, 40)),
                (30, process("make", 1, 0)),
                (31, process("timeout", 30, 1)),
                (32, process("cc1", 31, 24)),
                (40, kernel_thread(5)),
            ],
        );
        let mut make = process("make", 1, 0);
        make.stat.ended_ticks = 45;
        let last = reading(
            1_180,
            20,
            [
                (10, process("truetps", 1, 110)),
                (11, process("mariadbd", 10, 530)),
                (12, process("truetps-disk", 10, 2)),
                (20, process("python3", 1, 80)),
                (21, process("python3", 1, 90)),
                (30, make),
                (40, kernel_thread(13)),
            ],
        );
        (first, last)
    }

    #[test]
    fn others_are_what_server_and_generator_leave() {
        let (first, last) = two_readings();
        let found = first.others_until(&last, 10, Some(11), 1.0).unwrap();
        // 180 of all, less 10 + 30 + 2 and 8 of the kernel.
        assert!((found.cores - 1.30).abs() < 1e-9, "{found:?}");
        assert_eq!((found.of_cores, found.idle_cores), (2.0, 0.2));
        let named: Vec<_> =
            found.largest.iter().map(|one| (one.name.as_str(), one.cores)).collect();
        // Of the 45 ticks of ended children, 25 were used before.
        assert_eq!(named, [("python3", 0.9), ("make", 0.2)]);
    }

    #[test]
    fn a_server_whose_process_is_not_known_is_no_disturbance() {
        let (mut first, mut last) = two_readings();
        for one in [&mut first, &mut last] {
            one.processes.get_mut(&11).unwrap().stat.parent = 1;
        }
        let found = first.others_until(&last, 10, None, 1.0).unwrap();
        assert!((found.cores - 1.10).abs() < 1e-9, "{found:?}");
        assert_eq!(first.others_until(&last, 10, None, 0.0), None);
        assert_eq!(first.others_until(&last, 10, Some(99), 1.0), None, "a server that is hidden");
    }

    /// Other programs may use more of a busy machine than the one that is looked for.
    #[test]
    fn a_busy_program_is_seen_with_its_name_and_belongs_to_its_parent() {
        const TICKS: u64 = 10;
        #[expect(clippy::disallowed_methods, reason = "a program beside the load")]
        let mut busy =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let (pid, first) = (busy.id(), ProgramCpu::read().unwrap());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let before = ProcessStat::read(pid).unwrap().ticks;
        while ProcessStat::read(pid).unwrap().ticks < before + TICKS {
            assert!(std::time::Instant::now() < deadline, "it had no CPU time");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let last = ProgramCpu::read().unwrap();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(first.used_until(&last)[&pid] >= TICKS && last.processes[&pid].name == "sh");
        assert!(last.family(std::process::id()).contains(&pid));
    }
}
