//! Whether a watched server answers, decided from the times of its readings: [`Responsiveness`]
//! while it is watched, and on its record. Both find the same outages.

use crate::probe::samples::SLOW_MS;
use crate::{ProbeSeries, ProbeSource, Suspension, TimeSpan};

/// `None` if it is short enough for a busy server.
fn outage(from_ms: f64, to_ms: f64) -> Option<TimeSpan> {
    Some(TimeSpan { from_ms, to_ms }).filter(|outage| outage.length_ms() > SLOW_MS)
}

/// Follows the readings of one server.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "a name has its unit last")]
pub struct Responsiveness {
    interval_ms: f64,
    /// When the next query is due.
    due_ms: f64,
    /// No query was made before this time.
    not_asked_ms: f64,
}

impl Responsiveness {
    /// The first query is due at 0, and one more at each interval.
    pub fn new(interval_ms: f64) -> Self {
        // An edited file may have no interval.
        Self { interval_ms: interval_ms.max(1.0), due_ms: 0.0, not_asked_ms: f64::NEG_INFINITY }
    }

    /// A reading was answered. Returns the outage that it has ended, if any: from when the
    /// unanswered query was due.
    pub fn answered(&mut self, began_ms: f64, to_ms: f64) -> Option<TimeSpan> {
        let from_ms = self.due_ms.min(began_ms).max(self.not_asked_ms.min(to_ms));
        self.due_ms = ((to_ms / self.interval_ms).floor() + 1.0) * self.interval_ms;
        outage(from_ms, to_ms)
    }

    /// The outage that is under way at this time.
    pub fn outage_at(&self, now_ms: f64) -> Option<TimeSpan> {
        outage(self.due_ms.max(self.not_asked_ms), now_ms)
    }

    /// The probe did not run until now, so the missing answers say nothing about the server.
    pub fn not_asked_until(&mut self, now_ms: f64) {
        self.not_asked_ms = self.not_asked_ms.max(now_ms);
    }
}

impl ProbeSeries {
    /// From the zero of the clock (or the first reading, if that was sooner) to the end of the last
    /// reading.
    pub fn length_ms(&self) -> f64 {
        let middles = self.all_readings().map(|one| f64::midpoint(one.from_ms, one.to_ms));
        self.end_ms() - middles.fold(0.0, f64::min)
    }

    /// When the last reading ended.
    fn end_ms(&self) -> f64 {
        self.all_readings().map(|one| one.to_ms).fold(0.0, f64::max)
    }

    fn all_readings(&self) -> impl Iterator<Item = &TimeSpan> {
        self.readings(ProbeSource::Server).iter().chain(self.readings(ProbeSource::Host))
    }

    /// When the server did not answer. Its state during a suspension of truetps is unknown. Version
    /// 1 did not record suspensions: there they are derived from the host's readings, which are
    /// always possible: the host was not read for longer than a busy host explains.
    pub fn outages(&self, suspensions: &[Suspension]) -> Vec<TimeSpan> {
        let mut answers = Responsiveness::new(self.interval_ms);
        let mut outages = Vec::new();
        let mut pauses = self.pauses(suspensions).into_iter().peekable();
        for reading in self.readings(ProbeSource::Server) {
            while let Some((from, to)) = pauses.next_if(|(from, _)| *from < reading.to_ms) {
                outages.extend(answers.outage_at(from));
                answers.not_asked_until(to);
            }
            outages.extend(answers.answered(reading.from_ms, reading.to_ms));
        }
        for (from, to) in pauses {
            outages.extend(answers.outage_at(from));
            answers.not_asked_until(to);
        }
        outages.extend(answers.outage_at(self.end_ms()));
        outages
    }

    /// Begin and end of each period without queries, in order.
    fn pauses(&self, suspensions: &[Suspension]) -> Vec<(f64, f64)> {
        let host = self.readings(ProbeSource::Host).windows(2);
        let unread = host.map(|pair| (pair[0].to_ms, pair[1].from_ms));
        let unread = unread
            .filter(|(from, to)| !self.has_suspensions && to - from > self.interval_ms + SLOW_MS);
        let mut pauses: Vec<_> =
            suspensions.iter().map(|one| (one.start_ms, one.end_ms())).chain(unread).collect();
        pauses.sort_by(|one, other| one.0.total_cmp(&other.0));
        pauses
    }

