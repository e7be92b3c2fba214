//! What differs between the settings of two servers, most likely to matter first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use truetps_record::{Flavour, SCHEMA_VERSION, Version, same_setting};

use crate::durability::{Durability, judge};
use crate::inert::{inert_reason, is_place};
use crate::setting::{Change, Group, Setting, known};
use crate::units::{same_amount, with_unit};

/// The settings of one server, wherever they were read.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// `capture`, `server`, `run folder` or `option file`.
    pub kind: String,
    /// `None` where it does not say so: an option file.
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    /// Whether a setting that is not in it is one that the server does not have.
    pub is_complete: bool,
    pub settings: BTreeMap<String, SideValue>,
    /// What could not be read, or was chosen, and why.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideValue {
    pub value: String,
    /// Where it was set: a file, a command line, `compiled`.
    pub origin: Option<String>,
    /// What the server itself calls the default.
    pub default: Option<String>,
    /// What PostgreSQL counts the value in: `8kB`, `ms`.
    pub unit: Option<String>,
}

/// One side of a difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Placed {
    /// `None` where the side does not have it.
    pub value: Option<String>,
    pub origin: Option<String>,
    /// Of this side's version.
    pub default: Option<String>,
    /// What the value means for a process crash, and for a power cut.
    pub process_crash: Option<String>,
    pub power_cut: Option<String>,
    /// Why the value does nothing here: the switch that it needs is off.
    pub without_effect: Option<String>,
    /// Where this side does not have the setting: what it has in its place.
    pub counterparts: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub name: String,
    /// `None` for a setting that nothing is known of.
    pub group: Option<Group>,
    pub weight: u32,
    pub meaning: Option<String>,
    pub belongs_with: Vec<String>,
    pub change: Option<Change>,
    /// Why it is folded away; `None` where it is shown.
    pub folded: Option<String>,
    pub a: Placed,
    pub b: Placed,
}

/// What is said of a side itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideFacts {
    pub name: String,
    pub kind: String,
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    pub durability: Option<Durability>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    pub schema_version: u32,
    pub a: SideFacts,
    pub b: SideFacts,
    /// Known ones first, by group and weight; then unknown ones; then those that are folded away.
    pub differences: Vec<Difference>,
    /// Settings that both have with the same value.
    pub same: usize,
    /// Settings that are in one side only because the other one is an option file.
    pub not_compared: usize,
}

impl Diff {
    pub fn shown(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| difference.folded.is_none())
    }

    /// How many are folded away, by the reason.
    pub fn folded(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for reason in self.differences.iter().filter_map(|difference| difference.folded.as_deref()) {
            *counts.entry(reason).or_insert(0) += 1;
        }
        counts
    }
}

const RENAMED: &str = "the other server has the same value under another name";
const SAME_PLACE: &str = "files of the server: inside both data folders, or outside of both";
const OWN_DEFAULTS: &str = "nothing is known of it, and each of the two versions has its own default";
const ONE_SIDED: &str = "nothing is known of it, and only one of the two servers has it";

/// Compares two sides.
pub fn diff(a: &Side, b: &Side) -> Diff {
    let names: BTreeSet<&str> = a.settings.keys().chain(b.settings.keys()).map(String::as_str).collect();
    let (mut differences, mut same, mut not_compared) = (Vec::new(), 0, 0);
    for name in names {
        let values = (a.settings.get(name), b.settings.get(name));
        match values {
            (Some(of_a), Some(of_b)) if is_same(name, of_a, of_b) && !works_in_one(name, a, b) => same += 1,
            // An option file says nothing of what is not in it. Two of them are compared as they are.
            (None, Some(_)) if !a.is_complete && b.is_complete => not_compared += 1,
            (Some(_), None) if !b.is_complete && a.is_complete => not_compared += 1,
            _ => differences.push(difference(name, a, b)),
        }
    }
    differences.sort_by(|one, other| order(one).cmp(&order(other)));
    Diff { schema_version: SCHEMA_VERSION, a: facts(a, b), b: facts(b, a), differences, same, not_compared }
}

