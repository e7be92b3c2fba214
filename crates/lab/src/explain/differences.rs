//! Settings that differ between two live servers, and which of them can be measured.

use truetps_knowledge::{SettingsSide, diff};
use truetps_plan::level_of;
use truetps_record::{FactorChange, LeftOut, ServerFacts, SettingValue};
use truetps_sandbox::{Catalogue, CatalogueError};

use crate::explain::{ExplainSide, left_out};
use crate::private::coupling::ShownVariables;

/// A setting that differs, and can be set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) a: SettingValue,
    pub(crate) b: SettingValue,
    pub(crate) change: FactorChange,
    /// The servers are of one program, and neither side sets it.
    pub(crate) is_follower: bool,
    /// The setting that it is changed with.
    pub(crate) leader: Option<String>,
}

/// One side, with what its server shows.
pub(crate) struct DifferingSide<'a> {
    pub(crate) side: &'a ExplainSide,
    pub(crate) facts: &'a ServerFacts,
    pub(crate) variables: &'a ShownVariables,
    pub(crate) catalogue: &'a Catalogue,
}

/// Most likely to matter first.
pub(crate) fn candidates(
    a: &DifferingSide<'_>,
    b: &DifferingSide<'_>,
) -> (Vec<Candidate>, Vec<LeftOut>) {
    let recorded = |one: &DifferingSide<'_>| {
        SettingsSide::recorded(one.side.name.clone(), Some(one.facts), one.variables)
    };
    let found = diff(&recorded(a), &recorded(b));
    let is_one_program = a.side.program == b.side.program;
    let mut kept = Vec::new();
    let mut left: Vec<LeftOut> = Vec::new();
    for side in [a.side, b.side] {
        let of_side = |(name, value, reason): &(String, String, String)| {
            let (of_a, of_b) =
                if side == a.side { (Some(value), None) } else { (None, Some(value)) };
            left_out(name, of_a.map(String::as_str), of_b.map(String::as_str), reason.clone())
        };
        left.extend(side.left_out.iter().map(of_side));
    }
    for difference in found.differences.into_iter().filter(|one| one.same_but_for.is_none()) {
        let (name, value_a, value_b) = (&difference.name, &difference.a.value, &difference.b.value);
        let mut leave_out = |reason: String| {
            left.push(left_out(name, value_a.as_deref(), value_b.as_deref(), reason));
        };
        if let Some(reason) = difference.folded {
            leave_out(reason);
            continue;
        }
        let (Some(text_a), Some(text_b)) = (value_a, value_b) else {
            leave_out("only one of the two versions has it: it is part of the version".to_owned());
            continue;
        };
        let is_known = |catalogue: &Catalogue| catalogue.check_name(name);
        if let Err(error) = is_known(a.catalogue).and_then(|()| is_known(b.catalogue)) {
            leave_out(reason_of(&error));
            continue;
        }
        let is_set = a.side.settings.contains_key(name) || b.side.settings.contains_key(name);
        kept.push(Candidate {
            name: name.clone(),
            a: level_of(text_a),
            b: level_of(text_b),
            change: FactorChange::Dynamic,
            is_follower: is_one_program && !is_set,
            leader: None,
        });
    }
    left.extend(same_as_default([a, b], &kept, &left));
    (kept, left)
}

/// What one side sets to the value that the other one has without setting it.
fn same_as_default(
    sides: [&DifferingSide<'_>; 2],
    kept: &[Candidate],
    left: &[LeftOut],
) -> Vec<LeftOut> {
    let is_named = |name: &str| {
        kept.iter().any(|one| one.name == name) || left.iter().any(|one| one.name == name)
    };
    let mut same = Vec::new();
    for (one, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
        let alone =
            one.side.settings.keys().filter(|name| !other.side.settings.contains_key(*name));
        for name in alone.filter(|name| !is_named(name)) {
            let [a, b] = sides.map(|side| side.variables.get(name).map(String::as_str));
            let reason = "one side sets it, and the other has the same without setting it";
            same.extend((a.is_some() && b.is_some()).then(|| left_out(name, a, b, reason)));
        }
    }
    same
}

fn reason_of(error: &CatalogueError) -> String {
    match error {
        CatalogueError::Reserved { reason, .. } => {
            format!("truetps sets it for private servers: {reason}")
        }
        CatalogueError::Unknown { .. } => "it cannot be set: the server shows it only".to_owned(),
        other => other.to_string(),
    }
}
