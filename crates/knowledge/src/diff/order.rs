//! The order of differences: most likely to matter first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use truetps_record::same_setting;

use super::document::Difference;
use crate::setting::{Changeability, Setting, find_setting};

pub(super) type Order<'a> =
    (Option<&'a str>, bool, bool, Reverse<u32>, Option<Changeability>, &'a str);

/// Shown before folded, known before unknown; then values that a user has chosen before values that
/// only one version has, then by likely effect, and dynamic settings before settings that need a
/// restart.
pub(super) fn order(one: &Difference) -> Order<'_> {
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

/// A setting that is listed only because of its switch is put behind that switch: alone it would
/// seem not to differ.
pub(super) fn beside_their_switches(sorted: Vec<Difference>) -> Vec<Difference> {
    let shown: BTreeSet<String> =
        sorted.iter().filter(|one| one.folded.is_none()).map(|one| one.name.clone()).collect();
    let (led, mut ordered): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|one| {
        one.folded.is_none()
            && one.same_but_for.as_ref().is_some_and(|switch| shown.contains(switch))
    });
    // The last one first: each is put directly behind the switch.
    for one in led.into_iter().rev() {
        let switch =
            ordered.iter().position(|other| Some(&other.name) == one.same_but_for.as_ref());
        ordered.insert(switch.map_or(ordered.len(), |at| at + 1), one);
    }
    ordered
}

/// A setting that only one version has, at its default.
fn is_news_of_a_version(one: &Difference) -> bool {
    [(&one.a, &one.b), (&one.b, &one.a)].into_iter().any(|(here, there)| {
        there.value.is_none()
            && here
                .value
                .as_ref()
                .zip(here.default.as_ref())
                .is_some_and(|(value, default)| same_setting(default, value))
    })
}
