//! Stalls during a run, from the intervals so far. Complete records are judged elsewhere.

use std::collections::VecDeque;

use truetps_record::{BUCKET_MS, Interval, Phase, Suspension};

use crate::order_stats::median;
use crate::stall_rule::{EXPECTED_MIN, JOINED, MERGE_MS, STALL_SHARE, STALL_STEPS, STEPS_MIN};
use crate::stalls::{JudgedInterval, Stalls, stalls_of};

/// What the local median is taken of.
const WINDOW: usize = 300;
/// Stalls that are kept one by one; all are counted.
const KEPT_MAX: usize = 200;
/// Intervals that are further apart do not follow each other.
const APART_MS: f64 = 50.0;

/// Intervals that are kept to be judged in the end: eight hours, some 5 MB.
const SEEN_MAX: usize = 8 * 3600;

/// One stall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveStall {
    /// On the clock of [`Interval::start_ms`].
    pub start_ms: f64,
    /// Length so far, if the stall is not over.
    pub length_ms: f64,
}

impl LiveStall {
    fn end_ms(&self) -> f64 {
        self.start_ms + self.length_ms
    }
}

/// What the last interval adds to what is known.
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
    /// Something of this phase could be judged. Where it is not, no stall means nothing.
    pub judged: bool,
}

/// Finds stalls in intervals as they come: stretches of at least two buckets in a row with less than 30 % of the local
/// median: the median of the last 30 s of the same phase. Buckets whose median is under 20 transactions are joined
/// first; where a second has fewer than that, no stall is reported.
#[derive(Debug, Clone, Default)]
pub struct LiveStalls {
    phase: Option<Phase>,
    /// End of the last interval.
    end_ms: f64,
    /// Buckets that were no stall, oldest first.
    normal: VecDeque<u32>,
    low: Option<Low>,
    kept: VecDeque<LiveStall>,
    so_far: StallsSoFar,
    /// End of the last time in which the generator was suspended.
    suspended_until_ms: Option<f64>,
    /// The last intervals, to be judged again when there are no more.
    seen: Vec<JudgedInterval>,
    /// Stalls of the intervals before them.
    earlier: Earlier,
}

/// What was judged in the end of intervals that are kept no more.
#[derive(Debug, Clone, Copy, Default)]
struct Earlier {
    count: u32,
    longest_ms: f64,
    is_judged: bool,
}

impl Earlier {
    fn and(self, whole: &Stalls) -> Self {
        Self {
            count: self.count + whole.stalls().count() as u32,
            longest_ms: whole.longest_ms.unwrap_or(0.0).max(self.longest_ms),
            is_judged: whole.unknown.is_none() || self.is_judged,
        }
    }
}

/// Buckets in a row that are low: a stall, or the one that may become one.
#[derive(Debug, Clone)]
struct Low {
    start_ms: f64,
    end_ms: f64,
    joined: usize,
    /// Its buckets, while it may turn out to be chance.
    held: Vec<u32>,
}

impl Low {
    fn is_stall(&self) -> bool {
        self.joined >= STALL_STEPS
    }

    fn length_ms(&self) -> f64 {
        self.end_ms - self.start_ms
    }
}

/// How many buckets are joined, and what they have at the median.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    joined: usize,
    median: f64,
}

impl LiveStalls {
    /// The generator was suspended: nothing up to the end of that is a stall.
    pub fn suspended(&mut self, suspension: Suspension) {
        self.suspended_until_ms = Some(suspension.end_ms());
    }

