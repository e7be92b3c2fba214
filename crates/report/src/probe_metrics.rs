//! The last readings of a probe as metrics, for `truetps probe --listen`.

use std::collections::BTreeMap;

use truetps_analysis::LiveProbe;
use truetps_record::{
    MetricKind, ProbeHeader, ProbeSample, ProbeSource, ServerFacts, Signal, SignalKind,
    SignalRegistry, SignalUnit, Suspension,
};

use crate::exposition::{ExpositionText, metric_words};

use MetricKind::{Counter, Gauge};

/// The metrics of the exporter itself: name, kind, labels, and what they say.
const OWN: [(&str, MetricKind, &str, &str); 9] = [
    ("truetps_up", Gauge, "", "1 while the server answers the probe, else 0."),
    (
        "truetps_no_answer_seconds",
        Gauge,
        "",
        "How long the server has not answered; 0 while it does.",
    ),
    ("truetps_server_info", Gauge, "flavour, version", "The watched server; always 1."),
    ("truetps_build_info", Gauge, "version", "The version of truetps; always 1."),
    ("truetps_probe_interval_seconds", Gauge, "", "Time between two readings."),
    ("truetps_probe_readings_total", Counter, "source", "Readings of `server` and `host`."),
    (
        "truetps_probe_reading_age_seconds",
        Gauge,
        "source",
        "Time since the last reading that came in time.",
    ),
    (
        "truetps_resets_total",
        Counter,
        "",
        "Readings at which the counters of the server had fallen.",
    ),
    (
        "truetps_redo_used_ratio",
        Gauge,
        "",
        "Age of the checkpoint as a share of the room in the redo log, 0 to 1.",
    ),
];

/// A metric of the exporter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricRow {
    pub name: String,
    pub kind: &'static str,
    /// Names of labels, with commas.
    pub labels: String,
    /// A value of the probe, or what it says.
    pub about: String,
}

/// All metrics that a probe with these values may have.
pub fn probe_metric_rows(signals: &SignalRegistry) -> Vec<MetricRow> {
    let own = OWN.map(|(name, kind, labels, about)| MetricRow {
        name: name.to_owned(),
        kind: kind.name(),
        labels: labels.to_owned(),
        about: about.to_owned(),
    });
    let mut others: Vec<_> = signals
        .entries()
        .map(|(signal, entry)| {
            let SignalMetric { name, kind, .. } = SignalMetric::of(signal, entry);
            let labels = if entry.contains('*') { "name" } else { "" };
            MetricRow {
                name,
                kind: kind.name(),
                labels: labels.to_owned(),
                about: format!("`{entry}`"),
            }
        })
        .collect();
    others.sort();
    others.dedup();
    own.into_iter().chain(others).collect()
}

/// The metric of a value, or of the values that an entry with a `*` stands for.
struct SignalMetric {
    name: String,
    kind: MetricKind,
    /// How many of the value's units are one of the metric's: times are in seconds.
    units: f64,
}

impl SignalMetric {
    fn of(signal: Signal, entry: &str) -> Self {
        let (words, suffix, units): (&[&str], _, _) = match signal.unit {
            SignalUnit::Microseconds => (&["us", "usec"], "_seconds", 1e6),
            SignalUnit::Milliseconds => (&["ms"], "_seconds", 1e3),
            SignalUnit::Bytes => (&["bytes"], "_bytes", 1.0),
            SignalUnit::Count => (&["count"], "", 1.0),
            SignalUnit::Sessions | SignalUnit::Own => (&[], "", 1.0),
        };
        let mut stem = metric_words(entry);
        for word in words {
            if let Some(rest) = stem.strip_suffix(word).and_then(|rest| rest.strip_suffix('_')) {
                stem = rest.to_owned();
            }
        }
        let (kind, end) = match signal.kind.is_gauge() {
            // `_total` is a counter's.
            true if stem.ends_with("_total") => (Gauge, "_amount"),
            true => (Gauge, ""),
            false => (Counter, "_total"),
        };
        Self { name: format!("truetps_{stem}{suffix}{end}"), kind, units }
    }
}

/// Takes the samples of a probe as they come, and shows the last ones.
#[derive(Debug, Clone)]
pub struct ProbeMetrics {
    header: ProbeHeader,
    server: ServerFacts,
    tool_version: String,
    live: LiveProbe,
    readings: BTreeMap<ProbeSource, u64>,
    resets: u64,
}

