//! What each setting costs and loses in crashes, on one screen.

use truetps_analysis::{CrashAnalysis, CrashedCell};
use truetps_record::{CrashRole, CrashRun};

use super::layout::{ScreenPart, Screenful};
use crate::crash_report::{broken, crashes_fact, disk_fact, price_table, tables_fact, verdicts};
use crate::document::DocumentTable;
use crate::{TextScreen, format, names};

pub(crate) fn crash_summary(
    run: &CrashRun,
    analysis: &CrashAnalysis,
    screen: TextScreen,
) -> String {
    let (plan, controls): (Vec<_>, Vec<_>) =
        analysis.cells.iter().partition(|cell| cell.role == CrashRole::Cell);
    let mut parts: Vec<_> = ScreenPart::table(named_once(run, &plan)).into_iter().collect();
    if !plan.is_empty() {
        parts.push(ScreenPart::note(LOST.to_owned()));
    }
    let trust = match (controls.len(), &analysis.not_proven[..]) {
        (0, _) => "no control was crashed".to_owned(),
        (n, []) => format!("the controls ({n}) lost what they must lose, and nothing else"),
        (_, not_proven) => {
            format!("low: {} of the controls fail (Answer)", format::count(not_proven.len() as u64))
        }
    };
    parts.extend(ScreenPart::facts("Broken", broken(analysis)));
    parts.push(ScreenPart::fact("Trust", trust));
    parts.push(ScreenPart::fact("Crashes", crashes_fact(run)));
    parts.push(ScreenPart::fact("Disk", disk_fact(run)));
    parts.push(ScreenPart::fact("Tables", tables_fact(run)));
    let answer =
        verdicts(analysis).iter().map(|text| format!("{}.", names::capital(text))).collect();
    let cores = format::plural(run.host.cores.into(), "core");
    let source = format!(
        "{} {}, private, {cores}, {}",
        run.server.flavour,
        run.server.version,
        clients(run)
    );
    Screenful { title: format!("{}: {}", run.name, run.about), source, answer, parts }.draw(screen)
}

const LOST: &str = "The most acknowledged rows that were gone after one crash. \"0 (≤ 30 %)\": \
                    none was; at most that share of crashes would lose one.";

fn clients(run: &CrashRun) -> String {
    format::plural(run.clients.into(), "client")
}

/// The table, with the names of the settings above it where all cells have the same.
fn named_once(run: &CrashRun, cells: &[&CrashedCell]) -> DocumentTable {
    let table = price_table(run, cells.iter().copied());
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
