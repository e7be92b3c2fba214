//! The noise of trials with the same load: at each number of connections, and each rate.

use std::collections::HashMap;

use indexmap::IndexMap;
use truetps_record::{Configuration, is_load_factor};

use crate::LoadNoise;
use crate::evidence::{Evidence, block_values, is_cell};
use crate::figure::Figure;
use crate::pooled::{BlockValue, PooledVariance};
use crate::sample::{FACTOR_MAX, LogSample, POWER};
use crate::student::quantile;

/// The pooled variance of a figure, by load.
pub(crate) type LoadRows = IndexMap<String, Option<PooledVariance>>;

/// The levels that are no settings: connections, and rate.
pub(crate) fn load_of(configuration: &Configuration) -> Configuration {
    let mut levels = configuration.levels.clone();
    levels.retain(|name, _| is_load_factor(name));
    Configuration { levels }
}

/// The pooled variance of a figure for each load. A twin is a row of its own, since it has the
/// noise of one trial.
pub(crate) fn load_rows(
    figure: Figure,
    configurations: &[Configuration],
    by_cell: &[Vec<Evidence<'_>>],
) -> LoadRows {
    let mut rows: IndexMap<String, Vec<Vec<BlockValue>>> = IndexMap::new();
    for (configuration, evidence) in configurations.iter().zip(by_cell) {
        let (cells, twins): (Vec<_>, Vec<_>) =
            evidence.iter().copied().partition(|one| is_cell(one.trial));
        let of_load = rows.entry(load_of(configuration).to_string()).or_default();
        of_load.extend([cells, twins].map(|trials| block_values(figure, &trials)));
    }
    rows.iter().map(|(load, rows)| (load.clone(), PooledVariance::of(rows))).collect()
}

/// The noise of throughput at each load, in the plan's order. A comparison is tested at `level`.
pub(crate) fn by_load(
    configurations: &[Configuration],
    by_cell: &[Vec<Evidence<'_>>],
    level: f64,
) -> Vec<LoadNoise> {
    let rows = load_rows(Figure::Tps, configurations, by_cell);
    let mut first: HashMap<String, (&Configuration, &Vec<Evidence<'_>>)> = HashMap::new();
    for (configuration, evidence) in configurations.iter().zip(by_cell) {
        first.entry(load_of(configuration).to_string()).or_insert((configuration, evidence));
    }
    let noise = rows.iter().filter_map(|(load, pooled)| {
        let (configuration, evidence) = first.get(load)?;
        let blocks = block_values(Figure::Tps, evidence).len();
        let (sigma, freedom, is_within_blocks) = if let Some(pooled) = pooled {
            (pooled.of_one_trial.sqrt(), pooled.freedom, true)
        } else {
            // One row: what changes from block to block is in it.
            let logs: Vec<_> =
                block_values(Figure::Tps, evidence).iter().map(|one| one.log).collect();
            (LogSample::of(&logs)?.sd?, logs.len() - 1, false)
        };
        let freedom_of_test = blocks.max(1) as f64;
        let quantiles =
            quantile(1.0 - level / 2.0, freedom_of_test) + quantile(POWER, freedom_of_test);
        let log = quantiles * sigma * (2.0 / freedom_of_test).sqrt();
        Some(LoadNoise {
            load: load_of(configuration),
            sigma,
            degrees_of_freedom: freedom,
            within_blocks: is_within_blocks,
            smallest_detectable_effect: log.min(FACTOR_MAX.ln()).exp_m1(),
        })
    });
    noise.collect()
}
