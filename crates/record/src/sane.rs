//! Values that no measurement can have: a folder may have been edited by hand, or written by another program. One such
//! figure would spoil every mean that includes it.

use serde::Serialize;
use serde_json::Value;

use crate::{
    CONNECTIONS, Configuration, EngineFacts, Experiment, Interval, ProbeSample, ScriptRecord, Suspension, Trial,
};

/// Far above every real count or time: 10^14 microseconds are three years. The sum of 100,000 counts fits 64 bits.
const FIGURE_MAX: f64 = 1e14;
/// Characters of a trial's name.
const NAME_MAX: usize = 100;

impl Configuration {
    /// Every reader relies on the number of connections.
    pub fn check(&self) -> Result<(), String> {
        match self.levels.get(CONNECTIONS) {
            None => Err(format!("configuration.{CONNECTIONS} is missing")),
            Some(level) if level.as_connections().is_none() => {
                Err(format!("configuration.{CONNECTIONS} is {level}: not a whole number between 1 and {}", u32::MAX))
            }
            Some(_) => Ok(()),
        }
    }
}

impl Experiment {
    /// Names the first figure of the host, or entry of the schedule, that is impossible.
    pub fn check(&self) -> Result<(), String> {
        first_wrong("host", &self.host)?;
        self.schedule.iter().try_for_each(|scheduled| {
            check_trial_name(&scheduled.name)?;
            scheduled.configuration.check().map_err(|problem| format!("{}: {problem}", scheduled.name))
        })
    }
}

/// A trial's name is the name of its folder, within the folder of the experiment.
fn check_trial_name(name: &str) -> Result<(), String> {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    if (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fine) {
        return Ok(());
    }
    Err(format!(
        "schedule.name is `{}`: a trial's name has 1 to {NAME_MAX} of the characters a-z, 0-9, `-` and `.`, and does not begin \
         with `.`",
        name.escape_debug()
    ))
}

impl Trial {
    /// Names the first impossible part of a trial of this name.
    pub fn check(&self, name: &str) -> Result<(), String> {
        // An attempt that was repeated keeps its record; see `folder.rs`.
        let is_own = |name: &str| name == self.name || name.strip_prefix(&*self.name).is_some_and(is_attempt);
        if !is_own(name) {
            return Err(format!("name is `{}`: not the name of its folder", self.name.escape_debug()));
        }
        self.configuration.check()?;
        first_wrong("measured", &self.measured)?;
        if let Some(engine) = &self.engine {
            // A suspension may have begun while the clients connected: before the clock of the trial.
            if let Some(wrong) = engine.suspensions.iter().find(|one| !one.is_possible()) {
                return Err(format!("engine.suspensions has {wrong:?}: no measurement has such a value"));
            }
            first_wrong("engine", &EngineFacts { suspensions: Vec::new(), ..engine.clone() })?;
        }
        first_wrong("profile", &self.profile)?;
        first_wrong("script", &self.script)
    }
}

impl ScriptRecord {
    /// Names the first impossible figure.
    pub fn check(&self) -> Result<(), String> {
        first_wrong("statements", &self.statements)
    }
}

