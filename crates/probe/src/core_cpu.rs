//! CPU time of each core of the host, from /proc/stat.

use std::collections::BTreeMap;

/// Clock ticks of one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CoreTicks {
    idle: u64,
    /// Used by this system or stolen by another guest of the hypervisor.
    other: u64,
}

/// CPU time of each core that is online.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreCpu(BTreeMap<u32, CoreTicks>);

impl CoreCpu {
    /// `None` if /proc cannot be read.
    pub fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Lines such as `cpu0 user nice system idle iowait irq softirq steal …` of proc_stat(5).
    fn parse(text: &str) -> Option<Self> {
        let cores: BTreeMap<_, _> =
            text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(core).collect();
        (!cores.is_empty()).then_some(Self(cores))
    }

    /// How many of these cores were idle until `later`, on average. `None` if no time has passed.
    pub fn idle_until(&self, later: &Self, cores: &[u32]) -> Option<f64> {
        let shares: Vec<f64> =
            cores.iter().filter_map(|core| self.idle_share_until(later, *core)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum())
    }

    fn idle_share_until(&self, later: &Self, core: u32) -> Option<f64> {
        let (first, last) = (self.0.get(&core)?, later.0.get(&core)?);
        let idle = last.idle.saturating_sub(first.idle) as f64;
        let all = idle + last.other.saturating_sub(first.other) as f64;
        (all > 0.0).then_some(idle / all)
    }

    /// All cores that are online.
    pub fn online(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }
}

/// The line of one core.
fn core(line: &str) -> Option<(u32, CoreTicks)> {
    let mut fields = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let number = fields.next()?.parse().ok()?;
    // Guest time, in the fields that follow, is in user and nice already.
    let ticks: Vec<u64> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
    Some((number, CoreTicks { idle, other: ticks.iter().sum::<u64>() - idle }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_of_the_named_cores_is_added_up() {
        let first = CoreCpu::parse(
            "cpu  1 2 3 4\ncpu0 10 0 10 100 0 0 0 0 7 7\ncpu1 0 0 0 50 0 0 0 0\nintr 5",
        )
        .unwrap();
        // Core 0: 20 of 80 ticks idle, of which it waited for a disk in 5. Core 1: all idle, but
        // for 50 stolen ones.
        let later =
            CoreCpu::parse("cpu  1 2 3 4\ncpu0 60 0 20 115 5 0 0 0 7 7\ncpu1 0 0 0 100 0 0 0 50\n")
                .unwrap();
        let check = |cores: &[u32], expect: Option<f64>| {
            assert_eq!(first.idle_until(&later, cores), expect, "{cores:?}");
        };
        check(&[0], Some(0.25));
        check(&[1], Some(0.5));
        check(&[0, 1], Some(0.75));
        check(&[0, 1, 9], Some(0.75));
        check(&[9], None);
        assert_eq!(first.idle_until(&first, &[0, 1]), None);
        assert_eq!(first.online(), [0, 1]);
        assert_eq!(CoreCpu::parse("cpu  1 2 3 4\nintr 5"), None);
        assert!(CoreCpu::read().is_some());
    }
}
