//! What a report says and in which order, apart from how it looks: text and Markdown are drawn from it.

use std::collections::BTreeMap;

use truetps_analysis::{Cell, Curve, Verdict};
use truetps_record::{Configuration, ErrorCount};

use crate::ReportInput;
use crate::format::{self, NOTHING};
use crate::meaning::{self, BUSY};
use crate::names;
use crate::verdicts::verdicts;

/// Combinations of settings that fit beside each other in one table.
const COLUMNS_MAX: usize = 4;

pub(crate) struct Document {
    pub(crate) title: String,
    /// A word and what it says, for the top of the report.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<Section>,
}

pub(crate) struct Section {
    pub(crate) heading: String,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Table(Table),
    Paragraph(String),
    List(Vec<String>),
}

pub(crate) struct Table {
    pub(crate) caption: Option<String>,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Entry>>,
    /// The last column is words, which begin at the left; all others are numbers, which end at the right.
    pub(crate) words_last: bool,
}

/// Text of one place in a table. The tone repeats what the text says; nothing is said by it alone.
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Unsure,
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain }
    }
}

pub(crate) fn document(input: &ReportInput<'_>) -> Document {
    let sections = [
        throughput(input),
        response_times(input),
        comparisons(input),
        noise(input),
        knees(input),
        troubles(input),
        Some(words(input)),
    ];
    Document {
        title: format!("{}: {}", input.plan.name, input.plan.about),
        facts: facts(input),
        sections: sections.into_iter().flatten().collect(),
    }
}

fn facts(input: &ReportInput<'_>) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = verdicts(input).into_iter().map(|verdict| ("Verdict", verdict)).collect();
    facts.push(("Trials", trials_fact(input)));
    facts.push(("Server", server_fact(input)));
    facts.push(("Load", load_fact(input)));
    facts.push(("Host", host_fact(input)));
    facts
}

