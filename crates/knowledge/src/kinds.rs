//! Kinds of variables, by patterns of their names: those that differ between any two servers and
//! explain nothing, those that are never changed on an external server, and those that take a
//! privilege of MariaDB.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableKinds {
    kind: Vec<VariableKind>,
    /// Folders and files of a server, of which only their disk can matter.
    #[serde(default)]
    paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableKind {
    about: String,
    patterns: Vec<String>,
}

impl VariableKinds {
    fn read(text: &str) -> Self {
        toml::from_str(text).expect("each file is read by a test")
    }

    /// The description of the first kind that the variable belongs to.
    fn about(&self, name: &str) -> Option<&str> {
        let kind = self
            .kind
            .iter()
            .find(|kind| kind.patterns.iter().any(|pattern| matches(pattern, name)))?;
        Some(&kind.about)
    }
}

static INERT: LazyLock<VariableKinds> =
    LazyLock::new(|| VariableKinds::read(include_str!("../data/inert.toml")));
static IRREVERSIBLE: LazyLock<VariableKinds> =
    LazyLock::new(|| VariableKinds::read(include_str!("../data/irreversible.toml")));
static PRIVILEGES: LazyLock<VariableKinds> =
    LazyLock::new(|| VariableKinds::read(include_str!("../data/privileges.toml")));

/// The kind of a variable that never explains a difference; `None` for all others.
pub fn inert_reason(name: &str) -> Option<&'static str> {
    INERT.about(name)
}

/// Whether a variable says where files are that are written at commits, flushes or for large
/// results.
pub(crate) fn is_path(name: &str) -> bool {
    INERT.paths.iter().any(|known| known == name)
}

/// Why restoring the value would not undo the effect of a change; `None` if it would.
pub fn irreversible_reason(name: &str) -> Option<&'static str> {
    IRREVERSIBLE.about(&name.to_lowercase())
}

/// The privilege that MariaDB 10.5 and later demand for setting a global variable. `None`: SUPER.
pub fn mariadb_privilege(variable: &str) -> Option<&'static str> {
    PRIVILEGES.about(variable)
}

/// `*` in the pattern stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((front, rest)) => name.strip_prefix(front).is_some_and(|behind| {
            (0..=behind.len()).any(|at| behind.is_char_boundary(at) && matches(rest, &behind[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for name in [
            "server_uuid",
            "gtid_binlog_pos",
            "version_compile_os",
            "report_host",
            "last_insert_id",
            "port",
        ] {
            assert!(inert_reason(name).is_some(), "{name}");
        }
        for name in ["wsrep_on", "profiling", "lc_collate", "tmpdir", "innodb_log_group_home_dir"] {
            assert_eq!(inert_reason(name), None, "{name}");
        }
        assert!(is_path("tmpdir") && !is_path("datadir"));
        for name in
            ["sync_binlog", "report", "innodb_flush_method", "gtid_mode", "performance_schema"]
        {
            assert_eq!(inert_reason(name), None, "{name}");
        }
    }

    #[test]
    fn what_only_looks_inert() {
        for name in
            ["debug_no_sync", "debug_io_direct", "debug_discard_caches", "version_malloc_library"]
        {
            assert_eq!(inert_reason(name), None, "{name}");
        }
        let sizes = inert_reason("performance_schema_digests_size").unwrap();
        assert!(sizes.starts_with("how much the performance schema can keep"), "{sizes}");
    }

    #[test]
    fn nothing_is_explained_and_inert() {
        for setting in crate::settings() {
            assert_eq!(inert_reason(&setting.name), None, "{}", setting.name);
        }
    }

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
        for name in [
            "sync_binlog",
            "innodb_flush_log_at_trx_commit",
            "innodb_io_capacity",
            "binlog_format",
            "max_binlog_size",
        ] {
            assert_eq!(irreversible_reason(name), None, "{name}");
        }
    }

    #[test]
    fn privileges_by_kind() {
        assert_eq!(mariadb_privilege("sync_binlog"), Some("BINLOG ADMIN"));
        assert_eq!(mariadb_privilege("replicate_do_db"), Some("REPLICATION SLAVE ADMIN"));
        assert_eq!(mariadb_privilege("innodb_io_capacity"), None);
    }
}
