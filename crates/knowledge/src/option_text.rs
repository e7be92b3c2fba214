//! What a line of an option file sets in a server, and which groups a server reads.

use truetps_files::OptionStyle;
use truetps_record::{Family, Flavour, Version, is_off};

use crate::setting::find_setting;

/// Groups that every server of the MySQL family reads.
const SERVER_GROUPS: [&str; 2] = ["mysqld", "server"];
/// Groups that MariaDB alone reads; its programs read `client-server`, too.
const MARIADB_GROUPS: [&str; 4] = ["mariadb", "mariadbd", "client-server", "galera"];
const CLUSTER_GROUP: &str = "mysql_cluster";
/// Groups that also exist for one version: `mysqld-8.0`.
const VERSIONED_GROUPS: [&str; 3] = ["mysqld", "mariadb", "mariadbd"];
/// Options whose own name begins with a prefix that turns others off.
const SKIPS: [&str; 9] = [
    "skip_external_locking",
    "skip_grant_tables",
    "skip_host_cache",
    "skip_name_resolve",
    "skip_networking",
    "skip_replica_start",
    "skip_show_database",
    "skip_slave_start",
    "skip_stack_trace",
];
/// Options whose lines all count.
const ADDING: [&str; 4] =
    ["innodb_monitor_disable", "innodb_monitor_enable", "optimizer_switch", "plugin_load_add"];
const LOG_BIN: &str = "log_bin";

/// Who reads a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupUse {
    Server,
    /// Servers of another version; or of one that is not known to be this one.
    OtherVersion,
    /// Servers of MariaDB, and this one is a MySQL.
    OtherFamily,
    /// Servers that are built for it.
    OtherBuild,
    /// Programs that are not servers, and `[mysqld1]` of mysqld_multi.
    Others,
}

impl GroupUse {
    /// The note about a group of a server that is left out.
    pub fn note(self, group: &str) -> Option<String> {
        let whose = match self {
            Self::OtherVersion => "it is for servers of that version",
            Self::OtherFamily => "only a MariaDB reads it",
            Self::OtherBuild => "only a MySQL that is built with NDB reads it",
            Self::Server | Self::Others => return None,
        };
        Some(format!("group [{group}] is left out: {whose}"))
    }
}

/// Who reads this group, where the server is of this family and version. Of a family that is not
/// known, all groups are read.
///
/// Servers do not mind the case of a group's name.
pub fn group_use(group: &str, flavour: Option<Flavour>, version: Option<&Version>) -> GroupUse {
    let group = group.to_ascii_lowercase();
    let group = group.as_str();
    let is_mysql = matches!(flavour, Some(Flavour::Mysql | Flavour::Percona));
    if SERVER_GROUPS.contains(&group) {
        return GroupUse::Server;
    }
    let suffix = VERSIONED_GROUPS
        .iter()
        .find_map(|name| Some((*name, group.strip_prefix(name)?.strip_prefix('-')?)));
    let of = suffix.filter(|(_, suffix)| suffix.starts_with(|c: char| c.is_ascii_digit()));
    if is_mysql && (MARIADB_GROUPS.contains(&group) || of.is_some_and(|(name, _)| name != "mysqld"))
    {
        return GroupUse::OtherFamily;
    }
    match of {
        None if MARIADB_GROUPS.contains(&group) => GroupUse::Server,
        None if group == CLUSTER_GROUP => GroupUse::OtherBuild,
        None => GroupUse::Others,
        Some((name, suffix)) if version.is_some_and(|version| is_series(name, suffix, version)) => {
            GroupUse::Server
        }
        Some(_) => GroupUse::OtherVersion,
    }
}

/// `8.0` of an 8.0.36; MariaDB has groups for all versions of 11, too.
fn is_series(name: &str, suffix: &str, version: &Version) -> bool {
    let (major, minor) = version.series();
    let is_of_major = name != "mysqld" && major >= 11 && suffix == major.to_string();
    suffix == format!("{major}.{minor}") || is_of_major
}

