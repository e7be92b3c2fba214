//! Runs of compared programs, in rounds of changing order: their tables, and the folder where they
//! are kept.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use truetps_probe::{clock, host_facts};

use crate::bench::figures::{geometric_mean, geometric_spread, spread};
use crate::bench::goals::BenchGoal;

const DASH: &str = "–";

/// A figure of a run: a column of the tables and of raw.csv.
pub(crate) struct FigureColumn<R> {
    /// Its head in raw.csv.
    key: &'static str,
    /// Its head in the tables. `None`: only in raw.csv.
    head: Option<&'static str>,
    decimals: usize,
    /// Decimals of its ratios. `None`: it is not compared.
    ratio_decimals: Option<usize>,
    /// Not a number: unknown.
    figure: fn(&R) -> f64,
}

impl<R> FigureColumn<R> {
    pub(crate) fn shown(
        key: &'static str,
        head: &'static str,
        decimals: usize,
        figure: fn(&R) -> f64,
    ) -> Self {
        Self { key, head: Some(head), decimals, ratio_decimals: None, figure }
    }

    pub(crate) fn raw(key: &'static str, figure: fn(&R) -> f64) -> Self {
        Self { key, head: None, decimals: 0, ratio_decimals: None, figure }
    }

    /// `decimals`: of the figure, and of its ratios.
    pub(crate) fn compared(
        key: &'static str,
        head: &'static str,
        decimals: [usize; 2],
        figure: fn(&R) -> f64,
    ) -> Self {
        Self {
            key,
            head: Some(head),
            decimals: decimals[0],
            ratio_decimals: Some(decimals[1]),
            figure,
        }
    }
}

/// What a benchmark compares.
pub(crate) trait BenchComparison {
    /// What all compared programs do: the start of a line of the tables.
    type Cell: Copy + PartialEq;
    /// The figures of a run.
    type Run;
    /// The heads of a cell's words.
    const CELL: &'static [&'static str];

    fn cell_words(&self, cell: Self::Cell) -> Vec<String>;

    /// Ratios are those to the last one. A single program has no ratios.
    fn programs(&self, cell: Self::Cell) -> Vec<String>;

    fn columns(&self) -> Vec<FigureColumn<Self::Run>>;

    /// The sentence above the ratios, where there are any.
    fn ratio_title(&self) -> String {
        String::new()
    }

    fn ratio_text(&self, ratios: &[f64], decimals: usize) -> String {
        geometric_spread(ratios, decimals)
    }

    /// For the figure with this key.
    fn goal(&self, _: Self::Cell, _key: &str) -> Option<BenchGoal> {
        None
    }

    /// A remark at the end of a line of figures.
    fn remark(&self, _: Self::Cell, _: &[&Self::Run]) -> String {
        String::new()
    }
}

struct RunRow<C: BenchComparison> {
    cell: C::Cell,
    /// Runs of the same cell and round are neighbours in time.
    round: u32,
    /// Its number in [`BenchComparison::programs`].
    program: usize,
    /// Or why there is none.
    run: Result<C::Run, String>,
}

pub(crate) struct RunTable<C: BenchComparison> {
    comparison: C,
    columns: Vec<FigureColumn<C::Run>>,
    head: String,
    folder: Option<PathBuf>,
    rows: Vec<RunRow<C>>,
}

impl<C: BenchComparison> RunTable<C> {
    /// `about`: lines about what is measured, and on which server. The result is stored in the
    /// folder from the first cell on: some benchmarks take an hour.
    pub(crate) fn new(comparison: C, title: &str, about: &str, folder: Option<PathBuf>) -> Self {
        let host = host_facts(Path::new("."), None);
        let host = format!("{} cores ({}), {}", host.cores, host.cpu_model, host.kernel);
        let head = format!("# {title}\n\n{about}- host: {host}\n- {}\n", clock::now_rfc3339());
        println!("{head}");
        Self { columns: comparison.columns(), comparison, head, folder, rows: Vec::new() }
    }

