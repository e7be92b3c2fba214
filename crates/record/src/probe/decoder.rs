//! Samples have only the values that changed; the decoder adds the others, one sample after the
//! other: while a server is watched, and when a file is read.

use std::collections::BTreeMap;

use crate::{
    AbsentSignal, ProbeHeader, ProbePoint, ProbeSample, ProbeSource, Signal, SignalKind,
    SignalRegistry, SignalUnit,
};

/// The last points of all values of a probe.
#[derive(Debug, Clone)]
pub struct ProbeDecoder {
    signals: SignalRegistry,
    server: SourceState,
    host: SourceState,
}

/// The last points of one value.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedValue {
    pub signal: Signal,
    /// The event or state that the value is about; else its name.
    pub subject: String,
    pub now: ProbePoint,
    /// The point before. `None`: there is no earlier one, and it is unknown whether the value was
    /// zero.
    pub before: Option<ProbePoint>,
}

impl DecodedValue {
    /// Growth in a millisecond since the point before. `None` if there is none, or the value fell:
    /// its server was restarted.
    pub fn growth_per_ms(&self) -> Option<f64> {
        let before = self.before?;
        let growth = self.now.value - before.value;
        (growth >= 0.0).then(|| growth / (self.now.at_ms - before.at_ms))
    }
}

/// What is known of one source.
#[derive(Debug, Clone, Default)]
struct SourceState {
    /// Time of the last point, and of the one before.
    at_ms: Option<f64>,
    before_ms: Option<f64>,
    /// Present values, also from late readings.
    present: BTreeMap<String, f64>,
    decoded: BTreeMap<String, DecodedValue>,
    /// Values that cannot be read, each with the time of the last point before that; `None` if
    /// there was none.
    lost: Vec<(AbsentSignal, Option<f64>)>,
    is_reset: bool,
}

impl ProbeDecoder {
    pub fn new(header: &ProbeHeader) -> Self {
        let lost = header.absent.iter().map(|signal| (signal.clone(), None)).collect();
        let state = SourceState { lost, ..SourceState::default() };
        Self { signals: header.signals.clone(), server: state.clone(), host: state }
    }

    /// Takes the next sample. Whether it is a point of its source: a late reading is none, and its
    /// values count from the next point on; nor is a reading that does not follow the one before,
    /// as in an edited file.
    pub fn decode(&mut self, sample: &ProbeSample) -> bool {
        let state = match sample.source {
            ProbeSource::Server => &mut self.server,
            ProbeSource::Host => &mut self.host,
        };
        if state.at_ms.is_some_and(|at_ms| sample.at_ms <= at_ms) {
            return false;
        }
        state.change(sample);
        if !sample.is_late() {
            state.add_point(sample.at_ms, &self.signals, sample.source);
        }
        !sample.is_late()
    }

    fn state(&self, source: ProbeSource) -> &SourceState {
        match source {
            ProbeSource::Server => &self.server,
            ProbeSource::Host => &self.host,
        }
    }

    /// Time of the last point of a source.
    pub fn at_ms(&self, source: ProbeSource) -> Option<f64> {
        self.state(source).at_ms
    }

    /// Time between the last two points of a source.
    pub fn passed_ms(&self, source: ProbeSource) -> Option<f64> {
        let state = self.state(source);
        Some(state.at_ms? - state.before_ms?)
    }

    /// Whether the values of this prefix (or name) cannot be read at present.
    pub fn is_lost(&self, source: ProbeSource, what: &str) -> bool {
        self.state(source).lost.iter().any(|(signal, _)| signal.what == what)
    }

    /// The values of a source at its last point.
    pub fn values(&self, source: ProbeSource) -> impl Iterator<Item = (&str, &DecodedValue)> {
        let state = self.state(source);
        state
            .decoded
            .iter()
            .filter(|(_, value)| Some(value.now.at_ms) == state.at_ms)
            .map(|(name, value)| (name.as_str(), value))
    }

