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

/// `None` if the process is gone or /proc cannot be read. CPU time has steps of a clock tick (10 ms).
pub fn process_use(pid: u32) -> Option<ProcessUse> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&text, rustix::param::clock_ticks_per_second(), rustix::param::page_size() as u64)
}

/// Fields 14, 15 and 24 of proc(5): utime, stime, rss. The name in field 2 may contain spaces and parentheses.
fn parse_stat(text: &str, ticks_per_second: u64, page_bytes: u64) -> Option<ProcessUse> {
    let after_name = &text[text.rfind(')')? + 1..];
    let fields: Vec<_> = after_name.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = field(14)? + field(15)?;
    let cpu = Duration::from_secs_f64(ticks as f64 / ticks_per_second as f64);
    Some(ProcessUse { cpu, rss_bytes: field(24)? * page_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_parenthesis_is_no_trap() {
        let text = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 100 8192 77 18446744073709551615";
        let found = parse_stat(text, 100, 4096).unwrap();
        assert_eq!(found, ProcessUse { cpu: Duration::from_secs(2), rss_bytes: 77 * 4096 });
        assert_eq!(parse_stat("42 (x) S 1", 100, 4096), None);
    }

    #[test]
    fn this_process_is_there_and_no_process_has_number_zero() {
        assert!(process_use(std::process::id()).unwrap().rss_bytes > 0);
        assert_eq!(process_use(0), None);
    }
}
