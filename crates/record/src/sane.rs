//! Values that no measurement can have: a folder may have been edited by hand, or written by
//! another program. One such figure would spoil every mean that includes it.

use serde::Serialize;
use serde_json::Value;

use crate::{
    CONNECTIONS, Configuration, CrashRecord, EngineFacts, Experiment, Explanation, Interval, Part,
    PoolRecord, ProbeSample, ScriptRecord, Suspension, Trial, TrialSurroundings, Verification,
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
        if let Some(suspect) = self.suspects.iter().find(|suspect| **suspect >= factors) {
            return Err(format!("suspects has {suspect}, and there are {factors} factors, from 0"));
        }
        for (side, configuration) in [("a", &self.a.configuration), ("b", &self.b.configuration)] {
            configuration.check().map_err(|problem| format!("{side}.{problem}"))?;
        }
        check_above_zero("smallest_percent", self.smallest_percent)?;
        self.budget_s.map_or(Ok(()), |budget_s| check_above_zero("budget_s", budget_s))
    }
}

impl PoolRecord {
    /// Names the first impossible number.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("connections_most", self.connections_most),
            ("blocks", self.blocks),
            ("check_blocks", self.check_blocks),
            ("instances", self.instances),
            ("current", self.current.unwrap_or(1)),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(format!("{name} is 0: at least 1"));
            }
            check_clients(name, count)?;
        }
        for (name, figure) in [("p99_limit_us", self.p99_limit_us), ("rate", self.rate)] {
            figure.map_or(Ok(()), |figure| check_above_zero(name, figure))?;
        }
        Ok(())
    }
}

fn check_above_zero(name: &str, figure: f64) -> Result<(), String> {
    if is_wrong(figure) || figure == 0.0 { Err(impossible_text(name, figure)) } else { Ok(()) }
}

impl CrashRecord {
    /// Names the first impossible figure, or sum that is none.
    pub fn check(&self) -> Result<(), String> {
        let Self { attempted, acknowledged, unknown, lost, recovered, .. } = self;
        // Levels of settings are what the user wants them to be.
        let levels = Configuration { levels: indexmap::IndexMap::new() };
        first_wrong("crash", &Self { configuration: levels, surroundings: None, ..self.clone() })?;
        check_share("steal", self.steal)?;
        self.surroundings.as_ref().map_or(Ok(()), TrialSurroundings::check)?;
        if acknowledged + unknown != *attempted || lost > acknowledged || recovered > unknown {
            return Err(format!(
                "{attempted} rows attempted, {acknowledged} acknowledged, {unknown} unknown, \
                 {lost} lost and {recovered} recovered: the numbers contradict each other"
            ));
        }
        Ok(())
    }
}

impl TrialSurroundings {
    /// Names the first impossible figure.
    pub fn check(&self) -> Result<(), String> {
        first_wrong("surroundings", &Self { clock_step_ms: None, ..self.clone() })?;
        check_share("surroundings.memory_pressure", self.memory_pressure)?;
        check_share("surroundings.throttled", self.throttled)?;
        if let Some(step_ms) = self.clock_step_ms.filter(|ms| is_wrong(ms.abs())) {
            return Err(impossible_text("surroundings.clock_step_ms", step_ms));
        }
        if let (Some(stopped), Some(looks)) = (self.server_stopped, self.server_looks)
            && stopped > looks
        {
            return Err(format!("surroundings.server_stopped is {stopped} of {looks} looks"));
        }
        match &self.other_programs {
            Some(others) if others.cores > CORES_SLACK * others.of_cores + 1.0 => Err(format!(
                "surroundings.other_programs.cores is {} of {} cores",
                others.cores, others.of_cores
            )),
            _ => Ok(()),
        }
    }
}

/// Two readings of CPU time are not of the same moment.
const CORES_SLACK: f64 = 1.5;

