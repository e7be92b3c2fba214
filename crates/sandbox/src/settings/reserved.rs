//! Settings that a plan may not set.

use std::sync::LazyLock;

use serde::Deserialize;
use truetps_record::Family;

use super::names::canonical_name;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reserved {
    load_sessions: Vec<ReservedSettings>,
    mysql: Vec<ReservedSettings>,
    postgres: Vec<ReservedSettings>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReservedSettings {
    reason: String,
    names: Vec<String>,
}

static RESERVED: LazyLock<Reserved> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/reserved.toml"))
        .expect("reserved.toml is read by a test")
});

/// Why a plan may not set this; `None` if it may.
pub(crate) fn reserved_reason(family: Family, name: &str) -> Option<&'static str> {
    let groups = if family == Family::Mysql { &RESERVED.mysql } else { &RESERVED.postgres };
    load_session_reason(name).or_else(|| reason_among(groups, name))
}

/// Why no plan may set this, whatever its server is: sessions of a load do; `None` if it may.
pub fn load_session_reason(name: &str) -> Option<&'static str> {
    reason_among(&RESERVED.load_sessions, name)
}

fn reason_among(groups: &'static [ReservedSettings], name: &str) -> Option<&'static str> {
    let name = canonical_name(name);
    let fits = |known: &String| {
        known.strip_suffix('*').map_or(name == *known, |start| name.starts_with(start))
    };
    groups.iter().find(|group| group.names.iter().any(fits)).map(|group| group.reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_in_either_spelling() {
        assert!(reserved_reason(Family::Mysql, "data-dir").is_none());
        assert!(reserved_reason(Family::Mysql, "pid-file").unwrap().contains("own folder"));
        assert!(reserved_reason(Family::Mysql, "PORT").unwrap().contains("socket only"));
        for name in [
            "innodb_flush_log_at_trx_commit",
            "log_bin",
            "log_slow_admin_statements",
            "plugin_maturity",
        ] {
            assert!(reserved_reason(Family::Mysql, name).is_none(), "{name}");
        }
        for (family, name) in
            [(Family::Mysql, "AutoCommit"), (Family::Postgresql, "default_transaction_read_only")]
        {
            assert!(reserved_reason(family, name).unwrap().contains("is committed"), "{name}");
        }
        for name in [
            "wsrep_provider",
            "wsrep-notify-cmd",
            "plugin_load",
            "plugin-load-add",
            "early_plugin_load",
        ] {
            assert!(reserved_reason(Family::Mysql, name).unwrap().contains("other code"), "{name}");
        }
        for name in ["ssl_key", "admin_ssl_ca", "skip_networking", "feedback_url"] {
            assert!(
                reserved_reason(Family::Mysql, name).unwrap().contains("socket only"),
                "{name}"
            );
        }
        for name in [
            "keyring_file_data",
            "rocksdb_wal_dir",
            "log_slow_query_file",
            "sha256_password_private_key_path",
        ] {
            assert!(reserved_reason(Family::Mysql, name).unwrap().contains("own folder"), "{name}");
        }
    }

    #[test]
    fn a_postgresql_loads_no_other_code() {
        assert!(
            reserved_reason(Family::Postgresql, "fsync").is_none()
                && reserved_reason(Family::Postgresql, "jit").is_none()
        );
        for name in [
            "archive_command",
            "archive_library",
            "shared_preload_libraries",
            "local_preload_libraries",
        ] {
            assert!(
                reserved_reason(Family::Postgresql, name).unwrap().contains("other code"),
                "{name}"
            );
        }
    }
}
