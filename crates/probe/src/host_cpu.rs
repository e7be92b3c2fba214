//! CPU time of all cores of the host, from /proc/stat.

/// CPU time of all cores together, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCpu {
    pub busy: u64,
    /// The part of it in which programs and threads of the kernel ran, and no interrupt.
    pub programs: u64,
    pub idle: u64,
    /// Stolen by other guests of the hypervisor.
    pub steal: u64,
}

impl HostCpu {
    /// `None` if /proc cannot be read.
    pub fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// First line of proc_stat(5): user nice system idle iowait irq softirq steal; guest time is in
    /// user already.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.lines().next()?.strip_prefix("cpu ")?;
        let mut ticks: Vec<u64> =
            rest.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        if ticks.len() < 4 {
            return None;
        }
        // Old kernels have fewer fields.
        ticks.resize(8, 0);
        let [user, nice, system, idle, io_wait, irq, soft_irq, steal] = ticks[..] else {
            return None;
        };
        let programs = user + nice + system;
        Some(Self { busy: programs + irq + soft_irq, programs, idle: idle + io_wait, steal })
    }

    /// Share of the time until `later` that was stolen, 0 to 1; `None` if no time has passed.
    pub fn stolen_until(&self, later: &Self) -> Option<f64> {
        let used = self.used_until(later);
        (used.all() > 0).then(|| used.steal as f64 / used.all() as f64)
    }

    pub(crate) fn used_until(&self, later: &Self) -> Self {
        Self {
            busy: later.busy.saturating_sub(self.busy),
            programs: later.programs.saturating_sub(self.programs),
            idle: later.idle.saturating_sub(self.idle),
            steal: later.steal.saturating_sub(self.steal),
        }
    }

    /// Ticks of all cores.
    pub(crate) fn all(&self) -> u64 {
        self.busy + self.idle + self.steal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_idle_are_not_busy() {
        let first = HostCpu::parse("cpu  10 0 10 100 5 1 1 3 0 0\ncpu0 1 2").unwrap();
        assert_eq!(first, HostCpu { busy: 22, programs: 20, idle: 105, steal: 3 });
        let later = HostCpu::parse("cpu  60 0 10 140 5 1 1 13 0 0").unwrap();
        assert_eq!(first.stolen_until(&later), Some(0.1));
        assert_eq!(first.stolen_until(&first), None);
        assert_eq!(HostCpu::parse("intr 5"), None);
        assert!(HostCpu::read().is_some());
    }
}
