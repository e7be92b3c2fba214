//! What differs between the settings of two servers, most likely to matter first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use truetps_record::{
    Family, Flavour, ServerFacts, Version, amount_in, is_off, is_secret, near_matches, same_amount,
    same_setting, same_written_amount, setting_number,
};

use crate::durability::{DECIDE_TOGETHER, Durability, Loss, effective_value, judge_text};
use crate::kinds::{inert_reason, is_place};
use crate::lists::is_same_list;
use crate::platform::{Platform, platform_of};
use crate::setting::{Changeability, Setting, SettingTopic, find_setting};
use crate::units::{postgres_unit, with_unit};
use crate::unseen::{default_where_unset, has_no_variable};

/// The settings of one server, from any source.
#[derive(Debug, Clone, Default)]
pub struct SettingsSide {
    /// As the user named it.
    pub name: String,
    /// `capture`, `server`, `run folder` or `option file`.
    pub kind: String,
    /// `None` for an option file, which does not have it.
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    /// Of an option file: the family that its form and its names indicate.
    pub family: Option<Family>,
    /// Whether the list is complete: a missing setting is one that the server does not have.
    pub is_complete: bool,
    pub settings: BTreeMap<String, SideValue>,
    /// What could not be read, or was chosen, and why.
    pub notes: Vec<String>,
}

impl SettingsSide {
    /// What a server was set to in a trial, without secrets.
    pub fn recorded(
        name: String,
        server: Option<&ServerFacts>,
        variables: &BTreeMap<String, String>,
    ) -> Self {
        let known = variables.iter().filter(|(name, value)| !is_secret(name, value));
        let value = |value: &String| SideValue { value: value.clone(), ..SideValue::default() };
        Self {
            name,
            kind: "run folder".to_owned(),
            flavour: server.map(|server| server.flavour),
            version: server.map(|server| server.version.clone()),
            is_complete: true,
            settings: known.map(|(name, text)| (name.clone(), value(text))).collect(),
            ..Self::default()
        }
    }

    fn family(&self) -> Option<Family> {
        self.flavour.map(Family::from).or(self.family)
    }

    /// `None` for an ordinary server, and for an option file, which does not show it.
    pub fn platform(&self) -> Option<&'static Platform> {
        platform_of(
            self.flavour?,
            self.settings.iter().map(|(name, found)| (name.as_str(), found.value.as_str())),
        )
    }

    /// Whether the other side is known to be of another family: neither side's rules apply to the other.
    fn is_stranger_to(&self, other: &Self) -> bool {
        self.family().zip(other.family()).is_some_and(|(one, other)| one != other)
    }
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
    /// Of an option file: a server that does not know the name ignores it (`loose-…`).
    pub is_loose: bool,
    /// Of an option file: the line has the name alone, which is `ON` for a switch, and 1 for a number.
    pub is_bare: bool,
}

/// One side of a difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Placed {
    /// `None` where the side does not have it.
    pub value: Option<String>,
    /// The side is a file that does not set it: its server has a value all the same.
    pub is_left_to_server: bool,
    pub origin: Option<String>,
    /// Of this side's version.
    pub default: Option<String>,
    /// What the value means for a process crash, and for a power cut.
    pub process_crash: Option<String>,
    pub power_cut: Option<String>,
    /// Why the value has no effect here: the switch that it needs is off.
    pub without_effect: Option<String>,
    /// Where this side does not have the setting: what it has in its place.
    pub counterparts: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub name: String,
    /// `None` for an unknown setting.
    pub group: Option<SettingTopic>,
    pub weight: u32,
    pub meaning: Option<String>,
    pub belongs_with: Vec<String>,
    pub change: Option<Changeability>,
    /// Why it is folded away; `None` where it is shown.
    pub folded: Option<String>,
    /// Of a setting with the same value on both sides: the switch that disables it on one of them.
    pub same_but_for: Option<String>,
    pub a: Placed,
    pub b: Placed,
}

