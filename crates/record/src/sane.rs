//! Values that no measurement can have: a folder may have been edited by hand, or written by
//! another program. One such figure would spoil every mean that includes it.

use serde::Serialize;
use serde_json::Value;

use crate::{
    CONNECTIONS, Configuration, EngineFacts, Experiment, Explanation, Interval, Part, ProbeSample,
    ScriptRecord, Suspension, Trial, Verification,
};

/// Far above every real count or time: 10^14 microseconds are three years. The sum of 100,000
/// counts fits 64 bits.
const FIGURE_MAX: f64 = 1e14;
/// Characters of a trial's name.
const NAME_MAX: usize = 100;
/// Bytes of a name in file systems.
const PATH_NAME_BYTES_MAX: usize = 255;
/// Connections, and threads of a load generator. The sum of 1,000 parts fits 32 bits.
const CLIENTS_MAX: u32 = 1_000_000;

impl Configuration {
    /// Every reader relies on the number of connections.
    pub fn check(&self) -> Result<(), String> {
        match self.levels.get(CONNECTIONS) {
            None => Err(format!("configuration.{CONNECTIONS} is missing")),
            Some(level) if level.as_connections().is_none_or(|number| number > CLIENTS_MAX) => {
                Err(format!(
                    "configuration.{CONNECTIONS} is {level}: not a whole number between 1 and \
                     {CLIENTS_MAX}"
                ))
            }
            Some(_) => Ok(()),
        }
    }
}

impl Experiment {
    /// Names the first impossible name, number, figure of the host, or entry of the schedule.
    pub fn check(&self) -> Result<(), String> {
        check_path_name(&self.name).map_err(|problem| format!("name: {problem}"))?;
        check_clients("workers", self.workers)?;
        if let Some(one) = &self.part {
            Part::new(one.part.index, one.part.of).map_err(|problem| format!("part: {problem}"))?;
        }
        first_wrong("host", &self.host)?;
        self.schedule.iter().try_for_each(|scheduled| {
            check_trial_name(&scheduled.name)?;
            scheduled
                .configuration
                .check()
                .map_err(|problem| format!("{}: {problem}", scheduled.name))
        })
    }
}

/// Refuses what is not one name in a folder: a name that is read from a file or a server becomes a
/// path.
pub fn check_path_name(name: &str) -> Result<(), String> {
    let is_special = ["", ".", ".."].contains(&name);
    if !is_special
        && name.len() <= PATH_NAME_BYTES_MAX
        && !name.contains(|c: char| c == '/' || c.is_control())
    {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_MAX).collect();
    Err(format!(
        "`{}` cannot be the name of a folder: 1 to {PATH_NAME_BYTES_MAX} bytes without `/` and \
         control characters, not `.` or `..`",
        shown.escape_debug()
    ))
}

fn check_clients(name: &str, number: u32) -> Result<(), String> {
    if number <= CLIENTS_MAX {
        return Ok(());
    }
    Err(format!("{name} is {number}: more than {CLIENTS_MAX}, the limit"))
}

/// Bytes of a payload: far above what `truetps verify` sends.
const PAYLOAD_BYTES_MAX: u32 = 1 << 20;
/// Factors of an explanation: a mixture has a bit for each.
const FACTORS_MAX: usize = 128;

impl Verification {
    /// Names the first impossible number: a payload of this length is made for each row.
    pub fn check(&self) -> Result<(), String> {
        check_clients("load.clients", self.load.clients)?;
        match self.load.payload_bytes {
            bytes if bytes > PAYLOAD_BYTES_MAX => Err(format!(
                "load.payload_bytes is {bytes}: more than {PAYLOAD_BYTES_MAX}, the limit"
            )),
            _ => Ok(()),
        }
    }
}

impl Explanation {
    /// Names the first impossible number: factors are numbers of bits.
    pub fn check(&self) -> Result<(), String> {
        let factors = self.factors.len();
        if factors > FACTORS_MAX {
            return Err(format!("it has {factors} factors: more than {FACTORS_MAX}, the limit"));
        }
        match self.suspects.iter().find(|suspect| **suspect >= factors) {
            Some(suspect) => {
                Err(format!("suspects has {suspect}, and there are {factors} factors, from 0"))
            }
            None => Ok(()),
        }
    }
}

