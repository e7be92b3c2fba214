//! The load of a plan, in words.

use truetps_plan::{ErrorPolicy, Load, Plan, WorkloadKind};
use truetps_record::{
    Configuration, DriveMode, ErrorClass, Personality, RATE, Spacing, TABLE_ROWS,
};

use crate::{ReportInput, format};

/// The rate that a configuration asks for; it goes from one to the other where it is a ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TargetRate {
    pub(crate) from: f64,
    pub(crate) to: Option<f64>,
}

impl TargetRate {
    /// `None` in a closed loop.
    pub(crate) fn of(plan: &Plan, configuration: &Configuration) -> Option<Self> {
        let load = &plan.load;
        let clients = load.rate_per_client.map_or(1.0, |_| f64::from(configuration.connections()));
        let from = configuration.rate().or(load.rate).or(load.rate_per_client)?;
        Some(Self { from: from * clients, to: load.ramp_to.map(|to| to * clients) })
    }

    /// `1 000 tps`, `1 000 to 5 000 tps`.
    pub(crate) fn text(self) -> String {
        match self.to {
            None => format!("{} tps", format::rate(self.from)),
            Some(to) => format!("{} to {} tps", format::rate(self.from), format::rate(to)),
        }
    }
}

/// `1 table of 200 000 rows`, `3 tables of 500 rows each`. The number of rows is unknown if the
/// plan's own SQL creates the tables, or if they existed before a recorded run.
pub(crate) fn tables(plan: &Plan) -> String {
    let workload = &plan.workload;
    let tables = format::plural(workload.tables.into(), "table");
    match (plan.recorded_from, &workload.kind) {
        (Some(Personality::Verify), _) => return "an empty table".to_owned(),
        (Some(Personality::Mtls), _) => return "an existing table".to_owned(),
        (Some(_), WorkloadKind::Sql(sql)) if !sql.create.is_empty() => {
            return format!("{tables}, created by the run");
        }
        (Some(_), _) => return "existing tables".to_owned(),
        (None, WorkloadKind::Sql(_)) => return format!("{tables}, created by the plan's SQL"),
        (None, _) => {}
    }
    let each = if workload.tables == 1 { "" } else { " each" };
    let most = if plan.factors.get(TABLE_ROWS).is_some_and(|levels| levels.len() > 1) {
        "up to "
    } else {
        ""
    };
    format!("{tables} of {most}{}{each}", format::plural(workload.table_rows, "row"))
}

/// Whether starts follow a schedule.
pub(crate) fn is_open(plan: &Plan) -> bool {
    plan.load.is_open() || plan.factors.contains_key(RATE)
}

/// `1 000 tps`, `10 tps a client, rising to 20`; `None` in a closed loop.
pub(crate) fn rates(plan: &Plan) -> Option<String> {
    let load = &plan.load;
    let ramp = load.ramp_to.map_or(String::new(), |to| format!(", going to {}", format::rate(to)));
    if let Some(levels) = plan.factors.get(RATE) {
        return Some(if levels.len() == 1 {
            format!("{} tps", levels[0])
        } else {
            "the rate is a factor".to_owned()
        });
    }
    let of_client =
        load.rate_per_client.map(|rate| format!("{} tps a client{ramp}", format::rate(rate)));
    load.rate.map(|rate| format!("{} tps{ramp}", format::rate(rate))).or(of_client)
}

/// The load of a script's run; `None` of any other. What it sends to which tables, and what it does
/// about errors, only the script knows.
pub(crate) fn script_load(plan: &Plan) -> Option<Vec<String>> {
    let script = plan.workload.script()?;
    let mut parts = vec![
        format!("{script}, a script of sysbench"),
        script_warm_up(plan),
        recorded_length(plan),
    ];
    if let Some(rates) = rates(plan) {
        parts.push(format!("open loop: {rates}, {}", arrivals(plan.load.arrivals)));
    }
    Some(parts)
}

