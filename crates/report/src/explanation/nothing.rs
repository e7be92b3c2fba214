//! The answer where A and B do not differ in anything that can be measured: no trial, and no run
//! folder.

use truetps_causes::{Findings, Outcome};
use truetps_record::Explanation;

use super::common::common_settings;
use super::factors::{side_name, title};
use super::json::explanation_document;
use super::tables::left_out_table;
use crate::document::{Document, DocumentSection};
use crate::json::json_text;

pub const NOTHING_DIFFERS: &str = "A and B do not differ in anything that can be measured.";

/// The document of an explanation, without trials.
pub(crate) fn nothing_differs_json(experiment: &str, explanation: &Explanation) -> String {
    let findings = Findings { outcome: Outcome::NotReproduced, ..Findings::default() };
    json_text(&explanation_document(experiment, explanation, &findings, Vec::new()))
}

pub(crate) fn nothing_differs(explanation: &Explanation) -> Document {
    let mut facts = vec![("Answer", NOTHING_DIFFERS.to_owned())];
    facts.extend(common_settings(explanation).map(|text| ("Both have", text)));
    facts.extend([("A", side_name(&explanation.a)), ("B", side_name(&explanation.b))]);
    let left_out =
        DocumentSection::of("Not measured", [left_out_table(&explanation.left_out).block()]);
    Document { title: title(explanation), facts, sections: left_out.into_iter().collect() }
}
