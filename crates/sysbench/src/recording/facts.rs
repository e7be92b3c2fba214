//! A script's run as a plan and an experiment, with its results.

use std::time::Duration;

use indexmap::IndexMap;
use truetps_driver::Target;
use truetps_measure::{MeasuredLoad, MeasuredSums, WorkerUse};
use truetps_plan::{
    Design, ErrorPolicy, Load, Plan, ProbeSpec, QuickOverrides, SCRIPT_WORKLOAD, ScriptSpec,
    ServerSpec, WorkloadKind, WorkloadSpec,
};
use truetps_record::{
    AnswersReady, CONNECTIONS, Configuration, DriveMode, EngineFacts, ErrorClass, ErrorCount,
    ErrorTally, Experiment, Flavour, GeneratorLimit, LatencyFigures, Personality, Protocol,
    SCHEMA_VERSION, ScheduledTrial, ScriptFairness, ScriptRecord, ScriptRun, SentStatements,
    ServerFacts, SettingValue, Spacing, SqlDialect, TrialRole,
};
use truetps_recording::{ExperimentStart, host_of_external_server, new_experiment};

use crate::command::ServerSeen;
use crate::options::{IgnoredErrors, words_without_secrets};
use crate::output::{ClientFigures, Fairness};
use crate::run::{RecordedSeries, WorkerContext};

pub(super) const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Characters of a plan's name: it becomes the name of a folder.
const NAME_MAX: usize = 64;
const TRIAL: &str = "trial-0001";

/// `sysbench-oltp_read_write`, from a script's file or module.
fn plan_name(base_name: &str) -> String {
    let script = base_name.strip_suffix(".lua").unwrap_or(base_name);
    let name = script.replace(|c: char| !(c.is_ascii_alphanumeric() || c == '_'), "-");
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "script" } else { name };
    format!("{SCRIPT_WORKLOAD}-{name}").chars().take(NAME_MAX).collect()
}

/// The plan of the run, with the load of all parts.
pub(crate) fn plan(context: &WorkerContext) -> Plan {
    let settings = &context.options.settings;
    let protocol =
        if context.drivers.emulates_prepared() { Protocol::Text } else { Protocol::Prepared };
    // The standard input has no name.
    let name = String::from_utf8_lossy(&context.script.name);
    let script = if name.is_empty() { "a script" } else { &*name }.to_owned();
    let clients = settings.threads;
    let plural = if clients == 1 { "" } else { "s" };
    let kind = WorkloadKind::Sysbench(ScriptSpec { script: script.clone() });
    Plan {
        name: plan_name(&context.script.base_name()),
        about: format!("what {script} of sysbench does with {clients} client{plural}"),
        recorded_from: Some(Personality::Sysbench),
        server: ServerSpec::default(),
        disk: None,
        workload: WorkloadSpec { kind, tables: 0, table_rows: 0, protocol },
        load: Load {
            warm_up_s: settings.warmup.as_secs_f64(),
            measure_s: settings.time.map_or(0.0, |time| time.as_secs_f64()),
            measure_transactions: settings.events,
            rate: settings.rate.map(f64::from),
            arrivals: if settings.rate.is_some() { Spacing::Poisson } else { Spacing::default() },
            errors: error_policy(context),
            ..Load::default()
        },
        factors: IndexMap::from([(
            CONNECTIONS.to_owned(),
            vec![SettingValue::Int(clients.into())],
        )]),
        design: Design { blocks: 1, seed: context.run.seed, aa_pair: false, ..Design::default() },
        probe: ProbeSpec {
            enabled: settings.ours.probe.enabled && probe_target(context).is_some(),
            ..settings.ours.probe.clone()
        },
        quick: QuickOverrides::default(),
    }
}

/// What the probe logs in to. A script may connect only in its events.
pub(super) fn probe_target(context: &WorkerContext) -> Option<Target> {
    let connected = context.run.server.get().map(|server| server.load_target.clone());
    connected.or_else(|| context.drivers.expected_target())
}

