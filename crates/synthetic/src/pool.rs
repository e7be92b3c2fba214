//! Searches for the size of a pool on servers whose throughput by connections is known.

use std::fmt::Write as _;

use truetps_adaptive::{AdaptiveQuestion, Batch, Source};
use truetps_pool::{PoolAgainst, PoolFindings, PoolQuestion, PoolResult, SHARE_OF_BEST};
use truetps_random::RandomStream;

use crate::{NoiseKind, TrialNoise};

/// The largest number that a search may try.
const MOST: u32 = 512;
/// The number that the user has now.
const CURRENT: u32 = 10;
/// An advice may be so many times the number that is needed.
const TOO_LARGE: f64 = 1.5;

/// Standard deviation of the logarithm of p99 between trials, besides what throughput does to it.
const P99_SD: f64 = 0.3;

/// Throughput by connections.
pub type PoolCurve = fn(f64) -> f64;

/// Servers, by name.
pub const POOL_CURVES: [(&str, PoolCurve); 11] = [
    ("flush of 0.1 ms", |n| flushes(0.000_1, n)),
    ("flush of 2 ms", |n| flushes(0.002, n)),
    ("flush of 10 ms", |n| flushes(0.010, n)),
    ("flush of 60 ms", |n| flushes(0.060, n)),
    ("one hot row", |n| 3_000.0 / (1.0 + n / 90.0)),
    ("a peak at 12", |n| 900.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.006 * n * (n - 1.0))),
    ("a peak between 16 and 32", |n| flushes(0.000_4, n) * (1.0 + hump(n, 23.0, 0.25, 0.15))),
    ("two humps", |n| flushes(0.000_4, n) * (1.0 - hump(n, 32.0, 0.6, 0.25))),
    ("x1.11 a doubling", |n| growth(1.11, n)),
    ("x1.15 a doubling", |n| growth(1.15, n)),
    ("x1.23 a doubling", |n| growth(1.23, n)),
];

/// Each commit waits for two flushes, and all that wait share one; CPU is the limit above.
fn flushes(latency_s: f64, connections: f64) -> f64 {
    const CPU_TPS: f64 = 11_000.0;
    let slow = connections / (2.04 * latency_s + 0.000_15);
    // A soft minimum: near the limit both count.
    (slow.powi(-4) + CPU_TPS.powi(-4)).powf(-0.25) / (1.0 + connections / 4_000.0)
}

/// Height at a number, of a bell over the logarithm of connections.
fn hump(connections: f64, middle: f64, width: f64, height: f64) -> f64 {
    height * (-((connections / middle).ln() / width).powi(2)).exp()
}

/// By this factor with each doubling up to 256 connections, and no more from there on.
fn growth(factor: f64, connections: f64) -> f64 {
    1_000.0 * factor.powf(connections.min(256.0).log2())
}

/// The best throughput, and the smallest number that has the share of it that is asked for.
fn truth(curve: PoolCurve) -> (f64, u32) {
    let tps: Vec<_> = (1..=MOST).map(|number| curve(f64::from(number))).collect();
    let best = tps.iter().copied().fold(0.0, f64::max);
    let too_few = tps.iter().take_while(|tps| **tps < SHARE_OF_BEST * best).count();
    (best, too_few as u32 + 1)
}

fn share_of(count: u64, repeats: u64) -> f64 {
    count as f64 / repeats as f64
}

/// How trials scatter, and which search is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolCell {
    pub noise: NoiseKind,
    /// Standard deviation of the logarithm of throughput between trials.
    pub sd: f64,
    pub is_quick: bool,
}

impl PoolCell {
    fn question(&self, seed: u64) -> PoolQuestion {
        let (blocks, check_blocks) = if self.is_quick { (3, 5) } else { (5, 8) };
        PoolQuestion {
            seed,
            most: MOST,
            p99_limit_us: None,
            current: Some(CURRENT),
            rules: vec![5],
            blocks,
            check_blocks,
        }
    }
}

/// How often searches on one server were right: shares of the searches.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolSearches {
    pub curve: &'static str,
    pub cell: PoolCell,
    /// Throughput of the advice is more than 5 % below the best.
    pub regret: f64,
    /// The advice is more than 1.5 times the number that is needed.
    pub too_large: f64,
    /// The interval of the ratio to the current number has the truth.
    pub covered: f64,
    /// The number that is needed is more than what is called too few, and at most what is called
    /// enough.
    pub needed: f64,
    /// The geometric mean of the ratio to the current number over the truth.
    pub ratio_bias: f64,
    /// The answer was "still grows".
    pub growing: f64,
    /// Median and 95th percentile.
    pub trials: (usize, usize),
}

