//! Cells that differ by nothing but the axis, in its order.

use indexmap::IndexMap;
use truetps_plan::Plan;
use truetps_record::Configuration;

use crate::evidence::Evidence;
use crate::{Axis, Cell, Curve, knee, open_loop};

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
            sustained: if axis == Axis::Rate { open_loop::range(&indexes, cells) } else { None },
            cells: indexes,
        }
    });
    curves.collect()
}

/// The settings, and the rate where that is varied beside the connections: all that the cells of a curve have in common.
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
