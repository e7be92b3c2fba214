//! Costs of one transaction by resource: configurations side by side.

use truetps_analysis::{Figure, Ledger, LedgerLine};

use crate::absence::absence;
use crate::document::{Block, DocumentSection, DocumentTable};
use crate::format::{self, NOTHING};
use crate::{ReportInput, grouped, names};

const ABSENT: &str = "absent";
/// Configurations beside each other in one table.
const COLUMNS_MAX: usize = 6;
/// Absent lines that are named one by one.
const NAMED_MAX: usize = 12;
/// Lines that the summary names, the most important first.
const SUMMARY: [Figure; 6] = [
    Figure::ServerCpu,
    Figure::RedoSyncs,
    Figure::BinlogSyncs,
    Figure::RedoBytes,
    Figure::PagesWritten,
    Figure::RowLockTime,
];

/// Configurations beside each other, with what each line was made from.
pub(crate) struct LedgerView {
    /// The common levels of these configurations: `50 connections`; may be empty.
    pub(crate) at: String,
    pub(crate) columns: Vec<String>,
    pub(crate) lines: Vec<LedgerRow>,
    /// Configurations that are not shown.
    pub(crate) left_out: usize,
}

pub(crate) struct LedgerRow {
    pub(crate) key: Figure,
    pub(crate) texts: Vec<String>,
    /// Counters, or why there is no figure.
    pub(crate) source: String,
}

impl LedgerRow {
    /// It is unknown for all of these configurations.
    pub(crate) fn is_absent(&self) -> bool {
        self.texts.iter().all(|text| text == ABSENT)
    }
}

/// Which configurations stand beside each other, with their names: where there are several curves,
/// one level of the axis, which is named first; else the levels.
pub(crate) fn shown(input: &ReportInput<'_>) -> Option<(String, Vec<String>, Vec<usize>)> {
    let analysis = input.analysis;
    let (at, wanted) = match analysis.curves.as_slice() {
        [] => return None,
        [curve] => (String::new(), curve.cells.clone()),
        curves => {
            let best = names::level_of(analysis, analysis.best_of_baseline()?);
            let at = names::at_levels(analysis.axis, &[best]);
            (at, curves.iter().filter_map(|curve| names::index_at(analysis, curve, best)).collect())
        }
    };
    let shown = spread(&wanted);
    let columns = shown.iter().map(|index| {
        match analysis.curves.iter().find(|curve| curve.cells.contains(index)) {
            Some(curve) if analysis.curves.len() > 1 => {
                names::short(&input.run.plan, &curve.label).to_owned()
            }
            _ => names::at_levels(analysis.axis, &[names::level_of(analysis, *index)]),
        }
    });
    Some((at, columns.collect(), shown))
}

/// The ledgers of the configurations that are shown, side by side.
pub(crate) fn view(input: &ReportInput<'_>) -> Option<LedgerView> {
    let (at, columns, shown) = shown(input)?;
    let ledgers: Vec<_> =
        shown.iter().map(|index| &input.analysis.cells[*index].detail.ledger).collect();
    let lines = lines(&ledgers);
    let left_out = input.analysis.cells.len() - shown.len();
    (!lines.is_empty()).then_some(LedgerView { at, columns, lines, left_out })
}

/// At most `COLUMNS_MAX` of them: the first, the last, and evenly spaced ones between.
fn spread(all: &[usize]) -> Vec<usize> {
    if all.len() <= COLUMNS_MAX {
        return all.to_vec();
    }
    (0..COLUMNS_MAX).map(|n| all[n * (all.len() - 1) / (COLUMNS_MAX - 1)]).collect()
}

/// All lines of these ledgers side by side; a line without any figure has the reason.
pub(crate) fn lines(ledgers: &[&Ledger]) -> Vec<LedgerRow> {
    let lines = Figure::costs().filter_map(|key| {
        let found: Vec<_> = ledgers.iter().map(|ledger| ledger.line(key)).collect();
        let mut figures = found.iter().flatten().map(|line| &line.figure);
        let known = figures.clone().find_map(|figure| figure.as_ref().ok());
        let source = match known {
            Some(figure) => figure.source.clone(),
            None => absence(figures.next()?.as_ref().err()?),
        };
        let absent = if known.is_some() { NOTHING } else { ABSENT };
        let texts = found.iter().map(|line| match line.and_then(LedgerLine::per_tx) {
            Some(value) => format::figure(key, value),
            None => absent.to_owned(),
        });
        Some(LedgerRow { key, texts: texts.collect(), source })
    });
    lines.collect()
}