struct SyntheticPool {
    curve: PoolCurve,
    noise: TrialNoise,
    /// The noise of ln(p99), besides what throughput does to it.
    p99_noise: TrialNoise,
    trials: usize,
}

impl SyntheticPool {
    fn new(curve: PoolCurve, cell: &PoolCell, p99_sd: f64, seed: u64) -> Self {
        Self {
            curve,
            noise: TrialNoise::new(cell.noise, cell.sd, RandomStream::new(seed, 13)),
            p99_noise: TrialNoise::new(NoiseKind::Normal, p99_sd, RandomStream::new(seed, 17)),
            trials: 0,
        }
    }
}

/// Twice the mean response time, in an undisturbed trial.
fn p99_us(curve: PoolCurve, connections: u32) -> f64 {
    2e6 * f64::from(connections) / curve(f64::from(connections))
}

impl Source<PoolQuestion> for SyntheticPool {
    fn run(
        &mut self,
        batch: &Batch<PoolQuestion>,
        _: &PoolFindings,
    ) -> Option<Vec<Option<PoolResult>>> {
        self.trials += batch.points.len();
        let results = batch.points.iter().map(|number| {
            let speed = self.noise.next_ln().exp();
            let tps = (self.curve)(f64::from(*number)) * speed;
            let p99_us = p99_us(self.curve, *number) / speed * self.p99_noise.next_ln().exp();
            let mean_us = f64::from(*number) / tps * 1e6;
            Some(PoolResult { tps, response_us_p99: Some(p99_us), response_us_mean: Some(mean_us) })
        });
        Some(results.collect())
    }
}

/// What this many searches on one server gave.
pub fn pool(
    (name, curve): (&'static str, PoolCurve),
    cell: PoolCell,
    repeats: u64,
) -> PoolSearches {
    let (best, needed) = truth(curve);
    let largest = (TOO_LARGE * f64::from(needed)).max(f64::from(needed) + 1.0);
    let (mut regret, mut too_large, mut growing, mut between) = (0, 0, 0, 0);
    let (mut covered, mut compared, mut bias, mut trials) = (0, 0, 0.0, Vec::new());
    for seed in 0..repeats {
        let mut server = SyntheticPool::new(curve, &cell, P99_SD, seed);
        let findings = cell.question(seed).investigate(&mut server);
        let advice = f64::from(findings.advice.unwrap_or(1));
        regret += u64::from(curve(advice) < SHARE_OF_BEST * best);
        too_large += u64::from(advice > largest);
        growing += u64::from(findings.is_growing);
        between += u64::from(
            findings.too_few.is_none_or(|few| few < needed)
                && findings.enough.is_none_or(|enough| enough >= needed),
        );
        trials.push(server.trials);
        let Some(against) = findings.against(PoolAgainst::Current) else { continue };
        let Some((low, high)) = against.ratio_low.zip(against.ratio_high) else { continue };
        let ratio = curve(advice) / curve(f64::from(CURRENT));
        compared += 1;
        covered += u64::from((low..=high).contains(&ratio));
        bias += (against.ratio / ratio).ln();
    }
    trials.sort_unstable();
    PoolSearches {
        curve: name,
        cell,
        regret: share_of(regret, repeats),
        too_large: share_of(too_large, repeats),
        covered: covered as f64 / f64::from(compared),
        ratio_bias: (bias / f64::from(compared)).exp(),
        needed: share_of(between, repeats),
        growing: share_of(growing, repeats),
        trials: (trials[trials.len() / 2], trials[trials.len() * 95 / 100]),
    }
}

/// Searches with a limit of p99 that binds: shares of the searches.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolLimitRow {
    pub curve: &'static str,
    /// Connections whose p99 is the limit.
    pub largest: u32,
    pub p99_sd: f64,
    /// No advice.
    pub unanswered: f64,
    /// The true p99 of the advice is over the limit, and by more than a tenth.
    pub over: f64,
    pub far_over: f64,
    /// Throughput of the advice, of the best that the limit allows: median and 5th percentile.
    pub share: (f64, f64),
    pub trials: usize,
}

