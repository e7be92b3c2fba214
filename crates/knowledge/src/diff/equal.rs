//! Whether two sides have a setting in the same way.

use truetps_record::{amount_in, is_off, same_amount, same_setting, same_written_amount};

use crate::lists::is_same_list;
use crate::setting::{Setting, find_setting};
use crate::side::{SettingsSide, SideValue};
use crate::units::postgres_unit;

/// Equal values differ in effect if the switch that they need is on at one side only.
pub(super) fn works_in_one(name: &str, a: &SettingsSide, b: &SettingsSide) -> bool {
    let setting = find_setting(name);
    switched_off(setting, a).is_some() != switched_off(setting, b).is_some()
}

pub(super) fn switched_off(setting: Option<&Setting>, side: &SettingsSide) -> Option<String> {
    let needs = setting?.needs.as_deref()?;
    let found = side.text(needs)?;
    is_off(found).then(|| format!("{needs} is {found}"))
}

/// A path of an option file turns the binlog on, and its variable says ON. MySQL before 8.0 says
/// nothing where it flushes with fsync.
pub(super) fn is_same(name: &str, one: &SideValue, other: &SideValue) -> bool {
    let unit = one.unit.as_deref().or(other.unit.as_deref()).or_else(|| postgres_unit(name));
    // What clients print in columns has lost blanks at its ends.
    let (one, other) = (one.value.trim(), other.value.trim());
    if let Some(unit) =
        unit.filter(|unit| [one, other].iter().all(|text| amount_in(text, unit).is_some()))
    {
        return same_amount(one, other, unit);
    }
    same_setting(one, other)
        || same_written_amount(one, other)
        || is_same_list(name, one, other)
        || (name == "log_bin" && is_off(one) == is_off(other))
        || (name == "innodb_flush_method"
            && flush_method(one).eq_ignore_ascii_case(flush_method(other)))
}

fn flush_method(text: &str) -> &str {
    if text.is_empty() { "fsync" } else { text }
}

/// The switch that a setting with equal values needs.
pub(super) fn same_but_for(
    name: &str,
    setting: Option<&Setting>,
    a: &SettingsSide,
    b: &SettingsSide,
) -> Option<String> {
    let (one, other) = a.settings.get(name).zip(b.settings.get(name))?;
    is_same(name, one, other).then(|| setting?.needs.clone()).flatten()
}
