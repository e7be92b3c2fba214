//! Whether every acknowledged row is in the table, on one screen.

use super::layout::{ScreenPart, Screenful};
use truetps_archive::VerifiedRun;

use crate::TextScreen;
use crate::verification::{
    answer, comparison_fact, error_texts, example_texts, faults_fact, generator, kills_fact, place,
    response, rows_fact, title, trust,
};

pub(crate) fn verification_summary(input: &VerifiedRun, screen: TextScreen) -> String {
    let comparison = input.verification.comparison.as_ref();
    let mut parts = Vec::new();
    parts.extend(comparison.map(|found| ScreenPart::fact("Rows", rows_fact(found))));
    parts.extend(comparison.map(|found| ScreenPart::fact("Faults", faults_fact(found))));
    let examples = comparison.map(example_texts).unwrap_or_default();
    parts.extend((!examples.is_empty()).then(|| ScreenPart::facts("First", examples)));
    parts.extend(response(input).map(|text| ScreenPart::fact("Response", text)));
    parts.extend(generator(input).map(|text| ScreenPart::fact("Generator", text)));
    parts.extend(kills_fact(&input.verification.kills).map(|text| ScreenPart::fact("Kills", text)));
    let errors = input.trial.as_ref().map(error_texts).unwrap_or_default();
    parts.extend((!errors.is_empty()).then(|| ScreenPart::facts("Errors", errors)));
    parts.extend(trust(input).map(|text| ScreenPart::fact("Trust", text)));
    parts.extend(comparison_fact(input).map(|text| ScreenPart::fact("Compared", text)));
    Screenful {
        title: title(input),
        place: place(input),
        answer: vec![format!("{}.", answer(input))],
        parts,
    }
    .draw(screen)
}
