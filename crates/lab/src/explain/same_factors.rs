//! Whether an investigation that was begun earlier measures the same differences.

use std::collections::BTreeMap;

use truetps_record::{ExplainedFactor, SettingValue, same_setting};

/// The levels of a factor by name: of A and of B.
type SideLevels<'a> = BTreeMap<&'a str, (&'a SettingValue, &'a SettingValue)>;

/// How the differences that are measured now are others than then. Their order, and how they are
/// called and joined in words, does not matter: the findings follow from the record.
pub(super) fn other_factors(then: &[ExplainedFactor], now: &[ExplainedFactor]) -> Option<String> {
    let (before, after) =
        (then.iter().map(levels).collect::<Vec<_>>(), now.iter().map(levels).collect::<Vec<_>>());
    let gone = before.iter().find(|factor| !after.iter().any(|other| same(factor, other)));
    let new = after.iter().find(|factor| !before.iter().any(|other| same(factor, other)));
    match (gone, new) {
        (None, None) => None,
        (Some(gone), Some(new)) if gone.keys().any(|name| new.contains_key(name)) => Some(format!(
            "the difference {} was measured, which is {} now",
            words(gone),
            words(new)
        )),
        (Some(gone), _) => {
            Some(format!("the difference {} was measured, and is not any more", words(gone)))
        }
        (None, Some(new)) => {
            Some(format!("the difference {} was not measured, and is now", words(new)))
        }
    }
}

fn levels(factor: &ExplainedFactor) -> SideLevels<'_> {
    factor.levels.iter().map(|level| (level.name.as_str(), (&level.a, &level.b))).collect()
}

fn same(one: &SideLevels<'_>, other: &SideLevels<'_>) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, (a, b)), (other_name, (other_a, other_b)))| {
            name == other_name && same_value(a, other_a) && same_value(b, other_b)
        })
}

fn same_value(one: &SettingValue, other: &SettingValue) -> bool {
    same_setting(&one.option_text(), &other.option_text())
}

/// `innodb_flush_log_at_trx_commit (1 and 2)`.
fn words(levels: &SideLevels<'_>) -> String {
    let texts: Vec<_> = levels
        .iter()
        .map(|(name, (a, b))| format!("{name} ({} and {})", a.option_text(), b.option_text()))
        .collect();
    texts.join(" with ")
}

#[cfg(test)]
mod tests {
    use truetps_plan::level_of;
    use truetps_record::{FactorChange, FactorLevel};

    use super::*;

    fn factor(levels: &[(&str, &str, &str)]) -> ExplainedFactor {
        let level = |(name, a, b): &(&str, &str, &str)| FactorLevel {
            name: (*name).to_owned(),
            a: level_of(a),
            b: level_of(b),
        };
        ExplainedFactor {
            name: levels[0].0.to_owned(),
            levels: levels.iter().map(level).collect(),
            change: FactorChange::Dynamic,
            merged: None,
        }
    }

    #[test]
    fn factors_are_the_same_by_their_levels_in_any_words() {
        let pool = factor(&[("innodb_buffer_pool_size", "128M", "1G")]);
        let sync = factor(&[("sync_binlog", "0", "1")]);
        let renamed = ExplainedFactor {
            name: "buffer pool".to_owned(),
            change: FactorChange::Restart,
            merged: Some("in words of an older version".to_owned()),
            ..factor(&[("innodb_buffer_pool_size", "134217728", "1073741824")])
        };
        assert_eq!(other_factors(&[pool.clone(), sync.clone()], &[sync.clone(), renamed]), None);
        let check = |then: &[ExplainedFactor], now: &[ExplainedFactor], expect: &str| {
            assert_eq!(other_factors(then, now).as_deref(), Some(expect));
        };
        let both = [sync.clone(), pool.clone()];
        check(
            &both[..1],
            &both,
            "the difference innodb_buffer_pool_size (128M and 1G) was not measured, and is now",
        );
        check(
            &both,
            &both[..1],
            "the difference innodb_buffer_pool_size (128M and 1G) was measured, and is not any more",
        );
        let other = factor(&[("sync_binlog", "0", "100")]);
        check(
            &both[..1],
            &[other],
            "the difference sync_binlog (0 and 1) was measured, which is sync_binlog (0 and 100) \
             now",
        );
        // Two settings that were one factor are two now: mixtures of one say nothing about the
        // other.
        let joined = factor(&[("log_bin", "OFF", "ON"), ("sync_binlog", "0", "1")]);
        let apart = [factor(&[("log_bin", "OFF", "ON")]), sync];
        let expect = "the difference log_bin (OFF and ON) with sync_binlog (0 and 1) was measured, \
                      which is log_bin (OFF and ON) now";
        check(&[joined], &apart, expect);
    }
}
