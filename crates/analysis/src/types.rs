//! What an analysis says. `report` turns it into text; JSON output is these types as they stand.

use serde::Serialize;
use truetps_plan::Plan;
use truetps_record::{CONNECTIONS, Configuration, ErrorCount, Estimate, RATE, SettingValue};

use crate::detail::CellDetail;
use crate::effect::Effect;
use crate::evidence::InvalidTrial;
use crate::family::JUDGED;
use crate::figure::{Figure, FigureGroup, FigureValues};
use crate::judge::Judgement;
use crate::limited::GeneratorLimited;
use crate::max_rate::MaxRate;
use crate::open_loop::{OpenLoopCell, SustainedRange};
use crate::steady::Unsteady;

/// Everything that an experiment's trials say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Trials in the schedule, the A/A twins included.
    pub trials_planned: usize,
    pub trials_valid: usize,
    pub blocks_planned: u32,
    /// In the plan's order of configurations.
    pub cells: Vec<Cell>,
    /// What the cells of a curve differ by.
    pub axis: Axis,
    /// One for each combination of everything but the axis, in the plan's order: throughput against
    /// connections, or against the rate.
    pub curves: Vec<Curve>,
    /// Each cell whose settings are not the baseline's, against the baseline at the same other
    /// levels.
    pub contrasts: Vec<Contrast>,
    /// Each level of each factor over all levels of the others; empty where fewer than two factors
    /// beside the load have several levels.
    pub main_effects: Vec<MainEffect>,
    /// The settings that contrasts are made with, `innodb_flush_log_at_trx_commit=1`; `None` where
    /// no setting is a factor.
    pub baseline_label: Option<String>,
    /// How much trials of the same load differ within a block, by load, in the plan's order.
    pub noise: Vec<LoadNoise>,
    /// The configuration that ran twice in each block.
    pub twins: Option<Twins>,
    /// What a search for the highest rate has found; `None` where nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<MaxRate>,
    /// Smallest relative difference that the plan cares for: 0.03 is 3 %.
    pub smallest_effect: f64,
    /// Trials that are not evidence, with the reason.
    pub invalid: Vec<InvalidTrial>,
    /// Connections by the rule "cores × 2 + spindles" on the server's host; `None`: the server is
    /// not known to be on the host whose cores were counted.
    pub rule_connections: Option<u32>,
}

/// The factor that curves run along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    Connections,
    /// Only where the plan varies the rate and not the connections.
    Rate,
}

impl Axis {
    pub(crate) fn of(plan: &Plan) -> Self {
        let [rates, connections] =
            [RATE, CONNECTIONS].map(|name| plan.factors.get(name).map_or(0, Vec::len));
        if rates > 1 && connections <= 1 { Self::Rate } else { Self::Connections }
    }

    /// The name of the factor.
    pub fn factor(self) -> &'static str {
        match self {
            Self::Connections => CONNECTIONS,
            Self::Rate => RATE,
        }
    }

    /// Where a configuration stands on the axis.
    pub fn level(self, configuration: &Configuration) -> f64 {
        match self {
            Self::Connections => configuration.connections().into(),
            Self::Rate => configuration.rate().unwrap_or_default(),
        }
    }
}

/// One configuration over its valid trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub configuration: Configuration,
    /// Names of the valid trials behind it, A/A twins included, in order of blocks. Empty: no
    /// evidence.
    pub trials: Vec<String>,
    pub invalid_trials: usize,
    /// Geometric mean over blocks with the t interval of log tps.
    pub tps: Option<Estimate>,
    /// All other figures of a configuration, except what an open loop adds, which is in
    /// `open_loop`.
    #[serde(flatten)]
    pub figures: FigureValues,
    pub errors: Vec<ErrorCount>,
    /// `None` in a closed loop.
    pub open_loop: Option<OpenLoopCell>,
    /// `None` where the generator limited no trial. Where it did, no figure of this cell is the
    /// server's alone.
    pub generator_limited: Option<GeneratorLimited>,
    /// `None` where all trials of a closed loop were in a steady state, or where that is not known.
    pub unsteady: Option<Unsteady>,
    /// What happened within its trials. JSON documents have it in a list of its own.
    #[serde(skip)]
    pub detail: CellDetail,
}

impl Cell {
    /// `None` where no trial has it.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Tps => Some(self.tps?.value),
            _ if figure.is_of_cell() => self.figures.get(figure),
            _ if figure.group() == FigureGroup::OpenLoop => {
                self.open_loop.as_ref()?.figures.get(figure)
            }
            _ => self.detail.get(figure),
        }
    }
}

