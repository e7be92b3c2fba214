//! What each setting costs and loses in crashes, on one screen.

use truetps_analysis::CrashedCell;
use truetps_archive::CrashedRun;
use truetps_record::{CrashRole, CrashRun};

use super::layout::{ScreenPart, Screenful};
use crate::crash_report::{
    broken, crashes_fact, disk_fact, disturbances, largest_note, price_table, tables_fact,
};
use crate::crash_words::{twins, verdicts};
use crate::document::DocumentTable;
use crate::{TextScreen, format, names};

pub(crate) fn crash_summary(input: &CrashedRun, screen: TextScreen) -> String {
    let CrashedRun { run, analysis, .. } = input;
    let plan: Vec<_> = analysis.cells.iter().filter(|cell| cell.role == CrashRole::Cell).collect();
    let mut parts: Vec<_> = ScreenPart::table(named_once(input, &plan)).into_iter().collect();
    if !plan.is_empty() {
        let largest = largest_note(&plan).map_or_else(String::new, |note| format!(" {note}"));
        parts.push(ScreenPart::note(format!("{LOST}{largest}")));
    }
    parts.extend(ScreenPart::facts("Broken", broken(analysis)));
    parts.extend(ScreenPart::facts("Trust", trust(input)));
    parts.push(ScreenPart::fact("Crashes", crashes_fact(run)));
    parts.push(ScreenPart::fact("Disk", disk_fact(run)));
    parts.push(ScreenPart::fact("Tables", tables_fact(run)));
    let answer = verdicts(run, analysis)
        .iter()
        .map(|text| format!("{}.", names::capital_word(text)))
        .collect();
    let cores = format::plural(run.host.cores.into(), "core");
    let source = format!(
        "{} {}, private, {cores}, {}",
        run.server.flavour,
        run.server.version,
        clients(run)
    );
    Screenful { title: format!("{}: {}", run.name, run.about), source, answer, parts }.draw(screen)
}

/// Whether the losses are proven, and the prices undisturbed.
fn trust(input: &CrashedRun) -> Vec<String> {
    let analysis = &input.analysis;
    let controls = analysis.cells.iter().filter(|cell| cell.role != CrashRole::Cell).count();
    let of_controls = match (controls, &analysis.not_proven[..]) {
        (0, _) => "no control was crashed".to_owned(),
        (n, []) => format!("the controls ({n}) lost what they must lose, and nothing else"),
        (_, not_proven) => {
            format!("low: {} of the controls fail (Answer)", format::count(not_proven.len() as u64))
        }
    };
    let of_prices = twins(analysis).into_iter().chain(disturbances(input));
    [of_controls].into_iter().chain(of_prices).collect()
}

const LOST: &str = "kill, os, power: the most acknowledged rows that were gone after one crash; 0 \
                    (≤ share): none was, and at most that share of crashes would lose one (95 %).";

fn clients(run: &CrashRun) -> String {
    format::plural(run.clients.into(), "client")
}

/// The table, with the names of the settings above it where all cells have the same.
fn named_once(input: &CrashedRun, cells: &[&CrashedCell]) -> DocumentTable {
    let table = price_table(input, cells);
    let names = cells.first().map_or_else(Vec::new, |cell| setting_names(cell));
    if names.is_empty() || cells.iter().any(|cell| setting_names(cell) != names) {
        return table;
    }
    let mut table = table.with_caption(Some(format!("By {}", names.join(" / ")))).of_numbers();
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        let levels: Vec<_> =
            cell.configuration.conditions().map(|(_, level)| format!("={level}")).collect();
        // The levels stand first, as in every table of settings.
        row.pop();
        row.insert(0, levels.join(" / ").into());
    }
    table.header.pop();
    table.header.insert(0, String::new());
    table
}

fn setting_names(cell: &CrashedCell) -> Vec<&str> {
    cell.configuration.conditions().map(|(name, _)| name).collect()
}
