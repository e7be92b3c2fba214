//! A report as metrics: each figure of each configuration is a sample.

use truetps_analysis::{Cell, Contrast, Figure, FigureUnit};
use truetps_record::{Estimate, MetricKind};

use crate::ReportInput;
use crate::exposition::{ExpositionText, metric_words};
use crate::format::verdict_word;
use crate::parts;

/// Name and value of each label of a configuration.
type CellLabels = Vec<(String, String)>;

/// All configurations, in the text format of Prometheus. A figure without a value has no sample.
pub(crate) fn prometheus(input: &ReportInput<'_>) -> String {
    let mut text = ExpositionText::default();
    let cells = &input.analysis.cells;
    let labels: Vec<_> = cells.iter().map(|cell| labels(input, cell)).collect();
    for (cell, labels) in cells.iter().zip(&labels) {
        let mut samples = LabelledSamples { text: &mut text, labels };
        for figure in Figure::ALL {
            let (name, units) = metric(*figure);
            if let Some(value) = cell.get(*figure) {
                samples.add(&name, figure.about(), value / units);
            }
        }
        samples.add(
            "truetps_run_valid_trials",
            "Valid trials behind the figures.",
            cell.trials.len() as f64,
        );
        samples.add(
            "truetps_run_invalid_trials",
            "Trials that are not evidence.",
            cell.invalid_trials as f64,
        );
        if let Some(tps) = cell.tps {
            samples.add_ends(tps, "truetps_run_tps", "of the 95 % interval of tps.");
        }
    }
    for contrast in &input.analysis.contrasts {
        contrast_samples(&mut text, &labels[contrast.cell], contrast);
    }
    text.into_text()
}

/// Adds samples with the labels of one configuration.
struct LabelledSamples<'a> {
    text: &'a mut ExpositionText,
    labels: &'a CellLabels,
}

impl LabelledSamples<'_> {
    fn add(&mut self, name: &str, help: &str, value: f64) {
        let labels = self.labels.iter().map(|(label, text)| (label.as_str(), text.as_str()));
        let labels: Vec<_> = labels.collect();
        self.text.add((name, MetricKind::Gauge), help, &labels, value);
    }

    /// Both ends of an interval, where it has any.
    fn add_ends(&mut self, estimate: Estimate, name: &str, what: &str) {
        let Estimate { low, high, .. } = estimate;
        for (end, word, value) in [("low", "Lower", low), ("high", "Upper", high)] {
            if let Some(value) = value {
                self.add(&format!("{name}_{end}"), &format!("{word} end {what}"), value);
            }
        }
    }
}

/// A configuration against its baseline.
fn contrast_samples(text: &mut ExpositionText, labels: &CellLabels, contrast: &Contrast) {
    let ratios = [
        ("tps", Some(contrast.tps_ratio)),
        ("response_p99", contrast.p99_ratio),
        ("server_cpu_per_tx", contrast.server_cpu_ratio),
    ];
    let mut samples = LabelledSamples { text, labels };
    for (figure, ratio) in ratios.into_iter().filter_map(|(figure, ratio)| Some((figure, ratio?))) {
        let name = format!("truetps_run_{figure}_vs_baseline_ratio");
        samples.add(
            &name,
            &format!("{figure} divided by the {figure} of the baseline."),
            ratio.value,
        );
        samples.add_ends(ratio, &name, &format!("of the 95 % interval of {name}."));
    }
    let mut with_verdict = labels.clone();
    with_verdict.push(("verdict".to_owned(), verdict_word(contrast.verdict).replace(' ', "_")));
    let help = "The verdict on throughput against the baseline, as a label; always 1.";
    LabelledSamples { text, labels: &with_verdict }.add("truetps_run_verdict", help, 1.0);
}

/// The name of a figure's metric, and how many of the figure's units are one of the metric's: times
/// are in seconds.
fn metric(figure: Figure) -> (String, f64) {
    let (word, suffix, units) = match figure.unit() {
        FigureUnit::Us => ("us", "_seconds", 1e6),
        FigureUnit::Ms => ("ms", "_seconds", 1e3),
        FigureUnit::Bytes => ("bytes", "_bytes", 1.0),
        FigureUnit::Share => ("", "_ratio", 1.0),
        FigureUnit::Count | FigureUnit::PerSecond | FigureUnit::Ratio => ("", "", 1.0),
    };
    let words: Vec<_> = figure.key().split('_').filter(|part| *part != word).collect();
    (format!("truetps_run_{}{suffix}", words.join("_")), units)
}

