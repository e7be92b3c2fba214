//! A factor that a command line adds to a plan, or whose levels it replaces.

use truetps_record::{DISK, RATE, SERVER, SettingValue, is_load_factor};

use crate::{Plan, parse_rate};

impl Plan {
    /// Makes `name` a factor with these levels, in the plan and in its short form. Except for a
    /// load factor, comparisons are made with the first level. What the plan set for all trials
    /// under this name is dropped.
    pub fn vary(&mut self, name: &str, levels: Vec<SettingValue>) {
        let first = levels.first().cloned();
        // A new factor comes before the number of connections, which changes fastest.
        let index = self
            .factors
            .get_index_of(name)
            .or_else(|| self.factors.keys().position(|one| is_load_factor(one)));
        if self.factors.insert(name.to_owned(), levels).is_none()
            && let Some(index) = index
        {
            self.factors.move_index(self.factors.len() - 1, index);
        }
        self.quick.factors.shift_remove(name);
        self.server.settings.shift_remove(name);
        match name {
            SERVER => self.server.name = None,
            DISK => self.disk = None,
            _ => {}
        }
        let levels = &self.factors[name];
        self.design
            .leave_out
            .retain(|combination| combination.get(name).is_none_or(|level| levels.contains(level)));
        if let Some(first) = first.filter(|_| !is_load_factor(name)) {
            // The plan's own baseline stays: without this line a first factor without one would
            // lose it.
            self.design.baseline = self.baseline();
            self.design.baseline.retain(|other, _| other != name);
            self.design.baseline.insert(name.to_owned(), first);
        }
    }

    /// Sets a setting for all trials, also where the plan varies it.
    pub fn fix(&mut self, name: &str, value: SettingValue) {
        self.factors.shift_remove(name);
        self.quick.factors.shift_remove(name);
        self.design.baseline.shift_remove(name);
        self.design
            .leave_out
            .retain(|combination| combination.get(name).is_none_or(|level| *level == value));
        for combination in &mut self.design.leave_out {
            combination.shift_remove(name);
        }
        self.server.settings.insert(name.to_owned(), value);
    }
}

/// Reads `NAME=LEVEL,LEVEL` as a plan's line `NAME = [LEVEL, LEVEL]`: numbers, `on`, `off`, `true`,
/// `false`; all else is a text. A level with a comma is in quotes.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_factor(text: &str) -> Result<(String, Vec<SettingValue>), String> {
    let form = "write NAME=LEVEL,LEVEL, as in sync_binlog=1,0";
    let (name, levels) = text.split_once('=').ok_or_else(|| format!("has no `=`: {form}"))?;
    let name = name.trim().replace('-', "_");
    if name.is_empty() {
        return Err(format!("has no name: {form}"));
    }
    let levels = split_levels(levels)?;
    if levels.iter().any(|(level, is_quoted)| level.is_empty() && !is_quoted) {
        return Err(format!("has an empty level: {form}; an empty text is ''"));
    }
    let levels = levels.into_iter().map(|(level, is_quoted)| match &name[..] {
        // With its unit, as in `--rate`.
        RATE if level.contains('/') => parse_rate(&level).map(|rate| level_of(&rate.to_string())),
        _ if is_quoted => Ok(SettingValue::Text(level)),
        _ => Ok(level_of(&level)),
    });
    let levels = levels.collect::<Result<_, _>>()?;
    Ok((name, levels))
}

