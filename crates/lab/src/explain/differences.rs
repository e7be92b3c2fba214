//! Settings that differ between two live servers, and which of them can be measured.

use std::collections::HashSet;

use truetps_knowledge::{Difference, SettingsSide, diff};
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

impl DifferingSide<'_> {
    fn recorded(&self) -> SettingsSide {
        SettingsSide::recorded(self.side.name.clone(), Some(self.facts), self.variables)
    }
}

/// Most likely to matter first.
pub(crate) fn candidates(
    a: &DifferingSide<'_>,
    b: &DifferingSide<'_>,
) -> (Vec<Candidate>, Vec<LeftOut>) {
    let found = diff(&a.recorded(), &b.recorded());
    let is_one_program = a.side.program == b.side.program;
    let mut kept = Vec::new();
    let mut left: Vec<LeftOut> = Vec::new();
    for (name, value, reason) in &a.side.left_out {
        left.push(left_out(name, Some(value), None, reason));
    }
    for (name, value, reason) in &b.side.left_out {
        left.push(left_out(name, None, Some(value), reason));
    }
    for difference in found.differences.into_iter().filter(|one| one.same_but_for.is_none()) {
        let (name, value_a, value_b) = (&difference.name, &difference.a.value, &difference.b.value);
        let (text_a, text_b) = match settable([a, b], &difference) {
            Ok(values) => values,
            Err(reason) => {
                left.push(left_out(name, value_a.as_deref(), value_b.as_deref(), reason));
                continue;
            }
        };
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

/// The values of A and B of a difference that can be measured; an error is why it cannot.
fn settable<'d>(
    sides: [&DifferingSide<'_>; 2],
    difference: &'d Difference,
) -> Result<(&'d str, &'d str), String> {
    if let Some(reason) = &difference.folded {
        return Err(reason.clone());
    }
    let (Some(a), Some(b)) = (&difference.a.value, &difference.b.value) else {
        return Err("only one of the two versions has it: it is part of the version".to_owned());
    };
    for side in sides {
        side.catalogue.check_name(&difference.name).map_err(|error| reason_of(&error))?;
    }
    Ok((a, b))
}

/// What one side sets to the value that the other one has without setting it.
fn same_as_default(
    sides: [&DifferingSide<'_>; 2],
    kept: &[Candidate],
    left: &[LeftOut],
) -> Vec<LeftOut> {
    let named: HashSet<&str> =
        kept.iter().map(|one| &*one.name).chain(left.iter().map(|one| &*one.name)).collect();
    let mut same = Vec::new();
    for (one, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
        let alone =
            one.side.settings.keys().filter(|name| !other.side.settings.contains_key(*name));
        for name in alone.filter(|name| !named.contains(name.as_str())) {
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
