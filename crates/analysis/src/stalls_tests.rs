//! Are stalls found where they are, and invented nowhere?

use truetps_record::{
    Counts, Interval, LatencyFigures, OpenLoop, Phase, StartCounts, TransactionGap,
};

use crate::absence::{Absent, TooFewOf};
use crate::stalls::{Stall, StallKind, Stalls, stalls};
use crate::synthetic::Random;

/// The intervals of a run whose transactions ended at these times (ms), as the engine counts them.
pub(crate) fn intervals(warm_up_ms: u64, length_ms: u64, ends_ms: &[f64]) -> Vec<Interval> {
    let mut last_ms = 0.0;
    let phase = |start: u64| {
        if start < warm_up_ms {
            Phase::WarmUp
        } else if start < warm_up_ms + length_ms {
            Phase::Measure
        } else {
            Phase::Drain
        }
    };
    let starts = (0..=warm_up_ms + length_ms).step_by(1000);
    starts
        .map(|start| {
            let (from, to) = (start as f64, start as f64 + 1000.0);
            let mut buckets = vec![0; 10];
            let mut gaps = Vec::new();
            for end in ends_ms.iter().filter(|end| (from..to).contains(*end)) {
                buckets[((end - from) / 100.0) as usize] += 1;
                if end - last_ms >= 100.0 {
                    gaps.push(TransactionGap { start_ms: last_ms, length_ms: end - last_ms });
                }
                last_ms = *end;
            }
            let ok = buckets.iter().map(|ok| u64::from(*ok)).sum();
            let response =
                LatencyFigures { response_us_p50: Some(1000.0), ..LatencyFigures::default() };
            let counts = Counts { started: ok, ok, ..Counts::default() };
            Interval {
                response,
                buckets,
                gaps,
                ..Interval::of_counts(phase(start), from, 1000.0, counts)
            }
        })
        .collect()
}

/// Ends of transactions that come by chance at this rate, a second, which may change with the time
/// (ms).
pub(crate) fn poisson(
    random: &mut Random,
    length_ms: f64,
    mut rate: impl FnMut(f64) -> f64,
) -> Vec<f64> {
    let (mut at, mut ends) = (0.0, Vec::new());
    loop {
        let now = rate(at);
        // Nothing happens for a millisecond where the rate is 0.
        at += if now > 0.0 { random.exponential() * 1e3 / now } else { 1.0 };
        if at >= length_ms {
            return ends;
        }
        if rate(at) > 0.0 {
            ends.push(at);
        }
    }
}

fn only(found: &Stalls) -> &Stall {
    assert_eq!(found.list.len(), 1, "{found:?}");
    &found.list[0]
}

fn check(stall: &Stall, kind: StallKind, start_ms: f64, length_ms: f64, depth: f64) {
    assert_eq!(stall.kind, kind);
    assert!((stall.start_ms - start_ms).abs() <= 100.0, "{stall:?}");
    assert!((stall.length_ms - length_ms).abs() <= 200.0, "{stall:?}");
    assert!((stall.depth - depth).abs() < 0.1, "{stall:?}");
}

#[test]
fn two_seconds_of_nothing_are_one_stall_of_two_seconds() {
    for (seed, rate) in [(1, 300.0), (2, 5000.0), (3, 12.0)] {
        let stopped = |at: f64| if (20_130.0..22_130.0).contains(&at) { 0.0 } else { rate };
        let ends = poisson(&mut Random(seed), 60_000.0, stopped);
        let found = stalls(&intervals(2000, 55_000, &ends));
        check(only(&found), StallKind::Stall, 20_130.0, 2000.0, 1.0);
        assert_eq!(found.longest_ms, Some(found.stalled_ms));
        assert!((found.max_gap_ms.unwrap() - 2000.0).abs() < 400.0);
        assert!((found.watched_ms - 55_000.0).abs() < 1e-9);
    }
}

#[test]
fn a_stall_that_is_not_complete_and_one_at_each_edge() {
    let slow = |at: f64| if (10_000.0..11_000.0).contains(&at) { 200.0 } else { 1000.0 };
    let found = stalls(&intervals(1000, 30_000, &poisson(&mut Random(4), 40_000.0, slow)));
    check(only(&found), StallKind::Stall, 10_000.0, 1000.0, 0.8);

    // It began in the warm-up: only what is measured counts.
    let early = |at: f64| if (500.0..1800.0).contains(&at) { 0.0 } else { 1000.0 };
    let found = stalls(&intervals(1000, 30_000, &poisson(&mut Random(5), 40_000.0, early)));
    check(only(&found), StallKind::Stall, 1000.0, 800.0, 1.0);

    // It went on for longer than was measured.
    let late = |at: f64| if (29_500.0..35_000.0).contains(&at) { 0.0 } else { 1000.0 };
    let found = stalls(&intervals(1000, 30_000, &poisson(&mut Random(6), 31_000.0, late)));
    check(only(&found), StallKind::Stall, 29_500.0, 1500.0, 1.0);
}