impl ProbeMetrics {
    pub fn new(header: &ProbeHeader, server: &ServerFacts, tool_version: &str) -> Self {
        Self {
            header: header.clone(),
            server: server.clone(),
            tool_version: tool_version.to_owned(),
            live: LiveProbe::default(),
            readings: BTreeMap::new(),
            resets: 0,
        }
    }

    pub fn sample(&mut self, sample: &ProbeSample) {
        *self.readings.entry(sample.source).or_default() += 1;
        let is_point = self.live.sample(&self.header, sample);
        let is_reset =
            self.live.decoder().is_some_and(|decoder| decoder.is_reset(ProbeSource::Server));
        if is_point && sample.source == ProbeSource::Server && is_reset {
            self.resets += 1;
        }
    }

    /// While truetps was suspended, nothing was read.
    pub fn suspended(&mut self, suspension: Suspension) {
        self.live.suspended(suspension);
    }

    /// The metrics at this time of the probe's clock. A server that does not answer has no values;
    /// nor has a source whose last reading is old.
    pub fn text(&self, at_ms: f64) -> String {
        let mut text = ExpositionText::default();
        self.add_own(&mut text, at_ms);
        let server = self.is_up(at_ms).then_some(ProbeSource::Server);
        for source in server.into_iter().chain([ProbeSource::Host]) {
            self.add_values(&mut text, source, at_ms);
        }
        text.into_text()
    }

    fn is_up(&self, at_ms: f64) -> bool {
        self.readings.contains_key(&ProbeSource::Server) && self.live.now(at_ms).outage.is_none()
    }

    /// Time since the last reading in time of a source.
    fn age_ms(&self, source: ProbeSource, at_ms: f64) -> Option<f64> {
        Some((at_ms - self.live.decoder()?.at_ms(source)?).max(0.0))
    }

    fn add_own(&self, text: &mut ExpositionText, at_ms: f64) {
        let mut add = |name: &str, labels: &[(&str, &str)], value: f64| {
            let (name, kind, _, about) =
                OWN.iter().find(|(known, ..)| *known == name).expect("it is in the table");
            text.add((name, *kind), about, labels, value);
        };
        let now = self.live.now(at_ms);
        add("truetps_up", &[], f64::from(u8::from(self.is_up(at_ms))));
        add(
            "truetps_no_answer_seconds",
            &[],
            now.outage.map_or(0.0, |outage| outage.length_ms() / 1e3),
        );
        let flavour = self.server.flavour.to_string();
        add(
            "truetps_server_info",
            &[("flavour", &flavour), ("version", &self.server.version)],
            1.0,
        );
        add("truetps_build_info", &[("version", &self.tool_version)], 1.0);
        add("truetps_probe_interval_seconds", &[], self.header.interval_ms / 1e3);
        add("truetps_resets_total", &[], self.resets as f64);
        for (source, word) in [(ProbeSource::Server, "server"), (ProbeSource::Host, "host")] {
            let readings = self.readings.get(&source).copied().unwrap_or_default();
            add("truetps_probe_readings_total", &[("source", word)], readings as f64);
            if let Some(age_ms) = self.age_ms(source, at_ms) {
                add("truetps_probe_reading_age_seconds", &[("source", word)], age_ms / 1e3);
            }
        }
        if let Some(share) = now.redo_share.filter(|_| self.is_up(at_ms)) {
            add("truetps_redo_used_ratio", &[], share);
        }
    }

    fn add_values(&self, text: &mut ExpositionText, source: ProbeSource, at_ms: f64) {
        /// Readings may come late on a busy host.
        const SLACK_MS: f64 = 3000.0;
        let is_fresh = self
            .age_ms(source, at_ms)
            .is_some_and(|age| age <= 2.0 * self.header.interval_ms + SLACK_MS);
        let Some(decoder) = self.live.decoder().filter(|_| is_fresh) else { return };
        for (name, value) in decoder.values(source) {
            // The header lists all values.
            let Some((signal, entry, subject)) = self.header.signals.entry_of(name) else {
                continue;
            };
            let SignalMetric { name, kind, units } = SignalMetric::of(signal, entry);
            let labels: &[(&str, &str)] =
                if entry.contains('*') { &[("name", subject)] } else { &[] };
            text.add((&name, kind), &help(signal, entry), labels, value.now.value / units);
        }
    }
}

