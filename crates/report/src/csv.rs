//! A report as comma-separated values: one row for each configuration, figures as they are, units
//! in the names.

use std::collections::{HashMap, HashSet};

use truetps_analysis::{Cell, Contrast, Curve, Figure, FigureGroup, FigurePlace, Judgement, Knee};
use truetps_record::{DiskFacts, Estimate};

use crate::ReportInput;
use crate::csv_rows::{CsvRows, estimate, number};
use crate::disks::disk_of;
use crate::format::{change_word, verdict_word};
use crate::load::TargetRate;
use crate::{names, parts};

/// The source of a configuration's row.
struct RowInput<'a> {
    input: &'a ReportInput<'a>,
    cell: &'a Cell,
    contrast: Option<&'a Contrast>,
    is_baseline: bool,
    curve: Option<&'a Curve>,
}

#[derive(Clone, Copy)]
enum CsvColumn {
    Figure(Figure),
    /// All figures of a group.
    Group(FigureGroup),
    Text(&'static str, fn(&RowInput<'_>) -> String),
    Number(&'static str, fn(&RowInput<'_>) -> Option<f64>),
    /// A value with the ends of its interval, `_low` and `_high`.
    Estimate([&'static str; 3], fn(&RowInput<'_>) -> Option<Estimate>),
}

use CsvColumn::{Figure as Of, Group, Number, Text};

/// Columns after the factors' columns, which have the factors' names. All other figures follow, so
/// that a new figure moves no column.
const COLUMNS: &[CsvColumn] = &[
    Text("trials", |row| row.cell.trials.len().to_string()),
    Text("invalid_trials", |row| row.cell.invalid_trials.to_string()),
    Of(Figure::Tps),
    Of(Figure::ResponseP50),
    Of(Figure::ResponseP95),
    Of(Figure::ResponseP99),
    Of(Figure::ResponseMax),
    Of(Figure::Failed),
    Of(Figure::ClientCpu),
    Of(Figure::ServerCpu),
    Of(Figure::WorkerBusy),
    Text("is_baseline", |row| row.is_baseline.to_string()),
    Text("pairs", |row| row.contrast.map_or(0, |one| one.tps_ratio.n).to_string()),
    CsvColumn::Estimate(["tps_ratio", "tps_ratio_low", "tps_ratio_high"], |row| {
        Some(row.contrast?.tps_ratio)
    }),
    CsvColumn::Estimate(["p99_ratio", "p99_ratio_low", "p99_ratio_high"], |row| {
        row.contrast?.p99_ratio
    }),
    Text("p99_verdict", |row| judged(row.contrast.and_then(|one| one.p99_change))),
    CsvColumn::Estimate(
        ["server_cpu_ratio", "server_cpu_ratio_low", "server_cpu_ratio_high"],
        |row| row.contrast?.server_cpu_ratio,
    ),
    Text("server_cpu_verdict", |row| judged(row.contrast.and_then(|one| one.server_cpu_change))),
    Number("smallest_detectable_effect", |row| row.contrast?.smallest_detectable_effect),
    Text("verdict", |row| {
        row.contrast.map_or("", |one| verdict_word(one.verdict)).replace(' ', "_")
    }),
    Number("more_blocks", |row| row.contrast?.verdict.more_blocks().map(f64::from)),
    Number("knee_connections", |row| Some(row.knee()?.connections.into())),
    Number("best_connections", |row| Some(row.knee()?.best_connections.into())),
    Number("rule_connections", |row| row.input.analysis.rule_connections.map(f64::from)),
    Number("noise_sigma", |row| Some(row.input.analysis.noise_of(&row.cell.configuration)?.sigma)),
    Text("verdict_generator_limited", |row| {
        row.contrast.map(|one| one.generator_limited.to_string()).unwrap_or_default()
    }),
    Text("generator_limited_trials", |row| {
        row.cell.generator_limited.as_ref().map_or(0, |limited| limited.trials).to_string()
    }),
    Text("generator_limited_reason", |row| {
        row.cell
            .generator_limited
            .as_ref()
            .map(|limited| limited.first_reason.to_string())
            .unwrap_or_default()
    }),
    Of(Figure::WorkerWait),
    Of(Figure::Steal),
    Of(Figure::Retried),
    Of(Figure::Ignored),
    Of(Figure::Reconnects),
    Of(Figure::ResponseP999),
    Text("knee_generator_limited", |row| {
        row.knee().map(|knee| knee.generator_limited.to_string()).unwrap_or_default()
    }),
    Number("target_rate", |row| Some(row.target()?.from)),
    Number("target_rate_to", |row| row.target()?.to),
    Number("sustained_trials", |row| Some(row.cell.open_loop.as_ref()?.sustained.trials as f64)),
    Number("judged_trials", |row| Some(row.cell.open_loop.as_ref()?.sustained.of as f64)),
    Text("sustained", |row| sustained(row.cell).to_owned()),
    Group(FigureGroup::OpenLoop),
    Number("highest_sustained_rate", |row| Some(row.rate(row.curve?.sustained?.highest?))),
    Number("first_rate_not_sustained", |row| Some(row.rate(row.curve?.sustained?.first_not?))),
    // Not `disk`: where it is a factor, its column is there already.
    Text("disk_profile", |row| row.disk().map(|disk| disk.profile.clone()).unwrap_or_default()),
    Text("disk_level", |row| row.disk().map_or("", |disk| disk.level.name()).to_owned()),
    Number("disk_overwrite_us_p50", |row| Some(row.disk()?.overwrite_us_p50)),
    Number("disk_append_us_p50", |row| Some(row.disk()?.append_us_p50)),
    Of(Figure::LittlesLaw),
    Text("unsteady_trials", |row| {
        row.cell.unsteady.map_or(0, |unsteady| unsteady.trials).to_string()
    }),
    Of(Figure::BoundIdleUsed),
    Of(Figure::BoundFreeGenerator),
    Text(parts::PART_OF_LOAD, |row| {
        parts::part_of_load(&row.input.run.experiment).unwrap_or_default()
    }),
];

