//! Names and texts as this page shows them.

use truetps_analysis::Curve;
use truetps_record::Configuration;

use crate::{ReportInput, format, names};

/// Rows of a table that have a combination of settings in common.
pub(super) struct RowGroup<R> {
    pub(super) label: String,
    pub(super) rows: Vec<R>,
}

/// The names of a chart's lines.
pub(super) struct ChartLines {
    /// The factor that distinguishes the lines: `innodb_flush_log_at_trx_commit`.
    pub(super) title: String,
    /// For each curve: `=1`, `log_bin=true sync_binlog=0`.
    pub(super) names: Vec<String>,
}

impl ChartLines {
    pub(super) fn of(input: &ReportInput) -> Self {
        let title = names::curve_factors(&input.run.plan, input.analysis);
        if title.is_empty() {
            let names =
                vec![input.run.plan.workload.kind.name().to_owned(); input.analysis.curves.len()];
            return Self { title: "workload".to_owned(), names };
        }
        let curves = input.analysis.curves.iter();
        Self {
            title,
            names: curves
                .map(|curve| names::short(&input.run.plan, &curve.label).to_owned())
                .collect(),
        }
    }

    /// `=1 (baseline)`, or only the name without a comparison.
    pub(super) fn with_baseline(&self, index: usize, curve: &Curve) -> String {
        self.marked(&self.names[index], curve)
    }

    /// `innodb_flush_log_at_trx_commit=1 (baseline)`: for texts that do not show the title.
    pub(super) fn full(&self, index: usize, curve: &Curve) -> String {
        self.marked(if curve.label.is_empty() { &self.names[index] } else { &curve.label }, curve)
    }

    fn marked(&self, name: &str, curve: &Curve) -> String {
        if curve.is_baseline && self.names.len() > 1 {
            format!("{name} (baseline)")
        } else {
            name.to_owned()
        }
    }
}

/// `innodb_flush_log_at_trx_commit=1, 50 connections`, with `, 1 000 tps` behind it where rates are
/// a factor.
pub(super) fn configuration(configuration: &Configuration) -> String {
    let settings = Some(configuration.settings_label()).filter(|settings| !settings.is_empty());
    let rate = configuration.rate().map(|rate| format!("{} tps", format::rate(rate)));
    let connections = names::connections(configuration.connections());
    settings.into_iter().chain([connections]).chain(rate).collect::<Vec<_>>().join(", ")
}

/// A figure and its interval as separate texts, so that the page can show the interval in a lighter
/// style: `5 230` and `±4.2 %`.
pub(super) fn split_range(text: &str) -> (String, Option<String>) {
    let starts = [" ±", " [", " ("].into_iter().filter_map(|start| text.find(start));
    match starts.min() {
        Some(at) => (text[..at].to_owned(), Some(text[at + 1..].to_owned())),
        None => (text.to_owned(), None),
    }
}

/// Keeps a number together with its thousands and its unit where lines break: `5 230 tps`, `4.2 %`.
pub(super) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 6] = ["%", "µs", "ms", "s", "tps", "GB"];
    let mut whole = String::with_capacity(text.len());
    for word in text.split(' ') {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
        let continues = UNITS.contains(&bare)
            || (bare.len() == 3 && bare.bytes().all(|byte| byte.is_ascii_digit()));
        let after_digit = whole.ends_with(|c: char| c.is_ascii_digit());
        if !whole.is_empty() {
            whole.push(if continues && after_digit { '\u{a0}' } else { ' ' });
        }
        whole.push_str(word);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_split_off() {
        let check = |text, figure: &str, range: Option<&str>| {
            assert_eq!(split_range(text), (figure.to_owned(), range.map(str::to_owned)));
        };
        check("5 230 ±4.2 %", "5 230", Some("±4.2 %"));
        check("×2.31 [2.10, 2.54]", "×2.31", Some("[2.10, 2.54]"));
        check("5 230 (3 trials)", "5 230", Some("(3 trials)"));
        check("–", "–", None);
    }

    #[test]
    fn numbers_do_not_break() {
        let check =
            |text: &str, expect: &str| assert_eq!(unbroken(text).replace('\u{a0}', "~"), expect);
        check("at 8 it was 5 230 tps, 4.2 % less.", "at 8 it was 5~230~tps, 4.2~% less.");
        check("(1 230 500 rows)", "(1~230~500 rows)");
        check("", "");
    }
}
