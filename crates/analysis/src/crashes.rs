//! What the crashes of an experiment lost together, and whether the experiment is to be believed.
//! `docs/method/crash-losses.md` has the rule.

use serde::Serialize;
use truetps_record::{
    Configuration, CrashKind, CrashRecord, CrashRole, CrashRun, CrashedConfiguration,
};

use crate::crash_price::{CrashPrice, CrashPrices, CrashSeries, CrashTwins};
use crate::order_stats::{largest, mean, median};
use crate::share_bound::{crashes_that_bound, share_at_least, share_at_most};

/// A survivor behind a lost row is no fault where clients are answered at nearly the same time.
const HOLES_FOR_EACH_CLIENT: u64 = 1;

/// Where no crash has lost anything and more than this share may all the same, nothing is stated.
const SHARE_UNKNOWN: f64 = 0.5;

/// All crashes of one configuration: what it costs, and what it loses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashedCell {
    pub role: CrashRole,
    pub configuration: Configuration,
    /// Geometric means over all crashes, of every kind.
    pub tps: Option<f64>,
    pub response_us_p99: Option<f64>,
    /// Against the safest configuration. `None` for that one and the controls, and where crashes
    /// were not made in blocks.
    pub price: Option<CrashPrice>,
    pub kinds: Vec<CrashSummary>,
}

/// All crashes of one kind of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashSummary {
    pub kind: CrashKind,
    pub crashes: usize,
    /// Crashes that lost something.
    pub crashes_with_loss: usize,
    /// Their true share is at least and at most this, each with 95 % confidence (Clopper and
    /// Pearson's exact bounds).
    pub loss_share_min: f64,
    pub loss_share_max: f64,
    pub acknowledged: u64,
    pub lost_max: u64,
    pub lost_median: f64,
    /// Longest time from the acknowledgement of the first lost row to the crash.
    pub loss_window_ms_max: Option<f64>,
    /// Sums over all crashes.
    pub recovered: u64,
    pub unexpected: u64,
    pub holes_max: u64,
    pub recovery_ms: Option<f64>,
    /// Crashes after which the table or the server was broken.
    pub broken: usize,
    /// In the server's words.
    pub first_problem: Option<String>,
    /// Most rows in one crash that the binlog has and the table has not; `None`: no crash with a
    /// binlog that can be read.
    pub binlog_only_max: Option<u64>,
    /// Most rows in one crash that the table has and the binlog has not.
    pub table_only_max: Option<u64>,
    /// Sums over all crashes: files that do not end with a whole event, and GTIDs that do not
    /// follow the one before.
    pub torn_files: u64,
    pub gtid_gaps: u64,
    pub promises_all_kept: Option<bool>,
    pub verdict: CrashVerdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashVerdict {
    /// Nothing was lost, as the settings promise.
    Kept,
    /// Nothing was lost, as the settings promise, in so few crashes that half of all may lose
    /// something.
    NoStatement,
    /// Nothing was lost, although the settings allow it.
    KeptByChance,
    /// Something was lost or broken, which the settings allow.
    LostAsAllowed,
    /// Something was lost or broken, against the promise.
    BrokePromise,
}

/// Why an experiment proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum NotProven {
    /// No crash of this kind with settings that keep all.
    NoControlThatKeeps { kind: CrashKind },
    /// Settings that keep all have lost or broken something.
    ControlLost { kind: CrashKind },
    /// No crash of this kind with settings that must lose something.
    NoControlThatLoses { kind: CrashKind },
    /// Settings that must lose something have lost nothing: the laboratory would not see a loss.
    ControlKept { kind: CrashKind },
    /// Rows that were acknowledged after a lost one are there: the data is not the disk's.
    Holes { kind: CrashKind },
}

/// Everything that the crashes of an experiment say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashAnalysis {
    /// In the order of the experiment's configurations; of earlier versions, of their first crash.
    pub cells: Vec<CrashedCell>,
    /// The configuration that prices are relative to: the first of the plan that promises to keep
    /// all in each kind of crash, else the control that does.
    pub safest: Option<Configuration>,
    /// Controls that have a configuration of the plan.
    pub twins: Vec<CrashTwins>,
    /// Empty: both controls of each kind are as they must be.
    pub not_proven: Vec<NotProven>,
}

/// What an analysis needs of the design of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct CrashDesign<'a> {
    pub clients: u32,
    pub configurations: &'a [CrashedConfiguration],
    /// 0.03 is 3 %.
    pub smallest_effect: f64,
}