type Order<'a> = (Option<&'a str>, bool, Option<Group>, bool, Reverse<u32>, Option<Change>, &'a str);

/// Shown before folded, known before unknown; then group, what somebody has chosen before what one version merely has,
/// weight, and what can be tried at once before what cannot.
fn order(one: &Difference) -> Order<'_> {
    (
        one.folded.as_deref(),
        one.group.is_none(),
        one.group,
        is_news_of_a_version(one),
        Reverse(one.weight),
        one.change,
        &one.name,
    )
}

/// A setting that only one version has, at its default.
fn is_news_of_a_version(one: &Difference) -> bool {
    let at_default = |here: &Placed, there: &Placed| match (&here.value, &here.default) {
        (Some(value), Some(default)) => there.value.is_none() && same_setting(default, value),
        _ => false,
    };
    at_default(&one.a, &one.b) || at_default(&one.b, &one.a)
}

/// The same value does not mean the same where only one side has the switch on that it needs.
fn works_in_one(name: &str, a: &Side, b: &Side) -> bool {
    let setting = known(name);
    without_effect(setting, a).is_some() != without_effect(setting, b).is_some()
}

fn without_effect(setting: Option<&Setting>, side: &Side) -> Option<String> {
    let needs = setting?.needs.as_deref()?;
    let found = &side.settings.get(needs)?.value;
    is_off(found).then(|| format!("{needs} is {found}"))
}

fn is_off(value: &str) -> bool {
    ["off", "0", "false"].contains(&value.to_lowercase().as_str())
}

/// A path of an option file turns the binlog on, and its variable says ON. MySQL before 8.0 says nothing where it flushes
/// with fsync.
fn is_same(name: &str, one: &SideValue, other: &SideValue) -> bool {
    let unit = one.unit.as_deref().or(other.unit.as_deref());
    let (one, other) = (one.value.as_str(), other.value.as_str());
    let method = |text: &str| if text.is_empty() { "fsync".to_owned() } else { text.to_lowercase() };
    same_setting(one, other)
        || unit.is_some_and(|unit| same_amount(one, other, unit))
        || (name == "log_bin" && is_off(one) == is_off(other))
        || (name == "innodb_flush_method" && method(one) == method(other))
}

fn difference(name: &str, a: &Side, b: &Side) -> Difference {
    let setting = known(name);
    let both = a.settings.contains_key(name) && b.settings.contains_key(name);
    let same_server = a.flavour == b.flavour && a.version == b.version;
    let folded = match (inert_reason(name).or_else(|| same_place(name, a, b)), setting) {
        (Some(reason), _) => Some(reason),
        (None, None) if !both && !same_server => Some(ONE_SIDED),
        (None, None) if !same_server && [a, b].iter().all(|side| is_default(&side.settings[name])) => {
            Some(OWN_DEFAULTS)
        }
        _ => None,
    };
    let (of_a, of_b) = (placed(name, setting, a), placed(name, setting, b));
    let folded = folded.or_else(|| (is_renamed(&of_a, &of_b) || is_renamed(&of_b, &of_a)).then_some(RENAMED));
    let change = |side: &Side| Some(setting?.span(side.flavour?, &version_of(side)?)?.change);
    Difference {
        name: name.to_owned(),
        group: setting.map(|setting| setting.group),
        weight: setting.map_or(0, |setting| setting.weight),
        meaning: setting.map(|setting| setting.meaning.clone()),
        belongs_with: setting.map(|setting| setting.belongs_with.clone()).unwrap_or_default(),
        change: change(b).or_else(|| change(a)),
        folded: folded.map(str::to_owned),
        a: of_a,
        b: of_b,
    }
}