    /// Takes the next interval of a trial. Nothing is a stall while the trial drains.
    pub fn interval(&mut self, interval: &Interval) -> StallsSoFar {
        self.see(interval);
        if self.phase != Some(interval.phase) {
            let (suspended_until_ms, seen, earlier) =
                (self.suspended_until_ms, std::mem::take(&mut self.seen), self.earlier);
            *self = Self { phase: Some(interval.phase), suspended_until_ms, seen, earlier, ..Self::default() };
        } else if (interval.start_ms - self.end_ms).abs() > APART_MS {
            self.low_ends();
        }
        self.end_ms = interval.start_ms + interval.length_ms;
        (self.so_far.stalled_ms, self.so_far.going_on_ms) = (0.0, None);
        if interval.phase == Phase::Drain {
            return self.so_far;
        }
        if self.suspended_until_ms.is_some_and(|until_ms| interval.start_ms < until_ms) {
            self.low_ends();
            return self.so_far;
        }
        // The last bucket of a short interval is short itself, and has less for that reason alone.
        let whole = (interval.length_ms / BUCKET_MS + 0.01) as usize;
        let buckets = &interval.buckets[..whole.min(interval.buckets.len())];
        if let Some(baseline) = self.baseline() {
            self.so_far.judged = true;
            self.judge(interval.start_ms, buckets, baseline);
        } else {
            self.low_ends();
            self.remember(buckets);
        }
        self.so_far
    }

    /// Keeps an interval. A run of days is judged in parts, which end where no stall goes on.
    fn see(&mut self, interval: &Interval) {
        let is_full = self.seen.len() >= SEEN_MAX && self.low.is_none() || self.seen.len() >= 2 * SEEN_MAX;
        if is_full {
            self.earlier = self.earlier.and(&stalls_of(&self.seen));
            self.seen.clear();
        }
        self.seen.push(JudgedInterval::of(interval));
    }

    /// The trial is over: the stalls of its measure phase by the same rule as in every report, with what came after them.
    pub fn in_the_end(&self) -> StallsSoFar {
        if self.suspended_until_ms.is_some() {
            return StallsSoFar::default();
        }
        let Earlier { count, longest_ms, is_judged } = self.earlier.and(&stalls_of(&self.seen));
        StallsSoFar { count, longest_ms, judged: is_judged, ..StallsSoFar::default() }
    }

    /// Stalls of this phase in order of time, with one that goes on; the last 200.
    pub fn stalls(&self) -> impl Iterator<Item = LiveStall> {
        self.kept.iter().copied()
    }

    fn judge(&mut self, start_ms: f64, buckets: &[u32], baseline: Baseline) {
        let step_ms = BUCKET_MS * baseline.joined as f64;
        for (index, chunk) in buckets.chunks_exact(baseline.joined).enumerate() {
            let from_ms = start_ms + step_ms * index as f64;
            let sum: u32 = chunk.iter().sum();
            if f64::from(sum) < STALL_SHARE * baseline.median {
                self.is_low(start_ms, from_ms, from_ms + step_ms, chunk);
            } else {
                self.low_ends();
                self.remember(chunk);
            }
        }
        let is_stall = self.low.as_ref().is_some_and(Low::is_stall);
        self.so_far.going_on_ms = self.kept.back().filter(|_| is_stall).map(|stall| stall.length_ms);
    }

    fn is_low(&mut self, interval_ms: f64, from_ms: f64, to_ms: f64, chunk: &[u32]) {
        let mut low =
            self.low.take().unwrap_or_else(|| Low { start_ms: from_ms, end_ms: from_ms, joined: 0, held: Vec::new() });
        low.joined += 1;
        low.end_ms = to_ms;
        if !low.is_stall() {
            low.held.extend(chunk);
        } else if low.length_ms() > WINDOW as f64 * BUCKET_MS && chunk.iter().any(|bucket| *bucket > 0) {
            // This is how fast the server is now. Where nothing ends at all, it is a stall however long it lasts.
            self.remember(chunk);
        }
        if low.is_stall() {
            self.stall(&low, interval_ms);
            low.held = Vec::new();
        }
        self.low = Some(low);
    }

