//! What the settings of a configuration cost or gain: the throughput before its crashes,
//! relative to the safest configuration. `docs/method/crash-losses.md` has the rule.

use std::collections::HashSet;

use serde::Serialize;
use truetps_record::{Configuration, CrashKind, CrashRecord, CrashRole, Estimate};

use crate::Verdict;
use crate::contrast::verdict;
use crate::effect::{ALPHA, Effect};
use crate::evidence::{BlockRatios, counted_tps, counting_variance};
use crate::family::{Question, judge};
use crate::judge::Judgement;
use crate::pooled::{BlockValue, PooledVariance, add_to_block, matched};

/// A configuration against the safest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CrashPrice {
    /// Its throughput over the safest configuration's, paired by block and kind of crash.
    pub tps_ratio: Estimate,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The control and the configuration of the plan that has its settings: two series of the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashTwins {
    pub configuration: Configuration,
    /// Throughput of the control over the configuration's: 1 belongs inside.
    pub tps_ratio: Estimate,
    /// The interval excludes 1: identical configurations differed, so that small differences are
    /// not evidence.
    pub alarm: bool,
}

/// The crashes of one configuration in one role.
#[derive(Debug, Clone)]
pub(crate) struct CrashSeries<'a> {
    pub(crate) role: CrashRole,
    pub(crate) configuration: &'a Configuration,
    pub(crate) crashes: Vec<&'a CrashRecord>,
}

/// Prices of the configurations of a plan, in the order of all series.
#[derive(Debug)]
pub(crate) struct CrashPrices {
    /// `None` for the controls, for the safest configuration itself, and where no crashes are
    /// paired.
    pub(crate) of_series: Vec<Option<CrashPrice>>,
    pub(crate) twins: Vec<CrashTwins>,
}