    /// Rounds of a cell. The outer error of `run` ends the benchmark; the inner one is kept in
    /// place of figures.
    pub(crate) fn measure(
        &mut self,
        cell: C::Cell,
        rounds: Range<u32>,
        mut run: impl FnMut(usize) -> anyhow::Result<anyhow::Result<C::Run>>,
    ) -> anyhow::Result<()> {
        let programs = self.comparison.programs(cell).len();
        for round in rounds {
            for turn in 0..programs {
                let program = (turn + round as usize) % programs;
                // A program that cannot start is not tried again: that may have taken minutes.
                if self.failure(cell, program).is_none() {
                    let run = run(program)?.map_err(|error| format!("{error:#}"));
                    let row = RunRow { cell, round, program, run };
                    println!("{}", self.line(&row));
                    self.rows.push(row);
                }
            }
            self.write()?;
        }
        Ok(())
    }

    /// Shows the tables.
    pub(crate) fn end(&self) {
        println!("\n{}", self.tables());
        if let Some(folder) = &self.folder {
            println!("kept in {}", folder.display());
        }
    }

    fn write(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::create_dir_all(folder)?;
        fs::write(folder.join("README.md"), format!("{}\n{}", self.head, self.tables()))?;
        fs::write(folder.join("raw.csv"), self.csv()?)?;
        Ok(())
    }

    fn line(&self, row: &RunRow<C>) -> String {
        let figures = match &row.run {
            Ok(run) => {
                let shown = self.columns.iter().filter_map(|column| {
                    let figure = (column.figure)(run);
                    column.head.map(|head| format!("{head} {figure:.*}", column.decimals))
                });
                shown.collect::<Vec<_>>().join(", ")
            }
            Err(reason) => format!("no figure: {reason}"),
        };
        let (cell, program) = (
            self.comparison.cell_words(row.cell),
            &self.comparison.programs(row.cell)[row.program],
        );
        format!("{}, round {}: {program}: {figures}", cell.join(" "), row.round + 1)
    }

    pub(crate) fn tables(&self) -> String {
        let mut text = String::new();
        let ratios = self.ratios();
        if ratios.len() > 1 {
            text = format!("{}:\n\n{}\n", self.comparison.ratio_title(), markdown(&ratios));
        }
        text + "Figures of each, medians [min..max]:\n\n" + &markdown(&self.figures())
    }

    /// The first line is the head.
    fn ratios(&self) -> Vec<Vec<String>> {
        let compared: Vec<_> = self
            .columns
            .iter()
            .filter_map(|column| Some((column, column.ratio_decimals?, column.head?)))
            .collect();
        let has_goal =
            |key| self.cells().into_iter().any(|cell| self.comparison.goal(cell, key).is_some());
        let mut head = first_heads::<C>();
        for (column, _, name) in &compared {
            head.push((*name).to_owned());
            head.extend(has_goal(column.key).then(|| "goal".to_owned()));
        }
        head.push("rounds".to_owned());
        let mut lines = vec![head];
        for cell in self.cells() {
            let programs = self.comparison.programs(cell);
            for (program, name) in programs.iter().enumerate().take(programs.len() - 1) {
                let pairs = self.pairs(cell, program, programs.len() - 1);
                let mut line = self.comparison.cell_words(cell);
                line.push(name.clone());
                for (FigureColumn { key, figure, .. }, decimals, _) in &compared {
                    let ratios = pairs.iter().map(|(one, base)| figure(one) / figure(base));
                    let ratios: Vec<f64> = ratios.filter(|ratio| !ratio.is_nan()).collect();
                    line.push(self.comparison.ratio_text(&ratios, *decimals));
                    if has_goal(key) {
                        // Also of a program whose rival did not start.
                        let largest = self
                            .runs(cell, program)
                            .into_iter()
                            .map(figure)
                            .fold(f64::NAN, f64::max);
                        let goal = self.comparison.goal(cell, key);
                        line.push(goal.map_or(DASH.to_owned(), |goal| {
                            goal.verdict(geometric_mean(&ratios), largest)
                        }));
                    }
                }
                line.push(pairs.len().to_string());
                lines.push(line);
            }
        }
        lines
    }

