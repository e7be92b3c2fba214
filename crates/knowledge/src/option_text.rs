//! What a line of an option file sets in a server, and which groups a server reads.

use truetps_record::{OptionStyle, Version};

/// Groups that a server of the MySQL family reads; of one version alone where `-8.0` follows.
const SERVER_GROUPS: [&str; 5] = ["mysqld", "mariadbd", "server", "mariadb", "galera"];
/// What programs and servers of MariaDB read.
const SHARED_GROUP: &str = "client-server";
/// Variables whose own name begins with what turns others off.
const SKIPS: [&str; 6] = [
    "skip_external_locking",
    "skip_name_resolve",
    "skip_networking",
    "skip_replica_start",
    "skip_show_database",
    "skip_slave_start",
];

/// Who reads a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupUse {
    Server,
    /// Servers of another version; or of one that is not known to be this one.
    OtherVersion,
    /// Programs that are no server, and `[mysqld1]` of several.
    Others,
}

/// Who reads this group, where the server is of this version.
pub fn group_use(group: &str, version: Option<&Version>) -> GroupUse {
    if SHARED_GROUP == group || SERVER_GROUPS.contains(&group) {
        return GroupUse::Server;
    }
    let suffix = SERVER_GROUPS.iter().find_map(|name| group.strip_prefix(name)?.strip_prefix('-'));
    match suffix.and_then(Version::parse) {
        None => GroupUse::Others,
        Some(of) if version.is_some_and(|version| version.series() == of.series()) => GroupUse::Server,
        Some(_) => GroupUse::OtherVersion,
    }
}

/// Name and value as variables have them: `_` in names, no prefix `loose_`; `None` for what no server could read.
pub fn server_setting(style: OptionStyle, name: &str, value: Option<&str>) -> Option<(String, String)> {
    let name = name.to_lowercase().replace('-', "_");
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(fine) || (value.is_none() && style == OptionStyle::Plain) {
        return None;
    }
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    if let Some(value) = value {
        return Some((name.to_owned(), value.to_owned()));
    }
    let off = ["skip_", "disable_"].iter().find_map(|front| name.strip_prefix(front));
    Some(match off {
        Some(rest) if !SKIPS.contains(&name) => (rest.to_owned(), "OFF".to_owned()),
        _ => (name.strip_prefix("enable_").unwrap_or(name).to_owned(), "ON".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        let of = |group: &str, version: &str| group_use(group, Version::parse(version).as_ref());
        for group in ["mysqld", "mariadb", "server", "client-server", "mysqld-8.0", "mariadbd-8.0"] {
            assert_eq!(of(group, "8.0.36"), GroupUse::Server, "{group}");
        }
        assert_eq!(of("mysqld-5.7", "8.0.36"), GroupUse::OtherVersion);
        assert_eq!(of("mariadb-10.5", "10.11.19"), GroupUse::OtherVersion);
        assert_eq!(of("mariadb-10.5", ""), GroupUse::OtherVersion, "nothing is known of the server");
        for group in ["mysqld1", "mysqld_safe", "client", "mysql", "mysqldump", "mysqld-x", "client-mariadb"] {
            assert_eq!(of(group, "8.0.36"), GroupUse::Others, "{group}");
        }
    }

    #[test]
    fn names_and_values() {
        let check = |name: &str, value: Option<&str>, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(server_setting(OptionStyle::Groups, name, value), expect, "{name}");
        };
        check("innodb-buffer-pool-size", Some("1G"), Some(("innodb_buffer_pool_size", "1G")));
        check("loose-x.y", Some("a b"), Some(("x.y", "a b")));
        check("skip-log-bin", None, Some(("log_bin", "OFF")));
        check("skip-networking", None, Some(("skip_networking", "ON")));
        check("skip-name-resolve", None, Some(("skip_name_resolve", "ON")));
        check("log-bin", None, Some(("log_bin", "ON")));
        check("<html>", None, None);
        assert_eq!(server_setting(OptionStyle::Plain, "one", None), None);
    }
}
