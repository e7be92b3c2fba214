//! The tables of `bench lua`.

use std::fmt::Write as _;

use crate::bench::figures::{geometric_mean, geometric_spread, spread};
use crate::bench::lua::goals::{at_least, at_most, goal};
use crate::bench::lua::options::{LuaRival, Script};
use crate::bench::lua::run::LuaRunTime;
use crate::bench::report::Side;

const DASH: &str = "–";
const MEGABYTE: f64 = 1e6;
/// If more of the transactions than this were restarted, locks dominate instead of the programs.
const ERRORS_MAX: f64 = 0.01;

/// One run.
pub(crate) struct LuaRow {
    pub(crate) script: Script,
    pub(crate) clients: u32,
    /// Rows of the same cell and number are alternating runs.
    pub(crate) pair: u32,
    pub(crate) side: Side,
    /// The result, or why it is missing.
    pub(crate) taken: Result<LuaRunTime, String>,
}

type LuaFigure = (Script, u32);

pub(crate) struct LuaBenchReport {
    head: String,
    rival: LuaRival,
    rows: Vec<LuaRow>,
}

impl LuaBenchReport {
    pub(crate) fn new(head: String, rival: LuaRival) -> Self {
        Self { head, rival, rows: Vec::new() }
    }

    /// Keeps a run; returns it as a line.
    pub(crate) fn add(&mut self, row: LuaRow) -> String {
        let what = format!("{} {}, pair {}: {}", row.script.name(), row.clients, row.pair + 1, self.name(row.side));
        let line = match &row.taken {
            Ok(taken) => {
                let s = &taken.seen;
                format!(
                    "{what}: {:.0} tps (says {:.0}), client {:.1} µs, server {:.1} µs, peak {:.1} MB, ignored errors {}, \
                     elsewhere {:.2}, idle {:.2}",
                    s.tps,
                    taken.said.tps,
                    s.client_us,
                    s.server_us,
                    megabytes(taken),
                    taken.said.ignored_errors,
                    s.cores_elsewhere,
                    s.cores_idle
                )
            }
            Err(reason) => format!("{what}: no figure: {reason}"),
        };
        self.rows.push(row);
        line
    }

    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.head, self.tables())
    }

    pub(crate) fn tables(&self) -> String {
        format!(
            "truetps sysbench / {}: geometric means of the ratios of neighbours [min..max]; goals are held against the \
             means, memory against the largest peak of all runs:\n\n{}\nFigures of each, medians [min..max]; errors of all \
             runs together:\n\n{}",
            self.rival.name(),
            self.ratios(),
            self.figures()
        )
    }

    fn ratios(&self) -> String {
        let mut text = String::from(
            "| script | clients | tps | goal | client CPU a transaction | goal | peak memory | peak MB of truetps | goal \
             | pairs |\n|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (script, clients) in self.cells() {
            let _ = writeln!(text, "| {} | {clients} | {} |", script.name(), self.ratios_of((script, clients)));
        }
        text
    }

    /// The rest of a line of the table.
    fn ratios_of(&self, cell: LuaFigure) -> String {
        let pairs = self.pairs(cell);
        let ratios = |figure: fn(&LuaRunTime) -> f64| -> Vec<f64> {
            pairs.iter().map(|(ours, theirs)| figure(ours) / figure(theirs)).collect()
        };
        let (tps, cpu) = (ratios(|taken| taken.seen.tps), ratios(|taken| taken.seen.client_us));
        // Only of truetps: even if the other program does not start.
        let peak = self.taken(cell, Side::Ours).map(megabytes).fold(f64::NAN, f64::max);
        let goal = goal(&self.rival, cell.1);
        let held = |verdict: Option<String>| verdict.unwrap_or_else(|| DASH.to_owned());
        [
            geometric_spread(&tps, 2),
            held(goal.map(|goal| at_least(goal.tps, geometric_mean(&tps)))),
            geometric_spread(&cpu, 2),
            held(goal.map(|goal| at_most(goal.cpu, geometric_mean(&cpu)))),
            geometric_spread(&ratios(megabytes), 3),
            if peak.is_nan() { DASH.to_owned() } else { format!("{peak:.1}") },
            held(goal.and_then(|goal| goal.memory).map(|memory| at_most(memory, peak))),
            pairs.len().to_string(),
        ]
        .join(" | ")
    }

    fn figures(&self) -> String {
        let mut text = String::from(
            "| script | clients | program | tps | client CPU µs a transaction | client cores | server CPU µs a transaction \
             | server cores | peak memory MB | ignored errors | cores elsewhere | cores idle |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for cell in self.cells() {
            for side in [Side::Ours, Side::Theirs] {
                let start = format!("| {} | {} | {} |", cell.0.name(), cell.1, self.name(side));
                let _ = writeln!(text, "{start} {} |", self.figures_of(cell, side));
            }
        }
        text
    }

    /// The rest of a line of the table.
    fn figures_of(&self, cell: LuaFigure, side: Side) -> String {
        let all: Vec<&LuaRunTime> = self.taken(cell, side).collect();
        let reason = self.cell(cell).filter(|row| row.side == side).find_map(|row| row.taken.as_ref().err());
        if let (true, Some(reason)) = (all.is_empty(), reason) {
            return format!("no figure: {} | | | | | | | |", reason.replace('|', "/").replace('\n', " "));
        }
        let of = |figure: fn(&LuaRunTime) -> f64, decimals| {
            spread(&all.iter().map(|taken| figure(taken)).collect::<Vec<_>>(), decimals)
        };
        let mut line = [
            of(|taken| taken.seen.tps, 0),
            of(|taken| taken.seen.client_us, 2),
            of(|taken| taken.seen.client_cores, 2),
            of(|taken| taken.seen.server_us, 2),
            of(|taken| taken.seen.server_cores, 2),
            of(megabytes, 1),
            errors(&all),
            of(|taken| taken.seen.cores_elsewhere, 2),
            of(|taken| taken.seen.cores_idle, 2),
        ]
        .join(" | ");
        if reason.is_some() {
            line.push_str(" (a run failed: see raw.csv)");
        }
        if !all.iter().all(|taken| taken.agrees(cell.1)) {
            line.push_str(" (server and program counted differently: see raw.csv)");
        }
        line
    }

    fn name(&self, side: Side) -> &'static str {
        match side {
            Side::Ours => "truetps",
            Side::Theirs => self.rival.name(),
        }
    }

    /// In the order in which they were measured.
    fn cells(&self) -> Vec<LuaFigure> {
        let mut cells: Vec<_> = self.rows.iter().map(|row| (row.script, row.clients)).collect();
        cells.dedup();
        cells
    }

    fn cell(&self, cell: LuaFigure) -> impl Iterator<Item = &LuaRow> {
        self.rows.iter().filter(move |row| (row.script, row.clients) == cell)
    }

    fn taken(&self, cell: LuaFigure, side: Side) -> impl Iterator<Item = &LuaRunTime> {
        self.cell(cell).filter(move |row| row.side == side).filter_map(|row| row.taken.as_ref().ok())
    }

    /// Figures of both programs, if both have one.
    fn pairs(&self, cell: LuaFigure) -> Vec<(&LuaRunTime, &LuaRunTime)> {
        let find = |pair: u32, side: Side| {
            self.cell(cell).find(|row| row.pair == pair && row.side == side)?.taken.as_ref().ok()
        };
        let numbers = self.cell(cell).filter(|row| row.side == Side::Ours).map(|row| row.pair);
        numbers.filter_map(|pair| find(pair, Side::Ours).zip(find(pair, Side::Theirs))).collect()
    }

    pub(crate) fn csv(&self) -> String {
        let mut csv = String::from(
            "script,clients,pair,program,tps,client_us,server_us,client_cores,server_cores,cores_elsewhere,cores_idle,\
             client_peak_bytes,client_rss_bytes,look_ms,counted_transactions,said_transactions,said_tps,ignored_errors,failure\n",
        );
        for row in &self.rows {
            let figures = match &row.taken {
                Ok(taken) => {
                    let s = &taken.seen;
                    format!(
                        "{:.1},{:.3},{:.3},{:.3},{:.3},{:.3},{:.3},{},{},{:.2},{},{},{:.2},{},",
                        s.tps,
                        s.client_us,
                        s.server_us,
                        s.client_cores,
                        s.server_cores,
                        s.cores_elsewhere,
                        s.cores_idle,
                        taken.peak_bytes,
                        s.client_rss_bytes,
                        s.look_ms,
                        taken.counted,
                        taken.said.transactions,
                        taken.said.tps,
                        taken.said.ignored_errors
                    )
                }
                Err(reason) => format!("{}\"{}\"", ",".repeat(14), reason.replace('"', "'").replace('\n', " ")),
            };
            let (script, program) = (row.script.name(), self.name(row.side));
            let _ = writeln!(csv, "{script},{},{},{program},{figures}", row.clients, row.pair + 1);
        }
        csv
    }
}