    /// The first line is the head.
    fn figures(&self) -> Vec<Vec<String>> {
        let shown: Vec<_> = self.columns.iter().filter(|column| column.head.is_some()).collect();
        let mut head = first_heads::<C>();
        head.extend(shown.iter().filter_map(|column| column.head.map(str::to_owned)));
        let mut lines = vec![head];
        for cell in self.cells() {
            for (program, name) in self.comparison.programs(cell).into_iter().enumerate() {
                let runs = self.runs(cell, program);
                let mut line = self.comparison.cell_words(cell);
                line.push(name);
                match self.failure(cell, program) {
                    Some(reason) if runs.is_empty() => {
                        line.push(format!(
                            "no figure: {}",
                            reason.replace('|', "/").replace('\n', " ")
                        ));
                        line.resize(lines[0].len(), String::new());
                    }
                    failure => {
                        line.extend(shown.iter().map(|column| {
                            spread(
                                &runs.iter().map(|run| (column.figure)(run)).collect::<Vec<_>>(),
                                column.decimals,
                            )
                        }));
                        let last = line.last_mut().expect("a line has the program's name");
                        last.push_str(if failure.is_some() {
                            " (a run failed: see raw.csv)"
                        } else {
                            ""
                        });
                        last.push_str(&self.comparison.remark(cell, &runs));
                    }
                }
                lines.push(line);
            }
        }
        lines
    }

    fn csv(&self) -> anyhow::Result<String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let figures = self.columns.iter().map(|column| column.key);
        csv.write_record(
            C::CELL.iter().copied().chain(["round", "program"]).chain(figures).chain(["failure"]),
        )?;
        for row in &self.rows {
            let mut line = self.comparison.cell_words(row.cell);
            line.push((row.round + 1).to_string());
            line.push(self.comparison.programs(row.cell)[row.program].clone());
            for column in &self.columns {
                let figure = row.run.as_ref().map_or(f64::NAN, column.figure);
                line.push(if figure.is_nan() { String::new() } else { format!("{figure:.3}") });
            }
            line.push(row.run.as_ref().err().cloned().unwrap_or_default());
            csv.write_record(line)?;
        }
        Ok(String::from_utf8(csv.into_inner()?)?)
    }

    /// In the order in which they were first measured.
    fn cells(&self) -> Vec<C::Cell> {
        let mut cells = Vec::new();
        for row in &self.rows {
            if !cells.contains(&row.cell) {
                cells.push(row.cell);
            }
        }
        cells
    }

    fn rows_of(&self, cell: C::Cell, program: usize) -> impl Iterator<Item = &RunRow<C>> {
        self.rows.iter().filter(move |row| row.cell == cell && row.program == program)
    }

    fn runs(&self, cell: C::Cell, program: usize) -> Vec<&C::Run> {
        self.rows_of(cell, program).filter_map(|row| row.run.as_ref().ok()).collect()
    }

    fn failure(&self, cell: C::Cell, program: usize) -> Option<&str> {
        self.rows_of(cell, program).find_map(|row| row.run.as_ref().err()).map(String::as_str)
    }

    /// Runs of both programs in the same round.
    fn pairs(&self, cell: C::Cell, one: usize, base: usize) -> Vec<(&C::Run, &C::Run)> {
        let of_base =
            |round| self.rows_of(cell, base).find(|row| row.round == round)?.run.as_ref().ok();
        self.rows_of(cell, one)
            .filter_map(|row| row.run.as_ref().ok().zip(of_base(row.round)))
            .collect()
    }
}

fn first_heads<C: BenchComparison>() -> Vec<String> {
    C::CELL.iter().copied().chain(["program"]).map(str::to_owned).collect()
}