/// Servers, and numbers of connections whose p99 is the limit.
pub const POOL_LIMITS: [(&str, PoolCurve, u32); 5] = [
    ("flush of 2 ms", |n| flushes(0.002, n), 40),
    ("flush of 2 ms", |n| flushes(0.002, n), 100),
    ("flush of 10 ms", |n| flushes(0.010, n), 250),
    ("one hot row", |n| 3_000.0 / (1.0 + n / 90.0), 20),
    ("x1.23 a doubling", |n| growth(1.23, n), 100),
];

/// What this many searches with a limit gave.
pub fn pool_limit(
    (name, curve, largest): (&'static str, PoolCurve, u32),
    p99_sd: f64,
    repeats: u64,
) -> PoolLimitRow {
    let cell = PoolCell { noise: NoiseKind::Normal, sd: 0.06, is_quick: false };
    let limit_us = p99_us(curve, largest);
    let best = (1..=largest).map(|number| curve(f64::from(number))).fold(0.0, f64::max);
    let (mut unanswered, mut over, mut far_over) = (0, 0, 0);
    let (mut shares, mut trials) = (Vec::new(), Vec::new());
    for seed in 0..repeats {
        let mut server = SyntheticPool::new(curve, &cell, p99_sd, seed);
        let question = PoolQuestion { p99_limit_us: Some(limit_us), ..cell.question(seed) };
        let findings = question.investigate(&mut server);
        trials.push(server.trials);
        let Some(advice) = findings.advice else {
            unanswered += 1;
            continue;
        };
        over += u64::from(p99_us(curve, advice) > limit_us * (1.0 + 1e-9));
        far_over += u64::from(p99_us(curve, advice) > 1.1 * limit_us);
        shares.push(curve(f64::from(advice)) / best);
    }
    trials.sort_unstable();
    shares.sort_by(f64::total_cmp);
    PoolLimitRow {
        curve: name,
        largest,
        p99_sd,
        unanswered: share_of(unanswered, repeats),
        over: share_of(over, repeats),
        far_over: share_of(far_over, repeats),
        share: (shares[shares.len() / 2], shares[shares.len() / 20]),
        trials: trials[trials.len() / 2],
    }
}

fn cells() -> Vec<PoolCell> {
    let mut cells = Vec::new();
    for noise in NoiseKind::ALL {
        cells.extend([0.03, 0.06, 0.1].map(|sd| PoolCell { noise, sd, is_quick: false }));
    }
    let quick = [NoiseKind::Normal, NoiseKind::Pauses];
    cells.extend(quick.map(|noise| PoolCell { noise, sd: 0.06, is_quick: true }));
    cells
}

/// The tables in Markdown: a row for each kind of noise, over all servers; a row for each server,
/// with the usual noise; and searches with a limit.
pub fn pool_table(repeats: u64) -> String {
    let mut text =
        "| noise | sd | design | regret > 5 % | > 1.5 x needed | interval has the ratio \
                    | needed is between | ratio / truth | trials |\n\
                    |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for cell in cells() {
        let rows: Vec<_> =
            POOL_CURVES.into_iter().map(|curve| pool(curve, cell, repeats)).collect();
        let design = if cell.is_quick { "quick" } else { "full" };
        let (noise, sd) = (cell.noise.name(), cell.sd * 100.0);
        let _ = writeln!(text, "| {noise} | {sd:.0} % | {design} | {}", over_servers(&rows));
    }
    let usual = PoolCell { noise: NoiseKind::Normal, sd: 0.06, is_quick: false };
    text.push_str(
        "\n| server | needed | regret > 5 % | > 1.5 x needed | still grows | trials (median, 95 %) \
         |\n|---|---|---|---|---|---|\n",
    );
    for curve in POOL_CURVES {
        let row = pool(curve, usual, repeats);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {}, {} |",
            row.curve,
            truth(curve.1).1,
            percent(row.regret),
            percent(row.too_large),
            percent(row.growing),
            row.trials.0,
            row.trials.1,
        );
    }
    text.push_str(&limit_table(repeats));
    text
}

fn limit_table(repeats: u64) -> String {
    let mut text = "\n| server | limit: p99 of | sd of p99 | over the limit | by more than 10 % | \
                    throughput / best allowed (median, 5 %) | trials \
                    |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for server in POOL_LIMITS {
        for sd in [0.1, 0.3, 0.5] {
            let row = pool_limit(server, sd, repeats);
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} % | {} | {} | {:.2}, {:.2} | {} |",
                row.curve,
                row.largest,
                sd * 100.0,
                percent(row.over),
                percent(row.far_over),
                row.share.0,
                row.share.1,
                row.trials,
            );
        }
    }
    text
}