impl<'a> From<&'a CrashRun> for CrashDesign<'a> {
    fn from(run: &'a CrashRun) -> Self {
        Self {
            clients: run.clients,
            configurations: &run.configurations,
            smallest_effect: run.smallest_effect,
        }
    }
}

impl CrashAnalysis {
    pub fn of<'a>(records: &'a [CrashRecord], design: impl Into<CrashDesign<'a>>) -> Self {
        let design = design.into();
        let series = all_series(records, design.configurations);
        let mut cells: Vec<_> = series.iter().map(cell).collect();
        let safest = safest(&cells);
        let mut twins = Vec::new();
        if let Some(safest) = &safest {
            let prices = CrashPrices::of(&series, safest, design.smallest_effect);
            twins = prices.twins;
            for (cell, price) in cells.iter_mut().zip(prices.of_series) {
                cell.price = price;
            }
        }
        let not_proven = not_proven(&cells, design.clients);
        Self { cells, safest, twins, not_proven }
    }

    /// A promise was broken by settings of the plan.
    pub fn broke_promise(&self) -> bool {
        let of_plan = self.cells.iter().filter(|cell| cell.role != CrashRole::LosesSome);
        of_plan.flat_map(|cell| &cell.kinds).any(|one| one.verdict == CrashVerdict::BrokePromise)
    }

    /// Not one configuration of the plan was crashed often enough.
    pub fn states_nothing(&self) -> bool {
        let of_plan = self.cells.iter().filter(|cell| cell.role == CrashRole::Cell);
        of_plan.flat_map(|cell| &cell.kinds).all(|one| !one.states_something())
    }
}

/// The crashes of each configuration in each of its roles.
fn all_series<'a>(
    records: &'a [CrashRecord],
    configurations: &[CrashedConfiguration],
) -> Vec<CrashSeries<'a>> {
    let mut series: Vec<CrashSeries<'_>> = Vec::new();
    for record in records {
        let same = series
            .iter_mut()
            .find(|one| one.role == record.role && *one.configuration == record.configuration);
        match same {
            Some(one) => one.crashes.push(record),
            None => series.push(CrashSeries {
                role: record.role,
                configuration: &record.configuration,
                crashes: vec![record],
            }),
        }
    }
    series.sort_by_key(|one| {
        configurations
            .iter()
            .position(|known| known.role == one.role && known.configuration == *one.configuration)
    });
    series
}

fn cell(series: &CrashSeries<'_>) -> CrashedCell {
    let CrashSeries { role, configuration, crashes } = series;
    let kinds = CrashKind::ALL
        .map(|kind| crashes.iter().copied().filter(|one| one.kind == kind).collect::<Vec<_>>());
    let kinds = kinds.into_iter().filter(|group| !group.is_empty());
    CrashedCell {
        role: *role,
        configuration: (*configuration).clone(),
        tps: mean(crashes.iter().map(|one| one.tps)),
        response_us_p99: mean(crashes.iter().filter_map(|one| one.response_us_p99)),
        price: None,
        kinds: kinds.map(|group| summary(&group)).collect(),
    }
}

fn safest(cells: &[CrashedCell]) -> Option<Configuration> {
    let mut of_plan = cells.iter().filter(|cell| cell.role == CrashRole::Cell);
    let mut controls = cells.iter().filter(|cell| cell.role == CrashRole::KeepsAll);
    let found = of_plan.find(|cell| cell.promises_all_kept()).or_else(|| controls.next())?;
    Some(found.configuration.clone())
}

impl CrashedCell {
    /// In each kind of crash.
    fn promises_all_kept(&self) -> bool {
        self.kinds.iter().all(|one| one.promises_all_kept == Some(true))
    }
}