/// Files of two servers lie in different folders: what may matter is whether they share a disk with the data.
fn same_place(name: &str, a: &Side, b: &Side) -> Option<&'static str> {
    if !is_place(name) {
        return None;
    }
    let is_inside = |side: &Side| {
        let path = side.settings.get(name)?.value.as_str();
        let data = side.settings.get("datadir").map_or("", |found| found.value.trim_end_matches('/'));
        let below = path.strip_prefix(data).filter(|_| !data.is_empty());
        Some(!path.starts_with('/') || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    (is_inside(a)? == is_inside(b)?).then_some(SAME_PLACE)
}

/// By the server's own words: the family of MySQL, MariaDB, PostgreSQL.
fn is_default(found: &SideValue) -> bool {
    let by_origin =
        found.origin.as_deref().is_some_and(|origin| ["compiled", "compile-time", "default"].contains(&origin));
    by_origin || found.default.as_deref().is_some_and(|default| same_setting(default, &found.value))
}

fn is_renamed(here: &Placed, there: &Placed) -> bool {
    let Some(value) = &here.value else { return false };
    there.value.is_none() && there.counterparts.iter().any(|(_, other)| same_setting(value, other))
}

fn version_of(side: &Side) -> Option<Version> {
    side.version.as_deref().and_then(Version::parse)
}

fn placed(name: &str, setting: Option<&Setting>, side: &Side) -> Placed {
    let span = side.flavour.zip(version_of(side)).and_then(|(flavour, version)| setting?.span(flavour, &version));
    // What we know of a version beats what the server says, which for MariaDB may have been computed at its start.
    let default = span.and_then(|span| span.default.clone());
    let Some(found) = side.settings.get(name) else {
        return Placed { default, counterparts: counterparts(setting, side), ..Placed::default() };
    };
    let without_effect = without_effect(setting, side);
    let crash = setting.and_then(|setting| setting.crash(&found.value)).filter(|_| without_effect.is_none());
    Placed {
        value: Some(told(found)),
        origin: found.origin.clone(),
        default: default.or_else(|| found.default.clone()),
        process_crash: crash.map(|crash| crash.process.clone()),
        power_cut: crash.map(|crash| crash.power.clone()),
        without_effect,
        counterparts: Vec::new(),
    }
}

/// The value, with its unit where it has one.
fn told(found: &SideValue) -> String {
    found.unit.as_deref().map_or_else(|| found.value.clone(), |unit| with_unit(&found.value, unit))
}

/// What a side has in place of a setting.
fn counterparts(setting: Option<&Setting>, side: &Side) -> Vec<(String, String)> {
    let names = setting.map(|setting| setting.counterparts.iter()).into_iter().flatten();
    names.filter_map(|name| Some((name.clone(), told(side.settings.get(name)?)))).collect()
}

/// An option file against a server is taken to be for a server like that one.
fn facts(side: &Side, other: &Side) -> SideFacts {
    let like = |own: Option<Version>| if side.is_complete { own } else { own.or_else(|| version_of(other)) };
    let flavour = if side.is_complete { side.flavour } else { side.flavour.or(other.flavour) };
    let values = side.settings.iter().map(|(name, found)| (name.clone(), found.value.clone())).collect();
    let durability = flavour.zip(like(version_of(side))).map(|(flavour, version)| judge(flavour, &version, &values));
    SideFacts {
        name: side.name.clone(),
        kind: side.kind.clone(),
        flavour: side.flavour,
        version: side.version.clone(),
        durability,
        notes: side.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(flavour: Option<Flavour>, version: &str, settings: &[(&str, &str)]) -> Side {
        let value = |text: &str| SideValue { value: text.to_owned(), ..SideValue::default() };
        Side {
            name: "x".to_owned(),
            kind: "capture".to_owned(),
            flavour,
            version: flavour.map(|_| version.to_owned()),
            is_complete: flavour.is_some(),
            settings: settings.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect(),
            notes: Vec::new(),
        }
    }

    fn shown(diff: &Diff) -> Vec<&str> {
        diff.shown().map(|difference| difference.name.as_str()).collect()
    }

    #[test]
    fn most_likely_to_matter_first() {
        let one = [
            ("server_uuid", "a"),
            ("unheard_of", "1"),
            ("max_connections", "151"),
            ("sync_binlog", "1"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("binlog_cache_size", "32768"),
            ("innodb_buffer_pool_size", "1G"),
            ("autocommit", "ON"),
        ];
        let other = [
            ("server_uuid", "b"),
            ("unheard_of", "2"),
            ("max_connections", "200"),
            ("sync_binlog", "0"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("binlog_cache_size", "65536"),
            ("innodb_buffer_pool_size", "1073741824"),
            ("autocommit", "1"),
        ];
        let mysql = Some(Flavour::Mysql);
        let found = diff(&side(mysql, "8.0.36", &one), &side(mysql, "8.0.36", &other));
        let expected =
            ["innodb_flush_log_at_trx_commit", "sync_binlog", "binlog_cache_size", "max_connections", "unheard_of"];
        assert_eq!(shown(&found), expected);
        assert_eq!((found.same, found.folded().values().sum::<usize>()), (2, 1));
        let first = &found.differences[0];
        assert_eq!(first.b.default.as_deref(), Some("1"));
        assert!(first.b.power_cut.as_deref().unwrap().contains("last second"), "{first:?}");
        assert!(found.b.durability.unwrap().sentence.contains("innodb_flush_log_at_trx_commit=2"));
    }

    #[test]
    fn the_same_value_with_the_switch_on_in_one() {
        let mysql = Some(Flavour::Mysql);
        let sync = ("sync_binlog", "1");
        let old = side(mysql, "5.7.22", &[sync, ("log_bin", "OFF"), ("innodb_flush_method", "")]);
        let new = side(mysql, "8.0.15", &[sync, ("log_bin", "ON"), ("innodb_flush_method", "fsync")]);
        let found = diff(&old, &new);
        assert_eq!((shown(&found), found.same), (vec!["sync_binlog", "log_bin"], 1));
        let first = &found.differences[0];
        assert_eq!(first.a.without_effect.as_deref(), Some("log_bin is OFF"));
        assert_eq!((first.a.power_cut.as_deref(), first.b.without_effect.as_deref()), (None, None));
        assert!(first.b.power_cut.as_deref().unwrap().starts_with("loses no acknowledged event"));
        assert_eq!(diff(&new, &new).same, 3);
    }

    #[test]
    fn where_files_are() {
        let mysql = Some(Flavour::Mysql);
        let at = |data: &str, redo: &str| {
            side(mysql, "8.0.36", &[("datadir", data), ("innodb_log_group_home_dir", redo), ("tmpdir", "/tmp")])
        };
        let places = |one: &Side, other: &Side| shown(&diff(one, other)).len();
        assert_eq!(places(&at("/a/", "./"), &at("/b/", "/b/redo")), 0);
        assert_eq!(places(&at("/a/", "./"), &at("/b/", "/bb")), 1);
        assert_eq!(places(&at("/a/", "/fast"), &at("/b/", "/quick")), 0);
    }

    #[test]
    fn a_setting_of_one_version_has_its_counterpart() {
        let new = side(Some(Flavour::Mysql), "9.7.4", &[("innodb_redo_log_capacity", "104857600"), ("odd_new", "1")]);
        let old = side(Some(Flavour::Mariadb), "10.11.19", &[("innodb_log_file_size", "100663296")]);
        let found = diff(&new, &old);
        assert_eq!(shown(&found), ["innodb_log_file_size", "innodb_redo_log_capacity"]);
        let capacity = &found.differences[1];
        assert_eq!(capacity.b.value, None);
        assert_eq!(capacity.b.counterparts, [("innodb_log_file_size".to_owned(), "100663296".to_owned())]);
        assert_eq!(found.folded().get(ONE_SIDED), Some(&1));
    }

    #[test]
    fn an_option_file_is_no_whole_server() {
        let server = side(Some(Flavour::Mysql), "8.0.36", &[("sync_binlog", "1"), ("port", "1"), ("log_bin", "ON")]);
        let file = side(None, "", &[("sync_binlog", "0"), ("log_bin", "/var/binlog")]);
        let found = diff(&file, &server);
        assert_eq!(shown(&found), ["sync_binlog"]);
        assert_eq!((found.same, found.not_compared), (1, 1));
        assert!(found.a.durability.as_ref().unwrap().sentence.contains("sync_binlog=0"));
        let two = diff(&file, &side(None, "", &[("max_connections", "9")]));
        assert_eq!(shown(&two).len(), 3);
        assert_eq!(two.a.durability, None);
    }
}