    /// Counts a new stall, or a known one that goes on, maybe after a moment.
    fn stall(&mut self, low: &Low, interval_ms: f64) {
        let is_new = low.joined == STALL_STEPS;
        let goes_on = self.kept.back().copied().filter(|last| !is_new || low.start_ms - last.end_ms() <= MERGE_MS);
        let known_ms = goes_on.filter(|_| !is_new).map_or(low.start_ms, |last| last.end_ms());
        let start_ms = goes_on.map_or(low.start_ms, |last| last.start_ms);
        let stall = LiveStall { start_ms, length_ms: low.end_ms - start_ms };
        if goes_on.is_some() {
            self.kept.pop_back();
        } else {
            self.so_far.count += 1;
            if self.kept.len() == KEPT_MAX {
                self.kept.pop_front();
            }
        }
        self.kept.push_back(stall);
        self.so_far.stalled_ms += low.end_ms - known_ms.max(interval_ms);
        self.so_far.longest_ms = self.so_far.longest_ms.max(stall.length_ms);
    }

    /// What was low and no stall was chance, and as normal as all others.
    fn low_ends(&mut self) {
        let held = self.low.take().map_or_else(Vec::new, |low| low.held);
        self.remember(&held);
    }

    fn remember(&mut self, buckets: &[u32]) {
        self.normal.extend(buckets);
        let too_many = self.normal.len().saturating_sub(WINDOW);
        self.normal.drain(..too_many);
    }

    /// `None`: too little has been seen, or too little goes on.
    fn baseline(&mut self) -> Option<Baseline> {
        let normal: &[u32] = self.normal.make_contiguous();
        JOINED.into_iter().find_map(|joined| {
            // The newest ones are whole, whatever the number of all is.
            let chunks = normal.rchunks_exact(joined).map(|chunk| f64::from(chunk.iter().sum::<u32>()));
            let sums: Vec<f64> = chunks.collect();
            let median = median(sums.iter().copied()).filter(|median| *median >= EXPECTED_MIN)?;
            (sums.len() >= STEPS_MIN).then_some(Baseline { joined, median })
        })
    }
}

#[cfg(test)]
mod tests {
    use truetps_record::{Counts, LatencyFigures};

    use super::*;
    use crate::synthetic::Random;

    fn interval(phase: Phase, start_ms: f64, buckets: &[u32]) -> Interval {
        Interval {
            phase,
            start_ms,
            length_ms: buckets.len() as f64 * BUCKET_MS,
            counts: Counts::default(),
            tps: 0.0,
            response: LatencyFigures::default(),
            open_loop: None,
            buckets: buckets.to_vec(),
            gaps: Vec::new(),
        }
    }