    /// One of them.
    pub fn value(&self, source: ProbeSource, name: &str) -> Option<&DecodedValue> {
        let state = self.state(source);
        state.decoded.get(name).filter(|value| Some(value.now.at_ms) == state.at_ms)
    }

    /// Whether most status counters of a source have fallen at its last point: its server was
    /// restarted, or all were reset.
    pub fn is_reset(&self, source: ProbeSource) -> bool {
        self.state(source).is_reset
    }
}

impl SourceState {
    fn change(&mut self, sample: &ProbeSample) {
        for signal in &sample.lost {
            self.present.retain(|name, _| !signal.is_about(name));
            if !self.lost.iter().any(|(lost, _)| lost.what == signal.what) {
                self.lost.push((signal.clone(), self.at_ms));
            }
        }
        self.present.extend(sample.values.iter().map(|(name, value)| (name.clone(), *value)));
    }

    fn add_point(&mut self, at_ms: f64, signals: &SignalRegistry, source: ProbeSource) {
        let (mut fell, mut grew) = (0, 0);
        for (name, value) in &self.present {
            let now = ProbePoint { at_ms, value: *value };
            let Some(decoded) = self.decoded.get_mut(name) else {
                let unlisted = Signal { source, kind: SignalKind::Counter, unit: SignalUnit::Own };
                let (signal, subject) = signals.find(name).unwrap_or((unlisted, name));
                let zero_ms =
                    if signal.kind.is_zero_unlisted() { self.last_read_ms(name) } else { None };
                let before = zero_ms.map(|at_ms| ProbePoint { at_ms, value: 0.0 });
                let subject = subject.to_owned();
                self.decoded.insert(name.clone(), DecodedValue { signal, subject, now, before });
                continue;
            };
            if decoded.signal.kind == SignalKind::StatusCounter {
                fell += u32::from(now.value < decoded.now.value);
                grew += u32::from(now.value > decoded.now.value);
            }
            decoded.before = Some(std::mem::replace(&mut decoded.now, now));
        }
        self.is_reset = fell > grew;
        self.before_ms = self.at_ms.replace(at_ms);
        self.lost.retain(|(signal, _)| !self.present.keys().any(|name| signal.is_about(name)));
    }