fn help(signal: Signal, entry: &str) -> String {
    let kind = match signal.kind {
        SignalKind::Counter | SignalKind::StatusCounter => "counter",
        SignalKind::Gauge => "present amount",
        SignalKind::Wait => "completed waits",
        SignalKind::State => "sessions in a state",
    };
    format!("{entry} of the probe ({kind}).")
}

#[cfg(test)]
mod tests {
    use truetps_record::{Family, SignalGroup};

    use super::*;
    use crate::exposition_check::{ParsedFamily, parsed};

    fn header() -> ProbeHeader {
        let signal = |source, kind, unit| Signal { source, kind, unit };
        let (server, host) = (ProbeSource::Server, ProbeSource::Host);
        let mut signals = SignalRegistry::default();
        signals.add([
            SignalGroup::new(
                signal(server, SignalKind::StatusCounter, SignalUnit::Count),
                ["status.Handler_commit", "status.Com_insert"],
            ),
            SignalGroup::new(
                signal(server, SignalKind::Wait, SignalUnit::Microseconds),
                ["wait.*.us"],
            ),
            SignalGroup::new(signal(server, SignalKind::Wait, SignalUnit::Count), ["wait.*.count"]),
            SignalGroup::new(
                signal(server, SignalKind::State, SignalUnit::Sessions),
                ["session.*"],
            ),
            SignalGroup::new(
                signal(host, SignalKind::Counter, SignalUnit::Milliseconds),
                ["host.cpu_busy_ms"],
            ),
        ]);
        ProbeHeader { signals, ..ProbeHeader::of_version_1(1e3, Some(Family::Mysql)) }
    }

    fn metrics() -> ProbeMetrics {
        ProbeMetrics::new(&header(), &ServerFacts::from_version_text("10.11.6-MariaDB"), "0.1.0")
    }

    fn sample(source: ProbeSource, at_ms: f64, values: &[(&str, f64)]) -> ProbeSample {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ProbeSample { source, at_ms, took_ms: 1.0, values, lost: Vec::new() }
    }

    fn at(metrics: &ProbeMetrics, at_ms: f64) -> BTreeMap<String, ParsedFamily> {
        parsed(&metrics.text(at_ms))
    }

    fn only(families: &BTreeMap<String, ParsedFamily>, name: &str) -> Option<f64> {
        let family = families.get(name)?;
        assert_eq!(family.samples.len(), 1, "{name}");
        Some(family.samples[0].value)
    }

    #[test]
    fn the_last_reading_is_shown_in_seconds_with_the_subject_as_label() {
        let mut metrics = metrics();
        let state = "a \"b\"\\\n# c";
        let values = [
            ("status.Handler_commit", 7.0),
            ("wait.wait/io/binlog.us", 1500.0),
            ("wait.wait/io/binlog.count", 3.0),
            (&format!("session.{state}"), 2.0),
        ];
        metrics.sample(&sample(ProbeSource::Server, 0.0, &values));
        metrics.sample(&sample(ProbeSource::Host, 1.0, &[("host.cpu_busy_ms", 250.0)]));
        metrics.sample(&sample(ProbeSource::Server, 1000.0, &[("status.Handler_commit", 9.0)]));
        let found = at(&metrics, 1200.0);
        assert_eq!(only(&found, "truetps_up"), Some(1.0));
        assert_eq!(only(&found, "truetps_status_handler_commit_total"), Some(9.0));
        assert_eq!(only(&found, "truetps_wait_seconds_total"), Some(0.0015));
        assert_eq!(only(&found, "truetps_wait_total"), Some(3.0));
        assert_eq!(only(&found, "truetps_host_cpu_busy_seconds_total"), Some(0.25));
        assert_eq!(only(&found, "truetps_session"), Some(2.0));
        assert_eq!(
            found["truetps_session"].samples[0].labels,
            [("name".to_owned(), state.to_owned())]
        );
        assert!(!found.contains_key("truetps_status_com_insert_total"), "absent, and not zero");
        assert_eq!(
            found["truetps_probe_readings_total"].samples[0].value.to_bits(),
            2f64.to_bits()
        );
        assert_eq!(found["truetps_server_info"].samples[0].labels[1].1, "10.11.6");
        let listed = probe_metric_rows(&header().signals);
        let is_listed = |name: &String| listed.iter().any(|row| row.name == *name);
        assert!(found.keys().all(is_listed), "{found:?}");
    }

