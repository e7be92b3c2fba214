//! Throughput against connections, and where more of them stop helping.
//! `docs/method/knee.md` explains it.

use truetps_record::Estimate;

use crate::evidence::{Evidence, tps_ratio_sample};
use crate::{Cell, Knee};

/// The knee reaches this share of the best throughput, as far as the trials can tell.
const SHARE_OF_BEST: f64 = 0.95;
/// And its own estimate is at least this share. Without this, two noisy trials whose interval
/// reaches from 0.2 to 3 would put the knee at one connection: "not shown to be below 95 %" is no
/// merit where nothing could be shown.
const SHARE_OF_BEST_LEAST: f64 = 0.90;

/// `None` where fewer than two numbers of connections have evidence, and where nothing ever
/// finished.
pub(crate) fn of_curve(
    curve: &[usize],
    cells: &[Cell],
    by_cell: &[Vec<Evidence<'_>>],
) -> Option<Knee> {
    let tried: Vec<_> =
        curve.iter().filter_map(|index| Some((*index, cells[*index].tps?.value))).collect();
    let (best, best_tps) = *tried.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let (last, _) = *tried.last()?;
    if tried.len() < 2 || best_tps == 0.0 {
        return None;
    }
    let (knee, ratio_to_best) = tried
        .iter()
        .filter_map(|(index, _)| Some((*index, ratio(&by_cell[*index], &by_cell[best])?)))
        .find(|(index, ratio)| *index == best || reaches_best(ratio))?;
    let beyond = tried.iter().map(|(index, _)| *index).skip_while(|index| *index != knee);
    Some(Knee {
        connections: cells[knee].configuration.connections(),
        best_connections: cells[best].configuration.connections(),
        best_tps,
        ratio_to_best,
        best_is_last: best == last,
        generator_limited: beyond
            .chain([best])
            .any(|index| cells[index].generator_limited.is_some()),
        last_ratio: if best == last { None } else { ratio(&by_cell[last], &by_cell[best]) },
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