fn trials_fact(input: &ReportInput<'_>) -> String {
    let analysis = input.analysis;
    let not_run = analysis.trials_planned.saturating_sub(analysis.trials_valid + analysis.invalid.len());
    let partial = analysis.invalid.iter().filter(|trial| trial.partial).count();
    let others = [(analysis.invalid.len() - partial, "invalid"), (partial, "partial"), (not_run, "not run")];
    let mut parts = vec![format!("{} of {} valid", analysis.trials_valid, analysis.trials_planned)];
    parts.extend(others.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")));
    let blocks = format::plural(analysis.blocks_planned.into(), "block");
    let quick = if input.experiment.quick { "; quick" } else { "" };
    format!("{}; {blocks} in random order, seed {}{quick}", parts.join(", "), input.experiment.seed)
}

fn server_fact(input: &ReportInput<'_>) -> String {
    let server = &input.experiment.server;
    let mut parts = vec![format!("{} {}", server.flavour, server.version)];
    let fixed = &input.plan.server.settings;
    parts.extend(fixed.iter().map(|(name, value)| format!("{name}={}", value.option_text())));
    let chosen = server.chosen_settings.iter().filter(|(name, _)| !fixed.contains_key(name));
    parts.extend(chosen.map(|(name, value)| if value.is_empty() { name.clone() } else { format!("{name}={value}") }));
    parts.join(", ")
}

fn load_fact(input: &ReportInput<'_>) -> String {
    let (workload, load) = (&input.plan.workload, &input.plan.load);
    let protocol = match workload.protocol {
        truetps_record::Protocol::Prepared => "prepared statements",
        truetps_record::Protocol::Text => "text protocol",
    };
    let most = load.measure_transactions.map(|most| format!(" or {}", format::plural(most, "transaction")));
    format!(
        "{}, {protocol}; {} of {}; {} s of warm-up, {} s{} measured",
        workload.name,
        format::plural(workload.tables.into(), "table"),
        format::plural(workload.table_rows, "row"),
        load.warm_up_s,
        load.measure_s,
        most.unwrap_or_default()
    )
}

fn host_fact(input: &ReportInput<'_>) -> String {
    let host = &input.experiment.host;
    let model = if host.cpu_model.is_empty() { String::new() } else { format!(" ({})", host.cpu_model) };
    let mut parts = vec![format!("{}{model}", format::plural(host.cores.into(), "core"))];
    parts.push(format!("{} of memory", format::bytes(host.memory_bytes)));
    match (&host.file_system, &host.device) {
        (Some(file_system), Some(device)) => parts.push(format!("{file_system} on {device}")),
        (Some(one), None) | (None, Some(one)) => parts.push(one.clone()),
        (None, None) => {}
    }
    parts.extend(host.virtualisation.clone());
    if let Some(flush) = host.flush {
        let (p50, p99) = (format::duration_us(flush.us_p50), format::duration_us(flush.us_p99));
        parts.push(format!("one flush {p50} (p50), {p99} (p99)"));
    }
    parts.join(", ")
}

/// Throughput alone, one column for each combination of settings, where they fit beside each other.
fn throughput(input: &ReportInput<'_>) -> Option<Section> {
    let analysis = input.analysis;
    if !(2..=COLUMNS_MAX).contains(&analysis.curves.len()) {
        return None;
    }
    let mut rows: BTreeMap<u32, Vec<Option<&Cell>>> = BTreeMap::new();
    for (column, curve) in analysis.curves.iter().enumerate() {
        for cell in names::cells(analysis, curve) {
            let row = rows.entry(cell.configuration.connections());
            row.or_insert_with(|| vec![None; analysis.curves.len()])[column] = Some(cell);
        }
    }
    let heads = analysis.curves.iter().filter_map(|curve| Some(&analysis.cells[*curve.cells.first()?].configuration));
    let mut header = vec!["connections".to_owned()];
    header.extend(heads.map(names::level_label));
    let row = |(connections, cells): (u32, Vec<Option<&Cell>>)| {
        let mut row = vec![format::count(connections.into()).into()];
        row.extend(cells.into_iter().map(|cell| tps_entry(cell).into()));
        row
    };
    let table = Table { caption: None, header, rows: rows.into_iter().map(row).collect(), words_last: false };
    let heading = format!("Throughput (tps, 95 % interval) by {}", names::setting_names(input.plan));
    Some(Section { heading, blocks: vec![Block::Table(table)] })
}

fn tps_entry(cell: Option<&Cell>) -> String {
    cell.and_then(|cell| cell.tps.as_ref()).map_or_else(|| NOTHING.to_owned(), format::tps_estimate)
}

/// One table for each combination of settings with everything else that was measured of it, and with throughput where
/// that has no table of its own.
fn response_times(input: &ReportInput<'_>) -> Option<Section> {
    let analysis = input.analysis;
    let with_tps = !(2..=COLUMNS_MAX).contains(&analysis.curves.len());
    let tables: Vec<_> =
        analysis.curves.iter().map(|curve| Block::Table(curve_table(input, curve, with_tps))).collect();
    let what = if with_tps { "Throughput (tps, 95 % interval), response" } else { "Response" };
    let heading = format!("{what} times, failed transactions, CPU a transaction");
    (!tables.is_empty()).then_some(Section { heading, blocks: tables })
}

fn curve_table(input: &ReportInput<'_>, curve: &Curve, with_tps: bool) -> Table {
    let cells = names::cells(input.analysis, curve);
    let marks: Vec<_> = cells.iter().map(|cell| mark(cell)).collect();
    let with_marks = marks.iter().any(|mark| !mark.is_empty());
    let mut header = vec!["connections"];
    header.extend(with_tps.then_some("tps"));
    header.extend(["trials", "p50", "p95", "p99", "max", "failed", "client CPU", "server CPU"]);
    header.extend(with_marks.then_some("mark"));
    let row = |(cell, mark): (&&Cell, String)| {
        let mut row = vec![format::count(cell.configuration.connections().into())];
        row.extend(with_tps.then(|| tps_entry(Some(cell))));
        row.push(cell.trials.len().to_string());
        let times = [cell.response_us_p50, cell.response_us_p95, cell.response_us_p99, cell.response_us_max];
        row.extend(times.map(|us| format::or_nothing(us, format::duration_us)));
        row.push(format::count(cell.failed));
        let cpu = [cell.client_cpu_us_per_tx, cell.server_cpu_us_per_tx];
        row.extend(cpu.map(|us| format::or_nothing(us, format::duration_us)));
        row.extend(with_marks.then_some(mark));
        row.into_iter().map(Entry::from).collect()
    };
    let baseline = if curve.is_baseline && input.analysis.curves.len() > 1 { " (baseline)" } else { "" };
    let caption = (!curve.label.is_empty()).then(|| format!("{}{baseline}", curve.label));
    let rows = cells.iter().zip(marks).map(row).collect();
    Table { caption, header: header.into_iter().map(str::to_owned).collect(), rows, words_last: with_marks }
}

fn mark(cell: &Cell) -> String {
    let mut marks = Vec::new();
    if cell.worker_busy_max.is_some_and(|busy| busy > BUSY) {
        marks.push("busy client".to_owned());
    }
    if cell.invalid_trials > 0 {
        marks.push(format!("{} not used", cell.invalid_trials));
    }
    marks.join(", ")
}

fn comparisons(input: &ReportInput<'_>) -> Option<Section> {
    let analysis = input.analysis;
    let baseline = analysis.baseline_label.as_ref().filter(|_| !analysis.contrasts.is_empty())?;
    let mut blocks: Vec<_> = analysis
        .curves
        .iter()
        .map(|curve| comparison_table(input, curve))
        .filter(|table| !table.rows.is_empty())
        .map(Block::Table)
        .collect();
    blocks.push(Block::Paragraph(format!(
        "Ratios are paired by block, with their 95 % interval. \"sees\": the smallest effect that the pairs could have \
         shown. faster and slower: the difference passes Holm's correction over all {} comparisons, and is at least \
         {}, at least what the comparison sees and at least what the A/A pairs leave visible. equivalent: the whole \
         interval is within {}.",
        analysis.contrasts.len(),
        format::percent(analysis.smallest_effect),
        format::percent(analysis.smallest_effect)
    )));
    Some(Section { heading: format!("Against {baseline}"), blocks })
}

fn comparison_table(input: &ReportInput<'_>, curve: &Curve) -> Table {
    let analysis = input.analysis;
    let row = |contrast: &&truetps_analysis::Contrast| {
        let p99 = contrast.p99_ratio.as_ref().map_or_else(|| NOTHING.to_owned(), format::ratio_estimate);
        vec![
            format::count(names::connections_of(analysis, contrast).into()).into(),
            format::ratio_estimate(&contrast.tps_ratio).into(),
            p99.into(),
            format::or_nothing(contrast.smallest_visible_effect, format::percent).into(),
            Entry { text: format::verdict(contrast.verdict), tone: tone(contrast.verdict) },
        ]
    };
    Table {
        caption: (!curve.label.is_empty()).then(|| curve.label.clone()),
        header: ["connections", "tps ratio", "p99 ratio", "sees", "verdict"].map(str::to_owned).to_vec(),
        rows: names::contrasts(analysis, curve).iter().map(row).collect(),
        words_last: true,
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::NotEnoughData { .. } => Tone::Unsure,
        Verdict::Equivalent => Tone::Plain,
    }
}

fn noise(input: &ReportInput<'_>) -> Option<Section> {
    let noise = input.analysis.noise.as_ref();
    if noise.is_none() && !input.plan.design.aa_pair {
        return None;
    }
    let text = noise.map_or_else(
        || "No A/A pair has two valid trials: what the same configuration differs by is not known.".to_owned(),
        |noise| {
            format!(
                "The same configuration run twice differed by {} ({}); one trial scatters by about {}: differences \
                 under {} mean nothing here.",
                format::difference_estimate(&noise.ratio),
                format::plural(noise.pairs.len() as u64, "pair"),
                format::percent(noise.sigma),
                format::percent(noise.smallest_visible_effect)
            )
        },
    );
    Some(Section { heading: "Noise (A/A pairs)".to_owned(), blocks: vec![Block::Paragraph(text)] })
}

fn knees(input: &ReportInput<'_>) -> Option<Section> {
    let analysis = input.analysis;
    let row = |curve: &Curve| {
        let knee = curve.knee.as_ref()?;
        let best = format!("{} ({} tps)", format::count(knee.best_connections.into()), format::tps(knee.best_tps));
        let last = if knee.best_is_last {
            "is the best, may rise further".to_owned()
        } else {
            knee.last_ratio.as_ref().map_or_else(|| NOTHING.to_owned(), format::ratio_estimate)
        };
        let is_best = knee.connections == knee.best_connections;
        let knee_ratio = if is_best { "is the best".to_owned() } else { format::ratio_estimate(&knee.ratio_to_best) };
        let mut row = vec![format::count(knee.connections.into()), knee_ratio, best, last];
        if !curve.label.is_empty() {
            row.insert(0, names::level_label(configuration_of(input, curve)?));
        }
        Some(row.into_iter().map(Entry::from).collect())
    };
    let rows: Vec<Vec<Entry>> = analysis.curves.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let mut header = ["knee", "knee to best", "best at", "last to best"].map(str::to_owned).to_vec();
    if !names::setting_names(input.plan).is_empty() {
        header.insert(0, names::setting_names(input.plan));
    }
    let rule = format!(
        "The knee is the smallest number of connections that is not shown to be below 95 % of the best. The rule \
         \"cores × 2 + spindles\" gives {} on this host.",
        format::count(analysis.rule_connections.into())
    );
    let blocks = vec![Block::Table(Table { caption: None, header, rows, words_last: true }), Block::Paragraph(rule)];
    Some(Section { heading: "Where more connections stop helping".to_owned(), blocks })
}

fn configuration_of<'a>(input: &ReportInput<'a>, curve: &Curve) -> Option<&'a Configuration> {
    Some(&input.analysis.cells[*curve.cells.first()?].configuration)
}

