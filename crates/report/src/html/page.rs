//! The page: its sections in order, and the files embedded in it.

use askama::Template;

use super::curves::CurveChart;
use super::files::{self, TrialFiles};
use super::frame::{Frame, asset};
use super::labels::ChartLines;
use super::ledger::LedgerSection;
use super::noise::NoiseSection;
use super::open_loop::OpenLoopSection;
use super::percentiles::PercentileSection;
use super::script_data;
use super::series::SeriesSection;
use super::setup::Setup;
use super::stalls::StallSection;
use super::table::MainTable;
use super::trouble::Trouble;
use super::verdict::VerdictSection;
use crate::{ReportInput, waits};

/// Files embedded unchanged.
pub(super) struct Assets {
    /// In this order: later files use what earlier ones define.
    js: [&'static str; 9],
    uplot_css: &'static str,
    uplot_js: &'static str,
    uplot_licence: &'static str,
}

const ASSETS: Assets = Assets {
    js: [
        asset!("js/text.js"),
        asset!("js/look.js"),
        asset!("js/chart.js"),
        asset!("js/curves.js"),
        asset!("js/waits.js"),
        asset!("js/series.js"),
        asset!("js/percentiles.js"),
        asset!("js/heat.js"),
        asset!("js/page.js"),
    ],
    uplot_css: asset!("vendor/uplot-1.6.32/uPlot.min.css"),
    uplot_js: asset!("vendor/uplot-1.6.32/uPlot.iife.min.js"),
    uplot_licence: asset!("vendor/uplot-1.6.32/LICENSE"),
};

#[derive(Template)]
#[template(path = "page.html", whitespace = "minimize")]
pub(super) struct Page<'a> {
    frame: Frame<'a>,
    assets: Assets,
    /// A single configuration has no curves, which would be a dot each: its series replaces them.
    first_is_series: bool,
    verdict: VerdictSection,
    setup: Setup<'a>,
    throughput: CurveChart,
    response: CurveChart,
    open_loop: Option<OpenLoopSection>,
    table: MainTable,
    series: SeriesSection,
    stalls: Option<StallSection<'a>>,
    percentiles: Option<PercentileSection>,
    ledger: Option<LedgerSection>,
    waits: Vec<waits::WaitsView>,
    waits_explained: String,
    noise: Option<NoiseSection>,
    trouble: Trouble<'a>,
    files: Vec<TrialFiles<'a>>,
    /// JSON without `<`, so that no text in it can end the script element that holds it.
    data: String,
}

impl<'a> Page<'a> {
    pub(super) fn new(input: &ReportInput<'a>) -> Self {
        let lines = ChartLines::of(input);
        let percentiles = PercentileSection::of(input, &lines);
        let ledger = LedgerSection::of(input);
        let waits = waits::views(input);
        let series = SeriesSection::of(input);
        let open_loop = OpenLoopSection::of(input, &lines);
        let first_is_series = input.analysis.cells.len() == 1 && !series.options.is_empty();
        // Short: all of them are in one line of a window of 1,280 pixels.
        let sections = [
            ("verdict", "Verdict", true),
            ("curve", "Throughput", !first_is_series),
            ("meaning", "Meaning", true),
            ("latency", "Response", !first_is_series),
            ("open-loop", "Open loop", open_loop.is_some()),
            ("table", "Figures", true),
            ("series", "Over time", true),
            ("percentiles", "Percentiles", percentiles.is_some()),
            ("ledger", "Cost", ledger.is_some()),
            ("waits", "Waits", !waits.is_empty()),
            ("noise", "Noise", true),
            ("setup", "Setup", true),
            ("errors", "Errors", true),
            ("files", "Files", true),
        ];
        let experiment = &input.run.experiment;
        let there = sections.into_iter().filter(|(_, _, is_there)| *is_there);
        Self {
            frame: Frame {
                name: &experiment.name,
                title: format!("{}: truetps report", experiment.name),
                tool_version: &experiment.tool_version,
                sections: there
                    .map(|(anchor, name, _)| (anchor.to_owned(), name.to_owned()))
                    .collect(),
                ..Frame::default()
            },
            assets: ASSETS,
            first_is_series,
            verdict: VerdictSection::of(input, &lines),
            setup: Setup::of(input),
            throughput: CurveChart::throughput(input, &lines),
            response: CurveChart::response(input, &lines),
            open_loop,
            table: MainTable::of(input, &lines),
            noise: NoiseSection::of(input),
            trouble: Trouble::of(input),
            files: files::trial_files(input),
            data: script_data::json(input, &lines, &series, percentiles.as_ref()),
            series,
            stalls: StallSection::of(input),
            percentiles,
            ledger,
            waits_explained: waits::explained(&waits),
            waits,
        }
    }
}
