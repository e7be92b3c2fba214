//! The report of crashes: what each setting costs and what it really loses, side by side.

use serde::Serialize;
use truetps_analysis::{CrashAnalysis, CrashSummary, CrashVerdict, CrashedCell};
use truetps_archive::CrashedRun;
use truetps_record::{Configuration, CrashKind, CrashRecord, CrashRole, CrashRun, Disturbance};

use crate::crash_words::{twins, verdicts};
use crate::disks::disk;
use crate::disturbances::disturbed_crashes;
use crate::document::{
    Block, Document, DocumentSection, DocumentTable, TableEntry, TableForest, Tone,
};
use crate::format::{self, NOTHING};
use crate::json::json_text;

/// Everything as an indented JSON document that ends with a line feed.
pub(crate) fn crash_json(input: &CrashedRun) -> String {
    #[derive(Serialize)]
    struct CrashDocument<'a> {
        #[serde(flatten)]
        run: &'a CrashRun,
        #[serde(flatten)]
        analysis: &'a CrashAnalysis,
        disturbances: Vec<DisturbedCrash>,
        crashes: &'a [CrashRecord],
    }
    #[derive(Serialize)]
    struct DisturbedCrash {
        /// Number of the crash.
        crash: u32,
        is_grave: bool,
        #[serde(flatten)]
        disturbance: Disturbance,
    }
    let found = input.crashes.iter().flat_map(|crash| {
        crash.disturbances().into_iter().map(|disturbance| DisturbedCrash {
            crash: crash.number,
            is_grave: disturbance.is_grave(),
            disturbance,
        })
    });
    json_text(&CrashDocument {
        run: &input.run,
        analysis: &input.analysis,
        disturbances: found.collect(),
        crashes: &input.crashes,
    })
}

pub(crate) fn document(input: &CrashedRun) -> Document {
    let CrashedRun { run, analysis, .. } = input;
    let (of_plan, controls): (Vec<_>, Vec<_>) =
        analysis.cells.iter().partition(|cell| cell.role == CrashRole::Cell);
    let mut details = vec![Some(Block::paragraph(HOW_TO_READ))];
    details.extend(of_plan.iter().chain(&controls).map(|cell| loss_table(cell).block()));
    let price_blocks = verdict_table(run, analysis)
        .block()
        .map(|table| [Some(table), Some(Block::paragraph(PRICES)), Block::list(twins(analysis))]);
    let sections = [
        DocumentSection::of(
            "What each setting costs and loses",
            [
                price_table(input, &of_plan).block(),
                Some(Block::paragraph(LOST_ROWS)),
                largest_note(&of_plan).map(Block::paragraph),
            ],
        ),
        DocumentSection::of("Price", price_blocks.into_iter().flatten()),
        DocumentSection::of(
            "Controls",
            [price_table(input, &controls).block(), Some(Block::paragraph(CONTROLS))],
        ),
        DocumentSection::of("Broken after a crash", [Block::list(broken(analysis))]),
        DocumentSection::of("Disturbed", [Block::list(disturbances(input))]),
        DocumentSection::of("Losses", details),
    ];
    Document::new(format!("{}: {}", run.name, run.about), facts(run, analysis), sections)
}

/// What disturbed the loads before the crashes.
pub(crate) fn disturbances(input: &CrashedRun) -> Vec<String> {
    disturbed_crashes(&input.crashes).into_iter().map(|one| one.text).collect()
}

const LOST_ROWS: &str = "Under each kind of crash: rows that the server had acknowledged and that \
    were gone, the most in one crash. 0 (≤ share): no crash lost anything, and at most this share \
    would (95 %, exact bound). tps and p99 are of the clients before the crash, \
    the geometric means; ratio: tps against the safest configuration, with its 95 % interval.";
const PRICES: &str = "Throughput before the crash against the safest configuration, the mean ratio \
    of crashes of the same kind in the same block, with its 95 % interval. All verdicts together \
    are wrong in at most 5 % of experiments in which nothing differs.";
const HOW_TO_READ: &str = "lost in: crashes that lost acknowledged rows. share: of such crashes, \
    at least and at most, each bound with 95 % confidence (exact, Clopper and Pearson). most: the \
    largest of these crashes, so that one further crash in n + 1 loses more. window: from the \
    acknowledgement of the first lost row to the crash, the longest. back: rows without an answer \
    that were there; each client may have one in a crash. unsent: rows that were there and never \
    sent. holes: rows acknowledged after a lost one that were there, the most. recovery: from the \
    start of the server to the first accepted row, the median. binlog: the most rows that it had \
    (+) and had not (−) beside the table, which a replica would have more or less; torn: all files \
    that do not end with a whole event; gaps: GTIDs that do not follow the one before. promise: \
    whether the settings' promise to keep all was kept; none: they promise less.";
const CONTROLS: &str = "An experiment is believed only if settings that keep all lost nothing, and \
    settings that must lose something lost something.";

