//! Keys of a plan in errors, and the flags that set them.

use std::fmt;

/// A key of a plan by its path: `load.warm_up_s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanKey(String);

/// Keys that `truetps run` sets by flags.
pub const RUN_FLAGS: [(&str, &str); 24] = [
    ("disk", "--disk"),
    ("workload.tables", "--tables"),
    ("workload.table_rows", "--table-rows"),
    ("workload.distribution", "--distribution"),
    ("workload.rows_per_insert", "--rows-per-insert"),
    ("workload.key", "--key"),
    ("workload.hot_rows", "--hot-rows"),
    ("workload.mix", "--mix"),
    ("factors.connections", "--connections"),
    ("load.warm_up_s", "--warm-up"),
    ("load.measure_s", "--measure"),
    ("load.measure_transactions", "--transactions"),
    ("load.rate", "--rate"),
    ("load.rate_per_client", "--rate-per-client"),
    ("load.ramp_to", "--ramp-to"),
    ("load.latency_limit_ms", "--latency-limit"),
    ("load.mode", "--mode"),
    ("load.errors.retry", "--retry"),
    ("load.errors.ignore", "--ignore"),
    ("load.errors.fatal", "--fatal"),
    ("load.errors.retries_max", "--retries-max"),
    ("load.errors.reconnect_s", "--reconnect"),
    ("design.blocks", "--repeat"),
    ("probe.interval_s", "--probe-interval"),
];

/// Settings of the server have no flag each.
const SETTINGS: &str = "server.settings.";

impl PlanKey {
    pub fn path(&self) -> &str {
        &self.0
    }

    /// The key as the flag that sets it. A key without a flag stays as it is.
    pub(crate) fn by_flag(self) -> Self {
        if let Some(setting) = self.0.strip_prefix(SETTINGS) {
            return Self(format!("--set {setting}"));
        }
        let flag = RUN_FLAGS.iter().find(|(key, _)| *key == self.0);
        flag.map_or(self, |(_, flag)| Self((*flag).to_owned()))
    }
}

/// Words in backquotes that are the last part of a key, as the flags that set them.
pub(crate) fn text_by_flags(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        let flag =
            RUN_FLAGS.iter().find(|(key, _)| at % 2 == 1 && key.rsplit('.').next() == Some(part));
        flag.map_or(part, |(_, flag)| flag)
    });
    parts.collect::<Vec<_>>().join("`")
}

impl<T: Into<String>> From<T> for PlanKey {
    fn from(path: T) -> Self {
        Self(path.into())
    }
}

impl fmt::Display for PlanKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanError;
    use crate::workload_spec::all_workload_keys;

    #[test]
    fn keys_have_the_flags_that_set_them() {
        let check =
            |key: &str, expect: &str| assert_eq!(PlanKey::from(key).by_flag().path(), expect);
        check("workload.table_rows", "--table-rows");
        check("load.warm_up_s", "--warm-up");
        check("load.measure_transactions", "--transactions");
        check("load.errors.reconnect_s", "--reconnect");
        check("server.settings.seed", "--set seed");
        check("workload.statements", "workload.statements");
    }

    #[test]
    fn each_key_of_a_workload_has_a_flag_or_needs_a_plan() {
        const WITHOUT_FLAG: [&str; 9] = [
            "transaction",
            "statements",
            "table",
            "sql",
            "create",
            "commit_every",
            "explicit_commit",
            "script",
            "target",
        ];
        for (name, keys) in all_workload_keys() {
            for key in keys {
                let has_flag =
                    RUN_FLAGS.iter().any(|(known, _)| known.strip_prefix("workload.") == Some(key));
                assert_eq!(has_flag, !WITHOUT_FLAG.contains(key), "`{key}` of {name}");
            }
        }
    }

    #[test]
    fn problems_are_in_terms_of_flags() {
        let value = |key: &str, problem: &str| {
            PlanError::Value { key: key.into(), problem: problem.to_owned() }.by_flag().to_string()
        };
        assert_eq!(
            value("load.ramp_to", "needs `rate` or `rate_per_client`"),
            "`--ramp-to`: needs `--rate` or `--rate-per-client`"
        );
        assert_eq!(
            value("load.errors.retry", "`dedlock` is not an error class"),
            "`--retry`: `dedlock` is not an error class"
        );
        let unused = PlanError::UnusedKey {
            key: "workload.key".into(),
            workload: "insert".to_owned(),
            used_by: vec!["a".to_owned()],
        };
        assert_eq!(
            unused.by_flag().to_string(),
            "`--key` means nothing to `insert`: it is for `a`"
        );
    }
}
