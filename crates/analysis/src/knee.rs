//! Throughput against connections, and where more of them stop helping.

use indexmap::IndexMap;
use truetps_record::{Configuration, Estimate, Plan};

use crate::evidence::{Evidence, tps_ratio_sample};
use crate::{Cell, Curve, Knee};

/// The knee reaches this share of the best throughput, as far as the trials can tell.
const SHARE_OF_BEST: f64 = 0.95;
/// And its own estimate is at least this share. Without this, two noisy trials whose interval reaches from 0.2 to 3
/// would put the knee at one connection: "not shown to be below 95 %" is no merit where nothing could be shown.
const SHARE_OF_BEST_LEAST: f64 = 0.90;

/// One curve for each combination of settings, in the plan's order.
pub(crate) fn curves(plan: &Plan, cells: &[Cell], by_cell: &[Vec<Evidence<'_>>]) -> Vec<Curve> {
    let mut groups: IndexMap<String, Vec<usize>> = IndexMap::new();
    for (index, cell) in cells.iter().enumerate() {
        groups.entry(cell.configuration.settings_label()).or_default().push(index);
    }
    let baseline = Configuration { levels: plan.baseline() };
    let curve = |(label, mut indexes): (String, Vec<usize>)| {
        indexes.sort_by_key(|index| cells[*index].configuration.connections());
        let settings = &cells[indexes[0]].configuration;
        let is_baseline = baseline.settings().all(|(name, level)| settings.levels.get(name) == Some(level));
        Curve { label, is_baseline, knee: knee(&indexes, cells, by_cell), cells: indexes }
    };
    groups.into_iter().map(curve).collect()
}

/// `None` where fewer than two numbers of connections have evidence, and where nothing ever finished.
fn knee(curve: &[usize], cells: &[Cell], by_cell: &[Vec<Evidence<'_>>]) -> Option<Knee> {
    let tried: Vec<_> = curve.iter().filter_map(|index| Some((*index, cells[*index].tps?.value))).collect();
    let (best, best_tps) = *tried.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let (last, _) = *tried.last()?;
    if tried.len() < 2 || best_tps == 0.0 {
        return None;
    }
    let to_best = |index: usize| ratio(&by_cell[index], &by_cell[best]);
    let (knee, ratio_to_best) = tried
        .iter()
        .filter_map(|(index, _)| Some((*index, to_best(*index)?)))
        .find(|(index, ratio)| *index == best || reaches_best(ratio))?;
    let connections = |index: usize| cells[index].configuration.connections();
    Some(Knee {
        connections: connections(knee),
        best_connections: connections(best),
        best_tps,
        ratio_to_best,
        best_is_last: best == last,
        last_ratio: if best == last { None } else { to_best(last) },
    })
}

fn ratio(above: &[Evidence<'_>], below: &[Evidence<'_>]) -> Option<Estimate> {
    Some(tps_ratio_sample(above, below)?.estimate())
}

/// With one pair there is no interval: its value alone must reach the share.
fn reaches_best(ratio: &Estimate) -> bool {
    match ratio.high {
        Some(high) => high >= SHARE_OF_BEST && ratio.value >= SHARE_OF_BEST_LEAST,
        None => ratio.value >= SHARE_OF_BEST,
    }
}
