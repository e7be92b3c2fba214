//! CPU time and memory of a process, from /proc.

use std::time::Duration;

use truetps_record::printable;

/// CPU time and memory of a process, all its threads together, ended ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    pub cpu: Duration,
    pub rss_bytes: u64,
}

/// CPU time of this process, all its threads together, ended ones included.
pub fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// `None` if the process is gone or /proc cannot be read. CPU time has steps of a clock tick (10
/// ms).
pub fn process_use(pid: u32) -> Option<ProcessUse> {
    let ProcessStat { ticks, rss_pages, .. } = ProcessStat::read(pid)?;
    let cpu_s = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    let rss_bytes = rss_pages * rustix::param::page_size() as u64;
    Some(ProcessUse { cpu: Duration::from_secs_f64(cpu_s), rss_bytes })
}

/// From /proc/PID/stat; times in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) parent: u32,
    pub(crate) ticks: u64,
    /// CPU time of children that have ended.
    pub(crate) ended_ticks: u64,
    pub(crate) threads: u64,
    pub(crate) started: u64,
    pub(crate) rss_pages: u64,
    pub(crate) is_kernel_thread: bool,
    /// By a signal such as SIGSTOP, or by a debugger.
    pub(crate) is_stopped: bool,
}

/// A flag of a task in the kernel (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

impl ProcessStat {
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Some(Self::read_with_name(pid)?.1)
    }

    /// A name is what its program wants it to be, in any encoding.
    pub(crate) fn read_with_name(pid: u32) -> Option<(String, Self)> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// Field 2, and of fields 3, 4, 9, 14 to 17, 20, 22 and 24 of proc(5) what is needed. The name
    /// may contain spaces and parentheses.
    fn parse(text: &str) -> Option<(String, Self)> {
        let (before, after_name) = text.split_at(text.rfind(')')?);
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<_> = after_name[1..].split_ascii_whitespace().collect();
        let stat = Self {
            parent: u32::try_from(field(&fields, 4)?).ok()?,
            ticks: field(&fields, 14)? + field(&fields, 15)?,
            ended_ticks: field(&fields, 16)? + field(&fields, 17)?,
            threads: field(&fields, 20)?,
            started: field(&fields, 22)?,
            rss_pages: field(&fields, 24)?,
            is_kernel_thread: field(&fields, 9)? & KERNEL_THREAD != 0,
            is_stopped: ["T", "t"].contains(fields.first()?),
        };
        Some((name, stat))
    }
}

/// A field by its number in proc(5); the fields begin with number 3.
fn field(fields: &[&str], number: usize) -> Option<u64> {
    fields.get(number - 3)?.parse().ok()
}

/// Whether a signal or a debugger has stopped a process. `None`: it cannot be read.
pub fn is_stopped(pid: u32) -> Option<bool> {
    Some(ProcessStat::read(pid)?.is_stopped)
}

/// The program that traces a process, as `strace` and `gdb` do: its name.
pub fn tracer_of(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    let tracer = line.trim().parse().ok().filter(|tracer: &u32| *tracer != 0)?;
    let name = ProcessStat::read_with_name(tracer).map(|(name, _)| name);
    Some(name.map_or_else(|| format!("process {tracer}"), |name| printable(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_behind_a_strange_name() {
        let text = "42 (a) b (c) T 7 2 3 4 5 2097152 7 8 9 10 150 50 30 20 20 0 3 0 100 8192 77 \
                    18446744073709551615";
        let expect = ProcessStat {
            parent: 7,
            ticks: 200,
            ended_ticks: 50,
            threads: 3,
            started: 100,
            rss_pages: 77,
            is_kernel_thread: true,
            is_stopped: true,
        };
        assert_eq!(ProcessStat::parse(text), Some(("a) b (c".to_owned(), expect)));
        assert_eq!(ProcessStat::parse("42 (x) S 1"), None);
    }

    #[test]
    fn this_process_is_there_and_no_process_has_number_zero() {
        assert!(process_use(std::process::id()).unwrap().rss_bytes > 0);
        assert_eq!(process_use(0), None);
    }
}
