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
    parts.extend(ScreenPart::facts("Others", others_text(run)));
    parts.extend(ScreenPart::facts("Remedy", remedies(run)));
    parts.extend(ScreenPart::facts("Left out", left_out_text(run)));
    parts.extend(ScreenPart::facts("Trust", trust(run)));
    parts.push(ScreenPart::fact("Trials", trials_fact(run)));
    let common = common_text(&run.explanation)
        .map_or(String::new(), |text| format!("\nBoth sides have: {text}"));
    Screenful {
        title: title(&run.explanation) + &common,
        source: source(run),
        answer: answer(run),
        parts,
    }
    .draw(screen)
}

const HOW_TO_READ: &str = "Ratios of throughput. alone: added to A; last: added to A with all \
                           other causes; share: its part of the difference.";

fn source(run: &ExplainedRun) -> String {
    let mut parts = names::measured_on(&run.experiment);
    parts.push(run.plan.workload.kind.name().to_owned());
    parts.push(names::connections(run.explanation.a.configuration.connections()));
    parts.join(", ")
}