/// `sha256 0123456789ab`, of the script's text; `None` where it is not recorded.
pub(crate) fn script_hash(input: &ReportInput<'_>) -> Option<String> {
    let hash = input.trials().find_map(|trial| trial.script.as_ref()?.sha256.as_deref())?;
    Some(format!("sha256 {}", format::short_hash(hash)))
}

/// `no warm-up`, `5 s of warm-up`.
fn script_warm_up(plan: &Plan) -> String {
    let seconds = plan.load.warm_up_s;
    if seconds > 0.0 { format!("{seconds} s of warm-up") } else { "no warm-up".to_owned() }
}

/// The planned length of a recorded run: `10 s`, `10 s or 1 000 transactions`,
/// `1 000 transactions`, `to its end`.
pub(crate) fn recorded_length(plan: &Plan) -> String {
    let seconds = (plan.load.measure_s > 0.0).then(|| format!("{} s", plan.load.measure_s));
    let most = plan.load.measure_transactions.map(|most| format::plural(most, "transaction"));
    let limits: Vec<_> = [seconds, most].into_iter().flatten().collect();
    match &limits[..] {
        [] if plan.workload.script().is_some() => "without a limit".to_owned(),
        // The queries of a command line are a limit, too.
        [] => "to its end".to_owned(),
        limits => limits.join(" or "),
    }
}

pub(crate) fn arrivals(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Constant => "starts at equal intervals",
        Spacing::Poisson => "Poisson arrivals",
    }
}

/// `None` where no start is given up.
pub(crate) fn latency_limit(load: &Load) -> Option<String> {
    let limit = load.latency_limit_ms?;
    Some(format!("starts more than {} late are skipped", format::duration_us(limit * 1e3)))
}

pub(crate) fn mode(mode: DriveMode) -> &'static str {
    match mode {
        DriveMode::Auto => "chosen by the number of clients",
        DriveMode::Blocking => "blocking: a thread for each client",
        DriveMode::Multiplexed => "multiplexed: few threads with many clients each",
    }
}

/// The policy for failed statements, if it is not the default.
pub(crate) fn errors(policy: &ErrorPolicy) -> Vec<String> {
    let default = ErrorPolicy::default();
    let mut said = Vec::new();
    if policy.retry != default.retry {
        said.push(if policy.retry.is_empty() {
            "nothing is retried".to_owned()
        } else {
            format!("{} retried", classes(&policy.retry))
        });
    }
    for (list, what) in [(&policy.ignore, "ignored"), (&policy.fatal, "ends the run")] {
        said.extend((!list.is_empty()).then(|| format!("{} {what}", classes(list))));
    }
    if policy.retries_max != default.retries_max {
        said.push(format!("at most {}", format::retries(policy.retries_max)));
    }
    if policy.reconnect_s > 0.0 {
        said.push(format!("broken connections are retried for {} s", policy.reconnect_s));
    }
    said
}