impl RowInput<'_> {
    fn knee(&self) -> Option<&Knee> {
        self.curve?.knee.as_ref()
    }

    fn target(&self) -> Option<TargetRate> {
        TargetRate::of(&self.input.run.plan, &self.cell.configuration)
    }

    fn disk(&self) -> Option<&DiskFacts> {
        disk_of(self.input.run, &self.cell.configuration)
    }

    fn rate(&self, cell: usize) -> f64 {
        let analysis = self.input.analysis;
        analysis.axis.level(&analysis.cells[cell].configuration)
    }
}

/// `yes`, `no`, `some`; empty where no trial was judged.
fn sustained(cell: &Cell) -> &'static str {
    match cell.open_loop.as_ref().map(|open| open.sustained) {
        Some(share) if share.is_all() => "yes",
        Some(share) if share.is_none() => "no",
        Some(share) if share.of > 0 => "some",
        _ => "",
    }
}

impl CsvColumn {
    fn has(&self, figure: Figure) -> bool {
        match self {
            Self::Figure(known) => *known == figure,
            Self::Group(group) => *group == figure.group(),
            _ => false,
        }
    }

    fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Figure(Figure::Tps) => vec!["tps", "tps_low", "tps_high"],
            Self::Figure(figure) => vec![figure.key()],
            Self::Group(group) => group_figures(*group).map(Figure::key).collect(),
            Self::Text(name, _) | Self::Number(name, _) => vec![name],
            Self::Estimate(names, _) => names.to_vec(),
        }
    }

    fn texts(&self, row: &RowInput<'_>) -> Vec<String> {
        match self {
            Self::Figure(Figure::Tps) => estimate(row.cell.tps).to_vec(),
            Self::Figure(figure) => vec![number(row.cell.get(*figure))],
            Self::Group(group) => {
                group_figures(*group).map(|figure| number(row.cell.get(figure))).collect()
            }
            Self::Text(_, text) => vec![text(row)],
            Self::Number(_, value) => vec![number(value(row))],
            Self::Estimate(_, value) => estimate(value(row)).to_vec(),
        }
    }
}