    /// A measure phase of these buckets, second by second: what each said, and the stalls as start and length.
    fn watch(buckets: &[u32]) -> (Vec<StallsSoFar>, Vec<(f64, f64)>) {
        let mut stalls = LiveStalls::default();
        let seconds = buckets.chunks(10).enumerate();
        let said =
            seconds.map(|(second, chunk)| stalls.interval(&interval(Phase::Measure, second as f64 * 1e3, chunk)));
        let said = said.collect();
        (said, stalls.stalls().map(|stall| (stall.start_ms, stall.length_ms)).collect())
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
        assert_eq!((said[5].going_on_ms, said[6].going_on_ms, said[7].going_on_ms), (Some(1e3), Some(2e3), None));
        assert_eq!(
            said[9],
            StallsSoFar { stalled_ms: 0.0, going_on_ms: None, count: 1, longest_ms: 2e3, judged: true }
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
        assert_eq!((said[2].stalled_ms, said[2].going_on_ms, said[3].stalled_ms), (0.0, None, 100.0));
        assert_eq!((said[4].stalled_ms, said[4].going_on_ms, said[5].stalled_ms), (200.0, Some(200.0), 300.0));
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
        assert_eq!((said[5].count, said[5].longest_ms, said[3].stalled_ms), (2, 1100.0, 700.0));
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
        // A gap of 290 ms that no two buckets in a row show as a whole, and one in the first second.
        let mut buckets = steady(100, 6);
        buckets[3..6].fill(0);
        buckets[31..33].fill(0);
        let list: Vec<_> =
            buckets.chunks(10).enumerate().map(|(n, chunk)| interval(Phase::Measure, n as f64 * 1e3, chunk)).collect();
        for one in &list {
            stalls.interval(one);
        }
        stalls.interval(&interval(Phase::Drain, 6000.0, &[1]));
        let report = crate::stalls::stalls(&list);
        let total = stalls.in_the_end();
        assert_eq!((total.count, Some(total.longest_ms)), (2, report.longest_ms), "{report:?}");
        assert_eq!(report.stalls().count(), 2);
        assert_eq!(stalls.so_far.count, 0, "the drain is a phase of its own");
    }

    #[test]
    fn long_runs_are_judged_in_parts() {
        let mut stalls = LiveStalls::default();
        // A stall every hour, one of them where the first part is full.
        let seconds = SEEN_MAX + SEEN_MAX / 4;
        for second in 0..seconds {
            let is_low = second % 3600 < 2 && second >= 3600;
            stalls.interval(&interval(Phase::Measure, second as f64 * 1e3, &[if is_low { 0 } else { 100 }; 10]));
            assert!(stalls.seen.len() <= SEEN_MAX + 2);
        }
        let total = stalls.in_the_end();
        assert_eq!((total.count, total.longest_ms, total.judged), (9, 2000.0, true));
    }

    #[test]
    fn a_slow_start_is_none() {
        let ramp: Vec<u32> = (0..200).map(|bucket| bucket / 2).chain([100; 100]).collect();
        assert_eq!(watch(&ramp).1, []);
        assert_eq!(watch(&[steady(0, 3), steady(500, 5)].concat()).1, []);
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
        // 10 a second: nothing is reported.
        let (said, stalls) = watch(&[steady(1, 20), steady(0, 10)].concat());
        assert_eq!((stalls, said[29].judged), (vec![], false));
    }

    #[test]
    fn a_lower_level_is_normal_in_the_end_and_nothing_at_all_never_is() {
        let (said, stalls) = watch(&[steady(100, 30), steady(20, 80)].concat());
        assert_eq!((stalls.len(), said[109].going_on_ms), (1, None));
        assert!((30_000.0..60_000.0).contains(&stalls[0].1), "{stalls:?}");
        let (said, _) = watch(&[steady(100, 30), steady(0, 80)].concat());
        assert_eq!(said[109].going_on_ms, Some(80_000.0));
    }

    #[test]
    fn phases_are_judged_by_themselves() {
        let mut stalls = LiveStalls::default();
        let mut said = |phase, second: f64, bucket| stalls.interval(&interval(phase, second * 1e3, &[bucket; 10]));
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
    fn poisson(random: &mut Random, mean: f64) -> u32 {
        let (mut left, mut count) = (mean, 0);
        loop {
            left -= random.exponential();
            if left < 0.0 {
                return count;
            }
            count += 1;
        }
    }

    #[test]
    fn ten_hours_of_noise_have_no_stall() {
        const BUCKETS: usize = 10 * 3600 * 10;
        for (seed, cv) in [(1, 0.0), (3, 0.25)] {
            let mut random = Random(seed);
            // Of all of it; what chance alone makes is a part.
            let of_rate: f64 = (cv * cv - 1.0 / 20.0_f64).max(0.0);
            let spread = of_rate.ln_1p().sqrt();
            let draw = |_| {
                let rate = 20.0 * (spread * random.normal() - spread * spread / 2.0).exp();
                poisson(&mut random, rate)
            };
            let buckets: Vec<u32> = (0..BUCKETS).map(draw).collect();
            assert_eq!(watch(&buckets).1, [], "seed {seed}, coefficient of variation {cv}");
        }
    }
}
