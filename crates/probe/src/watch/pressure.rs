//! Pressure on CPU, disk and memory: how long some or all tasks had to wait (PSI).

use std::time::Duration;

use crate::watch::reading::ProbeReading;

/// A century.
const TOTAL_US_MAX: f64 = 3.2e15;
const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// How long one or more tasks of the host have waited for memory. `None`: the kernel does not say.
pub fn waited_for_memory() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/pressure/memory").ok()?;
    let (_, total_us) = text.lines().filter_map(pressure_of).find(|(share, _)| *share == "some")?;
    Some(Duration::from_secs_f64(total_us.clamp(0.0, TOTAL_US_MAX) / 1e6))
}

pub(crate) fn read(reading: &mut ProbeReading) {
    for resource in RESOURCES {
        match std::fs::read_to_string(format!("/proc/pressure/{resource}")) {
            Ok(text) => read_pressure(resource, &text, reading),
            Err(error) => {
                return reading.absent("psi", format!("/proc/pressure/{resource}: {error}"));
            }
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in microseconds. `full` has no meaning for
/// the CPU of a whole host: kernels write zero.
fn read_pressure(resource: &str, text: &str, reading: &mut ProbeReading) {
    for (share, total_us) in text.lines().filter_map(pressure_of) {
        if (resource, share) != ("cpu", "full") {
            reading.put(&format!("psi.{resource}.{share}_us"), total_us);
        }
    }
}

fn pressure_of(line: &str) -> Option<(&str, f64)> {
    let mut words = line.split_ascii_whitespace();
    let share = words.next()?;
    Some((share, words.find_map(|word| word.strip_prefix("total=")?.parse().ok())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_taken() {
        let text = "some avg10=0.00 avg60=0.01 avg300=0.00 total=151\nfull avg10=0.00 avg60=0.00 \
                    avg300=0.00 total=7\n";
        let mut reading = ProbeReading::default();
        read_pressure("io", text, &mut reading);
        read_pressure("cpu", text, &mut reading);
        read_pressure("memory", "nonsense", &mut reading);
        let found: Vec<_> =
            reading.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(
            found,
            [("psi.cpu.some_us", 151.0), ("psi.io.full_us", 7.0), ("psi.io.some_us", 151.0)]
        );
    }
}
