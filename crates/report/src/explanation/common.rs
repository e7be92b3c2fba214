//! What both sides have because truetps chose it, and neither of them sets it.

use truetps_knowledge::people_value;
use truetps_record::{Explanation, same_setting};

use crate::own_settings;

/// Settings with the same chosen value in both.
fn common(explanation: &Explanation) -> Vec<(&str, &str)> {
    let of = |side: &'static str| {
        let server = if side == "a" { &explanation.a.server } else { &explanation.b.server };
        server
            .iter()
            .flat_map(|server| &server.chosen_settings)
            .map(|(name, value)| (name.as_str(), value.as_str()))
    };
    of("a")
        .filter(|(name, value)| {
            of("b").any(|(other, of_b)| other == *name && same_setting(value, of_b))
        })
        .collect()
}

/// `buffer pool 1 GiB, log 512 MiB`; `None` where nothing of the kind was chosen.
pub(crate) fn common_text(explanation: &Explanation) -> Option<String> {
    let all = common(explanation);
    own_settings::in_short(&all).map(|(text, _)| format!("{text} (chosen by truetps)"))
}

/// All of them, under the names of the server.
pub(super) fn common_settings(explanation: &Explanation) -> Option<String> {
    let all: Vec<_> = common(explanation)
        .into_iter()
        .map(|(name, value)| format!("{name}={}", people_value(name, value)))
        .collect();
    (!all.is_empty())
        .then(|| format!("{} (chosen by truetps: neither side sets them)", all.join(", ")))
}