/// Name and value as variables have them: `_` in names, no prefix `loose_`, and what `skip_`,
/// `disable_` and `enable_` do; `None` for what no server could read. A MySQL knows a name by its
/// case: there it stays as it is written.
pub fn server_setting(
    style: OptionStyle,
    flavour: Option<Flavour>,
    name: &str,
    value: Option<&str>,
) -> Option<(String, String)> {
    let minds_case =
        style == OptionStyle::Groups && matches!(flavour, Some(Flavour::Mysql | Flavour::Percona));
    let name = if minds_case { name.replace('-', "_") } else { variable_name(name) };
    if !is_name(style, &name) || (value.is_none() && style == OptionStyle::Plain) {
        return None;
    }
    if style == OptionStyle::Plain {
        return Some((name, value?.to_owned()));
    }
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    // After such a prefix only the value 0 matters to servers: it inverts the prefix.
    let is_inverted = value == Some("0");
    let disabled = name.strip_prefix("skip_").or_else(|| name.strip_prefix("disable_"));
    let (name, text) = match (disabled, name.strip_prefix("enable_")) {
        (Some(rest), _) if !SKIPS.contains(&name) => (rest, if is_inverted { "ON" } else { "OFF" }),
        (_, Some(rest)) => (rest, if is_inverted { "OFF" } else { "ON" }),
        // Any value is a file name, even OFF.
        _ if name == LOG_BIN => (name, "ON"),
        _ => (name, value.unwrap_or("ON")),
    };
    Some((name.to_owned(), text.to_owned()))
}

fn is_name(style: OptionStyle, name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| match c {
            '_' | '.' => true,
            c if style == OptionStyle::Plain => c.is_alphanumeric(),
            c => c.is_ascii_alphanumeric(),
        })
}

/// What a further line of this name sets, as a list with what the lines before it have set; `None`:
/// it replaces them.
pub fn added_line(name: &str, before: &str, value: &str) -> Option<String> {
    let is_filter = (name.starts_with("replicate_") || name.starts_with("binlog_"))
        && (name.ends_with("_db") || name.ends_with("_table"));
    (is_filter || ADDING.contains(&name)).then(|| format!("{before},{value}"))
}

/// Whose file it is: groups are of the MySQL family alone, and so is a part of such a file without
/// one, if its names say so.
pub fn option_family(style: OptionStyle, names: &[&str]) -> Family {
    let [of_mysql, of_postgres] = [Family::Mysql, Family::Postgresql].map(|family| {
        let settings = names.iter().filter_map(|name| find_setting(name));
        settings.filter(|setting| setting.is_of(family)).count()
    });
    if style == OptionStyle::Groups || of_mysql > of_postgres {
        Family::Mysql
    } else {
        Family::Postgresql
    }
}

/// A note about a misleading line of an option file: its value has another effect than it seems to.
pub fn setting_note(style: OptionStyle, name: &str, value: Option<&str>) -> Option<String> {
    let value = value.filter(|value| style == OptionStyle::Groups && is_off(value))?;
    let name = variable_name(name);
    (name.strip_prefix("loose_").unwrap_or(&name) == LOG_BIN).then(|| {
        format!(
            "log_bin={value} turns the binlog on, in files of the name {value}: `skip-log-bin` \
                 turns it off"
        )
    })
}

/// Whether a server that does not know the name ignores it with a warning.
pub fn is_loose(style: OptionStyle, name: &str) -> bool {
    style == OptionStyle::Groups && variable_name(name).starts_with("loose_")
}

