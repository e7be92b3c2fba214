//! Stalls during a run, by the rule of every report ([`judge_phase`]), as if the run ended now.
//!
//! Later intervals may still change two results: the baseline of the last 15 s, whose steps have
//! neighbours on one side only; and values of the whole run (the number of joined buckets, the
//! median response time), which a long run computes from its last minutes. A phase without a
//! finished transaction is not judged. At the end of the run all intervals are judged together.

use std::collections::VecDeque;

use truetps_record::{Interval, Phase, Suspension, TimeSpan};

use crate::stall_rule::{JudgedInterval, MERGE_MS, NEAR_MS, judge_phase};
use crate::stalls::{Stalls, stalls_of};

/// Stalls that are kept one by one; all are counted.
const KEPT_MAX: usize = 200;

/// What is known after the last interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StallsSoFar {
    /// How much of this interval was a stall.
    pub stalled_ms: f64,
    /// Length so far of the stall that this interval ended in.
    pub going_on_ms: Option<f64>,
    /// Stalls of this phase, including one that is not over.
    pub count: u32,
    /// The longest of them; 0 where there is none.
    pub longest_ms: f64,
    /// A part of this phase could be judged. If not, the absence of stalls means nothing.
    pub judged: bool,
}

/// Limits of what is kept and judged again, in intervals.
#[derive(Debug, Clone, Copy)]
struct LiveLimits {
    /// Kept to be judged at the end: eight hours, some 5 MB. A longer run is judged in parts.
    seen_max: usize,
    /// Judged again with each interval. When there are more, the stalls of the first half are
    /// settled.
    open_max: usize,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self { seen_max: 8 * 3600, open_max: 240 }
    }
}

/// Finds stalls in intervals as they come.
#[derive(Debug, Clone, Default)]
pub struct LiveStalls {
    limits: LiveLimits,
    phase: Option<Phase>,
    /// The intervals of the trial.
    seen: Vec<JudgedInterval>,
    /// The last ones of this phase, which are judged again: those that are not settled, and the
    /// neighbours of their steps.
    recent: Vec<JudgedInterval>,
    /// Stalls of intervals that are kept no more.
    earlier: StallsSoFar,
    settled: SettledStalls,
    /// Stalls that the next intervals may change.
    open: Vec<TimeSpan>,
    /// End of the last time in which the generator was suspended.
    suspended_until_ms: Option<f64>,
}

impl StallsSoFar {
    fn and(self, whole: &Stalls) -> Self {
        Self {
            count: self.count + whole.stalls().count() as u32,
            longest_ms: whole.longest_ms.unwrap_or(0.0).max(self.longest_ms),
            judged: whole.absent.is_none() || self.judged,
            ..self
        }
    }
}

/// Stalls of this phase that later intervals do not change.
#[derive(Debug, Clone, Default)]
struct SettledStalls {
    /// All stalls that begin before this are complete.
    until_ms: f64,
    /// The last ones.
    kept: VecDeque<TimeSpan>,
    totals: StallsSoFar,
}

impl SettledStalls {
    fn add(&mut self, stall: TimeSpan) {
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(stall);
        self.totals.count += 1;
        self.totals.longest_ms = self.totals.longest_ms.max(stall.length_ms());
    }
}

impl LiveStalls {
    /// The generator was suspended: nothing up to the end of that is a stall.
    pub fn suspended(&mut self, suspension: Suspension) {
        self.suspended_until_ms = Some(suspension.end_ms());
    }

    /// Takes the next interval of a trial. Nothing is a stall while the trial drains.
    pub fn interval(&mut self, interval: &Interval) -> StallsSoFar {
        let span =
            TimeSpan { from_ms: interval.start_ms, to_ms: interval.start_ms + interval.length_ms };
        self.make_room(span.from_ms);
        if self.phase != Some(interval.phase) {
            self.phase = Some(interval.phase);
            self.open.clear();
            self.recent.clear();
            self.settled = SettledStalls { until_ms: span.from_ms, ..SettledStalls::default() };
        }
        self.seen.push(JudgedInterval::of(interval));
        self.recent.extend(self.seen.last().cloned());
        if interval.phase == Phase::Drain {
            return StallsSoFar::default();
        }
        if self.suspended_until_ms.is_some_and(|until_ms| span.from_ms < until_ms) {
            self.recent.clear();
            self.settle(span.to_ms);
            return self.so_far(None);
        }
        let judged = judge_phase(&self.recent, interval.phase);
        // Before the first transaction has ended there is no baseline: transactions may take that
        // long.
        let stalls = judged.level.and(judged.stalls.ok());
        self.settled.totals.judged |= stalls.is_some();
        let until_ms = self.settled.until_ms;
        self.open = stalls.unwrap_or_default();
        self.open.retain(|stall| stall.from_ms >= until_ms);
        self.settle_old();
        self.so_far(Some(span))
    }