    /// Whether the server answered when the probe ended. `was_asked`: it was queried at that
    /// moment.
    pub(crate) fn answers_at_end(&self, suspensions: &[Suspension], was_asked: bool) -> bool {
        let end_ms = self.end_ms();
        let server = self.readings(ProbeSource::Server).last();
        let server_ended_ms = server.map_or(f64::NEG_INFINITY, |reading| reading.to_ms);
        if self
            .outages(suspensions)
            .last()
            .is_some_and(|last| last.to_ms >= end_ms && server_ended_ms < end_ms)
        {
            return false;
        }
        let Some(host) = self.readings(ProbeSource::Host).last().filter(|_| was_asked) else {
            return true;
        };
        // Both are read at the end, and one may be read a little later than the other.
        let slack_ms = (self.interval_ms / 2.0).max(100.0);
        server_ended_ms >= host.from_ms - slack_ms
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{ProbeHeader, ProbeSample};

    fn samples(source: ProbeSource, readings: &[(f64, f64)]) -> impl Iterator<Item = ProbeSample> {
        let sample = move |(began, ended): &(f64, f64)| ProbeSample {
            source,
            at_ms: f64::midpoint(*began, *ended),
            took_ms: ended - began,
            values: BTreeMap::new(),
            lost: Vec::new(),
        };
        readings.iter().map(sample).collect::<Vec<_>>().into_iter()
    }

    /// Host and server, each read at these seconds; a reading takes a few milliseconds.
    fn series(
        interval_ms: f64,
        server: &[(f64, f64)],
        host: impl IntoIterator<Item = u32>,
    ) -> ProbeSeries {
        let host: Vec<_> =
            host.into_iter().map(|s| (f64::from(s) * 1e3, f64::from(s) * 1e3 + 2.0)).collect();
        let header = ProbeHeader::of_version_1(interval_ms, None);
        ProbeSeries::of(
            &header,
            samples(ProbeSource::Server, server).chain(samples(ProbeSource::Host, &host)),
        )
    }

    fn timings(server: &[(f64, f64)], host: impl IntoIterator<Item = u32>) -> ProbeSeries {
        series(1000.0, server, host)
    }

    fn spans(outages: &[TimeSpan]) -> Vec<(f64, f64)> {
        outages.iter().map(|one| (one.from_ms, one.to_ms)).collect()
    }

    #[test]
    fn a_server_that_answers_is_never_silent() {
        let seen =
            timings(&[(-3.0, 4.0), (1000.0, 1400.0), (2000.0, 2005.0), (2500.0, 2510.0)], 0..=2);
        assert_eq!(spans(&seen.outages(&[])), []);
        assert!(seen.answers_at_end(&[], true));
        assert!((seen.length_ms() - 2510.0).abs() < 1e-6, "{}", seen.length_ms());
    }

    #[test]
    fn a_reading_that_hangs_and_questions_without_an_answer_are_one_silence() {
        let hung = timings(&[(0.0, 4.0), (1000.0, 3500.0), (4000.0, 4005.0)], 0..=4);
        assert_eq!(spans(&hung.outages(&[])), [(1000.0, 3500.0)]);
        // The session was lost after ten seconds, and the server answered in the middle of the next
        // try.
        let lost = timings(&[(0.0, 4.0), (13_000.0, 14_500.0), (15_000.0, 15_004.0)], 0..=15);
        assert_eq!(spans(&lost.outages(&[])), [(1000.0, 14_500.0)]);
        assert!(lost.answers_at_end(&[], true));
    }

    #[test]
    fn a_server_that_is_gone_is_silent_to_the_end() {
        let gone = timings(&[(0.0, 4.0), (1000.0, 1004.0)], 0..=5);
        assert_eq!(spans(&gone.outages(&[])), [(2000.0, 5002.0)]);
        assert!(!gone.answers_at_end(&[], true) && !gone.answers_at_end(&[], false));
        // Within the last interval: only who asked at the end knows it.
        let at_last = timings(&[(0.0, 4.0), (1000.0, 1004.0)], 0..=2);
        assert_eq!(spans(&at_last.outages(&[])), []);
        assert!(!at_last.answers_at_end(&[], true) && at_last.answers_at_end(&[], false));
        let never = timings(&[], 0..=3);
        assert_eq!(spans(&never.outages(&[])), [(0.0, 3002.0)]);
        assert!(!never.answers_at_end(&[], true));
    }

    #[test]
    fn an_answer_after_the_end_is_one() {
        let late = timings(&[(0.0, 4.0), (1000.0, 1004.0), (2000.0, 3500.0)], 0..=2);
        assert_eq!(spans(&late.outages(&[])), [(2000.0, 3500.0)]);
        assert!(late.answers_at_end(&[], true));
    }

    /// A host that is read late is no suspension: the live view, which has no later reading, shows
    /// an outage, too.
    #[test]
    fn a_record_with_suspensions_has_the_outages_of_the_live_view() {
        let server = [(0.0, 4.0), (1000.0, 1004.0), (2000.0, 8999.0), (9005.0, 9010.0)];
        let host = [0.0, 1000.0, 2000.0, 9000.0].map(|ms| (ms, ms + 2.0));
        let seen = |schema_version| {
            let header = ProbeHeader { schema_version, ..ProbeHeader::of_version_1(1e3, None) };
            ProbeSeries::of(
                &header,
                samples(ProbeSource::Server, &server).chain(samples(ProbeSource::Host, &host)),
            )
        };
        let mut live = Responsiveness::new(1e3);
        let live: Vec<_> =
            server.iter().filter_map(|(from_ms, to_ms)| live.answered(*from_ms, *to_ms)).collect();
        assert_eq!(spans(&seen(2).outages(&[])), spans(&live));
        assert_eq!(spans(&live), [(2000.0, 8999.0)]);
        assert_eq!(spans(&seen(1).outages(&[])), []);
        let suspended = [Suspension { start_ms: 2002.0, length_ms: 6990.0 }];
        assert_eq!(spans(&seen(2).outages(&suspended)), []);
    }

    #[test]
    fn who_does_not_ask_learns_nothing() {
        // From 2.0 to 9.0 s truetps itself was stopped, in the middle of a reading.
        let stopped = timings(
            &[(0.0, 4.0), (1000.0, 1004.0), (2000.0, 8999.0), (9005.0, 9010.0)],
            [0, 1, 2, 9],
        );
        assert_eq!(spans(&stopped.outages(&[])), []);
        // At an interval of ten seconds the host was read in time before and after.
        let suspended = [Suspension { start_ms: 20_002.0, length_ms: 4_000.0 }];
        let readings =
            [(0.0, 4.0), (10_000.0, 10_004.0), (20_000.0, 24_003.0), (30_000.0, 30_004.0)];
        let frozen = series(10_000.0, &readings, [0, 10, 20, 30]);
        assert_eq!(spans(&frozen.outages(&[])), [(20_000.0, 24_003.0)]);
        assert_eq!(spans(&frozen.outages(&suspended)), []);
        // A server that hung before stays one that hung.
        let hung = timings(&[(0.0, 4.0), (1000.0, 24_003.0)], 0..=24);
        assert_eq!(spans(&hung.outages(&suspended)), [(1000.0, 20_002.0)]);
        let mut answers = Responsiveness::new(1000.0);
        assert_eq!(answers.answered(0.0, 10.0), None);
        assert_eq!(answers.outage_at(1400.0), None);
        assert_eq!(answers.outage_at(3000.0), Some(TimeSpan { from_ms: 1000.0, to_ms: 3000.0 }));
        answers.not_asked_until(2900.0);
        assert_eq!((answers.outage_at(3000.0), answers.answered(2995.0, 3005.0)), (None, None));
    }
}
