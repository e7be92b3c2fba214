//! The values that a probe reads: source, kind and unit of each, as the header of `probe.jsonl`
//! lists them.

use serde::{Deserialize, Serialize};

/// What was read: server or host. Each has its own readings: a server that hangs must not keep the
/// host from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeSource {
    Server,
    Host,
}

/// How a value behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// Grows. A user may reset it alone.
    Counter,
    /// Grows, and falls only with the other counters of its server: after a restart, or when all
    /// are reset.
    StatusCounter,
    /// A present amount.
    Gauge,
    /// Grows with the waits on an event that have ended: their number, or their time. An event is
    /// not listed before its first wait.
    Wait,
    /// Sessions in a state. A state without sessions is not listed.
    State,
}

impl SignalKind {
    /// Goes up and down.
    pub fn is_gauge(self) -> bool {
        matches!(self, Self::Gauge | Self::State)
    }

    /// A value that is not listed is zero, and not unknown.
    pub fn is_zero_unlisted(self) -> bool {
        matches!(self, Self::Wait | Self::State)
    }
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalUnit {
    /// Events, calls, pages, rows, threads.
    Count,
    Bytes,
    Sessions,
    Microseconds,
    Milliseconds,
    /// As the server defines it.
    Own,
}

impl SignalUnit {
    /// Length of the unit; `None` if it is not a time.
    pub fn length_ms(self) -> Option<f64> {
        match self {
            Self::Microseconds => Some(1e-3),
            Self::Milliseconds => Some(1.0),
            Self::Count | Self::Bytes | Self::Sessions | Self::Own => None,
        }
    }
}

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub source: ProbeSource,
    pub kind: SignalKind,
    pub unit: SignalUnit,
}

/// Names of values that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalGroup {
    #[serde(flatten)]
    pub signal: Signal,
    /// A `*` stands for one or more characters: the subject of the value, such as an event or a
    /// state.
    pub names: Vec<String>,
}

impl SignalGroup {
    pub fn new(signal: Signal, names: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { signal, names: names.into_iter().map(Into::into).collect() }
    }
}

/// All values that a probe may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignalRegistry(Vec<SignalGroup>);

#[derive(Deserialize)]
struct SignalsV1 {
    group: SignalRegistry,
}

impl SignalRegistry {
    /// The values of a file of version 1, whose header does not list them.
    pub fn of_version_1() -> Self {
        let text = include_str!("../../data/signals_v1.toml");
        toml::from_str::<SignalsV1>(text).expect("signals_v1.toml is read by a test").group
    }

    pub fn add(&mut self, groups: impl IntoIterator<Item = SignalGroup>) {
        self.0.extend(groups);
    }

    /// Leaves out all values of a source.
    pub fn remove(&mut self, source: ProbeSource) {
        self.0.retain(|group| group.signal.source != source);
    }

    /// Whether any value is read from there.
    pub fn has(&self, source: ProbeSource) -> bool {
        self.0.iter().any(|group| group.signal.source == source)
    }

    /// All entries, each with what it is.
    pub fn entries(&self) -> impl Iterator<Item = (Signal, &str)> {
        self.0
            .iter()
            .flat_map(|group| group.names.iter().map(move |entry| (group.signal, entry.as_str())))
    }

    /// The value of this name, and its subject: the part of the name that a `*` stands for, or all
    /// of it. The entry with most characters besides the `*` decides.
    pub fn find<'a>(&self, name: &'a str) -> Option<(Signal, &'a str)> {
        self.entry_of(name).map(|(signal, _, subject)| (signal, subject))
    }

    /// [`Self::find`], with the entry that decides.
    pub fn entry_of<'a>(&self, name: &'a str) -> Option<(Signal, &str, &'a str)> {
        let fitting = self
            .entries()
            .filter_map(|(signal, entry)| Some((signal, entry, subject(entry, name)?)));
        fitting.max_by_key(|(_, entry, _)| entry.len())
    }
}

fn subject<'a>(entry: &str, name: &'a str) -> Option<&'a str> {
    let Some((front, back)) = entry.split_once('*') else { return (entry == name).then_some(name) };
    name.strip_prefix(front)?.strip_suffix(back).filter(|subject| !subject.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_precise_entry_decides() {
        let of = |kind| Signal { source: ProbeSource::Server, kind, unit: SignalUnit::Count };
        let mut registry = SignalRegistry::default();
        registry.add([
            SignalGroup::new(of(SignalKind::Counter), ["a.*"]),
            SignalGroup::new(of(SignalKind::Gauge), ["a.x", "a.*.max"]),
        ]);
        let check = |name, expect: Option<(SignalKind, &str)>| {
            assert_eq!(
                registry.find(name).map(|(signal, subject)| (signal.kind, subject)),
                expect,
                "{name}"
            );
        };
        check("a.y", Some((SignalKind::Counter, "y")));
        check("a.x", Some((SignalKind::Gauge, "a.x")));
        check("a.y.max", Some((SignalKind::Gauge, "y")));
        check("a.", None);
        check("b.x", None);
        let text = serde_json::to_string(&registry).unwrap();
        assert!(
            text.starts_with(
                r#"[{"source":"server","kind":"counter","unit":"count","names":["a.*"]}"#
            ),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<SignalRegistry>(&text).unwrap(), registry);
    }
    #[test]
    fn counters_and_gauges() {
        let registry = SignalRegistry::of_version_1();
        let is_gauge = |name: &str| registry.find(name).unwrap().0.kind.is_gauge();
        for gauge in [
            "session.Update",
            "session_lock_waits",
            "metric.log_flush_max_time",
            "status.Threads_running",
        ] {
            assert!(is_gauge(gauge), "{gauge}");
        }
        for counter in [
            "status.Handler_commit",
            "metric.log_writes",
            "wait.x.us",
            "host.cpu_busy_ms",
            "pg_stat_wal.wal_sync",
        ] {
            assert!(!is_gauge(counter), "{counter}");
        }
    }
}