fn variable_name(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_server_may_not_know() {
        assert!(
            is_loose(OptionStyle::Groups, "Loose-foo") && !is_loose(OptionStyle::Groups, "foo")
        );
        assert!(!is_loose(OptionStyle::Plain, "loose_foo"));
    }

    #[test]
    fn families() {
        assert_eq!(option_family(OptionStyle::Plain, &["fsync", "work_mem"]), Family::Postgresql);
        assert_eq!(option_family(OptionStyle::Plain, &["work_mem"]), Family::Postgresql);
        assert_eq!(
            option_family(OptionStyle::Plain, &["sync_binlog", "max_connections"]),
            Family::Mysql
        );
        assert_eq!(option_family(OptionStyle::Groups, &["fsync"]), Family::Mysql);
    }

    #[test]
    fn groups() {
        let of =
            |group: &str, version: &str| group_use(group, None, Version::parse(version).as_ref());
        for group in ["mysqld", "mariadb", "server", "client-server", "mysqld-8.0", "mariadbd-8.0"]
        {
            assert_eq!(of(group, "8.0.36"), GroupUse::Server, "{group}");
        }
        assert_eq!(
            (of("MySQLd", "8.0.36"), of(" mysqld", "8.0.36")),
            (GroupUse::Server, GroupUse::Others)
        );
        assert_eq!(
            (of("mariadb-11", "11.8.6"), of("mariadb-10", "10.11.6")),
            (GroupUse::Server, GroupUse::OtherVersion)
        );
        assert_eq!(
            (of("mysqld-8.0.36", "8.0.36"), of("mysql_cluster", "9.7.4")),
            (GroupUse::OtherVersion, GroupUse::OtherBuild)
        );
        assert_eq!(of("mysqld-5.7", "8.0.36"), GroupUse::OtherVersion);
        assert_eq!(of("mysqld-26.7", "26.7.0"), GroupUse::Server);
        assert_eq!(of("mysqld-26.10", "26.7.0"), GroupUse::OtherVersion);
        assert_eq!(of("mariadb-10.5", "10.11.19"), GroupUse::OtherVersion);
        assert_eq!(
            of("mariadb-10.5", ""),
            GroupUse::OtherVersion,
            "nothing is known of the server"
        );
        for group in
            ["mysqld1", "mysqld_safe", "client", "mysql", "mysqldump", "mysqld-x", "client-mariadb"]
        {
            assert_eq!(of(group, "8.0.36"), GroupUse::Others, "{group}");
        }
        for group in ["mariadb", "mariadbd", "client-server", "galera", "mariadb-10.11"] {
            let of = |flavour| group_use(group, Some(flavour), Version::parse("10.11.19").as_ref());
            assert_eq!(of(Flavour::Mysql), GroupUse::OtherFamily, "{group}");
            assert_eq!(of(Flavour::Percona), GroupUse::OtherFamily, "{group}");
            assert_eq!(of(Flavour::Mariadb), GroupUse::Server, "{group}");
        }
        let mysql =
            |group: &str| group_use(group, Some(Flavour::Mysql), Version::parse("8.0.36").as_ref());
        assert_eq!(
            (mysql("mysqld"), mysql("server"), mysql("mysqld-8.0")),
            (GroupUse::Server, GroupUse::Server, GroupUse::Server)
        );
        assert_eq!(mysql("mysqld-5.7"), GroupUse::OtherVersion);
    }

    #[test]
    fn names_and_values() {
        let check = |name: &str, value: Option<&str>, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(server_setting(OptionStyle::Groups, None, name, value), expect, "{name}");
        };
        check("innodb-buffer-pool-size", Some("1G"), Some(("innodb_buffer_pool_size", "1G")));
        check("loose-x.y", Some("a b"), Some(("x.y", "a b")));
        check("skip-log-bin", None, Some(("log_bin", "OFF")));
        check("skip-networking", None, Some(("skip_networking", "ON")));
        check("skip-name-resolve", None, Some(("skip_name_resolve", "ON")));
        check("log-bin", None, Some(("log_bin", "ON")));
        // A name of files, whatever it looks like.
        for value in ["OFF", "0", "FALSE", "/var/binlog", ""] {
            check("log-bin", Some(value), Some(("log_bin", "ON")));
        }
        for name in ["skip-log-bin", "disable-log-bin", "loose_skip_log_bin"] {
            check(name, Some("1"), Some(("log_bin", "OFF")));
            check(name, Some("OFF"), Some(("log_bin", "OFF")));
            check(name, Some("0"), Some(("log_bin", "ON")));
        }
        check("skip-innodb-doublewrite", Some("1"), Some(("innodb_doublewrite", "OFF")));
        check("enable-innodb-doublewrite", Some("0"), Some(("innodb_doublewrite", "OFF")));
        check("enable-innodb-doublewrite", Some("1"), Some(("innodb_doublewrite", "ON")));
        check("skip-networking", Some("0"), Some(("skip_networking", "0")));
        check("<html>", None, None);
        let of_mysql =
            server_setting(OptionStyle::Groups, Some(Flavour::Mysql), "Max-Connections", Some("7"));
        assert_eq!(
            of_mysql,
            Some(("Max_Connections".to_owned(), "7".to_owned())),
            "which it does not know"
        );
        assert_eq!(server_setting(OptionStyle::Plain, None, "one", None), None);
        let plain = server_setting(OptionStyle::Plain, None, "enable_sort", Some("off"));
        assert_eq!(
            plain,
            Some(("enable_sort".to_owned(), "off".to_owned())),
            "a name of PostgreSQL"
        );
    }

    #[test]
    fn a_binlog_that_is_called_off() {
        let note = |name: &str, value| setting_note(OptionStyle::Groups, name, value);
        assert!(note("log-bin", Some("OFF")).unwrap().contains("`skip-log-bin` turns it off"));
        assert!(note("loose-log_bin", Some("0")).is_some());
        assert_eq!(
            (note("log-bin", Some("ON")), note("log-bin", None), note("sync_binlog", Some("0"))),
            (None, None, None)
        );
    }
}