/// A level without quotes.
pub fn level_of(text: &str) -> SettingValue {
    if let Ok(number) = text.parse() {
        return SettingValue::Int(number);
    }
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-');
    if is_decimal && let Ok(number) = text.parse() {
        return SettingValue::Float(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" => SettingValue::Bool(true),
        "off" | "false" => SettingValue::Bool(false),
        _ => SettingValue::Text(text.to_owned()),
    }
}

/// Splits at commas outside of quotes; the flag says whether a level was in quotes.
fn split_levels(text: &str) -> Result<Vec<(String, bool)>, String> {
    let mut levels = vec![(String::new(), false)];
    let mut open: Option<char> = None;
    for c in text.chars() {
        let (level, is_quoted) = levels.last_mut().expect("there is one from the start");
        match (open, c) {
            (Some(quote), _) if c == quote => open = None,
            (None, '\'' | '"') if level.trim().is_empty() && !*is_quoted => {
                level.clear();
                (open, *is_quoted) = (Some(c), true);
            }
            (None, ',') => levels.push((String::new(), false)),
            _ => level.push(c),
        }
    }
    if let Some(quote) = open {
        return Err(format!("the quote {quote} is not closed"));
    }
    Ok(levels
        .into_iter()
        .map(
            |(level, is_quoted)| {
                if is_quoted { (level, true) } else { (level.trim().to_owned(), false) }
            },
        )
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use SettingValue::{Bool, Float, Int, Text};

    fn plan(text: &str) -> Plan {
        Plan::parse(&format!("name = 'p'\nabout = 'a'\n{text}")).unwrap()
    }

    #[test]
    fn levels_are_read_as_a_plan_writes_them() {
        let check = |text: &str, name: &str, levels: &[SettingValue]| {
            assert_eq!(parse_factor(text), Ok((name.to_owned(), levels.to_vec())), "{text}");
        };
        check("sync-binlog=1,0", "sync_binlog", &[Int(1), Int(0)]);
        check("log_bin=ON,off", "log_bin", &[Bool(true), Bool(false)]);
        check("pct=0.5, -1.5", "pct", &[Float(0.5), Float(-1.5)]);
        check("size=1G,512M", "size", &[Text("1G".into()), Text("512M".into())]);
        check("sql_mode='A,B',\"\"", "sql_mode", &[Text("A,B".into()), Text(String::new())]);
        check("level='1',1", "level", &[Text("1".into()), Int(1)]);
        check("a=b=c", "a", &[Text("b=c".into())]);
        check("rate=500/s,30/min,7", "rate", &[Int(500), Float(0.5), Int(7)]);
        for (wrong, problem) in [
            ("sync_binlog", "has no `=`"),
            ("=1,0", "has no name"),
            ("a=", "has an empty level"),
            ("a=1,", "has an empty level"),
            ("rate=5/s,5/d", "`d` is none of the units s, min, h"),
            ("a='x", "the quote ' is not closed"),
        ] {
            assert!(parse_factor(wrong).unwrap_err().contains(problem), "{wrong}");
        }
    }

    #[test]
    fn a_factor_is_replaced_with_all_that_names_its_levels() {
        let mut plan = plan(
            "[workload]\nname = 'insert'\n[factors]\nflush = [1, 2]\nlog_bin = [true, \
             false]\nconnections = [1, 8]\n\
             [design]\nleave_out = [{ flush = 2, log_bin = false }]\nbaseline = { log_bin = true \
             }\n\
             [quick]\nfactors = { flush = [1] }",
        );
        plan.vary("flush", vec![Int(0), Int(1)]);
        let plan = plan.checked().unwrap();
        assert_eq!(plan.factors.keys().collect::<Vec<_>>(), ["flush", "log_bin", "connections"]);
        assert!(plan.quick.factors.is_empty() && plan.design.leave_out.is_empty());
        assert_eq!(
            (&plan.design.baseline["flush"], &plan.design.baseline["log_bin"]),
            (&Int(0), &Bool(true))
        );
    }

    #[test]
    fn a_new_factor_is_compared_with_its_first_level() {
        let mut plan = plan(
            "[server.settings]\nsync_binlog = 1\n[workload]\nname = 'insert'\n[factors]\nflush = \
             [1, 2]\nconnections = [1]",
        );
        plan.vary("sync_binlog", vec![Int(1), Int(0)]);
        plan.vary("connections", vec![Int(4), Int(8)]);
        let plan = plan.checked().unwrap();
        assert_eq!(
            plan.factors.keys().collect::<Vec<_>>(),
            ["flush", "sync_binlog", "connections"]
        );
        assert!(plan.server.settings.is_empty());
        assert_eq!(
            plan.baseline().into_iter().collect::<Vec<_>>(),
            [("flush".to_owned(), Int(1)), ("sync_binlog".to_owned(), Int(1))]
        );
        assert_eq!(plan.factors["connections"], [Int(4), Int(8)]);
    }

    #[test]
    fn a_fixed_setting_is_no_factor() {
        let mut plan = plan(
            "[workload]\nname = 'insert'\n[factors]\nflush = [1, 2]\nlog_bin = [true, \
             false]\nconnections = [1]\n\
             [design]\nleave_out = [{ flush = 2, log_bin = false }]\nbaseline = { flush = 1, \
             log_bin = true }",
        );
        plan.fix("flush", Int(2));
        let plan = plan.checked().unwrap();
        assert_eq!(plan.configurations().len(), 1, "the other one is left out");
        assert_eq!(plan.server.settings["flush"], Int(2));
    }
}
