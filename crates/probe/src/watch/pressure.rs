//! Pressure on CPU, disk and memory: how long some or all tasks had to wait (PSI).

use crate::watch::reading::ProbeReading;

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

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
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let share = words.next().unwrap_or_default();
        let total = words.find_map(|word| word.strip_prefix("total=")?.parse::<f64>().ok());
        if let Some(total) = total.filter(|_| (resource, share) != ("cpu", "full")) {
            reading.put(&format!("psi.{resource}.{share}_us"), total);
        }
    }
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