/// Trials that are not evidence, errors, clients that failed and notes, each with its reason; left out where there is
/// none.
fn troubles(input: &ReportInput<'_>) -> Option<Section> {
    let lists = [invalid(input), errors(input), failed_clients(input), notes(input)];
    let lines: Vec<_> = lists.into_iter().flatten().collect();
    (!lines.is_empty())
        .then(|| Section { heading: "Invalid trials, errors and notes".to_owned(), blocks: vec![Block::List(lines)] })
}

fn invalid(input: &ReportInput<'_>) -> Vec<String> {
    let line = |trial: &truetps_analysis::InvalidTrial| {
        let state = if trial.partial { "partial" } else { "invalid" };
        format!("{} ({}) {state}: {}", trial.name, trial.configuration, trial.reason)
    };
    input.analysis.invalid.iter().map(line).collect()
}

/// Errors of all configurations together by number and class, with where they came from.
fn errors(input: &ReportInput<'_>) -> Vec<String> {
    let mut by_key: BTreeMap<(u16, &str), (u64, &ErrorCount, Vec<String>)> = BTreeMap::new();
    for cell in &input.analysis.cells {
        for error in &cell.errors {
            let found = by_key.entry((error.code, &error.class)).or_insert((0, error, Vec::new()));
            found.0 += error.count;
            found.2.push(cell.configuration.to_string());
        }
    }
    let line = |(count, error, places): (u64, &ErrorCount, Vec<String>)| {
        let code = if error.code == 0 { String::new() } else { format!(" ({})", error.code) };
        let count = format::plural(count, "time");
        let message = error.first_message.replace('\n', " ");
        format!("error {}{code}, {count}, at {}: {message}", error.class, places.join("; "))
    };
    by_key.into_values().map(line).collect()
}

fn failed_clients(input: &ReportInput<'_>) -> Vec<String> {
    let line = |trial: &truetps_record::Trial| {
        let engine = trial.engine.as_ref().filter(|engine| engine.clients_failed > 0)?;
        let of = format::plural(engine.clients.into(), "client");
        Some(format!("{} ({}): {} of {of} failed", trial.name, trial.configuration, engine.clients_failed))
    };
    input.trials.iter().filter_map(line).collect()
}

fn notes(input: &ReportInput<'_>) -> Vec<String> {
    let mut by_text: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for trial in input.trials {
        for note in &trial.notes {
            by_text.entry(note).or_default().push(&trial.name);
        }
    }
    by_text.into_iter().map(|(note, names)| format!("note on {}: {note}", format::list(&names))).collect()
}

fn words(input: &ReportInput<'_>) -> Section {
    let mut blocks = Vec::new();
    let sentences = meaning::meaning(input);
    if !sentences.is_empty() {
        blocks.push(Block::Paragraph(sentences.join(" ")));
    }
    let caveats = meaning::caveats(input);
    if !caveats.is_empty() {
        blocks.push(Block::List(caveats));
    }
    Section { heading: "What it means".to_owned(), blocks }
}