/// The experiment, the configuration, each of its levels by itself, and the part where the figures
/// are not of the whole load. `configuration` alone tells all samples of a metric apart: of two
/// factors whose names become the same label, the first has it.
fn labels(input: &ReportInput<'_>, cell: &Cell) -> CellLabels {
    let mut labels = vec![
        ("experiment".to_owned(), input.run.experiment.name.clone()),
        ("configuration".to_owned(), cell.configuration.to_string()),
    ];
    labels.extend(
        parts::part_of_load(&input.run.experiment)
            .map(|part| (parts::PART_OF_LOAD.to_owned(), part)),
    );
    for (factor, level) in &cell.configuration.levels {
        let label = format!("level_{}", metric_words(factor));
        if !labels.iter().any(|(known, _)| *known == label) {
            labels.push((label, level.to_string()));
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use truetps_record::SettingValue;

    use super::*;
    use crate::exposition_check::{ParsedFamily, parsed};
    use crate::fixture::{Fixture, part_of_four};

    fn label<'a>(family: &'a ParsedFamily, sample: usize, name: &str) -> &'a str {
        &family.samples[sample].labels.iter().find(|(label, _)| label == name).unwrap().1
    }

    #[test]
    fn each_figure_of_each_configuration_is_a_sample() {
        let fixtures = [
            Fixture::durability(),
            Fixture::troubled(),
            Fixture::connections_only(),
            Fixture::rates(),
            Fixture::open_run(1000),
            Fixture::script_without_server(),
        ];
        for fixture in fixtures {
            let families = parsed(&prometheus(&fixture.input()));
            for figure in Figure::ALL {
                let known = fixture
                    .analysis
                    .cells
                    .iter()
                    .filter_map(|cell| cell.get(*figure))
                    .collect::<Vec<_>>();
                let found =
                    families.get(&metric(*figure).0).map_or(0, |family| family.samples.len());
                assert_eq!(found, known.len(), "{figure:?}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_end_with_their_unit() {
        let names: BTreeSet<_> = Figure::ALL.iter().map(|figure| metric(*figure).0).collect();
        assert_eq!(names.len(), Figure::ALL.len());
        let check = |figure, expect: &str| assert_eq!(metric(figure).0, expect);
        check(Figure::Tps, "truetps_run_tps");
        check(Figure::ResponseP99, "truetps_run_response_p99_seconds");
        check(Figure::LongestStall, "truetps_run_longest_stall_seconds");
        check(Figure::NetworkIn, "truetps_run_network_received_per_tx_bytes");
        check(Figure::WorkerBusy, "truetps_run_worker_busy_max_ratio");
    }

    #[test]
    fn values_are_in_seconds_and_labels_are_levels() {
        let fixture = Fixture::durability();
        let families = parsed(&prometheus(&fixture.input()));
        let p99 = &families["truetps_run_response_p99_seconds"];
        let us = fixture.analysis.cells[0].get(Figure::ResponseP99).unwrap();
        assert!((p99.samples[0].value - us / 1e6).abs() < 1e-12);
        assert_eq!(label(p99, 0, "experiment"), fixture.run.experiment.name);
        assert_eq!(label(p99, 3, "level_innodb_flush_log_at_trx_commit"), "2");
        assert_eq!(label(p99, 3, "level_connections"), "1");
        let verdicts = &families["truetps_run_verdict"];
        assert_eq!((verdicts.samples.len(), label(verdicts, 0, "verdict")), (6, "faster"));
        assert_eq!(families["truetps_run_tps_vs_baseline_ratio"].samples.len(), 6);
        assert_eq!(families["truetps_run_tps_low"].samples.len(), 9);
    }

    #[test]
    fn a_part_is_no_whole_load() {
        let mut fixture = Fixture::durability();
        let has_label = |text: &str| {
            let families = parsed(text);
            let samples: Vec<_> = families.values().flat_map(|family| &family.samples).collect();
            let has = |labels: &[(String, String)]| {
                labels.contains(&("part_of_load".to_owned(), "1/4".to_owned()))
            };
            (samples.iter().filter(|sample| has(&sample.labels)).count(), samples.len())
        };
        assert_eq!(has_label(&prometheus(&fixture.input())).0, 0);
        fixture.run.experiment.part = Some(part_of_four(1));
        let (marked, all) = has_label(&prometheus(&fixture.input()));
        assert!(marked == all && all > 0, "{marked} of {all} samples");
    }

    #[test]
    fn two_factors_of_one_label_are_no_twice() {
        let mut fixture = Fixture::durability();
        for cell in &mut fixture.analysis.cells {
            cell.configuration
                .levels
                .insert("Connections".to_owned(), SettingValue::Text("a\"\n".to_owned()));
        }
        let families = parsed(&prometheus(&fixture.input()));
        assert_eq!(label(&families["truetps_run_tps"], 0, "level_connections"), "1");
    }
}
