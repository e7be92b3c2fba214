//! The host and the processes on it.

use truetps_record::{ProbeSource, SignalGroup};

use crate::host_cpu::HostCpu;
use crate::watch::disk::Disk;
use crate::watch::pressure;
use crate::watch::processes::Processes;
use crate::watch::reading::ProbeReading;
use crate::watch::signals::{SIGNALS, signal_groups};

/// Reads this host, a server that runs on it, and this process, the load generator.
#[derive(Debug)]
pub struct HostWatch {
    server: Option<(Processes, Disk)>,
    generator: Processes,
}

impl HostWatch {
    /// `server_pid`: the server's first process; `None` if it is not known to be on this host.
    pub fn new(server_pid: Option<u32>) -> Self {
        let server = server_pid.map(|pid| (Processes::of_server(pid), Disk::under_process(pid)));
        Self { server, generator: Processes::of_generator(std::process::id()) }
    }

    /// All values that readings may have.
    pub fn signals(&self) -> impl Iterator<Item = SignalGroup> {
        Self::own_signals().chain(Self::server_signals().filter(|_| self.server.is_some()))
    }

    /// All values that readings of any host may have.
    pub(crate) fn every_signal() -> impl Iterator<Item = SignalGroup> {
        Self::own_signals().chain(Self::server_signals())
    }

    fn own_signals() -> impl Iterator<Item = SignalGroup> {
        let own =
            [("host", &SIGNALS.host), ("psi", &SIGNALS.psi), ("generator", &SIGNALS.generator)];
        own.into_iter().flat_map(|(place, table)| signal_groups(ProbeSource::Host, place, table))
    }

    fn server_signals() -> impl Iterator<Item = SignalGroup> {
        let server = [("server", &SIGNALS.server), ("disk", &SIGNALS.disk)];
        server.into_iter().flat_map(|(place, table)| signal_groups(ProbeSource::Host, place, table))
    }

    /// Reads everything once, without waiting.
    pub fn read(&mut self) -> ProbeReading {
        let mut reading = ProbeReading::default();
        host(&mut reading);
        pressure::read(&mut reading);
        match &mut self.server {
            None => {
                for what in ["server", "disk"] {
                    reading.absent(what, "the server is not known to be on this host");
                }
            }
            Some((processes, disk)) => {
                processes.read(&mut reading);
                disk.read(&mut reading);
            }
        }
        self.generator.read(&mut reading);
        reading
    }
}

fn host(reading: &mut ProbeReading) {
    let text = match std::fs::read_to_string("/proc/stat") {
        Ok(text) => text,
        Err(error) => return reading.absent("host", format!("/proc/stat: {error}")),
    };
    let tick_ms = 1e3 / rustix::param::clock_ticks_per_second() as f64;
    if let Some(cpu) = HostCpu::parse(&text) {
        reading.put("host.cpu_busy_ms", cpu.busy as f64 * tick_ms);
        reading.put("host.cpu_idle_ms", cpu.idle as f64 * tick_ms);
        reading.put("host.cpu_steal_ms", cpu.steal as f64 * tick_ms);
    }
    if let Some(switches) = context_switches(&text) {
        reading.put("host.context_switches", switches);
    }
}

fn context_switches(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use truetps_record::SignalRegistry;

    use super::*;

    #[test]
    fn this_host_and_this_process_are_read() {
        let mut watch = HostWatch::new(None);
        let first = watch.read();
        for name in
            ["host.cpu_busy_ms", "host.cpu_idle_ms", "host.context_switches", "generator.cpu_us"]
        {
            assert!(first.values.contains_key(name), "{name}: {first:?}");
        }
        let absent: Vec<_> = first.absent.iter().map(|signal| signal.what.as_str()).collect();
        assert!(absent.contains(&"server") && absent.contains(&"disk"), "{absent:?}");
        let second = watch.read();
        assert!(second.values["generator.cpu_us"] >= first.values["generator.cpu_us"]);
        assert!(
            second.values["generator.context_switches"]
                >= first.values["generator.context_switches"]
        );
    }

    #[test]
    fn a_process_of_this_user_is_read_as_a_server() {
        let mut watch = HostWatch::new(Some(std::process::id()));
        let reading = watch.read();
        let mut signals = SignalRegistry::default();
        signals.add(watch.signals());
        for name in reading.values.keys() {
            let kind = |registry: &SignalRegistry| registry.find(name).map(|(signal, _)| signal);
            assert!(kind(&signals).is_some(), "{name} is not listed");
            assert_eq!(kind(&signals), kind(&SignalRegistry::of_version_1()), "{name}");
        }
        for name in
            ["server.cpu_us", "server.rss_bytes", "server.threads", "server.context_switches"]
        {
            assert!(reading.values.contains_key(name), "{name}: {reading:?}");
        }
        let gone = HostWatch::new(Some(u32::MAX - 1)).read();
        assert!(gone.absent.iter().any(|signal| signal.what == "server"), "{gone:?}");
    }

    #[test]
    fn context_switches_of_all_cores() {
        assert_eq!(context_switches("cpu  1 2\nintr 5 0\nctxt 123456\nbtime 1\n"), Some(123_456.0));
        assert_eq!(context_switches("cpu 1"), None);
    }
}
