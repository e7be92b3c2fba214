//! What each durability level loses in a crash, as the knowledge crate has it.
//!
//! Only two settings are told of here, one by one: what they come to together is told by `durability`.

use truetps_record::SettingValue;

use crate::ReportInput;

pub(crate) const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const SYNC_BINLOG: &str = "sync_binlog";

/// Sentences about the levels that the plan tries, in its order.
pub(crate) fn sentences(input: &ReportInput<'_>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for (name, levels) in &input.plan.factors {
        let known = levels.iter().filter_map(SettingValue::as_int);
        match name.as_str() {
            FLUSH => {
                let levels_told: Vec<_> = known.filter_map(flush_level).collect();
                if !levels_told.is_empty() {
                    said.push(format!("In a crash, {FLUSH}{}.", levels_told.join("; ")));
                }
            }
            SYNC_BINLOG => said.extend(known.filter_map(sync_level)),
            _ => {}
        }
    }
    said
}

fn flush_level(level: i64) -> Option<String> {
    Some(format!("={level} {}", of_level(FLUSH, level)?))
}

fn sync_level(level: i64) -> Option<String> {
    Some(format!("{SYNC_BINLOG}={level} {}.", of_level(SYNC_BINLOG, level)?))
}

fn of_level(name: &str, level: i64) -> Option<String> {
    let level = level.to_string();
    truetps_knowledge::known(name)?.crash(&level)?.of_level(&level)
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
            "In a crash, innodb_flush_log_at_trx_commit=1 loses no acknowledged transaction, if the disk keeps what it \
             has flushed; =2 loses nothing when only the server crashes, and up to about the last second when the \
             operating system crashes or the power fails; =0 loses up to about the last second of acknowledged \
             transactions, even when only the server crashes."
        );
    }

    #[test]
    fn levels_of_the_binlog() {
        let fixture = Fixture::of_plan(
            "name = \"b\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[design]\nblocks = 1\n\
             [factors]\nsync_binlog = [0, 1, 100]\nconnections = [1]\n",
        );
        let said = sentences(&fixture.input());
        assert_eq!(said.len(), 3);
        assert!(said[2].contains("every 100 groups"), "{}", said[2]);
    }
}