/// Notes on a side itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideFacts {
    pub name: String,
    pub kind: String,
    pub flavour: Option<Flavour>,
    pub version: Option<String>,
    pub durability: Option<Durability>,
    pub notes: Vec<String>,
}

/// Version of the document.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    pub schema_version: u32,
    pub a: SideFacts,
    pub b: SideFacts,
    /// Known ones first, most likely to matter first; then unknown ones; then those that are folded away.
    pub differences: Vec<Difference>,
    /// Settings that both have with the same value.
    pub same: usize,
    /// Settings that are in one side only because the other one is an option file.
    pub not_compared: usize,
}

impl Diff {
    /// How many of those that are shown have another value, and how many the same one.
    pub fn counts(&self) -> (usize, usize) {
        let same = self.shown().filter(|difference| difference.same_but_for.is_some()).count();
        (self.shown().count() - same, same)
    }

    pub fn shown(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| difference.folded.is_none())
    }

    /// How many are folded away, by the reason.
    pub fn folded(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for reason in self.differences.iter().filter_map(|difference| difference.folded.as_deref())
        {
            *counts.entry(reason).or_insert(0) += 1;
        }
        counts
    }
}

const RENAMED: &str = "the other server has the same value under another name";
const SAME_PLACE: &str = "files of the server: inside both datadirs, or outside both";
const OWN_DEFAULTS: &str = "unknown setting, and each of the two versions has its own default";
const ONE_SIDED: &str = "unknown setting, and only one of the two servers has it";
const AT_DEFAULT: &str = "one file sets it to its default, and the other leaves it unset";
const NO_VARIABLE: &str =
    "the server takes it in a file, and shows no variable of that name to compare with";

/// Compares two sides.
pub fn diff(a: &SettingsSide, b: &SettingsSide) -> Diff {
    let names: BTreeSet<&str> =
        a.settings.keys().chain(b.settings.keys()).map(String::as_str).collect();
    let (of_a, of_b) = (JudgedSide::new(a, b), JudgedSide::new(b, a));
    let (mut differences, mut same, mut not_compared) = (Vec::new(), 0, 0);
    for name in names {
        let values = (a.settings.get(name), b.settings.get(name));
        match values {
            (Some(one), Some(other)) if is_same(name, one, other) && !works_in_one(name, a, b) => {
                same += 1;
            }
            // A setting that is missing in an option file may have any value. Two option files are compared as they are.
            (None, Some(_)) if !a.is_complete && b.is_complete => not_compared += 1,
            (Some(_), None) if !b.is_complete && a.is_complete => not_compared += 1,
            _ => differences.push(difference(name, &of_a, &of_b)),
        }
    }
    differences.sort_by(|one, other| order(one).cmp(&order(other)));
    let differences = beside_their_switches(differences);
    let (mut facts_a, mut facts_b) = (of_a.facts(), of_b.facts());
    facts_b.notes.extend(other_family(b, a));
    facts_a.notes.extend(unheard_of(a, b, differences.iter().map(|one| (one, &one.a, &one.b))));
    facts_b.notes.extend(unheard_of(b, a, differences.iter().map(|one| (one, &one.b, &one.a))));
    Diff { schema_version: SCHEMA_VERSION, a: facts_a, b: facts_b, differences, same, not_compared }
}

/// A side, with what its settings together promise.
struct JudgedSide<'a> {
    side: &'a SettingsSide,
    /// The server whose rules are used to read the settings: an option file is read as of the other side's server.
    flavour: Option<Flavour>,
    durability: Option<Durability>,
    platform: Option<&'static Platform>,
}

impl<'a> JudgedSide<'a> {
    fn new(side: &'a SettingsSide, other: &SettingsSide) -> Self {
        let like = if side.is_complete || side.is_stranger_to(other) { side } else { other };
        let flavour = side.flavour.or(like.flavour);
        let version = side.version.as_deref().or(like.version.as_deref());
        let settings = side
            .settings
            .iter()
            .map(|(name, found)| (name.as_str(), found.value.as_str(), found.origin.as_deref()));
        let durability = flavour
            .zip(version)
            .and_then(|(flavour, version)| judge_text(flavour, version, settings));
        Self { side, flavour, durability, platform: side.platform() }
    }