#[test]
fn long_and_frequent_stalls() {
    // A third of the run at a stretch: longer than the baseline's window.
    let long = |at: f64| if (40_000.0..65_000.0).contains(&at) { 0.0 } else { 1000.0 };
    let found = stalls(&intervals(0, 120_000, &poisson(&mut Random(7), 121_000.0, long)));
    check(only(&found), StallKind::Stall, 40_000.0, 25_000.0, 1.0);

    // Case 4: to zero every few seconds, here for more than half of the time.
    let often = |at: f64| if at % 5000.0 < 2800.0 { 0.0 } else { 2000.0 };
    let found = stalls(&intervals(0, 60_000, &poisson(&mut Random(8), 61_000.0, often)));
    assert_eq!(found.list.len(), 12, "{found:?}");
    assert!((found.stalled_ms - 12.0 * 2800.0).abs() < 12.0 * 200.0);
}

#[test]
fn a_dip_is_no_stall_and_another_level_is_neither() {
    let dip = |at: f64| if (10_000.0..12_000.0).contains(&at) { 500.0 } else { 1000.0 };
    let found = stalls(&intervals(0, 40_000, &poisson(&mut Random(9), 41_000.0, dip)));
    check(only(&found), StallKind::Dip, 10_000.0, 2000.0, 0.5);
    assert_eq!((found.stalled_ms, found.longest_ms), (0.0, None));

    // From one level to another, for good.
    let step = |at: f64| if at < 60_000.0 { 1000.0 } else { 150.0 };
    let found = stalls(&intervals(0, 120_000, &poisson(&mut Random(10), 121_000.0, step)));
    assert_eq!(found.list, [], "{found:?}");
}

/// A rate that goes from 2,000 to 100 a second, as it was asked for; and one that does not get what
/// it asks for.
#[test]
fn a_schedule_that_slows_down_is_no_stall() {
    let rate = |at: f64| 2000.0 - 1900.0 * (at / 20_000.0).min(1.0);
    let scheduled = |intervals: &mut Vec<Interval>| {
        for interval in intervals {
            let starts = StartCounts {
                scheduled: rate(interval.start_ms + 500.0) as u64,
                ..StartCounts::default()
            };
            interval.open_loop = Some(OpenLoop { starts, ..OpenLoop::default() });
        }
    };
    let mut ramp = intervals(0, 20_000, &poisson(&mut Random(12), 21_000.0, rate));
    scheduled(&mut ramp);
    assert_eq!(stalls(&ramp).stalls().count(), 0, "{:?}", stalls(&ramp).list);
    let stopped = |at: f64| if (10_000.0..11_000.0).contains(&at) { 0.0 } else { rate(at) };
    let mut ramp = intervals(0, 20_000, &poisson(&mut Random(13), 21_000.0, stopped));
    scheduled(&mut ramp);
    check(only(&stalls(&ramp)), StallKind::Stall, 10_000.0, 1000.0, 1.0);
}

/// Throughput that scatters by a quarter from step to step and wanders besides, as on a busy disk;
/// and one that comes by chance alone, at rates at which a step has few transactions. A hundred
/// hours in all.
#[test]
fn nothing_is_invented() {
    let mut random = Random(11);
    let mut found = 0;
    for (rate, hours) in [(15.0, 40), (60.0, 10), (250.0, 4), (1000.0, 2)] {
        let ends = poisson(&mut random, f64::from(hours) * 3.6e6, |_| rate);
        let length_ms = hours as u64 * 3_600_000 - 1000;
        found += stalls(&buckets_alone(length_ms, &ends)).list.len();
    }
    assert_eq!(found, 0, "of a constant rate");
    let hours = 20_u64;
    let (mut wander, mut list) = (0.0, Vec::new());
    for _ in 0..hours * 36_000 {
        wander = 0.999 * wander + 0.005 * random.normal();
        let step = 100.0 * (wander + 0.2 * random.normal()).exp();
        list.push(step as u32);
    }
    let found = stalls(&of_buckets(&list));
    assert!(found.stalls().count() == 0 && found.list.len() <= 1, "{:?}", found.list);
}

/// [`intervals`] of many transactions, without a list of gaps.
fn buckets_alone(length_ms: u64, ends_ms: &[f64]) -> Vec<Interval> {
    let mut list = vec![0_u32; length_ms as usize / 100 + 1];
    for end in ends_ms {
        if let Some(bucket) = list.get_mut((end / 100.0) as usize) {
            *bucket += 1;
        }
    }
    let mut intervals = of_buckets(&list);
    let (mut last_ms, mut ends) = (0.0, ends_ms.iter().peekable());
    for interval in &mut intervals {
        while let Some(end) = ends.next_if(|end| **end < interval.start_ms + 1000.0) {
            if end - last_ms >= 100.0 {
                interval.gaps.push(TransactionGap { start_ms: last_ms, length_ms: end - last_ms });
            }
            last_ms = *end;
        }
    }
    intervals
}

