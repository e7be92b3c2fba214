//! What both sides have because truetps chose it, and neither of them sets it.

use truetps_knowledge::people_value;
use truetps_record::{Explanation, same_setting};

/// Settings that a reader misses first, and what they are called.
const NAMED: [(&str, &str); 6] = [
    ("innodb_buffer_pool_size", "buffer pool"),
    ("innodb_redo_log_capacity", "log"),
    ("innodb_log_file_size", "log"),
    ("shared_buffers", "shared buffers"),
    ("max_wal_size", "WAL of at most"),
    ("performance_schema", "performance schema"),
];

/// Settings with the same chosen value in both.
fn common(explanation: &Explanation) -> Vec<(&str, &str)> {
    let of = |side: &'static str| {
        let server = if side == "a" { &explanation.a.server } else { &explanation.b.server };
        server.iter().flat_map(|server| &server.chosen_settings).map(|(name, value)| (name.as_str(), value.as_str()))
    };
    of("a").filter(|(name, value)| of("b").any(|(other, of_b)| other == *name && same_setting(value, of_b))).collect()
}

/// `buffer pool 1 GiB, log 512 MiB`; `None` where nothing of the kind was chosen.
pub(crate) fn common_text(explanation: &Explanation) -> Option<String> {
    let all = common(explanation);
    let value_of = |wanted: &str| all.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let files =
        |name: &str| value_of("innodb_log_files_in_group").filter(|n| name == "innodb_log_file_size" && *n != "1");
    let text = |(name, word): &(&str, &str)| {
        let value = people_value(name, value_of(name)?);
        Some(files(name).map_or_else(|| format!("{word} {value}"), |n| format!("{word} {n} × {value}")))
    };
    let texts: Vec<_> = NAMED.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| format!("{} (chosen by truetps)", texts.join(", ")))
}

/// All of them, under the names of the server.
pub(super) fn common_settings(explanation: &Explanation) -> Option<String> {
    let all: Vec<_> =
        common(explanation).into_iter().map(|(name, value)| format!("{name}={}", people_value(name, value))).collect();
    (!all.is_empty()).then(|| format!("{} (chosen by truetps: neither side sets them)", all.join(", ")))
}
