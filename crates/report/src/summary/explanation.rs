//! Why two configurations differ, on one screen.

use truetps_archive::ExplainedRun;

use super::layout::{ScreenPart, Screenful};
use crate::explanation::{
    answer, causes_table, common_text, left_out_text, others_text, remedies, title, trials_fact,
    trust, version_text,
};
use crate::{TextScreen, names};

pub(crate) fn explanation_summary(run: &ExplainedRun, screen: TextScreen) -> String {
    let mut parts: Vec<_> = ScreenPart::table(causes_table(run)).into_iter().collect();
    if !parts.is_empty() {
        parts.push(ScreenPart::note(HOW_TO_READ.to_owned()).optional());
    }
    parts.extend(version_text(run).map(|text| ScreenPart::fact("Version", text)));
    let others = others_text(run);
    parts.extend((!others.is_empty()).then(|| ScreenPart::facts("Others", others)));
    let remedies = remedies(run);
    parts.extend((!remedies.is_empty()).then(|| ScreenPart::facts("Remedy", remedies)));
    let left_out = left_out_text(run);
    parts.extend((!left_out.is_empty()).then(|| ScreenPart::facts("Left out", left_out)));
    let trust = trust(run);
    parts.extend((!trust.is_empty()).then(|| ScreenPart::facts("Trust", trust)));
    parts.push(ScreenPart::fact("Trials", trials_fact(run)));
    let common = common_text(&run.explanation)
        .map_or(String::new(), |text| format!("\nBoth sides have: {text}"));
    Screenful {
        title: title(&run.explanation) + &common,
        place: place(run),
        answer: answer(run),
        parts,
    }
    .draw(screen)
}

const HOW_TO_READ: &str = "Ratios of throughput. alone: added to A; last: added to A with all other causes; share: its part of the \
                           difference.";

fn short_load(run: &ExplainedRun) -> String {
    let connections = run.explanation.a.configuration.connections();
    format!("{}, {}", run.plan.workload.kind.name(), names::connections(connections))
}

fn place(run: &ExplainedRun) -> String {
    names::place(&run.experiment)
        .into_iter()
        .chain([short_load(run)])
        .collect::<Vec<_>>()
        .join(", ")
}