/// A trial's name is the name of its folder, within the folder of the experiment.
fn check_trial_name(name: &str) -> Result<(), String> {
    let is_plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
    if (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && is_plain {
        return Ok(());
    }
    Err(format!(
        "schedule.name is `{}`: a trial's name has 1 to {NAME_MAX} of the characters a-z, 0-9, `-` \
         and `.`, and does not begin with `.`",
        name.escape_debug()
    ))
}

impl Trial {
    /// Names the first impossible part of a trial of this name.
    pub fn check(&self, name: &str) -> Result<(), String> {
        // An attempt that was repeated keeps its record; see `folder.rs`.
        let rest = name.strip_prefix(&*self.name);
        if !rest.is_some_and(|rest| rest.is_empty() || is_attempt(rest)) {
            return Err(format!(
                "name is `{}`: not the name of its folder",
                self.name.escape_debug()
            ));
        }
        self.configuration.check()?;
        first_wrong("measured", &self.measured)?;
        if let Some(engine) = &self.engine {
            check_clients("engine.clients", engine.clients)?;
            check_clients("engine.workers", engine.workers)?;
            check_clients("engine.clients_failed", engine.clients_failed)?;
            check_clients("engine.clients_finished", engine.clients_finished.unwrap_or(0))?;
            // A suspension may have begun while the clients connected: before the clock of the
            // trial.
            if let Some(wrong) = engine.suspensions.iter().find(|one| !one.is_possible()) {
                return Err(format!(
                    "engine.suspensions has {wrong:?}: no measurement has such a value"
                ));
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
    rest.strip_prefix(".attempt-")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
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
        let wrong = times
            .into_iter()
            .find_map(|(name, value)| value.filter(|value| is_wrong(*value)).map(|v| (name, v)));
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
        Value::Number(number) => number
            .as_f64()
            .filter(|value| is_wrong(*value))
            .map_or(Ok(()), |v| Err(impossible_text(name, v))),
        Value::Array(list) => list.iter().try_for_each(|one| walk(name, one)),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(field, one)| walk(&format!("{name}.{field}"), one))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PartOfExperiment, SettingValue};

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
        for name in
            ["", ".", "..", "../a", "/tmp/a", "a/b", ".latest", "a\nb", "A", &"a".repeat(101)]
        {
            assert!(check_trial_name(name).unwrap_err().contains("a trial's name has"), "{name}");
        }
    }

    #[test]
    fn names_that_become_paths_are_one_name() {
        for name in ["hot rows", "my.plan_7", ".hidden", "Zähler", "..a"] {
            check_path_name(name).unwrap();
        }
        for name in ["", ".", "..", "/etc", "a/b", "../a", "a\nb", "a\0b", &"a".repeat(256)] {
            assert!(
                check_path_name(name).unwrap_err().contains("cannot be the name of a folder"),
                "{name}"
            );
        }
    }

    /// What a server or a file says of an experiment becomes threads, connections and a folder.
    #[test]
    fn an_experiment_has_numbers_and_names_that_can_be() {
        let check = |change: &dyn Fn(&mut Experiment)| {
            let text = include_str!("../../report/testdata/before-probe/experiment.json");
            let mut experiment: Experiment = serde_json::from_str(text).unwrap();
            change(&mut experiment);
            experiment.check()
        };
        check(&|experiment| experiment.workers = 64).unwrap();
        assert!(
            check(&|experiment| experiment.workers = u32::MAX)
                .unwrap_err()
                .starts_with("workers is 4294967295")
        );
        assert!(
            check(&|experiment| experiment.name = "../x".to_owned())
                .unwrap_err()
                .starts_with("name: `../x`")
        );
        let of = |index, of| PartOfExperiment {
            part: Part { index, of },
            pid: 1,
            meeting: String::new(),
        };
        check(&|experiment| experiment.part = Some(of(1, 2))).unwrap();
        for (index, parts) in [(2, 2), (0, 0), (0, u32::MAX)] {
            let problem =
                check(&|experiment| experiment.part = Some(of(index, parts))).unwrap_err();
            assert!(problem.starts_with("part: "), "{problem}");
        }
        let connections = |number: i64| {
            check(&|experiment| {
                let levels = &mut experiment.schedule[0].configuration.levels;
                levels.insert(CONNECTIONS.to_owned(), SettingValue::Int(number));
            })
        };
        connections(1_000_000).unwrap();
        assert!(
            connections(4_294_967_295)
                .unwrap_err()
                .contains("not a whole number between 1 and 1000000")
        );
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
        serde_json::from_str(include_str!("../../report/testdata/before-probe/trial-0001/run.json"))
            .unwrap()
    }

    /// The sum of the clients of several parts was one number more than 32 bits have.
    #[test]
    fn a_trial_has_numbers_of_clients_that_can_be() {
        let mut trial = recorded_trial();
        trial.engine.as_mut().unwrap().clients = u32::MAX;
        let problem = trial.check("trial-0001").unwrap_err();
        assert_eq!(problem, "engine.clients is 4294967295: more than 1000000, the limit");
    }

    #[test]
    fn a_kept_attempt_has_the_name_of_its_trial() {
        let trial = recorded_trial();
        for name in ["trial-0001", "trial-0001.attempt-1", "trial-0001.attempt-12"] {
            trial.check(name).unwrap();
        }
        for name in [
            "trial-0002",
            "trial-00011",
            "trial-0001.attempt-",
            "trial-0001.attempt-x",
            "trial-0001.old",
        ] {
            assert!(
                trial.check(name).unwrap_err().contains("not the name of its folder"),
                "{name}"
            );
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
            assert!(
                with(wrong.0, wrong.1).unwrap_err().starts_with("engine.suspensions"),
                "{wrong:?}"
            );
        }
    }
}
