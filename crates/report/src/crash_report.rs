//! The report of crashes: what each setting costs and what it really loses, side by side.

use serde::Serialize;
use truetps_analysis::{CrashAnalysis, CrashSummary, CrashVerdict, NotProven};
use truetps_record::{CrashKind, CrashRecord, CrashRole, CrashRun};

use crate::disks::disk;
use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::format::{self, NOTHING};
use crate::json::json_text;
use crate::{TextScreen, markdown, text};

pub fn crash_text(run: &CrashRun, analysis: &CrashAnalysis, screen: TextScreen) -> String {
    text::draw(document(run, analysis), screen)
}

pub fn crash_markdown(run: &CrashRun, analysis: &CrashAnalysis) -> String {
    markdown::draw(document(run, analysis))
}

/// Everything as an indented JSON document that ends with a line feed.
pub fn crash_json(run: &CrashRun, analysis: &CrashAnalysis, crashes: &[CrashRecord]) -> String {
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

fn document(run: &CrashRun, analysis: &CrashAnalysis) -> Document {
    let of_plan = analysis.summaries.iter().filter(|one| one.role == CrashRole::Cell);
    let controls = analysis.summaries.iter().filter(|one| one.role != CrashRole::Cell);
    let sections = [
        DocumentSection::of("What each setting loses", [table(of_plan).block(), Some(paragraph(HOW_TO_READ))]),
        DocumentSection::of("Controls", [table(controls).block(), Some(paragraph(CONTROLS))]),
        DocumentSection::of("Broken after a crash", [Block::list(broken(analysis))]),
    ];
    Document {
        title: format!("{}: {}", run.name, run.about),
        facts: facts(run, analysis),
        sections: sections.into_iter().flatten().collect(),
    }
}

const HOW_TO_READ: &str = "lost: rows that the server had acknowledged and that were gone, the most in one crash and the \
    median. window: from the acknowledgement of the first lost row to the crash, the longest. back: rows without an answer \
    that were there; each client may have one in a crash. recovery: from the start of the server to the first accepted row, \
    the median. tps and p99 are of the clients before the crash. \"≤ 30 %\": no crash lost anything, which bounds the share \
    of crashes that would (95 %, rule of three).";
const CONTROLS: &str = "An experiment is believed only if settings that keep all lost nothing, and settings that must lose \
    something lost something.";

fn paragraph(text: &str) -> Block {
    Block::Paragraph(text.to_owned())
}

fn facts(run: &CrashRun, analysis: &CrashAnalysis) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = verdicts(analysis).into_iter().map(|text| ("Verdict", text)).collect();
    let kinds: Vec<_> = run.kinds.iter().map(|kind| kind_text(*kind).to_owned()).collect();
    let incomplete = if run.is_complete { "" } else { "; not all planned crashes have happened" };
    let clients = format::plural(run.clients.into(), "client");
    facts.push(("Crashes", format!("{} of each kind: {}{incomplete}", run.crashes, kinds.join("; "))));
    facts.push((
        "Load",
        format!("{clients}, each inserts a row and waits for the answer; each crash after 1.2 to 2.2 s"),
    ));
    facts.push(("Server", format!("{} {}", run.server.flavour, run.server.version)));
    if run.survival > 0.0 {
        let share = format::percent(run.survival);
        facts.push(("Torn", format!("{share} of the blocks in the disk's cache survive a power cut, by chance")));
    }
    let disk = run.disk.as_ref().map_or_else(|| "the host's own".to_owned(), disk);
    facts.push(("Disk", disk));
    facts.push(("Seed", run.seed.to_string()));
    facts
}

fn kind_text(kind: CrashKind) -> &'static str {
    match kind {
        CrashKind::Kill => "kill (SIGKILL of the server)",
        CrashKind::Os => "os (what was not flushed is gone)",
        CrashKind::Power => "power (the disk's volatile cache is gone too)",
    }
}

