//! Variables that are never changed on an external server, even if the server allows it.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::inert::matches;

const TEXT: &str = include_str!("../data/irreversible.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Irreversible {
    kind: Vec<IrreversibleKind>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IrreversibleKind {
    about: String,
    patterns: Vec<String>,
}

static IRREVERSIBLE: LazyLock<Irreversible> =
    LazyLock::new(|| toml::from_str(TEXT).expect("irreversible.toml is read by a test"));

/// Why putting the old value back would not undo what a change has done; `None` where nothing speaks against it.
pub fn irreversible_reason(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let has = |kind: &&IrreversibleKind| kind.patterns.iter().any(|pattern| matches(pattern, &name));
    IRREVERSIBLE.kind.iter().find(has).map(|kind| kind.about.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_undone() {
        for name in [
            "expire_logs_days",
            "binlog_expire_logs_seconds",
            "READ_ONLY",
            "offline_mode",
            "max_connections",
            "gtid_mode",
            "wsrep_slave_threads",
            "group_replication_consistency",
            "rpl_semi_sync_source_timeout",
            "validate_password.policy",
            "init_connect",
            "event_scheduler",
        ] {
            assert!(irreversible_reason(name).is_some(), "{name}");
        }
        for name in
            ["sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_io_capacity", "binlog_format", "max_binlog_size"]
        {
            assert_eq!(irreversible_reason(name), None, "{name}");
        }
    }
}