    /// A run of days is judged in parts, which end where no stall goes on.
    fn make_room(&mut self, now_ms: f64) {
        let goes_on = self.open.last().is_some_and(|stall| stall.to_ms + MERGE_MS >= now_ms);
        let seen = self.seen.len();
        if seen >= self.limits.seen_max && !goes_on || seen >= 2 * self.limits.seen_max {
            self.earlier = self.earlier.and(&stalls_of(&self.seen));
            self.seen.clear();
            self.recent.clear();
            self.settle(now_ms);
        }
    }

    fn settle_old(&mut self) {
        if self.recent.len() <= self.limits.open_max {
            return;
        }
        let middle = self.recent.len() - self.limits.open_max / 2;
        let until_ms = self.recent[middle].start_ms;
        let until = TimeSpan { from_ms: until_ms, to_ms: until_ms };
        let around = TimeSpan { from_ms: until_ms - NEAR_MS, to_ms: until_ms + NEAR_MS };
        // A stall is settled as a whole. The middle of a long one is judged no more: it has nothing
        // new.
        if !self.open.iter().any(|stall| stall.touches(until, MERGE_MS)) {
            self.settle(until_ms);
            self.recent.drain(
                ..self.recent.partition_point(|interval| interval.start_ms < until_ms - NEAR_MS),
            );
        } else if self.open.iter().any(|stall| stall.shared(around) == around) {
            self.recent.remove(middle);
        }
    }

    fn settle(&mut self, until_ms: f64) {
        self.settled.until_ms = until_ms;
        let (old, open): (Vec<_>, _) =
            self.open.iter().copied().partition(|stall| stall.from_ms < until_ms);
        self.open = open;
        for stall in old {
            self.settled.add(stall);
        }
    }

    /// `interval`: the last one, if it was judged.
    fn so_far(&self, interval: Option<TimeSpan>) -> StallsSoFar {
        let settled = self.settled.totals;
        let last = self.open.last().copied().zip(interval);
        let goes_on = last.filter(|(stall, interval)| stall.to_ms > interval.to_ms - 1.0);
        StallsSoFar {
            stalled_ms: interval.map_or(0.0, |interval| {
                self.open.iter().fold(0.0, |sum, stall| sum + stall.shared(interval).length_ms())
            }),
            going_on_ms: goes_on.map(|(stall, _)| stall.length_ms()),
            count: settled.count + self.open.len() as u32,
            longest_ms: self
                .open
                .iter()
                .fold(settled.longest_ms, |longest, stall| longest.max(stall.length_ms())),
            judged: settled.judged,
        }
    }

    /// The trial is over: the stalls of its measure phase by the same rule as in every report, with
    /// what came after them.
    pub fn in_the_end(&self) -> StallsSoFar {
        if self.suspended_until_ms.is_some() {
            return StallsSoFar::default();
        }
        self.earlier.and(&stalls_of(&self.seen))
    }

