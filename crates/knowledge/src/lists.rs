//! Values that are lists, and words with the same meaning.

use std::collections::{BTreeMap, BTreeSet};

/// Sets, which servers show in an order of their own.
const SETS: [&str; 15] = [
    "aria_recover_options",
    "log_disabled_statements",
    "log_output",
    "log_slow_disabled_statements",
    "log_slow_filter",
    "log_slow_verbosity",
    "myisam_recover_options",
    "note_verbosity",
    "old_mode",
    "replica_skip_errors",
    "replica_type_conversions",
    "slave_skip_errors",
    "slave_type_conversions",
    "sql_mode",
    "tls_version",
];
/// Modes that stand for several, which a server shows beside them; which ones depends on its
/// version.
const COMBINED_MODES: [(&str, &[&str]); 2] = [
    (
        "ansi",
        &["ansi_quotes", "ignore_space", "only_full_group_by", "pipes_as_concat", "real_as_float"],
    ),
    (
        "traditional",
        &[
            "error_for_division_by_zero",
            "no_auto_create_user",
            "no_engine_substitution",
            "no_zero_date",
            "no_zero_in_date",
            "strict_all_tables",
            "strict_trans_tables",
        ],
    ),
];
/// `a=on,b=off`: a line changes what it names, and a server shows all.
const FLAGS: &str = "optimizer_switch";
/// Words that PostgreSQL takes for another one.
const SAME_WORDS: [(&str, &[&str]); 2] = [
    ("wal_level", &["archive", "hot_standby", "replica"]),
    ("wal_compression", &["on", "true", "yes", "1", "pglz"]),
];

/// Whether two values of a setting are the same list, or words for the same.
pub fn is_same_list(name: &str, one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    if name == FLAGS {
        return are_same_flags(&one, &other);
    }
    if SETS.contains(&name) {
        return without_parts(&one, &other) == without_parts(&other, &one);
    }
    SAME_WORDS
        .iter()
        .any(|(of, same)| *of == name && is_one_of(same, &one) && is_one_of(same, &other))
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(',').map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty()).collect()
}

fn is_one_of(same: &[&str], words: &BTreeSet<String>) -> bool {
    words.len() == 1 && words.iter().all(|word| same.contains(&word.as_str()))
}

/// Without the parts of modes that both have.
fn without_parts<'a>(words: &'a BTreeSet<String>, other: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let of_both =
        COMBINED_MODES.iter().filter(|(mode, _)| words.contains(*mode) && other.contains(*mode));
    let parts: Vec<_> = of_both.flat_map(|(_, parts)| *parts).collect();
    words.iter().map(String::as_str).filter(|word| !parts.contains(&word)).collect()
}

/// All flags of the shorter list are in the longer one, too.
fn are_same_flags(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    fn flags(words: &BTreeSet<String>) -> Option<BTreeMap<&str, &str>> {
        words.iter().map(|word| word.split_once('=')).collect()
    }
    let Some((one, other)) = flags(one).zip(flags(other)) else { return false };
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    !short.is_empty() && short.iter().all(|(flag, value)| long.get(flag) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What servers show of a line is compared by a test with servers.
    #[test]
    fn lists() {
        for (name, one, other) in [
            ("log_output", "TABLE,FILE", "FILE,TABLE"),
            ("sql_mode", " no_zero_date , ANSI_QUOTES", "ANSI_QUOTES,NO_ZERO_DATE"),
            ("sql_mode", "TRADITIONAL", "STRICT_TRANS_TABLES,TRADITIONAL,NO_ENGINE_SUBSTITUTION"),
            ("optimizer_switch", "mrr=on", "index_merge=off,mrr=on"),
            ("wal_level", "hot_standby", "replica"),
            ("wal_compression", "on", "pglz"),
        ] {
            assert!(
                is_same_list(name, one, other) && is_same_list(name, other, one),
                "{name} {one} {other}"
            );
        }
        for (name, one, other) in [
            ("search_path", "a,b", "b,a"),
            ("sql_mode", "", "ANSI_QUOTES"),
            ("sql_mode", "TRADITIONAL", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"),
            ("optimizer_switch", "mrr=off", "index_merge=off,mrr=on"),
            ("optimizer_switch", "mrr=on", "index_merge=off"),
            ("optimizer_switch", "", "index_merge=off"),
            ("wal_level", "minimal", "replica"),
            ("wal_compression", "lz4", "on"),
        ] {
            assert!(!is_same_list(name, one, other), "{name} {one} {other}");
        }
    }
}