pub(crate) fn of_buckets(list: &[u32]) -> Vec<Interval> {
    let of = |(second, buckets): (usize, &[u32])| {
        let (start_ms, length_ms) = (second as f64 * 1e3, buckets.len() as f64 * 100.0);
        let response =
            LatencyFigures { response_us_p50: Some(1000.0), ..LatencyFigures::default() };
        let interval = Interval::of_counts(Phase::Measure, start_ms, length_ms, Counts::default());
        Interval { response, buckets: buckets.to_vec(), ..interval }
    };
    list.chunks(10).enumerate().map(of).collect()
}

/// An open loop of 1,000 a second stops for 290 ms, and all that has queued ends within 5 ms after
/// it: nothing ended in the stall.
#[test]
fn what_ends_at_once_after_a_standstill_is_not_in_it() {
    let mut ends: Vec<f64> = (0..10_000).map(f64::from).collect();
    for end in &mut ends {
        if (5050.0..5340.0).contains(end) {
            *end = 5340.0 + (*end - 5050.0) / 290.0 * 5.0;
        }
    }
    let found = stalls(&intervals(0, 10_000, &ends));
    assert_eq!(found.list.len(), 1, "{found:?}");
    assert!(
        found.list[0].depth > 0.98 && (found.list[0].length_ms - 291.0).abs() < 2.0,
        "{found:?}"
    );
}

/// Where a transaction takes a second (one client, a slow disk), a gap of a second is nothing.
#[test]
fn slow_is_not_stalled() {
    let ends: Vec<_> = (1..60).map(|n| f64::from(n) * 1000.0).collect();
    let found = stalls(&intervals(0, 58_000, &ends));
    assert_eq!((found.list.len(), found.max_gap_ms), (0, Some(1000.0)));
}

#[test]
fn unknown_stalls_have_a_reason() {
    let mut old = intervals(0, 20_000, &[]);
    for interval in &mut old {
        interval.buckets.clear();
    }
    assert_eq!(stalls(&old).absent, Some(Absent::SecondsOnly));
    assert_eq!(stalls(&of_buckets(&[50; 5])).absent, Some(Absent::TooShort));
    assert_eq!(stalls(&[]).absent, Some(Absent::TooShort));
    // A transaction a second, or fewer: a gap of seconds is nothing.
    let few: Vec<_> = (0..60).map(|n| f64::from(n) * 700.0).collect();
    assert_eq!(
        stalls(&intervals(0, 40_000, &few)).absent,
        Some(Absent::TooFew { of: TooFewOf::Transactions })
    );
    // A standstill that lasts to the end, whose gap was not closed.
    let open = of_buckets(&[[100; 60], [0; 60]].concat());
    let found = stalls(&open);
    assert_eq!((found.max_gap_ms, found.list.len()), (Some(6000.0), 1), "{found:?}");
    // Nothing ended, though there was something to end: the whole phase is a stall.
    let stands_still = |warm_up: &[f64], length_ms: u64| {
        let mut list = intervals(1000, length_ms, warm_up);
        for one in list.iter_mut().filter(|one| one.phase == Phase::Measure) {
            one.counts.in_flight = 4;
            one.length_ms = one.length_ms.min(length_ms as f64);
            one.buckets.truncate(length_ms.div_ceil(100) as usize);
        }
        stalls(&list)
    };
    let ends: Vec<_> = (0..100).map(|n| f64::from(n) * 10.0).collect();
    // The trials of a quick plan have 8 steps.
    for (warm_up, ms, baseline_tps) in
        [(&ends[..], 3000, 100.0), (&[], 3000, 0.0), (&ends[..], 800, 100.0)]
    {
        let (kind, coincident, length_ms) = (StallKind::Stall, Err(Absent::NotWatched), ms as f64);
        let stall =
            Stall { kind, start_ms: 1000.0, length_ms, depth: 1.0, baseline_tps, coincident };
        let found = stands_still(warm_up, ms);
        assert_eq!(
            (found.list.as_slice(), found.absent, found.stalled_ms),
            (&[stall][..], None, length_ms)
        );
    }
    assert_eq!(stands_still(&ends, 200).absent, Some(Absent::TooShort));
    // A whole trial in which nothing ended and nothing was sent has no level to fall from, and is
    // no stall but a failure.
    assert_eq!(stalls(&of_buckets(&[0; 100])).list, []);
}