    /// Why a value does nothing: the platform, or a switch.
    fn without_effect(&self, name: &str, setting: Option<&Setting>) -> Option<String> {
        let platform = self.platform.and_then(|platform| platform.without_meaning(name));
        platform.or_else(|| switched_off(setting, self.side))
    }

    fn facts(self) -> SideFacts {
        let Self { side, durability, platform, .. } = self;
        let platform = platform.map(Platform::sentence);
        SideFacts {
            name: side.name.clone(),
            kind: side.kind.clone(),
            flavour: side.flavour,
            version: side.version.clone(),
            durability,
            notes: platform.into_iter().chain(side.notes.iter().cloned()).collect(),
        }
    }
}

fn other_family(b: &SettingsSide, a: &SettingsSide) -> Option<String> {
    let (of_b, of_a) = b.family().zip(a.family()).filter(|_| b.is_stranger_to(a))?;
    Some(format!("B is of {of_b}, and A of {of_a}: the same name need not mean the same setting"))
}

/// Unknown names of an option file that the other side, a server, does not have: perhaps typos.
fn unheard_of<'a>(
    side: &SettingsSide,
    other: &SettingsSide,
    differences: impl Iterator<Item = (&'a Difference, &'a Placed, &'a Placed)>,
) -> Vec<String> {
    if side.is_complete || !other.is_complete || side.is_stranger_to(other) {
        return Vec::new();
    }
    let note = |(one, here, there): (&Difference, &Placed, &Placed)| {
        let is_unheard_of = one.group.is_none()
            && one.folded.is_none()
            && here.value.is_some()
            && there.value.is_none();
        if side.settings.get(&one.name).is_some_and(|found| found.is_loose) {
            return None;
        }
        if is_unheard_of && let Some(whole) = abbreviated(&one.name, other) {
            return Some(format!(
                "{} is short for {whole}: this server takes a beginning that only one name has",
                one.name
            ));
        }
        let near = is_unheard_of
            .then(|| near_matches(&one.name, other.settings.keys().map(String::as_str)))?;
        let near = near.first()?;
        Some(format!(
            "the other server has no setting {}; did you mean {near}? A server does not start with an unknown name in \
             its file",
            one.name
        ))
    };
    differences.filter_map(note).collect()
}

/// The only name that begins so. MariaDB takes such an abbreviation, and MySQL before 8.0.
fn abbreviated<'a>(name: &str, server: &'a SettingsSide) -> Option<&'a str> {
    let takes = match server.flavour? {
        Flavour::Mariadb => true,
        Flavour::Mysql | Flavour::Percona => version_of(server)?.series() < (8, 0),
        Flavour::Postgresql => false,
    };
    let mut longer = server.settings.keys().filter(|other| takes && other.starts_with(name));
    longer.next().filter(|_| longer.next().is_none()).map(String::as_str)
}

type Order<'a> = (Option<&'a str>, bool, bool, Reverse<u32>, Option<Changeability>, &'a str);

/// Shown before folded, known before unknown; then values that a user has chosen before values that only
/// one version has, then by likely effect, and dynamic settings before settings that need a restart.
fn order(one: &Difference) -> Order<'_> {
    let score = find_setting(&one.name).map_or(0, Setting::score);
    (
        one.folded.as_deref(),
        one.group.is_none(),
        is_news_of_a_version(one),
        Reverse(score),
        one.change,
        &one.name,
    )
}