fn classes(classes: &[ErrorClass]) -> String {
    format::list(&classes.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// What the plan does with errors of a class: `retried`, `ignored`, `fatal`; empty where they just
/// fail.
pub(crate) fn handling(policy: &ErrorPolicy, class: ErrorClass) -> &'static str {
    let lists = [(&policy.retry, "retried"), (&policy.ignore, "ignored"), (&policy.fatal, "fatal")];
    let found = lists.iter().find(|(list, _)| list.contains(&class));
    found.map_or("", |(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(load: &str, factors: &str) -> Plan {
        let text = format!(
            "name = \"p\"\nabout = \"?\"\n[workload]\nname = \"insert\"\n[load]\n{load}\n[factors]\n\
             connections = [8]\n{factors}"
        );
        Plan::parse(&text).unwrap()
    }

    #[test]
    fn targets() {
        let check = |load: &str, factors: &str, rates_text: Option<&str>, target: Option<&str>| {
            let plan = plan(load, factors);
            assert_eq!(rates(&plan).as_deref(), rates_text);
            let own = TargetRate::of(&plan, &plan.configurations()[0]).map(TargetRate::text);
            assert_eq!(own.as_deref(), target);
            assert_eq!(is_open(&plan), target.is_some());
        };
        check("", "", None, None);
        check("rate = 1000", "", Some("1 000 tps"), Some("1 000 tps"));
        check(
            "rate = 1000\nramp_to = 12345",
            "",
            Some("1 000 tps, going to 12 345"),
            Some("1 000 to 12 345 tps"),
        );
        check("rate_per_client = 2.5", "", Some("2.5 tps a client"), Some("20 tps"));
        check(
            "rate_per_client = 2\nramp_to = 4",
            "",
            Some("2 tps a client, going to 4"),
            Some("16 to 32 tps"),
        );
        check("", "rate = [500, 1000]", Some("the rate is a factor"), Some("500 tps"));
    }

    #[test]
    fn scripts_are_reported_by_their_name_and_limits() {
        let line = |load: &str| {
            let text = format!(
                "name = \"p\"\nabout = \"?\"\n[workload]\nname = \"sysbench\"\nscript = \
                 \"oltp\"\n[load]\n{load}\n\
                 [factors]\nconnections = [8]\n"
            );
            script_load(&Plan::parse(&text).unwrap()).unwrap().join("; ")
        };
        assert_eq!(
            line("warm_up_s = 0\nmeasure_s = 10"),
            "oltp, a script of sysbench; no warm-up; 10 s"
        );
        assert_eq!(
            line(
                "warm_up_s = 2\nmeasure_s = 0\nmeasure_transactions = 1000\nrate = 50\narrivals = \
                 \"poisson\""
            ),
            "oltp, a script of sysbench; 2 s of warm-up; 1 000 transactions; open loop: 50 tps, \
             Poisson arrivals"
        );
        assert!(line("measure_s = 0").ends_with("without a limit"));
        assert_eq!(script_load(&plan("", "")), None);
    }

    #[test]
    fn what_was_there_before_a_recorded_run_is_not_known() {
        let line = |text: &str| {
            let plan = Plan::parse(&format!(
                "name = 'p'\nabout = '?'\n{text}\n[factors]\nconnections = [8]\n"
            ))
            .unwrap();
            format!("{}; {}", tables(&plan), recorded_length(&plan))
        };
        let slap = "recorded_from = 'slap'\n[workload]\nsql = 'select 1'\n";
        assert_eq!(line(&format!("{slap}[load]\nmeasure_s = 0")), "existing tables; to its end");
        let made = format!(
            "{slap}create = 'create table t (a int)'\n[load]\nmeasure_s = 0\nmeasure_transactions \
             = 9"
        );
        assert_eq!(line(&made), "1 table, created by the run; 9 transactions");
        let mtls =
            "recorded_from = 'mtls'\n[workload]\ntable = { ints = 4 }\n[load]\nmeasure_s = 2";
        assert_eq!(line(mtls), "an existing table; 2 s");
    }

    #[test]
    fn only_changed_policies_are_shown() {
        assert_eq!(errors(&ErrorPolicy::default()), Vec::<String>::new());
        let policy = ErrorPolicy {
            retry: Vec::new(),
            ignore: vec![ErrorClass::DuplicateKey],
            fatal: vec![ErrorClass::ReadOnly, ErrorClass::of_code(1114)],
            retries_max: 1,
            reconnect_s: 5.0,
        };
        assert_eq!(
            errors(&policy).join("; "),
            "nothing is retried; duplicate_key ignored; read_only and other(1114) ends the run; at \
             most 1 retry; broken connections are retried for 5 s"
        );
        assert_eq!(
            (handling(&policy, ErrorClass::DuplicateKey), handling(&policy, ErrorClass::Deadlock)),
            ("ignored", "")
        );
    }

    #[test]
    fn the_latency_limit_is_a_time() {
        let plan = plan("rate = 10\nlatency_limit_ms = 50", "");
        assert_eq!(
            latency_limit(&plan.load).as_deref(),
            Some("starts more than 50.0 ms late are skipped")
        );
    }
}
