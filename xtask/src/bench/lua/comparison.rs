//! The figures and goals of `bench lua`.

use std::fmt::Write as _;

use crate::bench::comparison::{BenchComparison, FigureColumn};
use crate::bench::goals::BenchGoal;
use crate::bench::lua::options::{LuaRival, Script};
use crate::bench::lua::run::LuaRunTime;

/// If more of the transactions than this were restarted, locks dominate instead of the programs.
const ERRORS_MAX: f64 = 0.01;

/// Beside sysbench, for these numbers of clients: the ratio of transactions a second at least, the
/// ratio of client CPU a transaction at most, and the peak memory of truetps in MB at most.
const GOALS: [(u32, f64, f64, Option<f64>); 4] = [
    (8, 1.0, 0.9, None),
    (64, 1.05, 0.7, None),
    (1000, 1.3, 0.4, Some(50.0)),
    (5000, 1.3, 0.5, Some(150.0)),
];

/// Beside another build: a change of truetps costs next to nothing.
const TPS_AFTER_CHANGE: f64 = 0.98;
const CPU_AFTER_CHANGE: f64 = 1.03;

impl BenchComparison for LuaRival {
    type Cell = (Script, u32);
    type Run = LuaRunTime;
    const CELL: &'static [&'static str] = &["script", "clients"];

    fn cell_words(&self, (script, clients): Self::Cell) -> Vec<String> {
        vec![script.name.to_owned(), clients.to_string()]
    }

    fn programs(&self, _: Self::Cell) -> Vec<String> {
        vec!["truetps".to_owned(), self.name().to_owned()]
    }

    fn columns(&self) -> Vec<FigureColumn<LuaRunTime>> {
        vec![
            FigureColumn::compared("tps", "tps", [0, 2], |run| run.seen.tps),
            FigureColumn::compared("client_us", "client CPU µs a transaction", [2, 2], |run| {
                run.seen.client_us
            }),
            FigureColumn::shown("client_cores", "client cores", 2, |run| run.seen.client_cores),
            FigureColumn::shown("server_us", "server CPU µs a transaction", 2, |run| {
                run.seen.server_us
            }),
            FigureColumn::shown("server_cores", "server cores", 2, |run| run.seen.server_cores),
            FigureColumn::compared("client_peak_mb", "peak memory MB", [1, 3], |run| {
                run.peak_bytes as f64 / 1e6
            }),
            FigureColumn::shown("ignored_errors", "ignored errors", 0, |run| {
                run.said.ignored_errors as f64
            }),
            FigureColumn::shown("cores_elsewhere", "cores elsewhere", 2, |run| {
                run.seen.cores_elsewhere
            }),
            FigureColumn::shown("cores_idle", "cores idle", 2, |run| run.seen.cores_idle),
            FigureColumn::raw("client_rss_mb", |run| run.seen.client_rss_bytes as f64 / 1e6),
            FigureColumn::raw("look_ms", |run| run.seen.look_ms),
            FigureColumn::raw("counted_transactions", |run| run.counted as f64),
            FigureColumn::raw("said_transactions", |run| run.said.transactions as f64),
            FigureColumn::raw("said_tps", |run| run.said.tps),
        ]
    }

    fn ratio_title(&self) -> String {
        format!(
            "truetps sysbench / {}: geometric means of the ratios of neighbours [min..max]; goals \
             are held against the means, memory against the largest peak of all runs",
            self.name()
        )
    }

    fn goal(&self, (_, clients): Self::Cell, key: &str) -> Option<BenchGoal> {
        let (tps, cpu, memory_mb) = match self {
            Self::Build(_) => (TPS_AFTER_CHANGE, CPU_AFTER_CHANGE, None),
            Self::Sysbench => {
                let (_, tps, cpu, memory_mb) = GOALS.into_iter().find(|(of, ..)| *of == clients)?;
                (tps, cpu, memory_mb)
            }
        };
        match key {
            "tps" => Some(BenchGoal::RatioAtLeast(tps)),
            "client_us" => Some(BenchGoal::RatioAtMost(cpu)),
            "client_peak_mb" => memory_mb.map(BenchGoal::LargestAtMost),
            _ => None,
        }
    }

    fn remark(&self, (_, clients): Self::Cell, runs: &[&LuaRunTime]) -> String {
        let mut remark = String::new();
        let errors: u64 = runs.iter().map(|run| run.said.ignored_errors).sum();
        let transactions: u64 = runs.iter().map(|run| run.said.transactions).sum();
        let share = errors as f64 / transactions.max(1) as f64;
        if share > ERRORS_MAX {
            let _ = write!(
                remark,
                " (**{errors} errors, {:.1} % of the transactions**)",
                share * 100.0
            );
        }
        if !runs.iter().all(|run| run.agrees(clients)) {
            remark += " (server and program counted differently: see raw.csv)";
        }
        remark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::comparison::RunTable;
    use crate::bench::lua::run::Said;
    use crate::bench::sample::ResourceSample;

    fn insert() -> Script {
        Script::parse("oltp_insert").unwrap()
    }

    fn taken(tps: f64, client_us: f64, peak_bytes: u64) -> LuaRunTime {
        let seen = ResourceSample { tps, client_us, ..ResourceSample::default() };
        LuaRunTime {
            seen,
            peak_bytes,
            said: Said { transactions: 1000, tps, ignored_errors: 3 },
            counted: 1000,
        }
    }

    fn tables(rows: Vec<(u32, usize, Result<LuaRunTime, String>)>) -> String {
        let cell = (insert(), 1000);
        let rows = rows.into_iter().map(|(round, program, run)| (cell, round, program, run));
        RunTable::of_runs(LuaRival::Sysbench, rows).tables()
    }

    #[test]
    fn ratios_are_of_neighbours_and_are_compared_with_the_goals() {
        let text = tables(vec![
            (0, 0, Ok(taken(400.0, 2.0, 40_000_000))),
            (0, 1, Ok(taken(100.0, 10.0, 400_000_000))),
            (1, 1, Ok(taken(50.0, 10.0, 400_000_000))),
            (1, 0, Ok(taken(50.0, 8.0, 60_000_000))),
        ]);
        assert!(
            text.contains("| oltp_insert | 1000 | truetps | **2.00** [1.00..4.00] | ≥ 1.3: met |"),
            "{text}"
        );
        assert!(text.contains("| **0.40** [0.20..0.80] | ≤ 0.4: met |"), "{text}");
        assert!(text.contains("| 60.0 ≤ 50: **missed** | 2 |"), "{text}");
    }

    #[test]
    fn a_program_that_cannot_start_is_named_and_ours_keeps_its_memory() {
        let text = tables(vec![
            (0, 0, Ok(taken(400.0, 2.0, 40_000_000))),
            (0, 1, Err("FATAL: no memory".to_owned())),
        ]);
        assert!(
            text.contains("| – | ≥ 1.3: no figure |") && text.contains("| 40.0 ≤ 50: met | 0 |"),
            "{text}"
        );
        assert!(text.contains("| sysbench | no figure: FATAL: no memory |"), "{text}");
    }

    #[test]
    fn goals_are_of_a_rival_and_a_number_of_clients() {
        let ours = LuaRival::Sysbench;
        assert_eq!(ours.goal((insert(), 8), "client_us"), Some(BenchGoal::RatioAtMost(0.9)));
        assert_eq!(
            ours.goal((insert(), 1000), "client_peak_mb"),
            Some(BenchGoal::LargestAtMost(50.0))
        );
        assert_eq!(ours.goal((insert(), 16), "tps"), None);
        let change = LuaRival::Build("old".into());
        assert_eq!(change.goal((insert(), 16), "tps"), Some(BenchGoal::RatioAtLeast(0.98)));
    }

    #[test]
    fn two_counts_that_differ_are_named() {
        let mut few = taken(400.0, 2.0, 1);
        few.said.transactions = 100_000;
        few.counted = 102_003;
        assert!(few.agrees(1000) && !few.agrees(999));
        few.counted = 50_000;
        assert!(tables(vec![(0, 0, Ok(few))]).contains("counted differently"));
    }

    #[test]
    fn many_errors_stand_out() {
        let mut many = taken(100.0, 1.0, 1);
        many.said.ignored_errors = 125;
        assert!(
            tables(vec![(0, 0, Ok(many))]).contains("(**125 errors, 12.5 % of the transactions**)")
        );
        assert!(!tables(vec![(0, 0, Ok(taken(100.0, 1.0, 1)))]).contains("errors, "));
    }
}