fn facts(run: &CrashRun, analysis: &CrashAnalysis) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> =
        verdicts(run, analysis).into_iter().map(|text| ("Verdict", text)).collect();
    let clients = format::plural(run.clients.into(), "client");
    facts.push(("Crashes", crashes_fact(run)));
    facts.push((
        "Load",
        format!(
            "{clients}, each inserts a row and waits for the answer; each crash after 1.2 to 2.2 s"
        ),
    ));
    facts.push(("Server", format!("{} {}", run.server.flavour, run.server.version)));
    if run.survival > 0.0 {
        let share = format::percent(run.survival);
        facts.push((
            "Torn",
            format!("{share} of the sectors in the disk's cache survive a power cut, by chance"),
        ));
    }
    if run.is_live {
        facts.push((
            "Order",
            "the disk fails before the server dies; answers after that are not counted".to_owned(),
        ));
    }
    facts.push(("Disk", disk_fact(run)));
    facts.push(("Tables", tables_fact(run)));
    facts.push(("Seed", run.seed.to_string()));
    facts
}

pub(crate) fn crashes_fact(run: &CrashRun) -> String {
    let kinds: Vec<_> = run.kinds.iter().map(|kind| kind_text(*kind).to_owned()).collect();
    let incomplete = if run.is_complete { "" } else { "; not all planned crashes have happened" };
    let steps: Vec<_> = run.steps.iter().map(|step| step.name()).collect();
    let steps = if steps.is_empty() {
        String::new()
    } else {
        format!(", at each step of the binlogs: {}", steps.join(", "))
    };
    let blocks = if run.configurations.is_empty() { "" } else { ", in randomised blocks" };
    format!("{} of each kind{blocks}: {}{steps}{incomplete}", run.crashes, kinds.join("; "))
}

pub(crate) fn disk_fact(run: &CrashRun) -> String {
    run.disk.as_ref().map_or_else(|| "the host's own".to_owned(), disk)
}

pub(crate) fn tables_fact(run: &CrashRun) -> String {
    match &run.table_check {
        Some(check) => format!("checked after each crash with {check}"),
        None => "not checked: the server has no check of its tables".to_owned(),
    }
}

fn kind_text(kind: CrashKind) -> &'static str {
    match kind {
        CrashKind::Kill => "kill (SIGKILL of the server)",
        CrashKind::Os => "os (what was not flushed is gone)",
        CrashKind::Power => "power (the disk's volatile cache is gone too)",
    }
}

/// What "most" means: `the largest of 10 crashes: …`. `None`: nothing was lost.
pub(crate) fn largest_note(cells: &[&CrashedCell]) -> Option<String> {
    let with_loss = cells.iter().flat_map(|cell| &cell.kinds).filter(|one| one.lost_max > 0);
    let mut sizes: Vec<_> = with_loss.map(|one| one.crashes).collect();
    sizes.sort_unstable();
    let (least, most) = (*sizes.first()?, *sizes.last()?);
    let of = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let crashes = if most == 1 { "crash" } else { "crashes" };
    Some(format!(
        "Each number of lost rows is the largest of {of} {crashes}: on average one further crash \
         in {} loses more.",
        least + 1
    ))
}

/// A row for each configuration, with a column for each kind of crash.
pub(crate) fn price_table(input: &CrashedRun, cells: &[&CrashedCell]) -> DocumentTable {
    let has_prices = cells.iter().any(|cell| cell.price.is_some());
    let ratio = has_prices.then_some("ratio");
    let kinds = input.run.kinds.iter().map(|kind| kind.name());
    let header = ["tps", "p99"].into_iter().chain(ratio).chain(kinds).chain(["settings"]);
    let rows = cells.iter().map(|cell| {
        let ratio = has_prices.then(|| ratio_entry(cell, input.analysis.safest.as_ref()));
        price_row(&input.run, cell, ratio)
    });
    DocumentTable::new(header, rows)
}

fn price_row(run: &CrashRun, cell: &CrashedCell, ratio: Option<TableEntry>) -> Vec<TableEntry> {
    let price = [cell.tps.map(format::tps), cell.response_us_p99.map(format::duration_us)];
    let losses =
        run.kinds.iter().map(|kind| match cell.kinds.iter().find(|one| one.kind == *kind) {
            Some(one) => TableEntry::new(lost_max(one), tone(one)),
            None => NOTHING.into(),
        });
    let price = price.into_iter().map(|text| format::text_or_nothing(text).into());
    price.chain(ratio).chain(losses).chain([cell.configuration.settings_label().into()]).collect()
}

fn ratio_entry(cell: &CrashedCell, safest: Option<&Configuration>) -> TableEntry {
    match &cell.price {
        Some(price) => TableEntry::new(
            format::ratio_estimate_of(&price.tps_ratio, "pair"),
            price.verdict.into(),
        ),
        None if safest == Some(&cell.configuration) => "safest".into(),
        None => NOTHING.into(),
    }
}

