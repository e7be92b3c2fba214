//! Whether every acknowledged row is in the table, on one screen.

use super::layout::{ScreenPart, Screenful};
use crate::TextScreen;
use crate::verification::{
    VerifyInput, answer, comparison_fact, error_texts, example_texts, faults_fact, generator,
    kills_fact, response, rows_fact, table_fact, title, trust,
};

pub fn verification_summary(input: &VerifyInput<'_>, screen: TextScreen) -> String {
    let comparison = input.verification.comparison.as_ref();
    let mut parts = Vec::new();
    parts.extend(comparison.map(|found| ScreenPart::fact("Rows", rows_fact(found))));
    parts.extend(comparison.map(|found| ScreenPart::fact("Faults", faults_fact(found))));
    parts.extend(comparison.and_then(|found| ScreenPart::facts("First", example_texts(found))));
    parts.extend(response(input).map(|text| ScreenPart::fact("Response", text)));
    parts.extend(generator(input).map(|text| ScreenPart::fact("Generator", text)));
    parts.extend(kills_fact(&input.verification.kills).map(|text| ScreenPart::fact("Kills", text)));
    parts.extend(input.trial.and_then(|trial| ScreenPart::facts("Errors", error_texts(trial))));
    parts.extend(trust(input).map(|text| ScreenPart::fact("Trust", text)));
    parts.extend(comparison_fact(input).map(|text| ScreenPart::fact("Compared", text)));
    Screenful {
        title: title(input),
        source: table_fact(input),
        answer: vec![format!("{}.", answer(input))],
        parts,
    }
    .draw(screen)
}