    /// The last point at which a value that has none yet could have been read, and was zero as it
    /// was not listed.
    fn last_read_ms(&self, name: &str) -> Option<f64> {
        let lost = self.lost.iter().find(|(signal, _)| signal.is_about(name));
        lost.map_or(self.at_ms, |(_, read_ms)| *read_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: &str = "wait.x.us";
    const OTHER: &str = "wait.y.us";

    fn sample(at_ms: f64, values: &[(&str, f64)], lost: &[&str]) -> ProbeSample {
        ProbeSample {
            source: ProbeSource::Server,
            at_ms,
            took_ms: 1.0,
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            lost: lost.iter().map(|what| signal(what)).collect(),
        }
    }

    fn signal(what: &str) -> AbsentSignal {
        AbsentSignal { what: what.to_owned(), why: "refused".to_owned() }
    }

    /// Time and value.
    type Pair = (f64, f64);

    /// The last points of a value: the one before, and now.
    fn points(
        absent: &[&str],
        samples: &[ProbeSample],
        name: &str,
    ) -> Option<(Option<Pair>, Pair)> {
        let absent = absent.iter().map(|what| signal(what)).collect();
        let mut decoder =
            ProbeDecoder::new(&ProbeHeader { absent, ..ProbeHeader::of_version_1(1e3, None) });
        for sample in samples {
            decoder.decode(sample);
        }
        let pair = |point: ProbePoint| (point.at_ms, point.value);
        decoder
            .value(ProbeSource::Server, name)
            .map(|value| (value.before.map(pair), pair(value.now)))
    }

    #[test]
    fn a_wait_was_zero_when_it_was_not_listed() {
        let found = points(
            &[],
            &[sample(0.0, &[("status.a", 1.0)], &[]), sample(1e3, &[(WAIT, 5.0)], &[])],
            WAIT,
        );
        assert_eq!(found, Some((Some((0.0, 0.0)), (1e3, 5.0))));
        let first = points(&[], &[sample(0.0, &[(WAIT, 5.0), ("status.a", 1.0)], &[])], WAIT);
        assert_eq!(first, Some((None, (0.0, 5.0))));
        let counter = [sample(0.0, &[], &[]), sample(1e3, &[("status.a", 5.0)], &[])];
        assert_eq!(
            points(&[], &counter, "status.a"),
            Some((None, (1e3, 5.0))),
            "a counter is always listed"
        );
    }

    #[test]
    fn a_wait_that_first_appears_after_a_loss_was_zero_before_the_loss() {
        let before =
            [sample(0.0, &[(WAIT, 1.0)], &[]), sample(1e3, &[], &[]), sample(2e3, &[], &["wait"])];
        let then = |next: &[ProbeSample]| [&before, next].concat();
        let back = then(&[sample(3e3, &[(WAIT, 4.0), (OTHER, 8.0)], &[])]);
        assert_eq!(points(&[], &back, OTHER), Some((Some((1e3, 0.0)), (3e3, 8.0))));
        assert_eq!(
            points(&[], &back, WAIT),
            Some((Some((1e3, 1.0)), (3e3, 4.0))),
            "it grew over all of the loss"
        );
        assert_eq!(points(&[], &before, WAIT), None, "lost");
        // Once the waits are read again, a new one was zero at the reading before.
        let later = then(&[sample(3e3, &[(WAIT, 4.0)], &[]), sample(4e3, &[(OTHER, 8.0)], &[])]);
        assert_eq!(points(&[], &later, OTHER), Some((Some((3e3, 0.0)), (4e3, 8.0))));
        // Another source was lost.
        let other = [
            sample(0.0, &[("metric.a", 1.0)], &[]),
            sample(1e3, &[], &["metric"]),
            sample(2e3, &[(WAIT, 5.0)], &[]),
        ];
        assert_eq!(points(&[], &other, WAIT), Some((Some((1e3, 0.0)), (2e3, 5.0))));
        // Never read before.
        let absent = [sample(0.0, &[], &[]), sample(1e3, &[(WAIT, 5.0)], &[])];
        assert_eq!(points(&["wait"], &absent, WAIT), Some((None, (1e3, 5.0))));
    }

    #[test]
    fn a_late_reading_is_no_point_and_its_values_are_kept() {
        let late =
            ProbeSample { took_ms: 600.0, ..sample(1e3, &[("status.a", 7.0), (WAIT, 3.0)], &[]) };
        let samples = [sample(0.0, &[("status.a", 1.0)], &[]), late, sample(2e3, &[], &[])];
        assert_eq!(points(&[], &samples, "status.a"), Some((Some((0.0, 1.0)), (2e3, 7.0))));
        assert_eq!(points(&[], &samples, WAIT), Some((Some((0.0, 0.0)), (2e3, 3.0))));
    }

    #[test]
    fn counters_that_fall_together_were_reset() {
        let all = [("status.a", 9.0), ("status.b", 9.0), ("status.c", 1.0), (WAIT, 9.0)];
        let mut decoder = ProbeDecoder::new(&ProbeHeader::of_version_1(1e3, None));
        let mut reset = |sample| {
            decoder.decode(&sample);
            decoder.is_reset(ProbeSource::Server)
        };
        assert!(!reset(sample(0.0, &all, &[])));
        assert!(!reset(sample(1e3, &[(WAIT, 1.0)], &[])), "a user may truncate the table of waits");
        assert!(reset(sample(
            2e3,
            &[("status.a", 1.0), ("status.b", 1.0), ("status.c", 5.0)],
            &[]
        )));
        assert!(!reset(sample(3e3, &[("status.a", 2.0)], &[])));
    }
}