fn in_csv() -> impl Iterator<Item = Figure> {
    Figure::ALL.iter().copied().filter(|figure| figure.is_shown(FigurePlace::Csv))
}

fn group_figures(group: FigureGroup) -> impl Iterator<Item = Figure> {
    in_csv().filter(move |figure| figure.group() == group)
}

fn columns() -> impl Iterator<Item = CsvColumn> {
    let others = in_csv().filter(|figure| !COLUMNS.iter().any(|column| column.has(*figure)));
    COLUMNS.iter().copied().chain(others.map(Of))
}

/// One header row, then one row for each configuration in the plan's order (RFC 4180, lines end
/// with CR LF).
pub(crate) fn csv(input: &ReportInput<'_>) -> String {
    let factors: Vec<_> = input.run.plan.factors.keys().map(String::as_str).collect();
    let mut rows =
        CsvRows::new(factors.iter().copied().chain(columns().flat_map(|column| column.names())));
    let analysis = input.analysis;
    let baselines: HashSet<_> =
        analysis.contrasts.iter().map(|contrast| contrast.baseline_cell).collect();
    let curves =
        analysis.curves.iter().flat_map(|curve| curve.cells.iter().map(move |cell| (*cell, curve)));
    let curves: HashMap<_, _> = curves.collect();
    for (index, cell) in analysis.cells.iter().enumerate() {
        let levels = factors.iter().map(|name| {
            let level = cell.configuration.levels.get(*name);
            level.map(ToString::to_string).unwrap_or_default()
        });
        let row = RowInput {
            input,
            cell,
            contrast: names::contrast_of(analysis, index),
            is_baseline: baselines.contains(&index),
            curve: curves.get(&index).copied(),
        };
        rows.push(levels.chain(columns().flat_map(|column| column.texts(&row))));
    }
    rows.into_text()
}

/// `higher`, `not_enough_data`; empty where there is no comparison.
fn judged(change: Option<Judgement>) -> String {
    change.map_or(String::new(), |change| change_word(change).replace(' ', "_"))
}

#[cfg(test)]
mod tests {
    use truetps_record::DiskLevel;

    use super::*;
    use crate::fixture::{Fixture, part_of_four};

    #[test]
    fn one_row_a_configuration() {
        for fixture in [
            Fixture::durability(),
            Fixture::troubled(),
            Fixture::connections_only(),
            Fixture::rates(),
            Fixture::open_run(1000),
        ] {
            let text = csv(&fixture.input());
            let lines: Vec<_> = text.split_terminator("\r\n").collect();
            assert_eq!(lines.len(), 1 + fixture.analysis.cells.len());
            let width = columns().flat_map(|column| column.names()).count()
                + fixture.run.plan.factors.len();
            assert!(lines.iter().all(|line| line.split(',').count() == width), "{text}");
        }
    }

    /// The field of a row, by the name of its column. For texts without commas in fields.
    fn field(text: &str, row: usize, name: &str) -> String {
        let mut lines =
            text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let column = names.iter().position(|known| *known == name).unwrap();
        lines.nth(row).unwrap()[column].to_owned()
    }

