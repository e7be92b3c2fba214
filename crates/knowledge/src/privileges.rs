//! The privilege that MariaDB 10.5 and later demand for setting a global variable.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::inert::matches;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrivilegeKinds {
    kind: Vec<PrivilegeKind>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrivilegeKind {
    privilege: String,
    patterns: Vec<String>,
}

static PRIVILEGES: LazyLock<PrivilegeKinds> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/privileges.toml")).expect("privileges.toml is read by a test")
});

/// `None`: SUPER.
pub fn mariadb_privilege(variable: &str) -> Option<&'static str> {
    let has = |kind: &&PrivilegeKind| kind.patterns.iter().any(|pattern| matches(pattern, variable));
    PRIVILEGES.kind.iter().find(has).map(|kind| kind.privilege.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_by_kind() {
        assert_eq!(mariadb_privilege("sync_binlog"), Some("BINLOG ADMIN"));
        assert_eq!(mariadb_privilege("replicate_do_db"), Some("REPLICATION SLAVE ADMIN"));
        assert_eq!(mariadb_privilege("innodb_io_capacity"), None);
    }
}