    /// Stalls of this phase in order of time, with one that goes on; of those before the last
    /// minutes, the last 200.
    pub fn stalls(&self) -> impl Iterator<Item = TimeSpan> {
        self.settled.kept.iter().chain(&self.open).copied()
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{BUCKET_MS, Counts};

    use super::*;
    use crate::stalls::stalls;
    use crate::stalls_tests::{intervals, of_buckets, poisson};
    use crate::synthetic::Random;

    fn interval(phase: Phase, start_ms: f64, buckets: &[u32]) -> Interval {
        let length_ms = buckets.len() as f64 * BUCKET_MS;
        Interval {
            buckets: buckets.to_vec(),
            ..Interval::of_counts(phase, start_ms, length_ms, Counts::default())
        }
    }

    /// A measure phase of these buckets, second by second: what each said, and the stalls as start
    /// and length.
    fn watch(buckets: &[u32]) -> (Vec<StallsSoFar>, Vec<(f64, f64)>) {
        watch_phase(Phase::Measure, buckets)
    }

    fn watch_phase(phase: Phase, buckets: &[u32]) -> (Vec<StallsSoFar>, Vec<(f64, f64)>) {
        let mut stalls = LiveStalls::default();
        let seconds = buckets.chunks(10).enumerate();
        let said = seconds
            .map(|(second, chunk)| stalls.interval(&interval(phase, second as f64 * 1e3, chunk)));
        let said = said.collect();
        (said, live(&stalls))
    }

    fn live(stalls: &LiveStalls) -> Vec<(f64, f64)> {
        stalls.stalls().map(|stall| (stall.from_ms, stall.length_ms())).collect()
    }

    /// What a report has of a run with these intervals.
    fn reported(intervals: &[Interval]) -> Vec<(f64, f64)> {
        stalls(intervals).stalls().map(|stall| (stall.start_ms, stall.length_ms)).collect()
    }

    /// The level changes every few seconds, and for moments little or nothing ends.
    fn rough(seed: u64, mean_tps: f64) -> impl Fn(f64) -> f64 {
        move |at_ms| {
            let draw =
                |period_ms: f64| Random(seed + (at_ms / period_ms) as u64 * 1000).exponential();
            let level = mean_tps * (0.5 + 0.5 * draw(7000.0).min(2.0));
            if draw(900.0) > 2.5 {
                level * 0.2 * (draw(300.0) - 0.7).clamp(0.0, 2.0)
            } else {
                level
            }
        }
    }

    #[test]
    fn each_moment_is_judged_as_if_the_run_ended_then() {
        let mut found = 0;
        for (seed, mean_tps) in
            [(1, 12.0), (2, 60.0), (3, 300.0), (4, 300.0), (5, 2000.0), (6, 2000.0)]
        {
            let ends = poisson(&mut Random(seed), 70_000.0, rough(seed, mean_tps));
            let list = intervals(3000, 60_000, &ends);
            let mut online = LiveStalls::default();
            for (index, interval) in
                list.iter().enumerate().filter(|(_, one)| one.phase != Phase::Drain)
            {
                let so_far = online.interval(interval);
                let report = stalls(&list[..=index]);
                if interval.phase == Phase::Measure {
                    assert_eq!(
                        live(&online),
                        reported(&list[..=index]),
                        "seed {seed}, second {index}"
                    );
                    assert_eq!(so_far.count as usize, report.stalls().count());
                    assert_eq!(Some(so_far.longest_ms), report.longest_ms.or(Some(0.0)));
                    assert!(so_far.judged || report.absent.is_some());
                }
            }
            found += live(&online).len();
        }
        assert!(found > 30, "{found} stalls");
    }

    #[test]
    fn settled_stalls_match_the_whole_run() {
        let mut random = Random(7);
        let pauses: Vec<(f64, f64)> = (0..40)
            .map(|n| {
                (
                    f64::from(n) * 15_000.0 + 9000.0 * random.exponential().min(1.0),
                    300.0 * random.exponential(),
                )
            })
            .collect();
        let rate = |at: f64| {
            if pauses.iter().any(|(from, length)| (*from..from + length + 300.0).contains(&at)) {
                0.0
            } else {
                1000.0
            }
        };
        let list = intervals(0, 600_000, &poisson(&mut Random(8), 601_000.0, rate));
        let limits = LiveLimits { open_max: 60, ..LiveLimits::default() };
        let mut online = LiveStalls { limits, ..LiveStalls::default() };
        for interval in list.iter().filter(|one| one.phase == Phase::Measure) {
            online.interval(interval);
            assert!(online.recent.len() <= 70);
        }
        assert_eq!((live(&online), online.settled.kept.len() > 30), (reported(&list), true));
    }

    fn steady(bucket: u32, seconds: usize) -> Vec<u32> {
        vec![bucket; seconds * 10]
    }

    #[test]
    fn a_pause_of_two_seconds_is_one_stall_of_two_seconds() {
        let (said, stalls) = watch(&[steady(100, 5), steady(0, 2), steady(100, 3)].concat());
        assert_eq!(stalls, [(5000.0, 2000.0)]);
        let stalled: Vec<_> = said.iter().map(|so_far| so_far.stalled_ms).collect();
        assert_eq!(stalled, [0.0, 0.0, 0.0, 0.0, 0.0, 1000.0, 1000.0, 0.0, 0.0, 0.0]);
        assert_eq!(
            (said[5].going_on_ms, said[6].going_on_ms, said[7].going_on_ms),
            (Some(1e3), Some(2e3), None)
        );
        assert_eq!(
            said[9],
            StallsSoFar {
                stalled_ms: 0.0,
                going_on_ms: None,
                count: 1,
                longest_ms: 2e3,
                judged: true
            }
        );
    }

    #[test]
    fn a_stall_goes_over_the_edge_of_intervals() {
        let mut buckets = steady(100, 6);
        buckets[29..31].fill(10);
        buckets[48..53].fill(29);
        let (said, stalls) = watch(&buckets);
        assert_eq!(stalls, [(2900.0, 200.0), (4800.0, 500.0)]);
        // One low bucket at an end is none yet; what is known in the end is whole.
        assert_eq!(
            (said[2].stalled_ms, said[2].going_on_ms, said[3].stalled_ms),
            (0.0, None, 100.0)
        );
        assert_eq!(
            (said[4].stalled_ms, said[4].going_on_ms, said[5].stalled_ms),
            (200.0, Some(200.0), 300.0)
        );
        assert_eq!((said[5].count, said[5].longest_ms), (2, 500.0));
    }

    #[test]
    fn a_moment_between_two_is_a_part_of_one() {
        let mut buckets = steady(100, 6);
        for low in [28..35, 37..39, 45..47] {
            buckets[low].fill(0);
        }
        let (said, stalls) = watch(&buckets);
        assert_eq!(stalls, [(2800.0, 1100.0), (4500.0, 200.0)]);
        // The time between stalls that are one counts too.
        assert_eq!((said[5].count, said[5].longest_ms, said[3].stalled_ms), (2, 1100.0, 900.0));
    }

    #[test]
    fn a_single_bucket_or_a_milder_dip_is_none() {
        let mut buckets = steady(100, 6);
        (buckets[25], buckets[29], buckets[32]) = (0, 0, 0);
        buckets[40..50].fill(31);
        assert_eq!(watch(&buckets).1, []);
    }

    #[test]
    fn the_live_total_is_the_total_of_the_report() {
        let mut stalls = LiveStalls::default();
        // A gap of 290 ms that no two buckets in a row show as a whole, and one in the first
        // second.
        let mut buckets = steady(100, 6);
        buckets[3..6].fill(0);
        buckets[31..33].fill(0);
        let list: Vec<_> = buckets
            .chunks(10)
            .enumerate()
            .map(|(n, chunk)| interval(Phase::Measure, n as f64 * 1e3, chunk))
            .collect();
        for one in &list {
            stalls.interval(one);
        }
        let drain = stalls.interval(&interval(Phase::Drain, 6000.0, &[1]));
        let report = crate::stalls::stalls(&list);
        let total = stalls.in_the_end();
        assert_eq!((total.count, Some(total.longest_ms)), (2, report.longest_ms), "{report:?}");
        assert_eq!(report.stalls().count(), 2);
        assert_eq!(drain.count, 0, "the drain is a phase of its own");
    }

    #[test]
    fn long_runs_are_judged_in_parts() {
        let limits = LiveLimits { seen_max: 480, open_max: 60 };
        let mut stalls = LiveStalls { limits, ..LiveStalls::default() };
        // A stall every minute, one of them where the first part is full.
        for second in 0..600 {
            let is_low = second % 60 < 2 && second >= 60;
            stalls.interval(&interval(
                Phase::Measure,
                f64::from(second) * 1e3,
                &[if is_low { 0 } else { 100 }; 10],
            ));
            assert!(stalls.seen.len() <= limits.seen_max + 3);
        }
        let total = stalls.in_the_end();
        assert_eq!((total.count, total.longest_ms, total.judged), (9, 2000.0, true));
    }

    #[test]
    fn a_long_standstill_is_judged_in_bounded_time() {
        let mut stalls = LiveStalls::default();
        let buckets = [steady(100, 60), steady(0, 7200), steady(100, 400)].concat();
        for (second, chunk) in buckets.chunks(10).enumerate() {
            let so_far = stalls.interval(&interval(Phase::Measure, second as f64 * 1e3, chunk));
            // Near the end of a stall nothing is left out.
            assert!(stalls.recent.len() <= 260, "second {second}");
            assert_eq!(so_far.count, u32::from(second >= 60), "second {second}");
        }
        assert_eq!(live(&stalls), [(60_000.0, 7_200_000.0)]);
        assert_eq!(live(&stalls), reported(&of_buckets(&buckets)));
    }

    #[test]
    fn a_slow_start_is_none() {
        let ramp: Vec<u32> = (0..200).map(|bucket| bucket / 2).chain([100; 100]).collect();
        for buckets in [ramp.clone(), [steady(0, 3), steady(500, 5)].concat()] {
            let (said, stalls) = watch_phase(Phase::WarmUp, &buckets);
            assert!(said.iter().all(|so_far| so_far.count == 0) && stalls.is_empty(), "{stalls:?}");
        }
        // The measure phase begins after the warm-up.
        assert_eq!(watch(&ramp).1, reported(&of_buckets(&ramp)));
    }

    #[test]
    fn few_transactions_are_looked_at_in_longer_buckets() {
        // 50 a second: joined by 5. Half a second without any is no evidence, a whole one is.
        let bucket = |index: usize| 4 + 2 * (index as u32 % 2);
        let mut slow: Vec<u32> = (0..300).map(bucket).collect();
        slow[200..205].fill(0);
        assert_eq!(watch(&slow).1, []);
        slow[250..270].fill(0);
        assert_eq!(watch(&slow).1, [(25_000.0, 2000.0)]);
        // 10 a second: only a gap in which 20 were to be expected is evidence.
        let (said, stalls) = watch(&[steady(1, 20), steady(0, 10)].concat());
        assert_eq!(
            (said[20].judged, said[29].judged, stalls),
            (false, true, vec![(20_000.0, 10_000.0)])
        );
    }

    #[test]
    fn a_lower_level_is_normal_in_the_end_and_nothing_at_all_never_is() {
        let (said, stalls) = watch(&[steady(100, 30), steady(20, 80)].concat());
        assert_eq!(
            (said[40].count, said[40].going_on_ms),
            (1, Some(11_000.0)),
            "it may be over soon"
        );
        assert_eq!((stalls, said[109].count), (vec![], 0), "as in the report");
        let (said, _) = watch(&[steady(100, 30), steady(0, 80)].concat());
        assert_eq!(said[109].going_on_ms, Some(80_000.0));
    }

    #[test]
    fn phases_are_judged_by_themselves() {
        let mut stalls = LiveStalls::default();
        let mut said = |phase, second: f64, bucket| {
            stalls.interval(&interval(phase, second * 1e3, &[bucket; 10]))
        };
        for second in 0..3 {
            said(Phase::WarmUp, f64::from(second), 100);
        }
        assert_eq!(said(Phase::WarmUp, 3.0, 0).count, 1);
        assert_eq!(said(Phase::Measure, 4.0, 0), StallsSoFar::default());
        for second in 5..7 {
            said(Phase::Measure, f64::from(second), 100);
        }
        assert_eq!(said(Phase::Drain, 7.0, 0), StallsSoFar::default());
    }

    #[test]
    fn short_intervals_and_old_records_say_nothing_false() {
        let mut stalls = LiveStalls::default();
        for second in 0..5 {
            stalls.interval(&interval(Phase::Measure, f64::from(second) * 1e3, &[100; 10]));
        }
        // 0.13 s: the second bucket is 30 ms long.
        let short = Interval { length_ms: 130.0, ..interval(Phase::Measure, 5000.0, &[25, 5]) };
        let nothing = StallsSoFar { judged: true, ..StallsSoFar::default() };
        assert_eq!(stalls.interval(&short), nothing);
        let old = Interval { length_ms: 1000.0, ..interval(Phase::Measure, 5130.0, &[]) };
        assert_eq!(stalls.interval(&old), nothing);
    }

    /// Poisson, by counting in how many steps a product of uniform draws is used up.
    fn count(random: &mut Random, mean: f64) -> u32 {
        let (mut left, mut count) = (mean, 0);
        loop {
            left -= random.exponential();
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }

    /// The stalls of ten hours in a report, and of ten minutes as they come.
    #[test]
    fn noise_has_no_stall() {
        const BUCKETS: usize = 10 * 3600 * 10;
        for (seed, cv) in [(1, 0.0), (3, 0.25)] {
            let mut random = Random(seed);
            // Of all of it; what chance alone makes is a part.
            let of_rate: f64 = (cv * cv - 1.0 / 20.0_f64).max(0.0);
            let spread = of_rate.ln_1p().sqrt();
            let draw = |_| {
                let rate = 20.0 * (spread * random.normal() - spread * spread / 2.0).exp();
                count(&mut random, rate)
            };
            let buckets: Vec<u32> = (0..BUCKETS).map(draw).collect();
            assert_eq!(
                reported(&of_buckets(&buckets)),
                [],
                "seed {seed}, coefficient of variation {cv}"
            );
            let (said, _) = watch(&buckets[..6000]);
            assert!(
                said.iter().all(|so_far| so_far.count == 0),
                "seed {seed}, coefficient of variation {cv}"
            );
        }
    }
}