fn markdown(lines: &[Vec<String>]) -> String {
    let mut text: Vec<String> =
        lines.iter().map(|line| format!("| {} |\n", line.join(" | "))).collect();
    text.insert(1, format!("|{}\n", "---|".repeat(lines[0].len())));
    text.concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::options::KeptOptions;

    impl<C: BenchComparison> RunTable<C> {
        /// A table of these runs: cell, round, program, figures.
        pub(crate) fn of_runs(
            comparison: C,
            runs: impl IntoIterator<Item = (C::Cell, u32, usize, Result<C::Run, String>)>,
        ) -> Self {
            let mut table = Self::new(comparison, "title", "", None);
            for (cell, round, program, run) in runs {
                table.rows.push(RunRow { cell, round, program, run });
            }
            table.assert_columns();
            table
        }

        /// Each line of a table has as many fields as its head.
        fn assert_columns(&self) {
            for lines in [self.ratios(), self.figures()] {
                assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{lines:?}");
            }
            let csv = self.csv().unwrap();
            let mut reader = csv::Reader::from_reader(csv.as_bytes());
            assert_eq!(reader.records().map(Result::unwrap).count(), self.rows.len());
        }

        pub(crate) fn raw(&self) -> String {
            self.csv().unwrap()
        }
    }

    struct Doubling;

    impl BenchComparison for Doubling {
        type Cell = u32;
        type Run = f64;
        const CELL: &'static [&'static str] = &["clients"];

        fn cell_words(&self, cell: u32) -> Vec<String> {
            vec![cell.to_string()]
        }

        fn programs(&self, _: u32) -> Vec<String> {
            vec!["new".to_owned(), "old, other".to_owned()]
        }

        fn columns(&self) -> Vec<FigureColumn<f64>> {
            vec![
                FigureColumn::compared("tps", "tps", [0, 2], |run| *run),
                FigureColumn::raw("half", |run| run / 2.0),
            ]
        }

        fn ratio_title(&self) -> String {
            "Ratios".to_owned()
        }

        fn goal(&self, cell: u32, _: &str) -> Option<BenchGoal> {
            (cell == 8).then_some(BenchGoal::RatioAtLeast(1.5))
        }
    }

    #[test]
    fn ratios_are_of_one_round() {
        let runs =
            [(8, 0, 0, 400.0), (8, 0, 1, 100.0), (8, 1, 1, 50.0), (8, 1, 0, 50.0), (9, 0, 0, 1.0)];
        let table = RunTable::of_runs(
            Doubling,
            runs.map(|(cell, round, program, tps)| (cell, round, program, Ok(tps))),
        );
        let text = table.tables();
        assert!(text.contains("| 8 | new | **2.00** [1.00..4.00] | ≥ 1.5: met | 2 |"), "{text}");
        assert!(text.contains("| 9 | new | – | – | 0 |"), "{text}");
        assert!(table.raw().contains("8,2,\"old, other\",50.000,25.000,\n"), "{}", table.raw());
    }

    #[test]
    fn a_program_that_fails_is_named_and_not_tried_again() {
        let mut table = RunTable::new(Doubling, "title", "", None);
        let mut tried = Vec::new();
        let measured = table.measure(8, 0..3, |program| {
            tried.push(program);
            Ok(if program == 0 { Ok(300.0) } else { Err(anyhow::anyhow!("no |\nmemory")) })
        });
        measured.unwrap();
        assert_eq!(tried, [0, 1, 0, 0]);
        let text = table.tables();
        assert!(text.contains("| 8 | old, other | no figure: no / memory |"), "{text}");
        assert!(text.contains("| 8 | new | **300** [300..300] |"), "{text}");
        table.assert_columns();
    }

    #[test]
    fn a_result_is_a_folder_with_tables_and_raw_figures() {
        let root = tempfile::tempdir().unwrap();
        let kept = KeptOptions { settings: Vec::new(), no_result: false };
        let mut table = RunTable::new(
            Doubling,
            "title",
            "- about\n",
            kept.folder(root.path(), "engine-sysbench"),
        );
        table.measure(8, 0..1, |_| Ok(Ok(1.0))).unwrap();
        let folder = table.folder.as_ref().unwrap();
        assert!(folder.to_string_lossy().ends_with("-engine-sysbench"));
        assert!(
            fs::read_to_string(folder.join("README.md"))
                .unwrap()
                .starts_with("# title\n\n- about\n- host: ")
        );
        assert!(
            fs::read_to_string(folder.join("raw.csv"))
                .unwrap()
                .starts_with("clients,round,program,tps,half,failure\n")
        );
    }
}