/// A share is from 0 to 1; readings of two moments may make a little more of it.
fn check_share(name: &str, share: Option<f64>) -> Result<(), String> {
    const SHARE_MAX: f64 = 1.5;
    match share.filter(|share| !(0.0..=SHARE_MAX).contains(share)) {
        Some(share) => Err(impossible_text(name, share)),
        None => Ok(()),
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
        let steal = self.measured.as_ref().and_then(|measured| measured.resources.steal);
        check_share("measured.steal", steal)?;
        self.surroundings.as_ref().map_or(Ok(()), TrialSurroundings::check)?;
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
    use crate::{OtherPrograms, PartOfExperiment, SettingValue};

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

    /// Two programs cannot use 5 of 2 cores, and nothing takes more than all of the time.
    #[test]
    fn surroundings_are_within_the_host() {
        let with = |change: fn(&mut TrialSurroundings)| {
            let mut trial = recorded_trial();
            let mut beside = TrialSurroundings {
                other_programs: Some(OtherPrograms {
                    cores: 1.9,
                    of_cores: 2.0,
                    ..OtherPrograms::default()
                }),
                clock_step_ms: Some(-3_600_000.0),
                server_stopped: Some(2),
                server_looks: Some(3),
                memory_pressure: Some(1.0),
                ..TrialSurroundings::default()
            };
            change(&mut beside);
            trial.surroundings = Some(beside);
            trial.check("trial-0001").err().unwrap_or_default()
        };
        assert_eq!(with(|_| ()), "");
        for (change, name) in [
            (
                (|one| one.other_programs.as_mut().unwrap().cores = 5.0)
                    as fn(&mut TrialSurroundings),
                "surroundings.other_programs.cores is 5 of 2 cores",
            ),
            (|one| one.memory_pressure = Some(1e308), "surroundings.memory_pressure is 1e308"),
            (|one| one.throttled = Some(2.0), "surroundings.throttled is 2"),
            (|one| one.clock_step_ms = Some(-1e300), "surroundings.clock_step_ms is -1e300"),
            (|one| one.server_stopped = Some(4), "surroundings.server_stopped is 4 of 3 looks"),
        ] {
            assert!(with(change).starts_with(name), "{name}: {}", with(change));
        }
    }

    #[test]
    fn the_counts_of_a_crash_agree() {
        let text = r#"{"number": 1, "role": "cell", "kind": "kill", "configuration": {"flush": -1},
            "load_ms": 2000.0, "tps": 1000.0, "response_us_p99": 90.5, "attempted": 2001,
            "acknowledged": 2000, "unknown": 1, "lost": 3, "loss_window_ms": 5.0,
            "recovered": 1, "unexpected": 0, "holes": 0, "blocks_lost": 0, "recovery_ms": 900.0, "table_problem": null, "promises_all_kept": false}"#;
        let check = |from: &str, to: &str| {
            let crash: CrashRecord = serde_json::from_str(&text.replace(from, to)).unwrap();
            crash.check().err().unwrap_or_default()
        };
        assert_eq!(check("", ""), "");
        for (from, to, problem) in [
            ("1000.0", "-1.0", "crash.tps is -1"),
            ("90.5", "-1.0", "crash.response_us_p99 is -1"),
            ("\"lost\": 3", "\"lost\": 2001", "2001 rows attempted, 2000 acknowledged"),
            ("2001", "2002", "2002 rows attempted"),
            ("\"lost\": 3", "\"lost\": 18446744073709551615", "crash.lost is 1.8"),
        ] {
            assert!(check(from, to).starts_with(problem), "{problem}: {}", check(from, to));
        }
    }

    #[test]
    fn what_a_pool_was_asked_can_be() {
        let text = r#"{"schema_version": 1, "seed": 1, "connections_most": 512, "blocks": 5,
            "check_blocks": 8, "p99_limit_us": 1000.0, "rate": 100.0, "current": 10,
            "instances": 3}"#;
        let check = |from: &str, to: &str| {
            let pool: PoolRecord = serde_json::from_str(&text.replace(from, to)).unwrap();
            pool.check().err().unwrap_or_default()
        };
        assert_eq!(check("", ""), "");
        for (from, to, problem) in [
            ("1000.0", "-1.0", "p99_limit_us is -1"),
            ("1000.0", "0.0", "p99_limit_us is 0"),
            ("100.0,", "1e308,", "rate is 1e308"),
            ("\"instances\": 3", "\"instances\": 0", "instances is 0: at least 1"),
            ("512", "4294967295", "connections_most is 4294967295"),
        ] {
            assert!(check(from, to).starts_with(problem), "{problem}: {}", check(from, to));
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
