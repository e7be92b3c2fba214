//! Variables that differ between any two servers and explain nothing.

use std::sync::LazyLock;

use serde::Deserialize;

const TEXT: &str = include_str!("../data/inert.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inert {
    identity: InertKind,
    state: InertKind,
    capacity: InertKind,
    place: DiskLocation,
}

/// Folders and files of a server, of which only their disk can matter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DiskLocation {
    names: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InertKind {
    about: String,
    patterns: Vec<String>,
}

static INERT: LazyLock<Inert> = LazyLock::new(|| toml::from_str(TEXT).expect("inert.toml is read by a test"));

/// What a variable is that never explains a difference; `None` for all that may.
pub fn inert_reason(name: &str) -> Option<&'static str> {
    let kinds = [&INERT.identity, &INERT.state, &INERT.capacity];
    let kind = kinds.into_iter().find(|kind| kind.patterns.iter().any(|pattern| matches(pattern, name)))?;
    Some(&kind.about)
}

/// Whether a variable says where files are that are written at commits, flushes or for large results.
pub(crate) fn is_place(name: &str) -> bool {
    INERT.place.names.iter().any(|known| known == name)
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
        for name in ["server_uuid", "gtid_binlog_pos", "version_compile_os", "report_host", "last_insert_id", "port"] {
            assert!(inert_reason(name).is_some(), "{name}");
        }
        for name in ["wsrep_on", "profiling", "lc_collate", "tmpdir", "innodb_log_group_home_dir"] {
            assert_eq!(inert_reason(name), None, "{name}");
        }
        assert!(is_place("tmpdir") && !is_place("datadir"));
        for name in ["sync_binlog", "report", "innodb_flush_method", "gtid_mode", "performance_schema"] {
            assert_eq!(inert_reason(name), None, "{name}");
        }
    }

    #[test]
    fn what_only_looks_inert() {
        for name in ["debug_no_sync", "debug_io_direct", "debug_discard_caches", "version_malloc_library"] {
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
}