/// A setting that is listed only because of its switch is put behind that switch: alone it would seem not to differ.
fn beside_their_switches(sorted: Vec<Difference>) -> Vec<Difference> {
    let shown: BTreeSet<String> =
        sorted.iter().filter(|one| one.folded.is_none()).map(|one| one.name.clone()).collect();
    let is_led = |one: &Difference| {
        one.folded.is_none()
            && one.same_but_for.as_ref().is_some_and(|switch| shown.contains(switch))
    };
    let (led, mut placed): (Vec<_>, Vec<_>) = sorted.into_iter().partition(is_led);
    // The last one first: each is put directly behind the switch.
    for one in led.into_iter().rev() {
        let switch = placed.iter().position(|other| Some(&other.name) == one.same_but_for.as_ref());
        placed.insert(switch.map_or(placed.len(), |at| at + 1), one);
    }
    placed
}

/// A setting that only one version has, at its default.
fn is_news_of_a_version(one: &Difference) -> bool {
    let at_default = |here: &Placed, there: &Placed| match (&here.value, &here.default) {
        (Some(value), Some(default)) => there.value.is_none() && same_setting(default, value),
        _ => false,
    };
    at_default(&one.a, &one.b) || at_default(&one.b, &one.a)
}

/// Equal values differ in effect if the switch that they need is on at one side only.
fn works_in_one(name: &str, a: &SettingsSide, b: &SettingsSide) -> bool {
    let setting = find_setting(name);
    switched_off(setting, a).is_some() != switched_off(setting, b).is_some()
}

fn switched_off(setting: Option<&Setting>, side: &SettingsSide) -> Option<String> {
    let needs = setting?.needs.as_deref()?;
    let found = &side.settings.get(needs)?.value;
    is_off(found).then(|| format!("{needs} is {found}"))
}

/// A path of an option file turns the binlog on, and its variable says ON. MySQL before 8.0 says nothing where it flushes
/// with fsync.
fn is_same(name: &str, one: &SideValue, other: &SideValue) -> bool {
    let unit = one.unit.as_deref().or(other.unit.as_deref()).or_else(|| postgres_unit(name));
    // What clients print in columns has lost blanks at its ends.
    let (one, other) = (one.value.trim(), other.value.trim());
    if let Some(unit) =
        unit.filter(|unit| [one, other].iter().all(|text| amount_in(text, unit).is_some()))
    {
        return same_amount(one, other, unit);
    }
    let method =
        |text: &str| if text.is_empty() { "fsync".to_owned() } else { text.to_lowercase() };
    same_setting(one, other)
        || same_written_amount(one, other)
        || is_same_list(name, one, other)
        || (name == "log_bin" && is_off(one) == is_off(other))
        || (name == "innodb_flush_method" && method(one) == method(other))
}

fn difference(name: &str, seen_a: &JudgedSide<'_>, seen_b: &JudgedSide<'_>) -> Difference {
    let (setting, a, b) = (find_setting(name), seen_a.side, seen_b.side);
    let both = a.settings.contains_key(name) && b.settings.contains_key(name);
    let same_server = a.flavour == b.flavour && a.version == b.version;
    let folded = match (inert_reason(name).or_else(|| same_place(name, a, b)), setting) {
        (Some(reason), _) => Some(reason),
        // A value that a user has chosen is shown, also if the other server has no such setting.
        (None, None) if !both => {
            (!same_server && !is_chosen(name, a) && !is_chosen(name, b)).then_some(ONE_SIDED)
        }
        (None, None)
            if !same_server && [a, b].iter().all(|side| is_default(&side.settings[name])) =>
        {
            Some(OWN_DEFAULTS)
        }
        _ => None,
    };
    let (of_a, of_b) = (placed(name, setting, seen_a, b), placed(name, setting, seen_b, a));
    let is_renamed = || {
        if REDO_SIZE.contains(&name) {
            same_redo_size(a, b)
        } else {
            is_renamed(&of_a, &of_b) || is_renamed(&of_b, &of_a)
        }
    };
    let folded = folded
        .or_else(|| is_renamed().then_some(RENAMED))
        .or_else(|| is_without_variable(name, a, b).then_some(NO_VARIABLE))
        .or_else(|| is_at_default(name, &of_a, &of_b).then_some(AT_DEFAULT));
    let change =
        |side: &SettingsSide| Some(setting?.span(side.flavour?, &version_of(side)?)?.change);
    Difference {
        name: name.to_owned(),
        group: setting.map(|setting| setting.group),
        weight: setting.map_or(0, |setting| setting.weight),
        meaning: setting.map(|setting| setting.meaning.clone()),
        belongs_with: setting.map(|setting| setting.belongs_with.clone()).unwrap_or_default(),
        change: change(b).or_else(|| change(a)),
        folded: folded.map(str::to_owned),
        same_but_for: same_but_for(name, setting, a, b),
        a: of_a,
        b: of_b,
    }
}