    #[test]
    fn a_server_that_is_silent_is_down_and_has_no_values() {
        let mut metrics = metrics();
        assert_eq!(only(&at(&metrics, 10.0), "truetps_up"), Some(0.0), "nothing was read yet");
        metrics.sample(&sample(ProbeSource::Server, 0.0, &[("status.Handler_commit", 7.0)]));
        metrics.sample(&sample(ProbeSource::Host, 3000.0, &[("host.cpu_busy_ms", 250.0)]));
        let found = at(&metrics, 3200.0);
        assert_eq!(
            (only(&found, "truetps_up"), only(&found, "truetps_no_answer_seconds")),
            (Some(0.0), Some(2.2))
        );
        assert!(!found.contains_key("truetps_status_handler_commit_total"));
        assert!(found.contains_key("truetps_host_cpu_busy_seconds_total"), "the host is read");
        let late = ProbeSample { took_ms: 2600.0, ..sample(ProbeSource::Server, 2300.0, &[]) };
        metrics.sample(&late);
        assert_eq!(only(&at(&metrics, 3700.0), "truetps_up"), Some(1.0));
        // Only late answers: it is up, but the values of an old moment are not shown.
        metrics.sample(&ProbeSample { at_ms: 8000.0, ..late });
        assert!(!at(&metrics, 9400.0).contains_key("truetps_status_handler_commit_total"));
    }

    #[test]
    fn a_probe_that_was_suspended_says_nothing_of_the_server() {
        let mut metrics = metrics();
        metrics.sample(&sample(ProbeSource::Server, 0.0, &[("status.Handler_commit", 7.0)]));
        metrics.suspended(Suspension { start_ms: 500.0, length_ms: 9000.0 });
        assert_eq!(only(&at(&metrics, 9600.0), "truetps_up"), Some(1.0));
    }

    #[test]
    fn a_restart_is_counted() {
        let mut metrics = metrics();
        let both = |n| [("status.Handler_commit", n), ("status.Com_insert", n)];
        for (at_ms, n) in [(0.0, 50.0), (1000.0, 60.0), (2000.0, 1.0), (3000.0, 2.0)] {
            metrics.sample(&sample(ProbeSource::Server, at_ms, &both(n)));
            metrics.sample(&sample(ProbeSource::Host, at_ms + 1.0, &[]));
        }
        assert_eq!(only(&at(&metrics, 3100.0), "truetps_resets_total"), Some(1.0));
    }

    #[test]
    fn names_have_the_unit_last() {
        use SignalKind::{Counter, Gauge, State, StatusCounter};
        use SignalUnit::{Bytes, Count, Microseconds, Milliseconds, Own, Sessions};
        let check = |entry: &str, kind, unit, expect: &str| {
            let signal = Signal { source: ProbeSource::Server, kind, unit };
            assert_eq!(SignalMetric::of(signal, entry).name, expect);
        };
        check("status.Pages_total", Gauge, Count, "truetps_status_pages_total_amount");
        check("status.Bytes_sent", StatusCounter, Bytes, "truetps_status_bytes_sent_bytes_total");
        check("pg_stat_wal.*_bytes", StatusCounter, Bytes, "truetps_pg_stat_wal_bytes_total");
        check(
            "metric.purge_dml_delay_usec",
            Counter,
            Microseconds,
            "truetps_metric_purge_dml_delay_seconds_total",
        );
        check("disk.flush_ms", Counter, Milliseconds, "truetps_disk_flush_seconds_total");
        check("psi.*_us", Counter, Microseconds, "truetps_psi_seconds_total");
        check("session.*", State, Sessions, "truetps_session");
        check("server.rss_bytes", Gauge, Bytes, "truetps_server_rss_bytes");
        check("replica.*", Gauge, Own, "truetps_replica");
        check("session_lock_waits", Gauge, Count, "truetps_session_lock_waits");
    }
}
