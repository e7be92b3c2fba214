//! CPU time and memory of a process, from /proc.

use std::time::Duration;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) parent: u32,
    pub(crate) ticks: u64,
    /// CPU time of children that have ended.
    pub(crate) ended_ticks: u64,
    pub(crate) threads: u64,
    pub(crate) started: u64,
    pub(crate) rss_pages: u64,
}

impl ProcessStat {
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Fields 4, 14 to 17, 20, 22 and 24 of proc(5). The name in field 2 may contain spaces and
    /// parentheses.
    fn parse(text: &str) -> Option<Self> {
        let after_name = &text[text.rfind(')')? + 1..];
        let fields: Vec<_> = after_name.split_ascii_whitespace().collect();
        Some(Self {
            parent: u32::try_from(field(&fields, 4)?).ok()?,
            ticks: field(&fields, 14)? + field(&fields, 15)?,
            ended_ticks: field(&fields, 16)? + field(&fields, 17)?,
            threads: field(&fields, 20)?,
            started: field(&fields, 22)?,
            rss_pages: field(&fields, 24)?,
        })
    }
}

/// A field by its number in proc(5); the fields begin with number 3.
fn field(fields: &[&str], number: usize) -> Option<u64> {
    fields.get(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_behind_a_strange_name() {
        let text = "42 (a) b (c) S 7 2 3 4 5 6 7 8 9 10 150 50 30 20 20 0 3 0 100 8192 77 \
                    18446744073709551615";
        let expect = ProcessStat {
            parent: 7,
            ticks: 200,
            ended_ticks: 50,
            threads: 3,
            started: 100,
            rss_pages: 77,
        };
        assert_eq!(ProcessStat::parse(text), Some(expect));
        assert_eq!(ProcessStat::parse("42 (x) S 1"), None);
    }

    #[test]
    fn this_process_is_there_and_no_process_has_number_zero() {
        assert!(process_use(std::process::id()).unwrap().rss_bytes > 0);
        assert_eq!(process_use(0), None);
    }
}
