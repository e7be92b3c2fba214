//! Cells that differ by nothing but the axis, in its order.

use indexmap::IndexMap;
use truetps_plan::Plan;
use truetps_record::Configuration;

use crate::evidence::Evidence;
use crate::{Axis, Cell, Curve, SustainedRange, knee};

/// One curve for each combination of everything but the axis, in the plan's order.
pub(crate) fn throughput_curves(
    plan: &Plan,
    cells: &[Cell],
    by_cell: &[Vec<Evidence<'_>>],
) -> Vec<Curve> {
    let axis = Axis::of(plan);
    let mut groups: IndexMap<String, Vec<usize>> = IndexMap::new();
    for (index, cell) in cells.iter().enumerate() {
        groups.entry(label(plan, axis, &cell.configuration)).or_default().push(index);
    }
    let baseline = Configuration { levels: plan.baseline() };
    let alone = groups.len() == 1;
    let curves = groups.into_iter().map(|(label, mut indexes)| {
        indexes.sort_by(|a, b| {
            let [a, b] = [a, b].map(|index| axis.level(&cells[*index].configuration));
            a.total_cmp(&b)
        });
        let own = &cells[indexes[0]].configuration;
        let is_baseline = baseline
            .levels
            .iter()
            .all(|(name, level)| name == axis.factor() || own.levels.get(name) == Some(level));
        let is_closed =
            indexes.iter().all(|index| cells[*index].open_loop.is_none()) && !plan.load.is_open();
        Curve {
            label,
            is_baseline: is_baseline && (alone || !baseline.levels.is_empty()),
            knee: if is_closed && own.rate().is_none() {
                knee::of_curve(&indexes, cells, by_cell)
            } else {
                None
            },
            sustained: if axis == Axis::Rate { sustained_range(&indexes, cells) } else { None },
            cells: indexes,
        }
    });
    curves.collect()
}

/// Goes up the rates to the first that was not sustained in all of its trials; a higher rate that
/// was sustained by chance is not reliable. `None` where no trial of the curve was judged, or its
/// cells differ by something else than the rate.
fn sustained_range(curve: &[usize], cells: &[Cell]) -> Option<SustainedRange> {
    let judged: Vec<_> = curve
        .iter()
        .filter_map(|index| Some((*index, cells[*index].open_loop.as_ref()?.sustained)))
        .filter(|(_, sustained)| sustained.of > 0)
        .collect();
    let has_rate = curve.iter().all(|index| cells[*index].configuration.rate().is_some());
    if judged.is_empty() || curve.len() < 2 || !has_rate {
        return None;
    }
    let first_not = judged.iter().position(|(_, sustained)| !sustained.is_all());
    let highest = first_not.unwrap_or(judged.len()).checked_sub(1);
    Some(SustainedRange {
        highest: highest.map(|at| judged[at].0),
        first_not: first_not.map(|at| judged[at].0),
    })
}

/// The settings, and the rate where that is varied beside the connections: all that the cells of a
/// curve have in common.
fn label(plan: &Plan, axis: Axis, configuration: &Configuration) -> String {
    let mut parts = vec![configuration.settings_label()];
    let varies = plan.factors.get(truetps_record::RATE).is_some_and(|rates| rates.len() > 1);
    if varies && axis == Axis::Connections {
        parts.extend(
            configuration.levels.get(truetps_record::RATE).map(|rate| format!("rate={rate}")),
        );
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}