/// The verdict on the throughput of each configuration, with a picture.
fn verdict_table(run: &CrashRun, analysis: &CrashAnalysis) -> DocumentTable {
    let priced: Vec<_> =
        analysis.cells.iter().filter_map(|cell| Some((cell, cell.price?))).collect();
    let rows = priced.iter().map(|(cell, price)| {
        [
            ratio_entry(cell, None),
            TableEntry::new(format::verdict(price.verdict), price.verdict.into()),
            cell.configuration.settings_label().into(),
        ]
    });
    let safest =
        analysis.safest.as_ref().map(|safest| format!("Against {}", safest.settings_label()));
    let table = DocumentTable::new(["ratio", "verdict", "settings"], rows).with_caption(safest);
    let ratios = priced.iter().map(|(_, price)| Some(price.tps_ratio)).collect();
    let forest = Some(TableForest { ratios, smallest_effect: run.smallest_effect });
    DocumentTable { forest, ..table }
}

fn lost_max(one: &CrashSummary) -> String {
    if one.crashes_with_loss == 0 {
        format!("0 (≤ {})", format::percent(one.loss_share_max))
    } else {
        format::count(one.lost_max)
    }
}

/// `≤ 26 %`, `≥ 8.7 %, ≤ 61 %`, `≥ 74 %`.
fn share_bounds(one: &CrashSummary) -> String {
    let (least, most) = (format::percent(one.loss_share_min), format::percent(one.loss_share_max));
    match one.crashes_with_loss {
        0 => format!("≤ {most}"),
        n if n == one.crashes => format!("≥ {least}"),
        _ => format!("≥ {least}, ≤ {most}"),
    }
}

const LOSS_HEADER: [&str; 12] = [
    "crash", "lost in", "share", "most", "median", "window", "back", "unsent", "holes", "recovery",
    "binlog", "promise",
];

/// A row for each kind of crash of a configuration.
fn loss_table(cell: &CrashedCell) -> DocumentTable {
    let role = match cell.role {
        CrashRole::Cell => "",
        CrashRole::KeepsAll => "control that keeps all: ",
        CrashRole::LosesSome => "control that loses some: ",
    };
    let caption = format!("{role}{}", cell.configuration.settings_label());
    let table = DocumentTable::new(LOSS_HEADER, cell.kinds.iter().map(loss_row));
    table.with_caption(Some(caption)).of_numbers()
}

fn loss_row(one: &CrashSummary) -> Vec<TableEntry> {
    let [window, recovery] = [one.loss_window_ms_max, one.recovery_ms]
        .map(|ms| format::or_nothing(ms, |ms| format::duration_us(ms * 1e3)));
    let binlog = one.binlog_only_max.zip(one.table_only_max);
    let damage = [(one.torn_files, "torn"), (one.gtid_gaps, "gaps")];
    let damage = damage
        .map(|(count, word)| if count > 0 { format!(", {count} {word}") } else { String::new() });
    let binlog = binlog.map(|(more, fewer)| {
        format!("+{} −{}{}", format::count(more), format::count(fewer), damage.concat())
    });
    let texts = [
        one.kind.to_string(),
        format!("{}/{}", one.crashes_with_loss, one.crashes),
        share_bounds(one),
        format::count(one.lost_max),
        format::whole(one.lost_median),
        window,
        format::count(one.recovered),
        format::count(one.unexpected),
        format::count(one.holes_max),
        recovery,
        format::text_or_nothing(binlog),
    ];
    let verdict = TableEntry::new(verdict_text(one.verdict), tone(one));
    texts.into_iter().map(TableEntry::from).chain([verdict]).collect()
}

fn verdict_text(verdict: CrashVerdict) -> &'static str {
    match verdict {
        CrashVerdict::Kept => "kept",
        CrashVerdict::NoStatement => "no statement",
        CrashVerdict::KeptByChance | CrashVerdict::LostAsAllowed => "none",
        CrashVerdict::BrokePromise => "BROKEN",
    }
}

fn tone(one: &CrashSummary) -> Tone {
    match one.verdict {
        CrashVerdict::Kept => Tone::Good,
        CrashVerdict::NoStatement => Tone::Unsure,
        CrashVerdict::LostAsAllowed | CrashVerdict::KeptByChance => Tone::Plain,
        CrashVerdict::BrokePromise => Tone::Bad,
    }
}

pub(crate) fn broken(analysis: &CrashAnalysis) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in &analysis.cells {
        let label = cell.configuration.settings_label();
        lines.extend(cell.kinds.iter().filter_map(|one| {
            let CrashSummary { kind, crashes, broken, first_problem, .. } = one;
            let problem = first_problem.as_deref()?;
            let known = truetps_knowledge::known_fault(problem)
                .map_or(String::new(), |meaning| format!(" (known: {meaning})"));
            Some(format!("{label}: {broken} of {crashes} ({kind}), first: {problem}{known}"))
        }));
    }
    lines
}