fn summary(group: &[&CrashRecord]) -> CrashSummary {
    let first = group[0];
    let lost: Vec<u64> = group.iter().map(|one| one.lost).collect();
    let broken = group.iter().filter(|one| one.table_problem.is_some()).count();
    let has_lost = lost.iter().any(|lost| *lost > 0) || broken > 0;
    let promises_all_kept = first.promises_all_kept;
    let (crashes, crashes_with_loss) = (group.len(), lost.iter().filter(|lost| **lost > 0).count());
    let loss_share_max = share_at_most(crashes_with_loss, crashes);
    CrashSummary {
        kind: first.kind,
        crashes,
        crashes_with_loss,
        loss_share_min: share_at_least(crashes_with_loss, crashes),
        loss_share_max,
        acknowledged: group.iter().map(|one| one.acknowledged).sum(),
        lost_max: lost.iter().copied().max().unwrap_or(0),
        lost_median: median(lost.iter().map(|lost| *lost as f64)).unwrap_or(0.0),
        loss_window_ms_max: largest(group.iter().filter_map(|one| one.loss_window_ms)),
        recovered: group.iter().map(|one| one.recovered).sum(),
        unexpected: group.iter().map(|one| one.unexpected).sum(),
        holes_max: group.iter().map(|one| one.holes).max().unwrap_or(0),
        recovery_ms: median(group.iter().map(|one| one.recovery_ms).filter(|ms| *ms > 0.0)),
        broken,
        first_problem: group.iter().find_map(|one| one.table_problem.clone()),
        binlog_only_max: group.iter().filter_map(|one| Some(one.binlog?.binlog_only)).max(),
        table_only_max: group.iter().filter_map(|one| Some(one.binlog?.table_only)).max(),
        torn_files: group.iter().filter_map(|one| Some(one.binlog?.torn_files)).sum(),
        gtid_gaps: group.iter().filter_map(|one| Some(one.binlog?.gtid_gaps)).sum(),
        promises_all_kept,
        verdict: match (promises_all_kept == Some(true), has_lost) {
            (true, true) => CrashVerdict::BrokePromise,
            (true, false) if loss_share_max > SHARE_UNKNOWN => CrashVerdict::NoStatement,
            (true, false) => CrashVerdict::Kept,
            (false, true) => CrashVerdict::LostAsAllowed,
            (false, false) => CrashVerdict::KeptByChance,
        },
    }
}

impl CrashSummary {
    /// Whether something was lost or broken, or enough crashes lost nothing.
    pub fn states_something(&self) -> bool {
        self.crashes_with_loss > 0 || self.broken > 0 || self.loss_share_max <= SHARE_UNKNOWN
    }

    /// The smallest number of crashes without a loss that states something.
    pub fn crashes_to_state() -> usize {
        crashes_that_bound(SHARE_UNKNOWN)
    }
}