/// The smallest and the largest of all servers.
fn over_servers(rows: &[PoolSearches]) -> String {
    let [regret, too_large, covered, needed] = [
        range(rows, |row| 100.0 * row.regret),
        range(rows, |row| 100.0 * row.too_large),
        range(rows, |row| 100.0 * row.covered),
        range(rows, |row| 100.0 * row.needed),
    ]
    .map(|(least, most)| format!("{least:.1} to {most:.1} %"));
    let (least, most) = range(rows, |row| row.ratio_bias);
    let (fewest, most_trials) = range(rows, |row| row.trials.0 as f64);
    format!(
        "{regret} | {too_large} | {covered} | {needed} | {least:.3} to {most:.3} | {fewest:.0} to \
         {most_trials:.0} |"
    )
}

fn range(rows: &[PoolSearches], of: fn(&PoolSearches) -> f64) -> (f64, f64) {
    let least = rows.iter().map(of).fold(f64::MAX, f64::min);
    (least, rows.iter().map(of).fold(f64::MIN, f64::max))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPEATS: u64 = 30;
    /// A dip at 32, and 64 connections have 94.8 % of the best.
    const HARDEST: &str = "two humps";

    fn mean(rows: &[PoolSearches], of: fn(&PoolSearches) -> f64) -> f64 {
        rows.iter().map(of).sum::<f64>() / rows.len() as f64
    }

    /// What `docs/method/pool-size.md` states of all servers, with room for the error of so few
    /// searches of each.
    fn check_all(cell: PoolCell, regret_max: f64, too_large_max: f64) {
        let searches = POOL_CURVES.into_iter().map(|server| pool(server, cell, REPEATS));
        let rows: Vec<_> = searches.collect();
        for row in &rows {
            assert!(row.regret <= regret_max || row.curve == HARDEST, "{row:?}");
            assert!(row.regret <= 0.2 && row.too_large <= too_large_max, "{row:?}");
            assert!(row.covered >= 0.83 && row.needed >= 0.86 && row.trials.1 <= 165, "{row:?}");
            assert!(row.growing <= 0.07 || row.curve == "flush of 60 ms", "{row:?}");
        }
        let covered = mean(&rows, |row| row.covered);
        assert!((0.92..=0.985).contains(&covered), "{covered} of the intervals hold the truth");
        let needed = mean(&rows, |row| row.needed);
        assert!(needed >= 0.97, "{needed} of the bounds of what is needed hold");
        assert!(mean(&rows, |row| row.regret) <= 0.04, "{rows:?}");
        assert!(mean(&rows, |row| row.too_large) <= 0.08, "{rows:?}");
    }

    #[test]
    fn an_advice_with_little_noise_is_right() {
        check_all(PoolCell { noise: NoiseKind::Normal, sd: 0.03, is_quick: false }, 0.04, 0.1);
    }

    #[test]
    fn an_advice_is_right_and_no_larger_than_it_has_to_be() {
        check_all(PoolCell { noise: NoiseKind::Normal, sd: 0.06, is_quick: false }, 0.1, 0.27);
    }

    #[test]
    fn pauses_hardly_change_an_advice() {
        check_all(PoolCell { noise: NoiseKind::Pauses, sd: 0.06, is_quick: false }, 0.1, 0.27);
    }

    #[test]
    fn a_quick_advice_is_nearly_as_good() {
        check_all(PoolCell { noise: NoiseKind::Normal, sd: 0.06, is_quick: true }, 0.1, 0.34);
    }

    #[test]
    fn growth_up_to_the_largest_number_is_in_the_answer() {
        let cell = PoolCell { noise: NoiseKind::Normal, sd: 0.06, is_quick: false };
        let slow_disk = POOL_CURVES.into_iter().find(|(name, _)| *name == "flush of 60 ms");
        let row = pool(slow_disk.unwrap(), cell, 20);
        assert!(row.growing >= 0.95 && row.regret <= 0.05, "{row:?}");
    }

    #[test]
    fn an_advice_keeps_the_limit_of_p99() {
        let row = pool_limit(POOL_LIMITS[1], 0.3, 40);
        assert!(row.over <= 0.1 && row.share.0 >= 0.9, "{row:?}");
    }
}