/// The cells of one combination of everything but the axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// `innodb_flush_log_at_trx_commit=1`, with `rate=500` behind it where rates and connections
    /// are varied both; empty where nothing but the axis is a factor.
    pub label: String,
    pub is_baseline: bool,
    /// Indexes into [`Analysis::cells`], by rising level of the axis.
    pub cells: Vec<usize>,
    /// Closed loop with connections as the axis: in an open loop the schedule decides the
    /// throughput, not they.
    pub knee: Option<Knee>,
    /// Where the rate is the axis.
    pub sustained: Option<SustainedRange>,
}

/// Where more connections stop helping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knee {
    /// Smallest number of connections whose throughput is not shown to be below 95 % of the best.
    pub connections: u32,
    /// Number of connections with the highest throughput.
    pub best_connections: u32,
    pub best_tps: f64,
    /// Throughput at the knee relative to the best, paired by block.
    pub ratio_to_best: Estimate,
    /// The best is the largest number tried: throughput may rise further.
    pub best_is_last: bool,
    /// The generator limited the best, or a number of connections beyond the knee: the curve may
    /// bend because it does.
    pub generator_limited: bool,
    /// Throughput at the largest number tried relative to the best; `None` where that is the best.
    pub last_ratio: Option<Estimate>,
}

/// A cell against the baseline, paired by block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// Index into [`Analysis::cells`].
    pub cell: usize,
    pub baseline_cell: usize,
    /// tps of the cell over tps of the baseline.
    pub tps_ratio: Estimate,
    /// p99 of the cell over p99 of the baseline, and what may be claimed about it.
    pub p99_ratio: Option<Estimate>,
    pub p99_change: Option<Judgement>,
    /// The server's CPU time of a transaction: the cell's over the baseline's, and what may be
    /// claimed about it.
    pub server_cpu_ratio: Option<Estimate>,
    pub server_cpu_change: Option<Judgement>,
    /// Smallest true effect for which this comparison gets a verdict four times out of five, beside
    /// all others: 0.05 is 5 % more, and the same factor less.
    pub smallest_detectable_effect: Option<f64>,
    /// The generator limited trials of the cell or of its baseline: the verdict is on what was
    /// measured, and the servers may differ more, less or the other way.
    pub generator_limited: bool,
    pub verdict: Verdict,
    /// Blocks after which an earlier look has decided it; `None` where the present data have, or
    /// nothing has.
    pub decided_after_blocks: Option<u32>,
    /// The sources of the ratios, in the order of [`JUDGED`]; comparisons of the same cells use
    /// them.
    #[serde(skip)]
    pub(crate) effects: [Option<Effect>; JUDGED.len()],
}

/// What a comparison may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Faster,
    Slower,
    /// The whole interval is inside the smallest effect of interest.
    Equivalent,
    /// About this many more blocks would decide it; `None` if that is unknown.
    NotEnoughData {
        more_blocks: Option<u32>,
    },
}

impl Verdict {
    /// `None` where there is a verdict, too.
    pub fn more_blocks(self) -> Option<u32> {
        match self {
            Self::NotEnoughData { more_blocks } => more_blocks,
            _ => None,
        }
    }
}

/// The noise of trials with one load: one number of connections, and one rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadNoise {
    /// The levels that are not settings: `connections=8`.
    pub load: Configuration,
    /// Standard deviation of ln(tps) of one trial: 0.02 is about 2 %.
    pub sigma: f64,
    /// Degrees of freedom of that standard deviation.
    pub degrees_of_freedom: usize,
    /// Whether what is common to a block is taken out. It is not where a load has one configuration
    /// and no twin.
    pub within_blocks: bool,
    /// Smallest effect for which a comparison at this load would get a verdict four times out of
    /// five, with the blocks that were run: 0.05 is 5 % more, and the same factor less.
    pub smallest_detectable_effect: f64,
}

/// Two runs of the same configuration in each block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Twins {
    /// Standard deviation of ln(tps) of one trial, from the pairs alone.
    pub sigma: f64,
    pub pairs: Vec<AaPair>,
    /// Ratio of the twins, second over first, with its interval: 1 belongs inside.
    pub ratio: Estimate,
    /// The interval excludes 1: identical configurations differed, so small effects in this
    /// experiment are not evidence.
    pub alarm: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AaPair {
    pub block: u32,
    pub configuration: Configuration,
    pub first_tps: f64,
    pub second_tps: f64,
    /// The generator limited one of the two: their difference is its noise as well.
    pub generator_limited: bool,
}

/// A level of a factor against the factor's level in the baseline, at all levels of all other
/// factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MainEffect {
    pub factor: String,
    pub level: SettingValue,
    pub baseline: SettingValue,
    /// Geometric mean of the paired ratios of tps; `n` is their number.
    pub tps_ratio: Estimate,
    pub verdict: Verdict,
}
