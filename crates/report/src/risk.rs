//! The loss of each durability level in a crash, from the knowledge crate.
//!
//! Covers two settings, one by one. Their combined effect is in `durability`, if the servers' other
//! settings are known.

use truetps_record::SettingValue;

use crate::{ReportInput, durability};

pub(crate) const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const SYNC_BINLOG: &str = "sync_binlog";
/// The other settings are unknown: the folder is old, or the server was unavailable.
const UNKNOWN_TOGETHER: &str = "The servers' other settings are not recorded, and no setting \
     decides alone: with a binlog and sync_binlog=0, MariaDB's default, \
     innodb_flush_log_at_trx_commit=1 can lose the last commits in a power cut.";

/// Sentences about the levels that the plan tries, in its order.
pub(crate) fn sentences(input: &ReportInput<'_>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for (name, levels) in &input.run.plan.factors {
        if [FLUSH, SYNC_BINLOG].contains(&name.as_str()) {
            let losses: Vec<_> = levels
                .iter()
                .filter_map(SettingValue::as_int)
                .filter_map(|level| Some(format!("={level}, {}", crash_sentence(name, level)?)))
                .collect();
            if !losses.is_empty() {
                said.push(format!("With {name}{}.", losses.join("; with ")));
            }
        }
    }
    if !said.is_empty() && durability::sentences(input).is_empty() {
        said.push(UNKNOWN_TOGETHER.to_owned());
    }
    said
}

fn crash_sentence(name: &str, level: i64) -> Option<String> {
    Some(truetps_knowledge::find_setting(name)?.crash(&level.to_string())?.sentence())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn levels_in_the_order_of_the_plan() {
        let fixture = Fixture::durability();
        let said = sentences(&fixture.input());
        assert_eq!(
            said[0],
            "With innodb_flush_log_at_trx_commit=1, a process crash loses no acknowledged \
             transaction, a power cut loses no committed transaction if the disk honours flushes \
             (and, with a binlog, sync_binlog=1); with =2, a process crash loses nothing, a power \
             cut loses up to about the last second of acknowledged transactions; with =0, a crash \
             loses up to about the last second of acknowledged transactions."
        );
        assert_eq!(said[1..], [UNKNOWN_TOGETHER], "nothing is known of the other settings");
    }

    #[test]
    fn nothing_is_reminded_of_where_all_settings_are_known() {
        let mut fixture = Fixture::durability();
        for one in &mut fixture.run.trials {
            let had = [
                ("log_bin".to_owned(), "ON".to_owned()),
                ("sync_binlog".to_owned(), "0".to_owned()),
            ]
            .into();
            one.variables = Some(had);
        }
        assert_eq!(sentences(&fixture.input()).len(), 1);
    }

    #[test]
    fn levels_of_the_binlog() {
        let fixture = Fixture::of_plan(
            "name = \"b\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[design]\nblocks = 1\n\
             [factors]\nsync_binlog = [0, 1, 100]\nconnections = [1]\n",
        );
        let said = sentences(&fixture.input());
        assert_eq!(said.len(), 2);
        assert!(
            said[0].contains(
                "with =100, a process crash loses nothing, a power cut can lose that many"
            ),
            "{}",
            said[0]
        );
    }
}
