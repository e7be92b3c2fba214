//! Settings that the server derives from another setting.
//!
//! Some servers derive one setting from another, and only at start: MariaDB started with
//! `innodb_flush_log_at_trx_commit=2` also turns `innodb_log_file_buffering` on; `SET GLOBAL` does
//! not. A level set on a running server would then be another configuration than the same level in
//! an option file, and the option file is what the user means. So the server is started once with
//! each level, and each trial also sets the derived settings.

use std::collections::{BTreeMap, BTreeSet};

use truetps_plan::Plan;
use truetps_record::{Coupling, SettingValue};

/// Global variables by name, as a server shows them.
pub(crate) type ShownVariables = BTreeMap<String, String>;

/// Variables of a server that was started with one level of one factor.
pub(crate) struct Started {
    pub(crate) factor: String,
    pub(crate) level: SettingValue,
    pub(crate) variables: ShownVariables,
}

/// Compares a start with each level to a start without any.
///
/// `base` and `base_again` are two equal starts: what differs between them (identities, counters)
/// is ignored. Factors and settings fixed by the plan are never included: the plan's values apply.
pub(crate) fn find(
    plan: &Plan,
    server: Option<&str>,
    base: &ShownVariables,
    base_again: &ShownVariables,
    started: &[Started],
) -> Vec<Coupling> {
    let mut names: Vec<_> =
        base.keys().filter(|name| base.get(*name) == base_again.get(*name)).collect();
    names.retain(|name| {
        !plan.factors.contains_key(*name) && !plan.server.settings.contains_key(*name)
    });
    let mut couplings = Vec::new();
    for factor in started.iter().map(|one| &one.factor).collect::<BTreeSet<_>>() {
        let starts: Vec<_> = started.iter().filter(|one| one.factor == *factor).collect();
        let mut names = names.clone();
        names.retain(|name| starts.iter().any(|one| one.variables.get(*name) != base.get(*name)));
        for one in starts {
            for name in &names {
                let Some(value) = one.variables.get(*name) else { continue };
                couplings.push(Coupling {
                    server: server.map(str::to_owned),
                    factor: factor.clone(),
                    level: one.level.clone(),
                    name: (*name).clone(),
                    value: value.clone(),
                    otherwise: base[*name].clone(),
                });
            }
        }
    }
    couplings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> ShownVariables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_comes_along_is_found_and_what_changes_by_itself_is_not() {
        let plan = Plan::parse(
            "name = \"p\"\nabout = \"a\"\n[server.settings]\nfixed = 1\n[workload]\nname = \
             \"insert\"\n[factors]\n\
             flush = [1, 2]\nconnections = [1]\n",
        )
        .unwrap();
        let at = |flush: &str, buffering: &str, uuid: &str, fixed: &str| {
            variables(&[
                ("flush", flush),
                ("buffering", buffering),
                ("uuid", uuid),
                ("fixed", fixed),
                ("same", "x"),
            ])
        };
        let started = |level: i64, variables: ShownVariables| Started {
            factor: "flush".to_owned(),
            level: SettingValue::Int(level),
            variables,
        };
        let found = find(
            &plan,
            None,
            &at("1", "OFF", "a", "1"),
            &at("1", "OFF", "b", "1"),
            &[started(1, at("1", "OFF", "c", "1")), started(2, at("2", "ON", "d", "2"))],
        );
        let shown: Vec<_> =
            found.iter().map(|c| format!("{}: {}={}", c.level, c.name, c.value)).collect();
        assert_eq!(shown, ["1: buffering=OFF", "2: buffering=ON"]);
    }
}
