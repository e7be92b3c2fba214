//! What both sides have because truetps chose it, and neither of them sets it.

use truetps_knowledge::people_value;
use truetps_record::{ExplainedSide, Explanation, same_setting};

use crate::{format, own_settings};

/// Settings with the same chosen value in both.
fn common(explanation: &Explanation) -> Vec<(&str, &str)> {
    let of_b = chosen_settings(&explanation.b);
    let of_a = chosen_settings(&explanation.a).iter();
    let common = of_a.filter(|(name, value)| {
        of_b.iter().any(|(other, of_b)| other == name && same_setting(value, of_b))
    });
    common.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn chosen_settings(side: &ExplainedSide) -> &[(String, String)] {
    side.server.as_ref().map_or(&[], |server| &server.chosen_settings)
}

/// `buffer pool 1 GiB, log 512 MiB`; `None` where nothing of the kind was chosen.
pub(crate) fn common_text(explanation: &Explanation) -> Option<String> {
    let all = common(explanation);
    own_settings::in_short(&all).map(|(text, _)| format!("{text} (chosen by truetps)"))
}

/// The common settings under the names of the server.
pub(super) fn common_settings(explanation: &Explanation) -> Option<String> {
    let all = common(explanation).into_iter();
    let texts = all.map(|(name, value)| format!("{name}={}", people_value(name, value)));
    let texts = format::joined(texts, ", ")?;
    Some(format!("{texts} (chosen by truetps: neither side sets them)"))
}