/// `61.0 µs server CPU, 1.02 redo log syncs a transaction`; of two configurations, the lines that
/// differ: `redo log syncs  1.02 → 0.031`. `None` where there is nothing but CPU, or more than two.
pub(crate) fn fact(input: &ReportInput<'_>) -> Option<String> {
    let cells = input.analysis.cells.as_slice();
    let figures: Vec<_> = SUMMARY
        .into_iter()
        .filter_map(|key| {
            let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.detail.get(key)).collect();
            let values = values.filter(|values| values.iter().any(|value| *value > 0.0))?;
            let texts: Vec<_> =
                values.into_iter().map(|value| format::figure(key, value)).collect();
            Some(format!("{} {}", key.name(), texts.join(" → ")))
        })
        .collect();
    (cells.len() <= 2 && figures.len() > 1)
        .then(|| format!("a transaction: {}", figures.join(", ")))
}

/// `None` if the probe was off: a trial's own counts are no ledger, and CPU is shown elsewhere in
/// these formats.
pub(crate) fn section(input: &ReportInput<'_>) -> Option<DocumentSection> {
    let own = [Figure::RowsChanged, Figure::ClientCpu, Figure::ServerCpu];
    let view = view(input)?;
    view.lines.iter().find(|line| !own.contains(&line.key) && !line.is_absent())?;
    let known = view.lines.iter().filter(|line| !line.is_absent());
    let (columns, legend) = headed(&view.columns);
    let header =
        std::iter::once("a transaction".to_owned()).chain(columns).chain(["from".to_owned()]);
    let rows = known.map(|line| {
        let name = std::iter::once(line.key.name().to_owned());
        name.chain(line.texts.iter().cloned()).chain([line.source.clone()])
    });
    let table = DocumentTable::new(header, rows).block();
    let mut said = vec![
        "Geometric means over the valid trials of a configuration, of committed transactions."
            .to_owned(),
    ];
    said.extend(absent(&view.lines));
    if view.left_out > 0 {
        said.push("The other configurations are in report.html and in JSON.".to_owned());
    }
    let at = if view.at.is_empty() { String::new() } else { format!(" at {}", view.at) };
    let blocks = [Block::list(legend), table, Some(Block::paragraph(said.join(" ")))];
    DocumentSection::of(format!("Cost ledger: what a transaction cost{at}"), blocks)
}

/// Column heads; letters and what they stand for, where the names would push the figures apart.
fn headed(names: &[String]) -> (Vec<String>, Vec<String>) {
    const WIDTH_MAX: usize = 60;
    if names.iter().map(|name| name.chars().count()).sum::<usize>() <= WIDTH_MAX {
        return (names.to_vec(), Vec::new());
    }
    let letters: Vec<_> = ('A'..='Z').take(names.len()).map(String::from).collect();
    let legend =
        letters.iter().zip(names).map(|(letter, name)| format!("{letter}: {name}")).collect();
    (letters, legend)
}

/// Lines without a figure, by reason.
pub(crate) fn absent(lines: &[LedgerRow]) -> Option<String> {
    let absent = lines.iter().filter(|line| line.is_absent());
    let by_reason = grouped(absent.map(|line| (line.source.as_str(), line.key.name())));
    let absent = by_reason.iter().map(|(reason, names)| match names.len() {
        0..=NAMED_MAX => format!("{} ({reason})", format::list(names)),
        many => format!("{many} lines ({reason})"),
    });
    Some(format!("Absent: {}.", format::joined(absent, "; ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_long_have_letters() {
        let names =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(headed(&names(&["=0", "=1"])), (names(&["=0", "=1"]), Vec::new()));
        let (one, other) =
            ("key=deleted innodb_buffer_pool_size=64M", "key=auto innodb_buffer_pool_size=64M");
        let expect = (names(&["A", "B"]), vec![format!("A: {one}"), format!("B: {other}")]);
        assert_eq!(headed(&names(&[one, other])), expect);
    }

    #[test]
    fn ends_and_middle_of_many_are_shown() {
        let all: Vec<_> = (0..12).collect();
        assert_eq!(spread(&all), [0, 2, 4, 6, 8, 11]);
        assert_eq!(spread(&all[..3]), [0, 1, 2]);
    }
}