/// The suffix that a kept attempt adds to its trial's name: `.attempt-1`.
fn is_attempt(rest: &str) -> bool {
    rest.strip_prefix(".attempt-").is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Suspension {
    fn is_possible(&self) -> bool {
        self.start_ms.abs() <= FIGURE_MAX && !is_wrong(self.length_ms)
    }
}

impl ProbeSample {
    /// A reading may have been made before the first transaction.
    pub fn is_possible(&self) -> bool {
        self.at_ms.abs() <= FIGURE_MAX && !is_wrong(self.took_ms)
    }
}

impl Interval {
    /// Names the first impossible figure.
    pub fn check(&self) -> Result<(), String> {
        let response = &self.response;
        let times = [
            ("start_ms", Some(self.start_ms)),
            ("length_ms", Some(self.length_ms)),
            ("tps", Some(self.tps)),
            ("ok", Some(self.counts.ok as f64)),
            ("response_us_mean", response.response_us_mean),
            ("response_us_p50", response.response_us_p50),
            ("response_us_p95", response.response_us_p95),
            ("response_us_p99", response.response_us_p99),
            ("response_us_p999", response.response_us_p999),
            ("response_us_max", response.response_us_max),
        ];
        let wrong =
            times.into_iter().find_map(|(name, value)| value.filter(|value| is_wrong(*value)).map(|v| (name, v)));
        if let Some((name, value)) = wrong {
            return Err(impossible_text(name, value));
        }
        first_wrong("gaps", &self.gaps)?;
        first_wrong("open_loop", &self.open_loop)
    }
}

fn is_wrong(value: f64) -> bool {
    !(0.0..=FIGURE_MAX).contains(&value)
}

fn impossible_text(name: &str, value: f64) -> String {
    // Without an exponent 1e308 is 309 digits.
    let text = if value.abs() > FIGURE_MAX { format!("{value:e}") } else { value.to_string() };
    format!("{name} is {text}: no measurement has such a value")
}

fn first_wrong(name: &str, part: &impl Serialize) -> Result<(), String> {
    let value = serde_json::to_value(part).map_err(|error| error.to_string())?;
    walk(name, &value)
}

fn walk(name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            number.as_f64().filter(|value| is_wrong(*value)).map_or(Ok(()), |v| Err(impossible_text(name, v)))
        }
        Value::Array(list) => list.iter().try_for_each(|one| walk(name, one)),
        Value::Object(fields) => fields.iter().try_for_each(|(field, one)| walk(&format!("{name}.{field}"), one)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: &str = r#"{"phase": "measure", "start_ms": 0.0, "length_ms": 1000.0, "carried_in": 0, "started": 5,
        "ok": 5, "failed": 0, "in_flight": 0, "statements": 5, "tps": 5.0, "response_us_mean": null,
        "response_us_p50": 1.0, "response_us_p95": null, "response_us_p99": 2.0, "response_us_p999": null,
        "response_us_max": 3.0, "gaps": [{"start_ms": 4.0, "length_ms": 100.0}]}"#;

    fn check(from: &str, to: &str, expect: Option<&str>) {
        let interval: Interval = serde_json::from_str(&INTERVAL.replace(from, to)).unwrap();
        let expect = expect.map(|start| format!("{start}: no measurement has such a value"));
        assert_eq!(interval.check().err(), expect, "{to}");
    }

    #[test]
    fn figures_that_cannot_be_are_named() {
        check("", "", None);
        check("\"tps\": 5.0", "\"tps\": -5.0", Some("tps is -5"));
        check("\"tps\": 5.0", "\"tps\": 1e300", Some("tps is 1e300"));
        check("p99\": 2.0", "p99\": -0.5", Some("response_us_p99 is -0.5"));
        check("\"ok\": 5", "\"ok\": 18446744073709551615", Some("ok is 1.8446744073709552e19"));
        check("\"length_ms\": 100.0", "\"length_ms\": -1.0", Some("gaps.length_ms is -1"));
    }

    #[test]
    fn names_of_trials_stay_within_the_experiment() {
        for name in ["trial-0001", "trial-20000", "a.1"] {
            check_trial_name(name).unwrap();
        }
        for name in ["", ".", "..", "../a", "/tmp/a", "a/b", ".latest", "a\nb", "A", &"a".repeat(101)] {
            assert!(check_trial_name(name).unwrap_err().contains("a trial's name has"), "{name}");
        }
    }

    #[test]
    fn a_host_has_figures_that_can_be() {
        let text = include_str!("../../report/testdata/before-probe/experiment.json");
        let mut experiment: Experiment = serde_json::from_str(text).unwrap();
        experiment.check().unwrap();
        experiment.host.flush.as_mut().unwrap().us_p50 = 1.8e19;
        assert!(experiment.check().unwrap_err().starts_with("host.flush.us_p50 is 1.8e19"));
    }

    fn recorded_trial() -> Trial {
        serde_json::from_str(include_str!("../../report/testdata/before-probe/trial-0001/run.json")).unwrap()
    }

    #[test]
    fn a_kept_attempt_has_the_name_of_its_trial() {
        let trial = recorded_trial();
        for name in ["trial-0001", "trial-0001.attempt-1", "trial-0001.attempt-12"] {
            trial.check(name).unwrap();
        }
        for name in ["trial-0002", "trial-00011", "trial-0001.attempt-", "trial-0001.attempt-x", "trial-0001.old"] {
            assert!(trial.check(name).unwrap_err().contains("not the name of its folder"), "{name}");
        }
    }

    #[test]
    fn a_suspension_may_begin_before_the_first_transaction() {
        let with = |start_ms: f64, length_ms: f64| {
            let mut trial = recorded_trial();
            trial.engine.as_mut().unwrap().suspensions = vec![Suspension { start_ms, length_ms }];
            trial.check("trial-0001")
        };
        with(-350.0, 300.0).unwrap();
        for wrong in [(f64::NEG_INFINITY, 300.0), (-350.0, -1.0), (1e300, 1.0)] {
            assert!(with(wrong.0, wrong.1).unwrap_err().starts_with("engine.suspensions"), "{wrong:?}");
        }
    }
}