/// An option of a file, beside a server that takes it and does not show it.
fn is_without_variable(name: &str, a: &SettingsSide, b: &SettingsSide) -> bool {
    let hides = |file: &SettingsSide, server: &SettingsSide| {
        let of_server = || Some(has_no_variable(name, server.flavour?, &version_of(server)?));
        !file.is_complete
            && server.is_complete
            && !server.settings.contains_key(name)
            && of_server() == Some(true)
    };
    hides(a, b) || hides(b, a)
}

/// One side sets a value that the other side's server has without being told.
fn is_at_default(name: &str, a: &Placed, b: &Placed) -> bool {
    let as_it_is = |text: &str| SideValue { value: text.to_owned(), ..SideValue::default() };
    let is_same_as = |set: &Placed, unset: &Placed| {
        let default = unset.default.as_deref().filter(|_| unset.is_left_to_server);
        set.value
            .as_deref()
            .zip(default)
            .is_some_and(|(value, default)| is_same(name, &as_it_is(value), &as_it_is(default)))
    };
    is_same_as(a, b) || is_same_as(b, a)
}

fn same_but_for(
    name: &str,
    setting: Option<&Setting>,
    a: &SettingsSide,
    b: &SettingsSide,
) -> Option<String> {
    let (one, other) = a.settings.get(name).zip(b.settings.get(name))?;
    is_same(name, one, other).then(|| setting?.needs.clone()).flatten()
}

/// Files of two servers lie in different folders: what may matter is whether they share a disk with the data.
fn same_place(name: &str, a: &SettingsSide, b: &SettingsSide) -> Option<&'static str> {
    if !is_place(name) {
        return None;
    }
    let is_inside = |side: &SettingsSide| {
        let path = side.settings.get(name)?.value.as_str();
        let data =
            side.settings.get("datadir").map_or("", |found| found.value.trim_end_matches('/'));
        let below = path.strip_prefix(data).filter(|_| !data.is_empty());
        Some(
            !path.starts_with('/')
                || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        )
    };
    (is_inside(a)? == is_inside(b)?).then_some(SAME_PLACE)
}

/// By the server's own words: the family of MySQL, MariaDB, PostgreSQL.
fn is_default(found: &SideValue) -> bool {
    let by_origin = found
        .origin
        .as_deref()
        .is_some_and(|origin| ["compiled", "compile-time", "default"].contains(&origin));
    by_origin || found.default.as_deref().is_some_and(|default| same_setting(default, &found.value))
}

/// Whether a user has set it, as far as is known: each line of an option file, and what a server says to be neither
/// its default nor its own choice. Servers that do not say where a value is from leave it open.
fn is_chosen(name: &str, side: &SettingsSide) -> bool {
    side.settings.get(name).is_some_and(|found| {
        let origin = found.origin.as_deref();
        !side.is_complete || (origin.is_some_and(|origin| origin != "auto") && !is_default(found))
    })
}

const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
const REDO_FILE_SIZE: &str = "innodb_log_file_size";
const REDO_FILES: &str = "innodb_log_files_in_group";
const REDO_SIZE: [&str; 3] = [REDO_CAPACITY, REDO_FILE_SIZE, REDO_FILES];

