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
    let of_role = |is_plan: bool| {
        analysis.cells.iter().filter(move |cell| (cell.role == CrashRole::Cell) == is_plan)
    };
    let plan: Vec<_> = of_role(true).collect();
    let mut parts: Vec<_> = ScreenPart::table(named_once(run, &plan)).into_iter().collect();
    if !plan.is_empty() {
        parts.push(ScreenPart::note(LOST.to_owned()));
    }
    let controls = of_role(false).count();
    let trust = match (controls, &analysis.not_proven[..]) {
        (0, _) => "no control was crashed".to_owned(),
        (n, []) => format!("the controls ({n}) lost what they must lose, and nothing else"),
        (_, not_proven) => {
            format!("low: {} of the controls fail (Answer)", format::count(not_proven.len() as u64))
        }
    };
    let broken = broken(analysis);
    parts.extend((!broken.is_empty()).then(|| ScreenPart::facts("Broken", broken)));
    parts.push(ScreenPart::fact("Trust", trust));
    parts.push(ScreenPart::fact("Crashes", crashes_fact(run)));
    parts.push(ScreenPart::fact("Disk", disk_fact(run)));
    parts.push(ScreenPart::fact("Tables", tables_fact(run)));
    let answer =
        verdicts(analysis).iter().map(|text| format!("{}.", names::capital(text))).collect();
    let cores = format::plural(run.host.cores.into(), "core");
    let place = format!(
        "{} {}, private, {cores}, {}",
        run.server.flavour,
        run.server.version,
        clients(run)
    );
    Screenful { title: format!("{}: {}", run.name, run.about), place, answer, parts }.draw(screen)
}

const LOST: &str = "The most acknowledged rows that were gone after one crash. \"0 (≤ 30 %)\": none was; at most that share of \
                    crashes would lose one.";

fn clients(run: &CrashRun) -> String {
    format::plural(run.clients.into(), "client")
}

/// With the settings' names above the table, where all have the same.
fn named_once(run: &CrashRun, cells: &[&CrashedCell]) -> DocumentTable {
    let table = price_table(run, cells.iter().copied());
    let names = |cell: &CrashedCell| {
        cell.configuration.conditions().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let Some(first) = cells.first().map(|cell| names(cell)).filter(|first| !first.is_empty())
    else {
        return table;
    };
    if cells.iter().any(|cell| names(cell) != first) {
        return table;
    }
    let mut table = DocumentTable {
        caption: Some(format!("By {}", first.join(" / "))),
        words_last: false,
        ..table
    };
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
