//! What the crashes of an experiment lost together, and whether the experiment is to be believed.
//! `docs/method/crash-losses.md` has the rule.

use serde::Serialize;
use truetps_record::{Configuration, CrashKind, CrashRecord, CrashRole};

use crate::order_stats::{largest, median};

/// A survivor behind a lost row is no fault where clients are answered at nearly the same time.
const HOLES_FOR_EACH_CLIENT: u64 = 1;

/// All crashes of one configuration: what it costs, and what it loses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashedCell {
    pub role: CrashRole,
    pub configuration: Configuration,
    /// Medians over all crashes, of whatever kind.
    pub tps: Option<f64>,
    pub response_us_p99: Option<f64>,
    pub kinds: Vec<CrashSummary>,
}

/// All crashes of one kind of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrashSummary {
    pub kind: CrashKind,
    pub crashes: usize,
    /// Crashes that lost something.
    pub crashes_with_loss: usize,
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
    /// In the order of their first crash.
    pub cells: Vec<CrashedCell>,
    /// Empty: both controls of each kind are as they must be.
    pub not_proven: Vec<NotProven>,
}

impl CrashAnalysis {
    pub fn of(records: &[CrashRecord], clients: u32) -> Self {
        let mut groups: Vec<Vec<&CrashRecord>> = Vec::new();
        for record in records {
            let same = groups.iter_mut().find(|group| {
                group[0].role == record.role && group[0].configuration == record.configuration
            });
            match same {
                Some(group) => group.push(record),
                None => groups.push(vec![record]),
            }
        }
        let cells: Vec<_> = groups.iter().map(|group| cell(group)).collect();
        let not_proven = not_proven(&cells, clients);
        Self { cells, not_proven }
    }

    /// A promise was broken by settings of the plan.
    pub fn broke_promise(&self) -> bool {
        let of_plan = self.cells.iter().filter(|cell| cell.role != CrashRole::LosesSome);
        of_plan.flat_map(|cell| &cell.kinds).any(|one| one.verdict == CrashVerdict::BrokePromise)
    }
}

fn cell(crashes: &[&CrashRecord]) -> CrashedCell {
    let kinds = CrashKind::ALL
        .map(|kind| crashes.iter().copied().filter(|one| one.kind == kind).collect::<Vec<_>>());
    let kinds = kinds.into_iter().filter(|group| !group.is_empty());
    CrashedCell {
        role: crashes[0].role,
        configuration: crashes[0].configuration.clone(),
        tps: median(crashes.iter().map(|one| one.tps)),
        response_us_p99: median(crashes.iter().filter_map(|one| one.response_us_p99)),
        kinds: kinds.map(|group| summary(&group)).collect(),
    }
}

fn summary(group: &[&CrashRecord]) -> CrashSummary {
    let first = group[0];
    let lost: Vec<u64> = group.iter().map(|one| one.lost).collect();
    let broken = group.iter().filter(|one| one.table_problem.is_some()).count();
    let has_lost = lost.iter().any(|lost| *lost > 0) || broken > 0;
    let promises_all_kept = first.promises_all_kept;
    CrashSummary {
        kind: first.kind,
        crashes: group.len(),
        crashes_with_loss: lost.iter().filter(|lost| **lost > 0).count(),
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
            (true, false) => CrashVerdict::Kept,
            (false, true) => CrashVerdict::LostAsAllowed,
            (false, false) => CrashVerdict::KeptByChance,
        },
    }
}

impl CrashSummary {
    /// The largest share of crashes that would lose something with 95 % confidence, where none did:
    /// the rule of three.
    pub fn loss_share_max(&self) -> Option<f64> {
        (self.crashes_with_loss == 0).then(|| (3.0 / self.crashes as f64).min(1.0))
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
    use indexmap::IndexMap;
    use truetps_record::SettingValue;

    use super::*;

    fn crash(role: CrashRole, flush: i64, lost: u64) -> CrashRecord {
        let levels = IndexMap::from([(
            "innodb_flush_log_at_trx_commit".to_owned(),
            SettingValue::Int(flush),
        )]);
        CrashRecord {
            number: 1,
            role,
            kind: CrashKind::Os,
            step: None,
            configuration: Configuration { levels },
            load_ms: 2000.0,
            tps: 1000.0,
            response_us_p99: Some(100.0),
            attempted: 2001,
            acknowledged: 2000,
            unknown: 1,
            lost,
            loss_window_ms: (lost > 0).then_some(500.0),
            recovered: 0,
            unexpected: 0,
            holes: 0,
            blocks_lost: 0,
            recovery_ms: 900.0,
            table_problem: None,
            binlog: None,
            promises_all_kept: Some(flush == 1),
        }
    }

    fn controls() -> Vec<CrashRecord> {
        vec![crash(CrashRole::KeepsAll, 1, 0), crash(CrashRole::LosesSome, 0, 700)]
    }

    #[test]
    fn losses_are_held_against_the_promise() {
        let mut records = controls();
        records.extend([0, 300, 0].map(|lost| crash(CrashRole::Cell, 2, lost)));
        let analysis = CrashAnalysis::of(&records, 8);
        assert_eq!((analysis.not_proven.len(), analysis.broke_promise()), (0, false));
        let [_, _, cell] = &analysis.cells[..] else { panic!("{analysis:?}") };
        let [cell] = &cell.kinds[..] else { panic!("{cell:?}") };
        assert_eq!((cell.crashes, cell.crashes_with_loss, cell.lost_max), (3, 1, 300));
        assert_eq!((cell.verdict, cell.loss_share_max()), (CrashVerdict::LostAsAllowed, None));
        records.push(crash(CrashRole::Cell, 1, 4));
        let broken = CrashAnalysis::of(&records, 8);
        assert!(broken.broke_promise());
        assert_eq!(broken.cells[3].kinds[0].verdict, CrashVerdict::BrokePromise);
    }

    #[test]
    fn nothing_is_proven_without_both_controls() {
        let of = |records: &[CrashRecord]| CrashAnalysis::of(records, 8).not_proven;
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
        assert!(CrashAnalysis::of(&records, 8).broke_promise());
        records[0].table_problem = records[2].table_problem.clone();
        assert_eq!(
            CrashAnalysis::of(&records, 8).not_proven,
            [NotProven::ControlLost { kind: CrashKind::Os }]
        );
    }

    #[test]
    fn no_loss_has_an_upper_bound_and_is_never_safe() {
        let records: Vec<_> = (0..10).map(|_| crash(CrashRole::Cell, 1, 0)).collect();
        let analysis = CrashAnalysis::of(&records, 8);
        assert!((analysis.cells[0].kinds[0].loss_share_max().unwrap() - 0.3).abs() < 1e-9);
    }
}