fn not_proven(cells: &[CrashedCell], clients: u32) -> Vec<NotProven> {
    let mut found = Vec::new();
    for kind in CrashKind::ALL {
        let of_kind: Vec<_> = cells
            .iter()
            .flat_map(|cell| cell.kinds.iter().map(move |one| (cell.role, one)))
            .filter(|(_, one)| one.kind == kind)
            .collect();
        if of_kind.is_empty() {
            continue;
        }
        let [keeps_all, loses_some] = [CrashRole::KeepsAll, CrashRole::LosesSome]
            .map(|role| of_kind.iter().find(|(of, _)| *of == role).map(|(_, one)| one));
        match keeps_all {
            None => found.push(NotProven::NoControlThatKeeps { kind }),
            Some(control) if control.lost_max > 0 || control.broken > 0 => {
                found.push(NotProven::ControlLost { kind });
            }
            Some(_) => {}
        }
        match loses_some {
            None => found.push(NotProven::NoControlThatLoses { kind }),
            Some(control) if control.lost_max == 0 => found.push(NotProven::ControlKept { kind }),
            Some(_) => {}
        }
        let holes_max = HOLES_FOR_EACH_CLIENT * u64::from(clients);
        if of_kind.iter().any(|(_, one)| one.holes_max > holes_max && one.broken == 0) {
            found.push(NotProven::Holes { kind });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use truetps_record::SettingValue;

    use super::*;
    use crate::synthetic::crash;

    const DESIGN: CrashDesign<'static> =
        CrashDesign { clients: 8, configurations: &[], smallest_effect: 0.03 };

    fn controls() -> Vec<CrashRecord> {
        vec![crash(CrashRole::KeepsAll, 1, 0), crash(CrashRole::LosesSome, 0, 700)]
    }

    #[test]
    fn losses_are_held_against_the_promise() {
        let mut records = controls();
        records.extend([0, 300, 0].map(|lost| crash(CrashRole::Cell, 2, lost)));
        let analysis = CrashAnalysis::of(&records, DESIGN);
        assert_eq!((analysis.not_proven.len(), analysis.broke_promise()), (0, false));
        let [_, _, cell] = &analysis.cells[..] else { panic!("{analysis:?}") };
        let [cell] = &cell.kinds[..] else { panic!("{cell:?}") };
        assert_eq!((cell.crashes, cell.crashes_with_loss, cell.lost_max), (3, 1, 300));
        assert_eq!(cell.verdict, CrashVerdict::LostAsAllowed);
        // One of three, exactly: 1 − 0.95^(1/3), and the root of (1 − p)³ + 3p(1 − p)² = 0.05.
        assert!((cell.loss_share_min - 0.016_952).abs() < 1e-6, "{cell:?}");
        assert!((cell.loss_share_max - 0.864_650).abs() < 1e-6, "{cell:?}");
        records.push(crash(CrashRole::Cell, 1, 4));
        let broken = CrashAnalysis::of(&records, DESIGN);
        assert!(broken.broke_promise());
        assert_eq!(broken.cells[3].kinds[0].verdict, CrashVerdict::BrokePromise);
    }

    #[test]
    fn nothing_is_proven_without_both_controls() {
        let of = |records: &[CrashRecord]| CrashAnalysis::of(records, DESIGN).not_proven;
        let kind = CrashKind::Os;
        assert_eq!(of(&controls()), []);
        assert_eq!(of(&controls()[..1]), [NotProven::NoControlThatLoses { kind }]);
        assert_eq!(of(&controls()[1..]), [NotProven::NoControlThatKeeps { kind }]);
        let kept = [crash(CrashRole::KeepsAll, 1, 0), crash(CrashRole::LosesSome, 0, 0)];
        assert_eq!(of(&kept), [NotProven::ControlKept { kind }]);
        let lost = [crash(CrashRole::KeepsAll, 1, 1), crash(CrashRole::LosesSome, 0, 9)];
        assert_eq!(of(&lost), [NotProven::ControlLost { kind }]);
        let mut holes = controls();
        holes[1].holes = 9;
        assert_eq!(of(&holes), [NotProven::Holes { kind }]);
    }

    #[test]
    fn a_broken_table_breaks_the_promise_too() {
        let mut records = controls();
        records.push(crash(CrashRole::Cell, 1, 0));
        records[2].table_problem = Some("an index with a page of zeros".to_owned());
        assert!(CrashAnalysis::of(&records, DESIGN).broke_promise());
        records[0].table_problem = records[2].table_problem.clone();
        assert_eq!(
            CrashAnalysis::of(&records, DESIGN).not_proven,
            [NotProven::ControlLost { kind: CrashKind::Os }]
        );
    }

    #[test]
    fn a_few_crashes_without_a_loss_state_nothing() {
        let of = |flush, crashes| {
            let records: Vec<_> = (0..crashes).map(|_| crash(CrashRole::Cell, flush, 0)).collect();
            CrashAnalysis::of(&records, DESIGN)
        };
        let check = |flush, crashes, verdict, states: bool| {
            let analysis = of(flush, crashes);
            let one = &analysis.cells[0].kinds[0];
            assert_eq!((one.verdict, one.states_something()), (verdict, states), "{one:?}");
            assert_eq!(analysis.states_nothing(), !states);
        };
        check(1, 2, CrashVerdict::NoStatement, false);
        check(1, 4, CrashVerdict::NoStatement, false);
        check(1, CrashSummary::crashes_to_state(), CrashVerdict::Kept, true);
        check(2, 4, CrashVerdict::KeptByChance, false);
        let ten = of(1, 10).cells[0].kinds[0].loss_share_max;
        assert!((ten - 0.258_866).abs() < 1e-6, "{ten}");
    }

    /// The order of crashes is by chance.
    #[test]
    fn configurations_stand_in_the_order_of_the_experiment() {
        let records = [(CrashRole::Cell, 2), (CrashRole::KeepsAll, 1), (CrashRole::Cell, 1)]
            .map(|(role, flush)| crash(role, flush, 0));
        let configurations: Vec<_> = [1, 2, 0]
            .map(|at: usize| CrashedConfiguration {
                role: records[at].role,
                configuration: records[at].configuration.clone(),
                left_out: None,
            })
            .into();
        let design = CrashDesign { configurations: &configurations, ..DESIGN };
        let order = |design| {
            let cells = CrashAnalysis::of(&records, design).cells;
            cells.into_iter().map(|cell| (cell.role, cell.configuration)).collect::<Vec<_>>()
        };
        let expect: Vec<_> =
            configurations.iter().map(|one| (one.role, one.configuration.clone())).collect();
        assert_eq!(order(design), expect);
        assert_eq!(order(DESIGN)[0].0, CrashRole::Cell);
    }

    #[test]
    fn prices_are_against_the_first_configuration_that_promises_all() {
        let with = |flushes: &[i64]| {
            let mut records = controls();
            records.extend(flushes.iter().map(|flush| crash(CrashRole::Cell, *flush, 0)));
            let safest = CrashAnalysis::of(&records, DESIGN).safest.unwrap();
            safest.levels["innodb_flush_log_at_trx_commit"].clone()
        };
        assert_eq!(with(&[2, 1]), SettingValue::Int(1));
        // The control, where the plan has none.
        assert_eq!(with(&[2, 0]), SettingValue::Int(1));
        assert_eq!(CrashAnalysis::of(&[], DESIGN).safest, None);
    }
}
