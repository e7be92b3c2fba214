//! The order of crashes: randomised blocks, so that what changes on the host while an experiment
//! runs meets all configurations alike. Pure.

use truetps_record::{CrashKind, CrashRole, CrashStep};
use truetps_workload::RandomStream;

use super::controls::CrashCell;

/// Which crash of a server comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlannedCrash {
    pub(crate) kind: CrashKind,
    /// `None`: at a random time.
    pub(crate) step: Option<CrashStep>,
}

/// A crash of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScheduledCrash {
    /// From 0.
    pub(crate) block: u32,
    /// Index of the configuration.
    pub(crate) cell: usize,
    pub(crate) planned: PlannedCrash,
}

/// All crashes of an experiment. Each block has every configuration once in every way that it is
/// crashed, in an order of its own; the same seed gives the same order.
pub(crate) fn crash_order(
    cells: &[CrashCell],
    steps: &[CrashStep],
    blocks: u32,
    seed: u64,
) -> Vec<ScheduledCrash> {
    let each: Vec<_> = cells
        .iter()
        .enumerate()
        .flat_map(|(cell, of)| ways_of(of, steps).into_iter().map(move |way| (cell, way)))
        .collect();
    let mut order = Vec::with_capacity(each.len() * blocks as usize);
    for block in 0..blocks {
        let mut of_block = each.clone();
        RandomStream::new(seed, u64::from(block)).shuffle(&mut of_block);
        order.extend(of_block.into_iter().map(|(cell, planned)| ScheduledCrash {
            block,
            cell,
            planned,
        }));
    }
    order
}

/// The random choices within a crash, wherever it stands and whatever happened before it.
pub(crate) fn random_of(seed: u64, position: usize) -> RandomStream {
    const BEHIND_BLOCKS: u64 = 1 << 32;
    RandomStream::new(seed, BEHIND_BLOCKS + position as u64)
}

/// A server that is killed as it starts leaves what the crash before has left.
fn ways_of(cell: &CrashCell, steps: &[CrashStep]) -> Vec<PlannedCrash> {
    let steps: Vec<_> = match cell.role {
        CrashRole::Cell if !steps.is_empty() => steps.iter().copied().map(Some).collect(),
        _ => vec![None],
    };
    let all = cell
        .kinds
        .iter()
        .flat_map(|kind| steps.iter().map(|step| PlannedCrash { kind: *kind, step: *step }));
    all.filter(|one| one.kind.needs_disk() || one.step != Some(CrashStep::Recovery)).collect()
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use truetps_record::{Configuration, SettingValue};

    use super::*;

    fn cell(role: CrashRole, flush: i64, kinds: &[CrashKind]) -> CrashCell {
        let levels = IndexMap::from([("flush".to_owned(), SettingValue::Int(flush))]);
        CrashCell { role, kinds: kinds.to_vec(), configuration: Configuration { levels } }
    }

    /// A control of two kinds, and two configurations of three.
    fn cells() -> Vec<CrashCell> {
        let disk_kinds = [CrashKind::Os, CrashKind::Power];
        let mut cells = vec![cell(CrashRole::LosesSome, 0, &disk_kinds)];
        cells.extend([1, 2].map(|flush| cell(CrashRole::Cell, flush, &CrashKind::ALL)));
        cells
    }

    #[test]
    fn each_block_has_every_way_of_every_configuration_once() {
        let order = crash_order(&cells(), &[], 5, 7);
        assert_eq!(order.len(), 5 * (2 + 3 + 3));
        for block in 0..5 {
            let mut seen: Vec<_> = order
                .iter()
                .filter(|one| one.block == block)
                .map(|one| (one.cell, one.planned.kind))
                .collect();
            seen.sort_unstable();
            let [kill, os, power] = CrashKind::ALL;
            assert_eq!(
                seen,
                [
                    (0, os),
                    (0, power),
                    (1, kill),
                    (1, os),
                    (1, power),
                    (2, kill),
                    (2, os),
                    (2, power)
                ]
            );
        }
        assert!(order.is_sorted_by_key(|one| one.block));
    }

    #[test]
    fn blocks_have_orders_of_their_own_and_the_seed_gives_them() {
        let of = |seed| crash_order(&cells(), &[], 4, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let places = |block: u32| {
            let order = of(1).into_iter().filter(move |one| one.block == block);
            order.map(|one| (one.cell, one.planned)).collect::<Vec<_>>()
        };
        assert_ne!(places(0), places(1));
        let first = |seed| of(seed)[0].cell;
        let firsts: Vec<_> = (0..400).map(first).collect();
        // Two, three and three of eight: 100, 150 and 150 with a deviation of 10 at most.
        for (cell, expect) in [(0, 100), (1, 150), (2, 150)] {
            let seen = firsts.iter().filter(|one| **one == cell).count();
            assert!(seen.abs_diff(expect) < 45, "{cell}: {seen}");
        }
    }

    #[test]
    fn steps_are_of_the_plan_and_none_kills_a_server_that_starts() {
        let steps = [CrashStep::Commit, CrashStep::Recovery];
        let order = crash_order(&cells(), &steps, 1, 1);
        // The control at random times; os and power at both steps, kill at one.
        assert_eq!(order.len(), 2 + 2 * 5);
        let mut ways = order.iter().map(|one| (one.cell, one.planned));
        assert!(ways.all(|(cell, way)| (cell == 0) == way.step.is_none()
            && (way.kind.needs_disk() || way.step != Some(CrashStep::Recovery))));
    }

    #[test]
    fn a_crash_has_its_own_random_choices() {
        let draw = |position| random_of(3, position).next_u64();
        assert_eq!(draw(4), draw(4));
        assert_ne!(draw(4), draw(5));
    }
}
