//! Differences become factors: alone, or together where they mean something together only.

use indexmap::IndexMap;
use truetps_knowledge::{family_of, is_suspect, suspicion};
use truetps_plan::Plan;
use truetps_record::{
    DISK, ExplainedFactor, FactorChange, FactorLevel, SERVER, SettingValue, TABLE_ROWS,
};

use crate::explain::ExplainSide;
use crate::explain::differences::Candidate;

/// With more differences than this, the design takes long: the ones that are least likely to matter
/// become one.
const OWN_FACTORS_MAX: usize = 24;
const SUSPECTS_MAX: usize = 3;

/// Differences that are no settings: the program, the load, the workload and the disk. The plan has
/// both levels of each.
pub(crate) fn load_factors(plan: &Plan, sides: &[ExplainSide; 2]) -> Vec<ExplainedFactor> {
    let mut factors = Vec::new();
    for (name, levels) in plan.factors.iter().filter(|(_, levels)| levels.len() > 1) {
        // Where a side has none, it has the usual one, which the plan has in its place.
        let [a, b] = [0, 1].map(|index: usize| {
            level_of_side(plan, &sides[index], name).unwrap_or_else(|| levels[index].clone())
        });
        if a == b {
            continue;
        }
        let change = match name.as_str() {
            SERVER => FactorChange::Server,
            DISK | TABLE_ROWS => FactorChange::NewData,
            _ => FactorChange::Load,
        };
        let levels = vec![FactorLevel { name: name.clone(), a, b }];
        factors.push(ExplainedFactor { name: name.clone(), levels, change, merged: None });
    }
    factors
}

fn level_of_side(plan: &Plan, side: &ExplainSide, factor: &str) -> Option<SettingValue> {
    if factor != SERVER {
        return side.levels.get(factor).cloned();
    }
    let names = plan.server_names();
    names.get(side.program).map(|name| SettingValue::Text((*name).to_owned()))
}

/// Settings as factors, the most suspicious first.
pub(crate) fn ordered_factors(candidates: Vec<Candidate>) -> Vec<ExplainedFactor> {
    let names: Vec<_> = candidates.iter().map(|one| one.name.clone()).collect();
    let differing: Vec<_> = names.iter().map(String::as_str).collect();
    let mut groups: IndexMap<String, (Vec<Candidate>, Option<String>)> = IndexMap::new();
    for candidate in candidates {
        let led = candidate.leader.as_deref().unwrap_or(&candidate.name).to_owned();
        let family = family_of(&led, &differing);
        let key = family.map_or(led, |family| family.about.clone());
        let group = groups.entry(key).or_default();
        group.1 = group.1.take().or_else(|| family.map(|family| family.about.clone()));
        group.0.push(candidate);
    }
    let mut factors: Vec<_> =
        groups.into_values().map(|(members, about)| factor_of(members, about)).collect();
    factors.sort_by_key(|factor| std::cmp::Reverse(suspicion_of(factor)));
    if factors.len() > OWN_FACTORS_MAX {
        let rest = factors.split_off(OWN_FACTORS_MAX - 1);
        factors.push(bundle(rest));
    }
    factors
}

fn factor_of(mut members: Vec<Candidate>, about: Option<String>) -> ExplainedFactor {
    // What leads the others is set first.
    members.sort_by_key(|one| (one.leader.is_some(), std::cmp::Reverse(suspicion(&one.name))));
    let is_single = members.len() == 1;
    let follows = members.iter().any(|one| one.leader.is_some());
    let merged = about.or_else(|| follows.then(|| "the server sets one with the other".to_owned()));
    ExplainedFactor {
        name: members[0].name.clone(),
        change: members.iter().map(|one| one.change).max().expect("a group has a member"),
        levels: members
            .into_iter()
            .map(|one| FactorLevel { name: one.name, a: one.a, b: one.b })
            .collect(),
        merged: merged.filter(|_| !is_single),
    }
}

/// The least likely ones together. If they matter, one of them does.
fn bundle(factors: Vec<ExplainedFactor>) -> ExplainedFactor {
    let change = factors.iter().map(|factor| factor.change).max().expect("there are some");
    let levels: Vec<_> = factors.into_iter().flat_map(|factor| factor.levels).collect();
    ExplainedFactor {
        name: format!("{} other settings", levels.len()),
        change,
        levels,
        merged: Some("settings that are not known to matter".to_owned()),
    }
}

fn suspicion_of(factor: &ExplainedFactor) -> u32 {
    if factor.change == FactorChange::Load || factor.change == FactorChange::Server {
        return u32::MAX;
    }
    factor.levels.iter().map(|level| suspicion(&level.name)).max().unwrap_or(0)
}

/// Those that are measured alone before everything else.
pub(crate) fn suspects(factors: &[ExplainedFactor]) -> Vec<usize> {
    factors
        .iter()
        .enumerate()
        .filter(|(_, factor)| is_suspected(factor))
        .map(|(index, _)| index)
        .take(SUSPECTS_MAX)
        .collect()
}

fn is_suspected(factor: &ExplainedFactor) -> bool {
    matches!(factor.change, FactorChange::Server | FactorChange::Load)
        || factor.levels.iter().any(|level| is_suspect(&level.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str) -> Candidate {
        let (a, b) = (SettingValue::Int(1), SettingValue::Int(2));
        let change = FactorChange::Dynamic;
        Candidate { name: name.to_owned(), a, b, change, is_follower: false, leader: None }
    }

    #[test]
    fn families_are_one_factor_and_the_most_suspicious_comes_first() {
        let names =
            ["table_open_cache", "binlog_format", "sync_binlog", "log_bin", "innodb_log_file_size"];
        let mut list: Vec<_> = names.map(candidate).into();
        list[3].change = FactorChange::Restart;
        let factors = ordered_factors(list);
        let found: Vec<_> =
            factors.iter().map(|one| (one.name.as_str(), one.levels.len())).collect();
        let expect = [
            ("sync_binlog", 1),
            ("log_bin", 2),
            ("innodb_log_file_size", 1),
            ("table_open_cache", 1),
        ];
        assert_eq!(found, expect);
        assert_eq!(factors[1].change, FactorChange::Restart, "a member needs one");
        assert_eq!(suspects(&factors), [0, 1, 2]);
    }

    #[test]
    fn what_follows_is_changed_with_its_leader() {
        let mut follower = candidate("innodb_log_file_buffering");
        follower.leader = Some("innodb_flush_log_at_trx_commit".to_owned());
        let factors = ordered_factors(vec![follower, candidate("innodb_flush_log_at_trx_commit")]);
        let levels: Vec<_> = factors[0].levels.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(
            (factors.len(), &levels[..]),
            (1, &["innodb_flush_log_at_trx_commit", "innodb_log_file_buffering"][..])
        );
    }

    #[test]
    fn the_least_likely_of_many_are_bundled() {
        let factors =
            ordered_factors((0..40).map(|n| candidate(&format!("unheard_of_{n}"))).collect());
        assert_eq!(factors.len(), OWN_FACTORS_MAX);
        assert_eq!(factors.last().unwrap().levels.len(), 40 - OWN_FACTORS_MAX + 1);
        assert_eq!(factors.last().unwrap().name, "17 other settings");
    }
}