/// One side has the size of the redo log in one setting, the other one in two, and it is the same size.
fn same_redo_size(a: &SettingsSide, b: &SettingsSide) -> bool {
    let has_capacity = |side: &SettingsSide| side.settings.contains_key(REDO_CAPACITY);
    let (one, other) = (redo_bytes(a), redo_bytes(b));
    has_capacity(a) != has_capacity(b) && one.is_some() && one == other
}

fn redo_bytes(side: &SettingsSide) -> Option<f64> {
    let number = |name: &str| setting_number(&side.settings.get(name)?.value);
    let default = || {
        let span = find_setting(REDO_FILES)?.span(side.flavour?, &version_of(side)?)?;
        setting_number(span.default.as_deref()?)
    };
    let files = || number(REDO_FILES).or_else(default).unwrap_or(1.0);
    number(REDO_CAPACITY).or_else(|| Some(number(REDO_FILE_SIZE)? * files()))
}

fn is_renamed(here: &Placed, there: &Placed) -> bool {
    let Some(value) = &here.value else { return false };
    there.value.is_none() && there.counterparts.iter().any(|(_, other)| same_setting(value, other))
}

fn version_of(side: &SettingsSide) -> Option<Version> {
    side.version.as_deref().and_then(Version::parse)
}

fn placed(
    name: &str,
    setting: Option<&Setting>,
    seen: &JudgedSide<'_>,
    other: &SettingsSide,
) -> Placed {
    let side = seen.side;
    let span = side
        .flavour
        .zip(version_of(side))
        .and_then(|(flavour, version)| setting?.span(flavour, &version));
    // The knowledge base's default has precedence over the server's, which for MariaDB may have been computed at its
    // start.
    let default = span.and_then(|span| span.default.clone());
    let Some(found) = side.settings.get(name) else {
        let is_left_to_server = !side.is_complete && !side.is_stranger_to(other);
        let unset = || default_where_unset(name, side, other).filter(|_| is_left_to_server);
        let default = default.or_else(unset);
        return Placed {
            default,
            is_left_to_server,
            counterparts: counterparts(setting, side),
            ..Placed::default()
        };
    };
    let without_effect = seen.without_effect(name, setting);
    let crashes =
        if without_effect.is_none() { crashes(name, setting, &found.value, seen) } else { None };
    let (process_crash, power_cut) = crashes.unzip();
    Placed {
        value: Some(value_text(found)),
        is_left_to_server: false,
        origin: found.origin.clone(),
        default: default.or_else(|| found.default.clone()),
        process_crash,
        power_cut,
        without_effect,
        counterparts: Vec::new(),
    }
}

/// What the value means for a process crash and for a power cut. What it promises alone gives way to what all settings of
/// the side promise together.
fn crashes(
    name: &str,
    setting: Option<&Setting>,
    value: &str,
    seen: &JudgedSide<'_>,
) -> Option<(String, String)> {
    let value = seen
        .flavour
        .map_or_else(|| value.to_owned(), |flavour| effective_value(flavour, name, value));
    let crash = setting?.crash(&value)?;
    let verdict = seen.durability.as_ref().filter(|_| DECIDE_TOGETHER.contains(&name));
    let joint = |alone: &str, together: Option<Loss>| match together {
        Some(loss) if loss != Loss::Nothing && alone.starts_with("loses no") => {
            format!("{loss}, by all settings together")
        }
        _ => alone.to_owned(),
    };
    let process = joint(&crash.process, verdict.map(|verdict| verdict.process_crash));
    Some((process, joint(&crash.power, verdict.map(|verdict| verdict.power_cut))))
}

/// The value, with its unit where it has one.
fn value_text(found: &SideValue) -> String {
    found.unit.as_deref().map_or_else(|| found.value.clone(), |unit| with_unit(&found.value, unit))
}

/// What a side has in place of a setting.
fn counterparts(setting: Option<&Setting>, side: &SettingsSide) -> Vec<(String, String)> {
    let names = setting.map(|setting| setting.counterparts.iter()).into_iter().flatten();
    names.filter_map(|name| Some((name.clone(), value_text(side.settings.get(name)?)))).collect()
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
