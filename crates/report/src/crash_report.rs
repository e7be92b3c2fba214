//! The report of crashes: what each setting costs and what it really loses, side by side.

use serde::Serialize;
use truetps_analysis::{CrashAnalysis, CrashSummary, CrashVerdict, CrashedCell, NotProven};
use truetps_record::{CrashKind, CrashRecord, CrashRole, CrashRun};

use crate::disks::disk;
use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::json::json_text;

/// Everything as an indented JSON document that ends with a line feed.
pub(crate) fn crash_json(
    run: &CrashRun,
    analysis: &CrashAnalysis,
    crashes: &[CrashRecord],
) -> String {
    #[derive(Serialize)]
    struct CrashDocument<'a> {
        #[serde(flatten)]
        run: &'a CrashRun,
        #[serde(flatten)]
        analysis: &'a CrashAnalysis,
        crashes: &'a [CrashRecord],
    }
    json_text(&CrashDocument { run, analysis, crashes })
}

pub(crate) fn document(run: &CrashRun, analysis: &CrashAnalysis) -> Document {
    let (of_plan, controls): (Vec<_>, Vec<_>) =
        analysis.cells.iter().partition(|cell| cell.role == CrashRole::Cell);
    let mut details = vec![Some(Block::paragraph(HOW_TO_READ))];
    details.extend(of_plan.iter().chain(&controls).map(|cell| loss_table(cell).block()));
    let sections = [
        DocumentSection::of(
            "What each setting costs and loses",
            [price_table(run, of_plan).block(), Some(Block::paragraph(LOST_ROWS))],
        ),
        DocumentSection::of(
            "Controls",
            [price_table(run, controls).block(), Some(Block::paragraph(CONTROLS))],
        ),
        DocumentSection::of("Broken after a crash", [Block::list(broken(analysis))]),
        DocumentSection::of("Losses", details),
    ];
    Document::new(format!("{}: {}", run.name, run.about), facts(run, analysis), sections)
}

const LOST_ROWS: &str = "Under each kind of crash: rows that the server had acknowledged and that \
    were gone, the most in one crash. \"0 (≤ 30 %)\": no crash lost anything, which bounds the \
    share of crashes that would (95 %, rule of three). tps and p99 are of the clients before the \
    crash, the medians.";
const HOW_TO_READ: &str = "lost in: crashes that lost acknowledged rows. window: from the \
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
    let mut facts: Vec<_> = verdicts(analysis).into_iter().map(|text| ("Verdict", text)).collect();
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
    format!("{} of each kind: {}{steps}{incomplete}", run.crashes, kinds.join("; "))
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

pub(crate) fn verdicts(analysis: &CrashAnalysis) -> Vec<String> {
    let mut verdicts: Vec<_> = analysis
        .not_proven
        .iter()
        .map(|why| format!("NOT PROVEN: {}", not_proven_text(*why)))
        .collect();
    let cells = analysis.cells.iter().filter(|cell| cell.role == CrashRole::Cell);
    let of_plan: Vec<_> =
        cells.flat_map(|cell| cell.kinds.iter().map(move |one| (cell, one))).collect();
    let broke = of_plan.iter().filter(|(_, one)| one.verdict == CrashVerdict::BrokePromise);
    verdicts.extend(broke.map(|(cell, one)| {
        let CrashSummary { kind, crashes, crashes_with_loss, lost_max, broken, .. } = one;
        let rows = format::plural(*lost_max, "row");
        let lost = (*lost_max > 0).then(|| format!("lost up to {rows} in {crashes_with_loss}"));
        let broke = (*broken > 0).then(|| format!("broke the table in {broken}"));
        let found: Vec<_> = lost.into_iter().chain(broke).collect();
        let label = cell.configuration.settings_label();
        format!(
            "{label} promises to keep all, and {} of {crashes} crashes ({kind})",
            found.join(" and ")
        )
    }));
    if of_plan.is_empty() {
        verdicts.push("no configuration of the plan was crashed".to_owned());
    } else if verdicts.is_empty() {
        let has_lost = of_plan.iter().any(|(_, one)| one.lost_max > 0);
        verdicts.push(
            if has_lost { "losses only where the settings allow them" } else { "nothing was lost" }
                .to_owned(),
        );
    }
    verdicts
}

fn not_proven_text(why: NotProven) -> String {
    match why {
        NotProven::NoControlThatKeeps { kind } => {
            format!("{kind}: settings that keep all were not crashed")
        }
        NotProven::ControlLost { kind } => {
            format!("{kind}: settings that keep all lost or broke something")
        }
        NotProven::NoControlThatLoses { kind } => {
            format!("{kind}: settings that must lose something were not crashed")
        }
        NotProven::ControlKept { kind } => {
            format!("{kind}: settings that must lose something lost nothing")
        }
        NotProven::Holes { kind } => {
            format!("{kind}: rows acknowledged after a lost one are there")
        }
    }
}

/// A row for each configuration, with a column for each kind of crash.
pub(crate) fn price_table<'a>(
    run: &CrashRun,
    cells: impl IntoIterator<Item = &'a CrashedCell>,
) -> DocumentTable {
    let kinds = run.kinds.iter().map(|kind| kind.name());
    let header = ["tps", "p99"].into_iter().chain(kinds).chain(["settings"]);
    DocumentTable::new(header, cells.into_iter().map(|cell| price_row(run, cell)))
}

fn price_row(run: &CrashRun, cell: &CrashedCell) -> Vec<TableEntry> {
    let price = [cell.tps.map(format::tps), cell.response_us_p99.map(format::duration_us)];
    let losses =
        run.kinds.iter().map(|kind| match cell.kinds.iter().find(|one| one.kind == *kind) {
            Some(one) => TableEntry::new(lost_max(one), tone(one)),
            None => NOTHING.into(),
        });
    let price = price.into_iter().map(|text| format::text_or_nothing(text).into());
    price.chain(losses).chain([cell.configuration.settings_label().into()]).collect()
}

fn lost_max(one: &CrashSummary) -> String {
    match one.loss_share_max() {
        Some(share) => format!("0 (≤ {})", format::percent(share)),
        None => format::count(one.lost_max),
    }
}

const LOSS_HEADER: [&str; 11] = [
    "crash", "lost in", "most", "median", "window", "back", "unsent", "holes", "recovery",
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
        CrashVerdict::KeptByChance | CrashVerdict::LostAsAllowed => "none",
        CrashVerdict::BrokePromise => "BROKEN",
    }
}

fn tone(one: &CrashSummary) -> Tone {
    match one.verdict {
        CrashVerdict::Kept => Tone::Good,
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
            Some(format!("{label}: {broken} of {crashes} ({kind}), first: {problem}"))
        }));
    }
    lines
}
