//! A plan as a user would write it: without what every plan has.

use toml::{Table, Value};

use crate::Plan;

/// Keys that are written although they have their defaults: what a reader looks for first.
const ALWAYS: [&str; 5] =
    ["load.warm_up_s", "load.measure_s", "design.blocks", "design.seed", "workload.name"];

impl Plan {
    /// The plan without keys that have their defaults.
    pub fn to_short_toml(&self) -> String {
        let mut table = self.to_table();
        remove_defaults(&mut table, &Self::empty().to_table(), "");
        toml::to_string(&table).expect("a table has a TOML form")
    }

    /// Every optional section at its defaults.
    fn empty() -> Self {
        let text =
            "name = '-'\nabout = ''\n[workload]\nname = 'insert'\n[factors]\nconnections = [1]";
        let plan = Self::parse(text).expect("a plan with all that it needs");
        Self { name: String::new(), factors: indexmap::IndexMap::new(), ..plan }
    }
}

/// Removes what both have, and tables that are empty then.
fn remove_defaults(table: &mut Table, defaults: &Table, path: &str) {
    table.retain(|key, value| {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        if ALWAYS.contains(&path.as_str()) {
            return true;
        }
        match (value, defaults.get(key)) {
            (Value::Table(inner), default) => {
                let none = Table::new();
                remove_defaults(inner, default.and_then(Value::as_table).unwrap_or(&none), &path);
                !inner.is_empty()
            }
            (value, default) => default != Some(value),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_plan_means_the_same() {
        let text = "name = 'p'\nabout = 'what?'\n\n[workload]\nname = \
                    \"insert\"\n\n[load]\nwarm_up_s = 1.0\n\
                    measure_s = 2.0\n\n[factors]\nsync_binlog = [1, 0]\nconnections = [1, 8]\n\n\
                    [design]\nblocks = 15\nseed = 42\n\n[design.baseline]\nsync_binlog = \
                    1\n\n[quick]\nblocks = 6\n";
        let plan = Plan::parse(text).unwrap();
        let short = plan.to_short_toml();
        assert_eq!(short.replace('"', "'"), text.replace('"', "'"));
        let others = [
            "name = 'p'\nabout = 'x'\ndisk = 'sata-ssd'\nserver = 'old'\n[workload]\nname = \
             'hot-row'\nhot_rows = 3\n\
             [load]\nrate = 5.0\n[load.errors]\nretry = []\n[factors]\nconnections = \
             [1]\n[probe]\nwaits = true",
            "name = 'p'\nabout = 'x'\n[workload]\ntable = { ints = 4 }\n[factors]\nconnections = \
             [1]\nlog_bin = [true]",
            "name = 'p'\nabout = 'x'\n[workload]\nsql = 'insert into t values (1)'\ncreate = \
             'create table t (a int)'\n\
             [factors]\nconnections = [1]\nrate = [1.5, 2]\n[server]\nflavour = \
             'mariadb'\nsettings = { a = 1 }",
        ];
        for text in others {
            let plan = Plan::parse(text).unwrap();
            let short = plan.to_short_toml();
            assert_eq!(
                Plan::parse(&short).unwrap_or_else(|error| panic!("{short}{error}")),
                plan,
                "{short}"
            );
            assert!(!short.contains("interval_s") && !short.contains("smallest_effect"), "{short}");
        }
    }
}