impl CrashPrices {
    /// `safest`: the configuration that the others are compared with.
    pub(crate) fn of(
        series: &[CrashSeries<'_>],
        safest: &Configuration,
        smallest_effect: f64,
    ) -> Self {
        let pooled = pooled_variance(series);
        let below = configuration_values(series, safest);
        let effects: Vec<_> = series
            .iter()
            .map(|one| {
                let is_compared = one.role == CrashRole::Cell && one.configuration != safest;
                let above = is_compared.then(|| configuration_values(series, one.configuration))?;
                effect(&above, &below, pooled.as_ref())
            })
            .collect();
        let of_series = prices(&effects, smallest_effect, blocks_of(series));
        Self { of_series, twins: twins(series) }
    }
}

/// The noise of one value, from all configurations of the plan; a control with the settings of one
/// of them is a row of its own, since it has the noise of its own crashes.
fn pooled_variance(series: &[CrashSeries<'_>]) -> Option<PooledVariance> {
    let of_plan = series.iter().filter(|one| cell_of(series, one.configuration).is_some());
    let rows: Vec<_> = of_plan.map(|one| block_values(&one.crashes)).collect();
    PooledVariance::of(&rows)
}

/// The series of the plan with this configuration.
fn cell_of<'s, 'a>(
    series: &'s [CrashSeries<'a>],
    configuration: &Configuration,
) -> Option<&'s CrashSeries<'a>> {
    series.iter().find(|one| one.role == CrashRole::Cell && one.configuration == configuration)
}

/// All roles of a configuration together: a control with its settings is one more series of it.
fn configuration_values(
    series: &[CrashSeries<'_>],
    configuration: &Configuration,
) -> Vec<BlockValue> {
    let same = series.iter().filter(|one| one.configuration == configuration);
    block_values(same.flat_map(|one| &one.crashes))
}

/// ln(tps) of each block and kind. Crashes of one configuration and kind in a block, at several
/// steps or in two roles, are one value.
fn block_values<'a>(crashes: impl IntoIterator<Item = &'a &'a CrashRecord>) -> Vec<BlockValue> {
    let mut values = Vec::new();
    for crash in crashes {
        let CrashRecord { tps, load_ms, .. } = **crash;
        let is_sane = tps.is_finite() && tps >= 0.0 && load_ms.is_finite() && load_ms > 0.0;
        if let Some(block) = pair_number(crash).filter(|_| is_sane) {
            let log = counted_tps(tps, load_ms).ln();
            add_to_block(&mut values, block, log, counting_variance(tps, load_ms));
        }
    }
    values
}

/// Crashes of the same block and kind are compared. `None`: they were not made in blocks.
fn pair_number(crash: &CrashRecord) -> Option<u32> {
    let kind = CrashKind::ALL.iter().position(|kind| *kind == crash.kind)?;
    crash.block?.checked_mul(CrashKind::ALL.len() as u32)?.checked_add(kind as u32)
}

fn blocks_of(series: &[CrashSeries<'_>]) -> usize {
    let blocks: HashSet<_> =
        series.iter().flat_map(|one| &one.crashes).filter_map(|crash| crash.block).collect();
    blocks.len()
}

fn effect(
    above: &[BlockValue],
    below: &[BlockValue],
    pooled: Option<&PooledVariance>,
) -> Option<Effect> {
    let pairs: Vec<_> = matched(above, below).map(|(one, other)| (*one, *other)).collect();
    Some(BlockRatios::of_pairs(&pairs)?.effect(pooled))
}

/// All prices of an experiment are one family of tests.
fn prices(
    effects: &[Option<Effect>],
    smallest_effect: f64,
    blocks: usize,
) -> Vec<Option<CrashPrice>> {
    let margin = smallest_effect.ln_1p();
    let questions: Vec<_> = effects
        .iter()
        .flatten()
        .map(|effect| Question { effect: *effect, weight: 1.0, margin })
        .collect();
    let mut answers = judge(&questions, ALPHA, ALPHA).into_iter();
    let each = effects.iter().map(|effect| {
        let effect = (*effect)?;
        let change = answers.next()?.change;
        Some(CrashPrice {
            tps_ratio: effect.ratio(),
            verdict: verdict(in_blocks(change, effect.n, blocks)),
        })
    });
    each.collect()
}

/// The pairs that a verdict lacks, in blocks: each has as many as the blocks so far.
fn in_blocks(change: Judgement, pairs: usize, blocks: usize) -> Judgement {
    match change {
        Judgement::NotEnoughData { more_trials: Some(more) } => {
            let more = (more as usize * blocks).div_ceil(pairs.max(1));
            Judgement::NotEnoughData { more_trials: u32::try_from(more).ok() }
        }
        other => other,
    }
}

/// Each control that has a configuration of the plan.
fn twins(series: &[CrashSeries<'_>]) -> Vec<CrashTwins> {
    let controls = series.iter().filter(|one| one.role != CrashRole::Cell);
    let each = controls.filter_map(|control| {
        let cell = cell_of(series, control.configuration)?;
        let values = [control, cell].map(|one| block_values(&one.crashes));
        let tps_ratio = effect(&values[0], &values[1], None)?.ratio();
        let alarm = tps_ratio.low.is_some_and(|low| low > 1.0)
            || tps_ratio.high.is_some_and(|high| high < 1.0);
        Some(CrashTwins { configuration: control.configuration.clone(), tps_ratio, alarm })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Random, crash};
    use crate::{CrashAnalysis, CrashDesign};

    const DESIGN: CrashDesign<'static> =
        CrashDesign { clients: 8, configurations: &[], smallest_effect: 0.03 };

    fn in_block(block: u32, role: CrashRole, kind: CrashKind, flush: i64, tps: f64) -> CrashRecord {
        CrashRecord { block: Some(block), kind, tps, ..crash(role, flush, 0) }
    }

    /// The analysis of one kind of crash: throughputs over blocks, by flush level.
    fn analysis(rows: &[(i64, &[f64])]) -> CrashAnalysis {
        let of_row = |(flush, row): &(i64, &[f64])| {
            let flush = *flush;
            (0..).zip(row.to_vec()).map(move |(block, tps)| {
                in_block(block, CrashRole::Cell, CrashKind::Os, flush, tps)
            })
        };
        let records: Vec<_> = rows.iter().flat_map(of_row).collect();
        CrashAnalysis::of(&records, DESIGN)
    }

    fn check_ratio(ratio: &Estimate, expect: [f64; 3]) {
        let got = [Some(ratio.value), ratio.low, ratio.high];
        let is_near = got
            .iter()
            .zip(expect)
            .all(|(got, expect)| got.is_some_and(|got| (got / expect - 1.0).abs() < 1e-4));
        assert!(is_near, "{ratio:?} is not {expect:?}");
    }

    /// By a program in Python: ln 2 and ln(240/110), t(0.975, 1) = 12.706.
    #[test]
    fn a_price_is_the_mean_ratio_of_blocks() {
        let found = analysis(&[(1, &[100.0, 110.0]), (2, &[200.0, 240.0])]);
        assert_eq!(found.cells[0].price, None);
        check_ratio(&found.cells[1].price.unwrap().tps_ratio, [2.088_932, 1.201_848, 3.630_771]);
    }

    /// By a program in Python: rows × blocks, the residual mean square, (2 · 2 v + 2 s²) / 4 with
    /// t(0.975, 4) = 2.7764.
    #[test]
    fn the_noise_of_all_configurations_counts() {
        let found = analysis(&[
            (1, &[100.0, 120.0, 90.0]),
            (2, &[200.0, 230.0, 190.0]),
            (0, &[50.0, 70.0, 40.0]),
        ]);
        let price = |at: usize| found.cells[at].price.unwrap();
        check_ratio(&price(1).tps_ratio, [2.007_686, 1.705_827, 2.362_963]);
        check_ratio(&price(2).tps_ratio, [0.506_098, 0.407_057, 0.629_238]);
        assert_eq!((price(1).verdict, price(2).verdict), (Verdict::Faster, Verdict::Slower));
    }

    #[test]
    fn crashes_that_were_not_made_in_blocks_have_no_price() {
        let records = [1, 2].map(|flush| crash(CrashRole::Cell, flush, 0));
        assert!(CrashAnalysis::of(&records, DESIGN).cells.iter().all(|cell| cell.price.is_none()));
        // Of two kinds, or of two blocks.
        let other = |block, kind| {
            let records = [
                in_block(0, CrashRole::Cell, CrashKind::Os, 1, 100.0),
                in_block(block, CrashRole::Cell, kind, 2, 200.0),
            ];
            CrashAnalysis::of(&records, DESIGN).cells[1].price.map(|price| price.tps_ratio.value)
        };
        assert_eq!((other(0, CrashKind::Kill), other(1, CrashKind::Os)), (None, None));
        assert!(other(0, CrashKind::Os).is_some_and(|ratio| (ratio - 2.0).abs() < 1e-9));
    }

    /// A control with the settings of a configuration: their ratio is 1, and both count.
    #[test]
    fn a_control_is_one_more_series_of_its_configuration() {
        let (cell, control) = (CrashRole::Cell, CrashRole::KeepsAll);
        let with = |of_control: [f64; 3]| {
            let of_block = |(block, tps): (u32, f64)| {
                [(control, 1, tps), (cell, 1, 100.0 + f64::from(block)), (cell, 2, 200.0)]
                    .map(|(role, flush, tps)| in_block(block, role, CrashKind::Os, flush, tps))
            };
            let records: Vec<_> = (0..).zip(of_control).flat_map(of_block).collect();
            CrashAnalysis::of(&records, DESIGN)
        };
        let agree = with([101.0, 100.0, 102.0]);
        assert!(!agree.twins[0].alarm && agree.twins.len() == 1, "{agree:?}");
        // Both series together: the root of all six throughputs' product.
        let mean = (101.0_f64 * 100.0 * 102.0 * 100.0 * 101.0 * 102.0).powf(1.0 / 6.0);
        let price = agree.cells[2].price.unwrap().tps_ratio.value;
        assert!((price / (200.0 / mean) - 1.0).abs() < 1e-9, "{price}");
        let differ = with([150.0, 151.0, 152.0]);
        assert!(differ.twins[0].alarm && differ.twins[0].tps_ratio.value > 1.4, "{differ:?}");
    }

    #[test]
    fn what_a_verdict_lacks_is_counted_in_blocks() {
        let more = |more_trials| Judgement::NotEnoughData { more_trials };
        assert_eq!(in_blocks(more(Some(7)), 6, 2), more(Some(3)));
        assert_eq!(in_blocks(more(None), 6, 2), more(None));
        assert_eq!(in_blocks(Judgement::Higher, 6, 2), Judgement::Higher);
    }

    /// How the throughput of a host changes from crash to crash, on logarithms.
    #[derive(Debug, Clone, Copy)]
    enum HostNoise {
        Normal,
        /// It becomes slower, by a fifth over the experiment, and neighbours are alike.
        Drift,
        /// Its speed jumps by a third, each time for about ten crashes.
        Jumps,
    }

    /// The noise of one crash after the other.
    struct HostSpeed {
        noise: HostNoise,
        state: f64,
        crashes: usize,
    }

    impl HostSpeed {
        fn next(&mut self, random: &mut Random) -> f64 {
            self.crashes += 1;
            let own = 0.06 * random.normal();
            match self.noise {
                HostNoise::Normal => own,
                HostNoise::Drift => {
                    self.state = 0.9 * self.state + 0.05 * random.normal();
                    self.state + own - 0.2 * self.crashes as f64 / 150.0
                }
                HostNoise::Jumps => {
                    if random.uniform() < 0.1 {
                        self.state = if random.uniform() < 0.5 { 0.0 } else { -0.4 };
                    }
                    self.state + own
                }
            }
        }
    }

    /// An experiment of `blocks` blocks with five configurations of the same speed, three kinds.
    fn same_speeds(noise: HostNoise, blocks: u32, random: &mut Random) -> Vec<CrashRecord> {
        let mut host = HostSpeed { noise, state: 0.0, crashes: 0 };
        let mut records = Vec::new();
        for block in 0..blocks {
            let each = [1, 2, 0, 3, 4]
                .into_iter()
                .flat_map(|flush| CrashKind::ALL.map(|kind| (random.uniform(), flush, kind)));
            let mut order: Vec<_> = each.collect();
            order.sort_by(|one, other| one.0.total_cmp(&other.0));
            for (_, flush, kind) in order {
                let tps = 1000.0 * host.next(random).exp();
                records.push(in_block(block, CrashRole::Cell, kind, flush, tps));
            }
        }
        records
    }

    /// Configurations that do not differ, on a host that is not steady.
    #[test]
    fn equal_configurations_are_seldom_called_different() {
        const REPEATS: u64 = 300;
        for noise in [HostNoise::Normal, HostNoise::Drift, HostNoise::Jumps] {
            for blocks in [2, 10] {
                let (mut claims, mut covers, mut prices) = (0, 0, 0);
                for seed in 0..REPEATS {
                    let mut random = Random(seed);
                    let records = same_speeds(noise, blocks, &mut random);
                    let found = CrashAnalysis::of(&records, DESIGN).cells;
                    let of: Vec<_> = found.iter().filter_map(|cell| cell.price).collect();
                    claims +=
                        u32::from(of.iter().any(|price| {
                            matches!(price.verdict, Verdict::Faster | Verdict::Slower)
                        }));
                    prices += of.len();
                    let holds = of.iter().filter(|price| {
                        let Estimate { low, high, .. } = price.tps_ratio;
                        low.is_some_and(|low| low <= 1.0) && high.is_some_and(|high| high >= 1.0)
                    });
                    covers += holds.count();
                }
                let (claims, covers) =
                    (f64::from(claims) / REPEATS as f64, covers as f64 / prices as f64);
                // 5 % with three standard deviations of 300 experiments; 1,200 intervals.
                assert!(
                    claims <= 0.09 && covers >= 0.93,
                    "{noise:?}, {blocks} blocks: claims {claims:.3}, intervals {covers:.3}"
                );
            }
        }
    }
}