    #[test]
    fn open_loops_and_limits_have_their_columns() {
        let text = csv(&Fixture::rates().input());
        let check = |row: usize, name: &str, expect: &str| {
            assert_eq!(field(&text, row, name), expect, "{row} {name}");
        };
        // Rates 1 000, 2 000, 4 000 of =1, then of =2.
        check(0, "rate", "1000");
        check(0, "target_rate", "1000");
        check(0, "sustained", "yes");
        check(2, "sustained", "no");
        check(2, "queued", "1200");
        check(2, "service_us_p99", "2000");
        check(2, "generator_limited_trials", "3");
        check(2, "generator_limited_reason", "its own starts were late: p99 2.5 ms");
        check(2, "highest_sustained_rate", "2000");
        check(2, "first_rate_not_sustained", "4000");
        check(5, "sustained_trials", "3");
        check(5, "verdict_generator_limited", "true");
        check(5, "generator_limited_trials", "0");
        check(4, "verdict_generator_limited", "false");
        check(5, "knee_connections", "");
        let closed = csv(&Fixture::durability().input());
        assert_eq!(
            (field(&closed, 0, "sustained"), field(&closed, 0, "target_rate")),
            (String::new(), String::new())
        );
    }

    #[test]
    fn figures_have_the_disk_beside_them() {
        let mut fixture = Fixture::durability();
        let on_host = csv(&fixture.input());
        assert_eq!(
            (field(&on_host, 0, "disk_profile"), field(&on_host, 0, "disk_append_us_p50")),
            Default::default()
        );
        fixture.run.plan.disk = Some("hdd7200".to_owned());
        fixture.run.experiment.disks = vec![DiskFacts {
            profile: "hdd7200".to_owned(),
            level: DiskLevel::FileSystem,
            planned_overwrite_us: 8333.0,
            overwrite_us_p50: 8340.0,
            append_us_p50: 25_000.0,
            overwrite_flushes: 1.0,
            append_flushes: 2.0,
        }];
        let text = csv(&fixture.input());
        assert_eq!(field(&text, 3, "disk_level"), "file_system");
        assert_eq!(
            (&*field(&text, 3, "disk_profile"), &*field(&text, 3, "disk_append_us_p50")),
            ("hdd7200", "25000")
        );
        let first =
            crate::json::jsonl(&fixture.input()).lines().next().unwrap_or_default().to_owned();
        assert!(first.contains("\"disk_profile\":\"hdd7200\""), "{first}");
    }

    #[test]
    fn a_part_is_no_whole_load() {
        let mut fixture = Fixture::durability();
        assert_eq!(field(&csv(&fixture.input()), 0, "part_of_load"), "");
        fixture.run.experiment.part = Some(part_of_four(1));
        let text = csv(&fixture.input());
        assert!(
            (0..fixture.analysis.cells.len()).all(|row| field(&text, row, "part_of_load") == "1/4"),
            "{text}"
        );
    }

    #[test]
    fn a_hostile_reason_is_one_field() {
        let fixture = Fixture::open_run(1000).with(|trials| {
            trials[0].measured.as_mut().unwrap().generator_limited =
                Some(truetps_record::Reason::Text("a, \"b\"\r\nc".to_owned()));
        });
        assert!(csv(&fixture.input()).contains(",1,\"a, \"\"b\"\"\r\nc\","));
    }

    #[test]
    fn fields_are_under_their_names() {
        let text = csv(&Fixture::durability().input());
        let check = |row: usize, name: &str, expect: &str| {
            let found = field(&text, row, name);
            assert!(found.starts_with(expect), "{name}: {found}");
        };
        check(0, "innodb_flush_log_at_trx_commit", "1");
        check(0, "connections", "1");
        check(0, "tps", "209.9");
        check(0, "tps_low", "199");
        check(0, "is_baseline", "true");
        check(0, "verdict", "");
        check(5, "connections", "50");
        check(5, "tps_ratio", "2.26");
        check(5, "p99_ratio_high", "0.463");
        check(5, "p99_verdict", "lower");
        check(5, "server_cpu_verdict", "equivalent");
        check(5, "verdict", "faster");
        check(5, "knee_connections", "8");
        check(5, "rule_connections", "5");
    }
}
