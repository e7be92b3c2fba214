//! The document of a comparison: what differs, and what is known of it.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_record::Flavour;

use crate::durability::Durability;
use crate::setting::{Changeability, SettingTopic};

/// One side of a difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Placed {
    /// `None` where the side does not have it.
    pub value: Option<String>,
    /// The side is a file that does not set it: its server has a value all the same.
    pub is_left_to_server: bool,
    pub origin: Option<String>,
    /// The default of this side's version.
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
    /// The switch that disables the setting on one side, where both have the same value.
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
pub(super) const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    pub schema_version: u32,
    pub a: SideFacts,
    pub b: SideFacts,
    /// Known ones first, most likely to matter first; then unknown ones; then those that are folded
    /// away.
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