fn megabytes(taken: &LuaRunTime) -> f64 {
    taken.peak_bytes as f64 / MEGABYTE
}

fn errors(all: &[&LuaRunTime]) -> String {
    let errors: u64 = all.iter().map(|taken| taken.said.ignored_errors).sum();
    let transactions: u64 = all.iter().map(|taken| taken.said.transactions).sum();
    let share = errors as f64 / transactions.max(1) as f64;
    if share > ERRORS_MAX { format!("**{errors}** ({:.1} %)", share * 100.0) } else { errors.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::lua::run::Said;
    use crate::bench::sample::ResourceSample;

    fn taken(tps: f64, client_us: f64, peak_bytes: u64) -> LuaRunTime {
        let seen = ResourceSample {
            tps,
            client_us,
            server_us: 20.0,
            client_cores: 0.5,
            server_cores: 1.5,
            cores_elsewhere: 0.0,
            cores_idle: 0.0,
            client_rss_bytes: peak_bytes,
            look_ms: 0.1,
        };
        LuaRunTime { seen, peak_bytes, said: Said { transactions: 1000, tps, ignored_errors: 3 }, counted: 1000 }
    }

    fn report(rows: Vec<(u32, Side, Result<LuaRunTime, String>)>) -> LuaBenchReport {
        let mut report = LuaBenchReport::new("# head\n".to_owned(), LuaRival::Sysbench);
        for (pair, side, taken) in rows {
            report.add(LuaRow { script: Script::Insert, clients: 1000, pair, side, taken });
        }
        report
    }

    fn same_columns(table: &str) -> bool {
        let columns = |line: &str| line.matches('|').count();
        table.lines().all(|line| columns(line) == columns(table.lines().next().unwrap()))
    }

    #[test]
    fn ratios_are_those_of_neighbours_and_are_held_against_the_goals() {
        let report = report(vec![
            (0, Side::Ours, Ok(taken(400.0, 2.0, 40_000_000))),
            (0, Side::Theirs, Ok(taken(100.0, 10.0, 400_000_000))),
            (1, Side::Theirs, Ok(taken(50.0, 10.0, 400_000_000))),
            (1, Side::Ours, Ok(taken(50.0, 8.0, 60_000_000))),
        ]);
        let ratios = report.ratios();
        assert!(ratios.contains("| oltp_insert | 1000 | **2.00** [1.00..4.00] | ≥ 1.3: met |"), "{ratios}");
        assert!(ratios.contains("| **0.40** [0.20..0.80] | ≤ 0.4: met |"), "{ratios}");
        assert!(ratios.contains("| 60.0 | ≤ 50: **missed** | 2 |"), "{ratios}");
        assert!(same_columns(&ratios) && same_columns(&report.figures()), "{}", report.tables());
        assert!(report.figures().contains("| 6 |"), "{}", report.figures());
        assert!(report.text().starts_with("# head\n\n"), "{}", report.text());
    }

    #[test]
    fn a_program_that_cannot_start_is_named_and_ours_keeps_its_memory() {
        let report = report(vec![
            (0, Side::Ours, Ok(taken(400.0, 2.0, 40_000_000))),
            (0, Side::Theirs, Err("FATAL: no |\nmemory".to_owned())),
        ]);
        let (ratios, figures) = (report.ratios(), report.figures());
        assert!(ratios.contains("| – | ≥ 1.3: no figure |") && ratios.contains("| 40.0 | ≤ 50: met | 0 |"), "{ratios}");
        assert!(figures.contains("| sysbench | no figure: FATAL: no / memory |"), "{figures}");
        assert!(same_columns(&ratios) && same_columns(&figures), "{figures}");
        let fields: Vec<_> = report.csv().lines().map(|line| line.matches(',').count()).collect();
        assert!(fields.iter().all(|n| *n == fields[0]), "{}", report.csv());
    }

    #[test]
    fn two_counts_that_differ_are_named() {
        let mut few = taken(400.0, 2.0, 1);
        few.said.transactions = 100_000;
        few.counted = 102_003;
        assert!(few.agrees(1000) && !few.agrees(999));
        few.counted = 50_000;
        let report = report(vec![(0, Side::Ours, Ok(few))]);
        assert!(report.figures().contains("counted differently"), "{}", report.figures());
    }

    #[test]
    fn many_errors_stand_out() {
        let mut many = taken(100.0, 1.0, 1);
        many.said.ignored_errors = 125;
        assert_eq!(errors(&[&many]), "**125** (12.5 %)");
        assert_eq!(errors(&[&taken(100.0, 1.0, 1)]), "3");
    }
}
