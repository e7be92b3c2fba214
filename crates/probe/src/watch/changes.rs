//! The changes since the last reading: the content of a line of `probe.jsonl`.

use std::collections::BTreeSet;

use truetps_record::{AbsentSignal, SignalKind, SignalRegistry};

use crate::watch::reading::{ProbeReading, ProbeValues};

/// The last values of one source.
#[derive(Debug, Default)]
pub struct Changes {
    signals: SignalRegistry,
    last: ProbeValues,
    /// Sources that were reported as absent.
    told: BTreeSet<String>,
}

impl Changes {
    /// `absent`: signals that were already reported as absent.
    pub fn new(signals: SignalRegistry, absent: &[AbsentSignal]) -> Self {
        let told = absent.iter().map(|signal| signal.what.clone()).collect();
        Self { signals, last: ProbeValues::new(), told }
    }

    /// Values that have changed, and signals that could be read before and no longer can.
    pub fn since_last(&mut self, reading: ProbeReading) -> (ProbeValues, Vec<AbsentSignal>) {
        let ProbeReading { mut values, absent } = reading;
        let gone: Vec<_> =
            self.last.keys().filter(|name| !values.contains_key(*name)).cloned().collect();
        let mut lost: Vec<_> = absent
            .into_iter()
            .filter(|signal| {
                let is_loss = gone.iter().any(|name| signal.is_about(name));
                self.told.insert(signal.what.clone()) || is_loss
            })
            .collect();
        for name in gone {
            if self.told.iter().any(|what| is_about(what, &name)) {
                self.last.remove(&name);
            } else if self
                .signals
                .find(&name)
                .is_some_and(|(signal, _)| signal.kind == SignalKind::State)
            {
                // A server does not list a state without sessions.
                values.insert(name, 0.0);
            } else {
                self.last.remove(&name);
                lost.push(AbsentSignal {
                    what: name,
                    why: "no longer reported by the server".to_owned(),
                });
            }
        }
        self.told.retain(|what| !values.keys().any(|name| is_about(what, name)));
        let changed: ProbeValues = values
            .iter()
            .filter(|(name, value)| self.last.get(*name) != Some(*value))
            .map(copy)
            .collect();
        self.last.extend(changed.iter().map(copy));
        (changed, lost)
    }
}

fn is_about(what: &str, name: &str) -> bool {
    AbsentSignal { what: what.to_owned(), why: String::new() }.is_about(name)
}

fn copy((name, value): (&String, &f64)) -> (String, f64) {
    (name.clone(), *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(values: &[(&str, f64)], absent: &[&str]) -> ProbeReading {
        ProbeReading {
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            absent: absent.iter().map(|what| signal(what)).collect(),
        }
    }

    fn signal(what: &str) -> AbsentSignal {
        AbsentSignal { what: what.to_owned(), why: "refused".to_owned() }
    }

    fn check(changes: &mut Changes, given: ProbeReading, values: &[(&str, f64)], lost: &[&str]) {
        let (found, gone) = changes.since_last(given);
        assert_eq!(found, reading(values, &[]).values);
        assert_eq!(gone.iter().map(|signal| signal.what.as_str()).collect::<Vec<_>>(), lost);
    }

    #[test]
    fn only_changed_values_are_kept() {
        let mut changes = Changes::default();
        check(
            &mut changes,
            reading(&[("a.x", 1.0), ("a.y", 2.0)], &[]),
            &[("a.x", 1.0), ("a.y", 2.0)],
            &[],
        );
        check(&mut changes, reading(&[("a.x", 1.0), ("a.y", 3.0)], &[]), &[("a.y", 3.0)], &[]);
    }

    #[test]
    fn a_state_without_sessions_is_zero_once() {
        let mut changes = Changes::new(SignalRegistry::of_version_1(), &[]);
        check(
            &mut changes,
            reading(&[("session.Update", 2.0)], &[]),
            &[("session.Update", 2.0)],
            &[],
        );
        check(&mut changes, reading(&[], &[]), &[("session.Update", 0.0)], &[]);
        check(&mut changes, reading(&[], &[]), &[], &[]);
        check(
            &mut changes,
            reading(&[("session.Update", 2.0)], &[]),
            &[("session.Update", 2.0)],
            &[],
        );
    }

    #[test]
    fn what_cannot_be_read_is_lost_and_not_unchanged() {
        let mut changes = Changes::new(SignalRegistry::of_version_1(), &[signal("wait")]);
        let all = [("metric.a", 1.0), ("session.x", 1.0)];
        check(&mut changes, reading(&all, &["wait"]), &all, &[]);
        check(&mut changes, reading(&[], &["metric", "session"]), &[], &["metric", "session"]);
        check(&mut changes, reading(&[], &["metric", "session"]), &[], &[]);
        check(&mut changes, reading(&all, &[]), &all, &[]);
        check(&mut changes, reading(&all[1..], &[]), &[], &["metric.a"]);
    }
}
