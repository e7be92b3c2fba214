//! What a comparison of option files cannot see: values that a file leaves to the server, and
//! options without a variable.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;
use truetps_record::{Family, Flavour, Version};

use crate::kinds::matches;
use crate::setting::find_setting;
use crate::side::SettingsSide;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionsFile {
    options: Vec<Options>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    of: Vec<Flavour>,
    before: Option<String>,
    names: Vec<String>,
}

static OPTIONS: LazyLock<Vec<Options>> = LazyLock::new(|| {
    let file: OptionsFile =
        toml::from_str(include_str!("../data/options.toml")).expect("the file is read by a test");
    file.options
});

impl Options {
    fn are_of(&self, flavour: Flavour, version: &Version) -> bool {
        let flavour = if flavour == Flavour::Percona { Flavour::Mysql } else { flavour };
        let before =
            self.before.as_deref().filter(|_| flavour == Flavour::Mysql).and_then(Version::parse);
        self.of.contains(&flavour) && before.is_none_or(|before| *version < before)
    }
}

/// Whether a server takes this option in its file, and shows no variable of that name.
pub fn has_no_variable(name: &str, flavour: Flavour, version: &Version) -> bool {
    options_without_variable(flavour, version).any(|pattern| matches(pattern, name))
}

/// Patterns of all such options of a server.
pub fn options_without_variable(
    flavour: Flavour,
    version: &Version,
) -> impl Iterator<Item = &'static str> {
    let of_server = OPTIONS.iter().filter(move |options| options.are_of(flavour, version));
    of_server.flat_map(|options| options.names.iter().map(String::as_str))
}

/// What the servers that `side` may be of use where it does not set `name`: the default of its
/// version, or of the other side's; where neither is known, the one that all versions of the family
/// have. `None`: not known.
pub(crate) fn default_where_unset(
    name: &str,
    side: &SettingsSide,
    other: &SettingsSide,
) -> Option<String> {
    let setting = find_setting(name)?;
    let flavour = side.flavour.or(other.flavour);
    let version = side.version.as_deref().or(other.version.as_deref()).and_then(Version::parse);
    if let Some((flavour, version)) = flavour.zip(version) {
        return setting.span(flavour, &version)?.default.clone();
    }
    let family = side.family.or(other.family);
    let possible = setting
        .spans()
        .iter()
        .filter(|span| family.is_none_or(|family| Family::from(span.flavour()) == family));
    let defaults: BTreeSet<_> = possible.map(|span| span.default.clone()).collect();
    if defaults.len() == 1 { defaults.into_iter().next().flatten() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_servers() {
        let has = |name: &str, flavour, version: &str| {
            has_no_variable(name, flavour, &Version::parse(version).unwrap())
        };
        for name in
            ["user", "symbolic_links", "default_time_zone", "plugin_load_add", "skip_host_cache"]
        {
            assert!(
                has(name, Flavour::Mysql, "8.0.36") && has(name, Flavour::Mariadb, "11.8.6"),
                "{name}"
            );
        }
        assert!(
            !has("skip_host_cache", Flavour::Mysql, "9.7.0")
                && !has("ssl", Flavour::Percona, "9.7.0")
        );
        assert!(
            has("ssl", Flavour::Percona, "8.0.36")
                && has("performance_schema_consumer_x", Flavour::Mysql, "9.7.0")
        );
        assert!(
            !has("user", Flavour::Postgresql, "15.8")
                && !has("sync_binlog", Flavour::Mysql, "8.0.36")
        );
    }

    #[test]
    fn defaults_of_all_versions() {
        let side = |family| SettingsSide { family, ..SettingsSide::default() };
        let of = |name: &str, family| default_where_unset(name, &side(family), &side(None));
        assert_eq!(of("innodb_flush_log_at_trx_commit", Some(Family::Mysql)).as_deref(), Some("1"));
        assert_eq!(of("sync_binlog", Some(Family::Mysql)), None, "0 or 1");
        assert_eq!(of("fsync", Some(Family::Postgresql)).as_deref(), Some("on"));
        let of_server = |version: &str| {
            let server = SettingsSide {
                flavour: Some(Flavour::Mysql),
                version: Some(version.to_owned()),
                ..side(None)
            };
            default_where_unset("sync_binlog", &side(None), &server)
        };
        assert_eq!(
            (of_server("5.6.24").as_deref(), of_server("8.0.36").as_deref()),
            (Some("0"), Some("1"))
        );
    }
}