/// Classes of the errors after which an event is restarted, without limit. `all` has no list.
fn error_policy(context: &WorkerContext) -> ErrorPolicy {
    let is_postgres =
        probe_target(context).is_some_and(|target| target.dialect == SqlDialect::Postgres);
    let ignored = if is_postgres {
        context.options.pgsql().map(|settings| settings.ignore_errors)
    } else {
        context.options.mysql().map(|settings| settings.ignore_errors)
    };
    let classes: Vec<ErrorClass> = match ignored {
        Ok(IgnoredErrors::Numbers(codes)) => {
            codes.iter().map(|code| ErrorClass::of_code(*code)).collect()
        }
        Ok(IgnoredErrors::States(states)) => {
            states.iter().map(|state| ErrorClass::of_sqlstate(state)).collect()
        }
        Ok(IgnoredErrors::All) | Err(_) => Vec::new(),
    };
    let mut retry: Vec<ErrorClass> = Vec::new();
    for class in classes {
        if !retry.contains(&class) {
            retry.push(class);
        }
    }
    ErrorPolicy { retry, retries_max: u32::MAX, ..ErrorPolicy::default() }
}

/// The server's facts from a client's login. `None`: no client logged in.
pub(super) fn server(context: &WorkerContext) -> Option<ServerFacts> {
    context.run.server.get().map(server_facts)
}

fn server_facts(seen: &ServerSeen) -> ServerFacts {
    let facts = ServerFacts::from_version_text(&seen.version);
    match seen.target.dialect {
        SqlDialect::Mysql => facts,
        // At the login it reports only its number.
        SqlDialect::Postgres => ServerFacts { flavour: Flavour::Postgresql, ..facts },
    }
}

/// `truetps sysbench` and its typed arguments, without passwords.
pub(super) fn command(context: &WorkerContext) -> Vec<String> {
    let own = ["truetps", SCRIPT_WORKLOAD].map(str::to_owned);
    own.into_iter().chain(words_without_secrets(context.script.argv.iter().skip(1))).collect()
}

pub(crate) fn experiment(context: &WorkerContext, plan: &Plan) -> Experiment {
    let clients = SettingValue::Int(context.options.settings.threads.into());
    let schedule = ScheduledTrial {
        name: TRIAL.to_owned(),
        block: 0,
        position: 0,
        role: TrialRole::Cell,
        configuration: Configuration {
            levels: IndexMap::from([(CONNECTIONS.to_owned(), clients)]),
        },
        mixture: None,
    };
    let experiment = new_experiment(ExperimentStart {
        plan,
        tool_version: TOOL_VERSION,
        workers: context.threads,
        host: host_of_external_server(),
        server: server(context),
        sandbox_dir: None,
        server_address: server_address(context),
        schedule: vec![schedule],
        command: command(context),
    });
    Experiment { created_at: context.run.started_at.clone(), ..experiment }
}

/// The DSN of the server that clients have connected to, without a password.
pub(super) fn server_address(context: &WorkerContext) -> Option<String> {
    context.run.server.get().map(|server| server.target.to_string())
}

/// The script's texts, and the statements that they sent.
pub(super) fn script_record(
    context: &WorkerContext,
    statements: Option<SentStatements>,
) -> ScriptRecord {
    let (script, modules, modules_left_out) = context.script.sources.recorded();
    ScriptRecord { schema_version: SCHEMA_VERSION, script, modules, modules_left_out, statements }
}

/// Figures of the measured time that only a script's run has.
pub(super) fn script_run(
    context: &WorkerContext,
    recorded: &RecordedSeries,
    clients: &[ClientFigures],
) -> ScriptRun {
    let counts = &recorded.script;
    let (script, ..) = context.script.sources.recorded();
    let fair = Fairness::of(clients);
    ScriptRun {
        sha256: script.sha256,
        reads: counts.reads,
        writes: counts.writes,
        other: counts.other,
        fairness: Some(ScriptFairness {
            events_mean: fair.events_avg,
            events_deviation: fair.events_stddev,
            time_s_mean: fair.seconds_avg,
            time_s_deviation: fair.seconds_stddev,
        }),
        answers_ready: answers_ready(context, recorded),
    }
}

/// How long answers to an event lay ready, where clients share threads.
fn answers_ready(context: &WorkerContext, recorded: &RecordedSeries) -> Option<AnswersReady> {
    let events = recorded.measured()?.sums.counts.ok;
    let (least_ns, most_ns) = context.run.usage.answers_ready_ns();
    let [us_least, us_most] = [least_ns, most_ns].map(|ns| ns as f64 / 1e3 / events as f64);
    (context.threads < context.run.settings.threads && events > 0)
        .then_some(AnswersReady { us_least, us_most })
}

