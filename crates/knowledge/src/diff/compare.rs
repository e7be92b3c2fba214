//! The comparison of two sides.

use std::collections::BTreeSet;

use truetps_record::Flavour;

use super::document::{Diff, Difference, Placed, SCHEMA_VERSION, SideFacts};
use super::equal::{is_same, same_but_for, switched_off, works_in_one};
use super::folded::folded;
use super::notes::{other_family, unknown_names};
use super::order::{beside_their_switches, order};
use crate::durability::{DECIDE_TOGETHER, Durability, Loss, effective_value, judge_text};
use crate::platform::Platform;
use crate::setting::{Setting, find_setting};
use crate::side::{SettingsSide, SideValue};
use crate::units::with_unit;
use crate::unseen::default_where_unset;

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
            // A setting that is missing in an option file may have any value. Two option files are
            // compared as they are.
            (None, Some(_)) if !a.is_complete && b.is_complete => not_compared += 1,
            (Some(_), None) if !b.is_complete && a.is_complete => not_compared += 1,
            _ => differences.push(difference(name, &of_a, &of_b)),
        }
    }
    differences.sort_by(|one, other| order(one).cmp(&order(other)));
    let differences = beside_their_switches(differences);
    let (mut facts_a, mut facts_b) = (of_a.facts(), of_b.facts());
    facts_b.notes.extend(other_family(b, a));
    facts_a.notes.extend(unknown_names(a, b, differences.iter().map(|one| (one, &one.a, &one.b))));
    facts_b.notes.extend(unknown_names(b, a, differences.iter().map(|one| (one, &one.b, &one.a))));
    Diff { schema_version: SCHEMA_VERSION, a: facts_a, b: facts_b, differences, same, not_compared }
}

/// A side, with what its settings together promise.
struct JudgedSide<'a> {
    side: &'a SettingsSide,
    /// The server whose rules are used to read the settings: an option file is read as of the other
    /// side's server.
    flavour: Option<Flavour>,
    durability: Option<Durability>,
    platform: Option<&'static Platform>,
}

impl<'a> JudgedSide<'a> {
    fn new(side: &'a SettingsSide, other: &SettingsSide) -> Self {
        let like = if side.is_complete || side.is_of_other_family(other) { side } else { other };
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

fn difference(name: &str, seen_a: &JudgedSide<'_>, seen_b: &JudgedSide<'_>) -> Difference {
    let (setting, a, b) = (find_setting(name), seen_a.side, seen_b.side);
    let (of_a, of_b) = (placed(name, setting, seen_a, b), placed(name, setting, seen_b, a));
    let change = [b, a].into_iter().find_map(|side| Some(side.span_of(setting?)?.change));
    Difference {
        name: name.to_owned(),
        group: setting.map(|setting| setting.group),
        weight: setting.map_or(0, |setting| setting.weight),
        meaning: setting.map(|setting| setting.meaning.clone()),
        belongs_with: setting.map(|setting| setting.belongs_with.clone()).unwrap_or_default(),
        change,
        folded: folded(name, (a, &of_a), (b, &of_b)).map(str::to_owned),
        same_but_for: same_but_for(name, setting, a, b),
        a: of_a,
        b: of_b,
    }
}

fn placed(
    name: &str,
    setting: Option<&Setting>,
    seen: &JudgedSide<'_>,
    other: &SettingsSide,
) -> Placed {
    let side = seen.side;
    // The knowledge base's default has precedence over the server's, which for MariaDB may have
    // been computed at its start.
    let default =
        setting.and_then(|setting| side.span_of(setting)).and_then(|span| span.default.clone());
    let Some(found) = side.settings.get(name) else {
        let is_left_to_server = !side.is_complete && !side.is_of_other_family(other);
        let default = default
            .or_else(|| default_where_unset(name, side, other).filter(|_| is_left_to_server));
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

/// What the value means for a process crash and for a power cut. What it promises alone gives way
/// to what all settings of the side promise together.
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
    let process = crash_text(&crash.process, verdict.map(|verdict| verdict.process_crash));
    Some((process, crash_text(&crash.power, verdict.map(|verdict| verdict.power_cut))))
}

/// What a setting promises alone, or what all settings together lose.
fn crash_text(alone: &str, together: Option<Loss>) -> String {
    match together {
        Some(loss) if loss != Loss::Nothing && alone.starts_with("loses no") => {
            format!("{loss}, by all settings together")
        }
        _ => alone.to_owned(),
    }
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
