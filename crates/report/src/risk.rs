//! What each durability level loses in a crash, as the knowledge crate has it.
//!
//! Only two settings are told of here; of every other one a report says what it costs and not what it risks.

use truetps_record::{Plan, SettingValue, is_load_factor};

use crate::ReportInput;

pub(crate) const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const SYNC_BINLOG: &str = "sync_binlog";
const LOG_BIN: &str = "log_bin";

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
                if levels.contains(&SettingValue::Int(1)) {
                    said.push(binlog_reminder(input));
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

/// With a binlog, recovery takes the last commits from it: a binlog that was not flushed takes them along.
fn binlog_reminder(input: &ReportInput<'_>) -> String {
    let loses = "even =1 can lose acknowledged transactions when the operating system crashes";
    match (setting(input, LOG_BIN), setting(input, SYNC_BINLOG)) {
        (Some(binlog), _) if is_off(&binlog) => {
            format!("For =1 that holds without a binlog, as here; with one and {SYNC_BINLOG}=0, {loses}.")
        }
        (Some(_), Some(sync)) if sync == "0" => format!("But the binlog is on here, with {SYNC_BINLOG}=0: {loses}."),
        _ => format!("With a binlog and {SYNC_BINLOG}=0, {loses}."),
    }
}

fn is_off(value: &str) -> bool {
    ["off", "0", "false"].contains(&value.to_lowercase().as_str())
}

/// A setting that every trial has, as far as the records say; `None` for a factor, whose level differs.
fn setting(input: &ReportInput<'_>, name: &str) -> Option<String> {
    if is_factor(input.plan, name) {
        return None;
    }
    if let Some(value) = input.plan.server.settings.get(name) {
        return Some(value.option_text());
    }
    let chosen = &input.experiment.server.as_ref()?.chosen_settings;
    let same = |option: &str, wanted: &str| option.trim_start_matches('-').replace('-', "_") == wanted;
    if chosen.iter().any(|(option, _)| same(option, &format!("skip_{name}"))) {
        return Some("OFF".to_owned());
    }
    chosen.iter().find(|(option, _)| same(option, name)).map(|(_, value)| value.clone())
}

fn is_factor(plan: &Plan, name: &str) -> bool {
    !is_load_factor(name) && plan.factors.contains_key(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn reminder(change: impl FnOnce(&mut Fixture)) -> String {
        let mut fixture = Fixture::durability();
        change(&mut fixture);
        sentences(&fixture.input()).pop().unwrap()
    }

    #[test]
    fn the_binlog_is_looked_at() {
        let check = |text: String, expect: &str| assert!(text.starts_with(expect), "{text}");
        let on = |fixture: &mut Fixture| fixture.plan.server.settings["log_bin"] = SettingValue::Bool(true);
        let chosen = |option: &str, value: &str| (option.to_owned(), value.to_owned());
        check(reminder(|_| ()), "For =1 that holds without a binlog, as here;");
        check(reminder(on), "With a binlog and sync_binlog=0, even");
        let with_sync = |fixture: &mut Fixture| {
            on(fixture);
            fixture.experiment.server.as_mut().unwrap().chosen_settings.push(chosen("sync-binlog", "0"));
        };
        check(reminder(with_sync), "But the binlog is on here, with sync_binlog=0:");
        let skipped = |fixture: &mut Fixture| {
            fixture.plan.server.settings.clear();
            fixture.experiment.server.as_mut().unwrap().chosen_settings.push(chosen("skip-log-bin", ""));
        };
        check(reminder(skipped), "For =1 that holds without a binlog, as here;");
    }

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