/// How the run was driven.
pub(super) fn engine(
    context: &WorkerContext,
    connect_ms: f64,
    clients_failed: u32,
    reconnects: u64,
) -> EngineFacts {
    let (workers, clients) = (context.threads, context.run.settings.threads);
    let mode = if workers == clients { DriveMode::Blocking } else { DriveMode::Multiplexed };
    let protocol =
        if context.drivers.emulates_prepared() { Protocol::Text } else { Protocol::Prepared };
    EngineFacts {
        workers,
        clients,
        clients_failed,
        connect_ms,
        protocol,
        mode: Some(mode),
        reconnects,
        ..EngineFacts::default()
    }
}

/// The measured time.
pub(super) fn measured(context: &WorkerContext, measured: &MeasuredSums) -> MeasuredLoad {
    let MeasuredSums { sums, length_ns, .. } = measured;
    let length = Duration::from_nanos(*length_ns);
    let settings = &context.run.settings;
    // A client without a thread of its own waits between its events for the others' turns.
    let is_constant =
        settings.rate.is_none() && settings.events.is_none() && context.threads == settings.threads;
    MeasuredLoad {
        length,
        schedule_length: length,
        counts: sums.counts,
        response: LatencyFigures::of(&sums.response),
        open_loop: sums.open_loop(),
        constant_clients: is_constant.then_some(settings.threads),
        workers_used: workers_used(context, *length_ns),
        errors: retried_errors(&sums.errors),
    }
}

/// Why a thread of the clients limited the figures, if one did. Where no server was used, only if
/// more threads help: nothing else could have been the limit.
pub(crate) fn full_worker(
    context: &WorkerContext,
    recorded: &RecordedSeries,
) -> Option<GeneratorLimit> {
    let limit = workers_used(context, recorded.measured()?.length_ns).full_worker()?;
    let is_helped = matches!(limit, GeneratorLimit::WorkerFull { useful_workers: Some(_), .. });
    (is_helped || context.run.server.get().is_some()).then_some(limit)
}

/// What the threads of the clients did in a measured time of this length.
fn workers_used(context: &WorkerContext, length_ns: u64) -> WorkerUse {
    let useful = context.cores.min(context.run.settings.threads);
    WorkerUse::of_script(&context.run.usage.read(), length_ns, useful)
}

/// Errors of statements: ignored ones restart their event, and any other error ends the run.
fn retried_errors(errors: &ErrorTally) -> Vec<ErrorCount> {
    let errors = errors.clone().into_sorted().into_iter();
    errors.map(|error| ErrorCount { retried: error.count, count: 0, ..error }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_a_name_for_its_folder() {
        let check = |script: &str, expect: &str| assert_eq!(plan_name(script), expect, "{script}");
        check("oltp_read_write", "sysbench-oltp_read_write");
        check("my test.lua", "sysbench-my-test");
        check("oltp.common", "sysbench-oltp-common");
        check("..", "sysbench-script");
        check("", "sysbench-script");
        assert_eq!(plan_name(&"ä".repeat(3)), "sysbench-script");
        assert_eq!(plan_name(&"x".repeat(300)).len(), NAME_MAX);
    }

    #[test]
    fn servers_are_what_they_say() {
        let facts = |dialect, version: &str| {
            let target = Target { dialect, ..Target::parse("mysql://here:1").unwrap() };
            let facts = server_facts(&ServerSeen {
                version: version.to_owned(),
                load_target: target.clone(),
                target,
            });
            (facts.flavour, facts.version)
        };
        let check = |dialect, version, flavour, number: &str| {
            assert_eq!(facts(dialect, version), (flavour, number.to_owned()));
        };
        check(SqlDialect::Mysql, "10.11.14-MariaDB-0+deb12u2", Flavour::Mariadb, "10.11.14");
        check(SqlDialect::Mysql, "9.7.4", Flavour::Mysql, "9.7.4");
        check(SqlDialect::Postgres, "15.8 (Debian 15.8-0+deb12u1)", Flavour::Postgresql, "15.8");
    }
}