fn verdicts(analysis: &CrashAnalysis) -> Vec<String> {
    let mut verdicts: Vec<_> =
        analysis.not_proven.iter().map(|why| format!("NOT PROVEN: {}", not_proven_text(*why))).collect();
    let of_plan = || analysis.summaries.iter().filter(|one| one.role == CrashRole::Cell);
    let broke = of_plan().filter(|one| one.verdict == CrashVerdict::BrokePromise);
    verdicts.extend(broke.map(|one| {
        let CrashSummary { configuration, kind, crashes, crashes_with_loss, lost_max, .. } = one;
        format!(
            "{} promises to keep all, and lost up to {} in {crashes_with_loss} of {crashes} crashes ({kind})",
            configuration.settings_label(),
            format::plural(*lost_max, "row")
        )
    }));
    if verdicts.is_empty() {
        let lost = of_plan().filter(|one| one.lost_max > 0).count();
        verdicts.push(match lost {
            0 => "nothing was lost".to_owned(),
            _ => "losses only where the settings allow them".to_owned(),
        });
    }
    verdicts
}

fn not_proven_text(why: NotProven) -> String {
    match why {
        NotProven::NoControlThatKeeps { kind } => format!("{kind}: settings that keep all were not crashed"),
        NotProven::ControlLost { kind } => format!("{kind}: settings that keep all lost something"),
        NotProven::NoControlThatLoses { kind } => format!("{kind}: settings that must lose something were not crashed"),
        NotProven::ControlKept { kind } => format!("{kind}: settings that must lose something lost nothing"),
        NotProven::Holes { kind } => format!("{kind}: rows acknowledged after a lost one are there"),
    }
}

const HEADER: [&str; 12] = [
    "crash", "crashes", "tps", "p99", "lost max", "median", "window", "back", "unsent", "recovery", "verdict",
    "settings",
];

fn table<'a>(summaries: impl Iterator<Item = &'a CrashSummary>) -> DocumentTable {
    DocumentTable::new(HEADER, summaries.map(row))
}

fn row(one: &CrashSummary) -> Vec<TableEntry> {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let lost_max = match one.loss_share_max() {
        Some(share) => format!("0 (≤ {})", format::percent(share)),
        None => format::count(one.lost_max),
    };
    let texts = [
        one.kind.to_string(),
        one.crashes.to_string(),
        or_nothing(one.tps.map(format::tps)),
        or_nothing(one.response_us_p99.map(format::duration_us)),
        lost_max,
        format::whole(one.lost_median),
        or_nothing(one.loss_window_ms_max.map(|ms| format::duration_us(ms * 1e3))),
        format::count(one.recovered),
        format::count(one.unexpected),
        or_nothing(one.recovery_ms.map(|ms| format::duration_us(ms * 1e3))),
    ];
    let verdict = TableEntry { text: verdict_text(one.verdict).to_owned(), tone: tone(one) };
    texts.into_iter().map(TableEntry::from).chain([verdict, one.configuration.settings_label().into()]).collect()
}

fn verdict_text(verdict: CrashVerdict) -> &'static str {
    match verdict {
        CrashVerdict::Kept => "kept all",
        CrashVerdict::LostAsAllowed => "lost, as allowed",
        CrashVerdict::KeptByChance => "kept, without a promise",
        CrashVerdict::BrokePromise => "BROKE ITS PROMISE",
    }
}

fn tone(one: &CrashSummary) -> Tone {
    match one.verdict {
        CrashVerdict::Kept => Tone::Good,
        CrashVerdict::LostAsAllowed | CrashVerdict::KeptByChance => Tone::Plain,
        CrashVerdict::BrokePromise => Tone::Bad,
    }
}

fn broken(analysis: &CrashAnalysis) -> Vec<String> {
    let broken = analysis.summaries.iter().filter(|one| one.broken > 0);
    let line = |one: &CrashSummary| {
        format!("{} of {} ({}): {}", one.broken, one.crashes, one.kind, one.configuration.settings_label())
    };
    broken.map(line).collect()
}
