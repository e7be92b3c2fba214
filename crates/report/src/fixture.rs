//! A small made-up experiment in the shape of the first field report, for the tests of every
//! format.

use std::path::PathBuf;

use truetps_analysis::{Analysis, LoadedTrial};
use truetps_archive::Run;
use truetps_plan::Plan;
use truetps_record::{
    Counts, CpuWindow, EngineFacts, ErrorClass, ErrorCount, Experiment, ExternalFacts, Flavour,
    FlushProbe, HostFacts, LatencyFigures, LogVolume, Measured, NoEvidence, Part, PartOfExperiment,
    Protocol, Reason, Replication, ReplicationSlot, ResourceUse, SCHEMA_VERSION, ScheduledTrial,
    ServerFacts, SettingValue, Trial, TrialRole, Validity,
};

use crate::ReportInput;

const FLUSH: &str = "innodb_flush_log_at_trx_commit";

pub(crate) struct Fixture {
    pub(crate) run: Run,
    pub(crate) analysis: Analysis,
}

impl Fixture {
    /// Flush levels 1, 2 and 0 at 1, 8 and 50 connections, three blocks with an A/A twin: the
    /// baseline rises, the others peak at 8; levels 2 and 0 do not differ. Every trial is valid.
    pub(crate) fn durability() -> Self {
        Self::of_plan(
            "name = \"durability\"\nabout = \"What does each durability setting cost?\"\n\
             [server.settings]\nlog_bin = false\n[workload]\nname = \"insert\"\n[design]\nblocks = \
             3\n\
             [factors]\ninnodb_flush_log_at_trx_commit = [1, 2, 0]\nconnections = [1, 8, 50]\n",
        )
    }

    /// One curve, nothing to compare.
    pub(crate) fn connections_only() -> Self {
        Self::of_plan(
            "name = \"connections\"\nabout = \"How many connections?\"\n[workload]\nname = \
             \"insert\"\n\
             [design]\nblocks = 1\naa_pair = false\n[factors]\nconnections = [1, 8]\n",
        )
    }

    /// What `truetps sysbench` records of a script that connects to no server.
    pub(crate) fn script_without_server() -> Self {
        let mut fixture = Self::of_plan(
            "name = \"sysbench-cpu\"\nabout = \"what cpu does with 8 clients\"\n[workload]\nname = \
             \"sysbench\"\n\
             script = \"cpu\"\n[load]\nwarm_up_s = 0\nmeasure_s = 0\nmeasure_transactions = \
             10000\n[design]\n\
             blocks = 1\naa_pair = false\n[factors]\nconnections = [8]\n",
        );
        fixture.run.experiment.server = None;
        fixture.with(|trials| trials[0].server = None)
    }

    /// What `truetps slap` records of a command line that no plan could have.
    pub(crate) fn slap() -> Self {
        let mut fixture = Self::of_plan(
            "name = \"slap\"\nabout = \"mysqlslap: BEGIN\"\nrecorded_from = \"slap\"\n[workload]\n\
             sql = [\"BEGIN\", \"SELECT 1\", \"COMMIT\"]\n[load]\nwarm_up_s = 0\nmeasure_s = \
             0\n[design]\n\
             blocks = 3\naa_pair = false\nseed = \"18446744073709551615\"\n[factors]\nconnections \
             = [8]\n",
        );
        fixture.run.experiment.random_order = false;
        fixture
    }

    pub(crate) fn of_plan(text: &str) -> Self {
        let plan = Plan::parse(text).unwrap();
        let (schedule, trials) = run(&plan);
        let experiment = experiment(&plan, schedule);
        let run = Run {
            path: PathBuf::new(),
            plan,
            experiment,
            trials: trials.into_iter().map(LoadedTrial::from).collect(),
            attempts: Vec::new(),
            unread: Vec::new(),
            named_trial: None,
        };
        Self { analysis: run.analyse(), run }
    }

    /// On a server that truetps did not start.
    pub(crate) fn external() -> Self {
        let mut fixture = Self::durability();
        let slots = vec![ReplicationSlot { name: "left".to_owned(), is_active: false }];
        let replication =
            Replication { log_bin: Some(true), slots: Some(slots), ..Replication::default() };
        let warnings = vec!["log_bin = ON: made up".to_owned()];
        fixture.run.experiment.sandbox_dir = None;
        fixture.run.experiment.server_address = Some("mysql://loader@db:3306".to_owned());
        fixture.run.experiment.external =
            Some(ExternalFacts { is_on_this_host: false, replication, warnings });
        let logged = LogVolume { binlog_bytes: None, redo_bytes: Some(1 << 20) };
        fixture.with(|trials| trials.iter_mut().for_each(|trial| trial.logged = Some(logged)))
    }

    /// The durability experiment after an hour in which things went wrong: an invalid trial, an
    /// interrupted one, one that never ran, errors, a note, clients that could not connect, a busy
    /// generator.
    pub(crate) fn troubled() -> Self {
        Self::durability().with(|trials| {
            trials[1].validity =
                Validity::Invalid(Reason::Text("the server died: signal 9".to_owned()));
            trials[1].measured = None;
            trials[4].validity = Validity::partial(NoEvidence::Interrupted);
            trials[7].notes = vec!["the clock jumped by 2 s".to_owned()];
            trials[6].engine.as_mut().unwrap().clients_failed = 3;
            for trial in trials.iter_mut().filter(|trial| trial.configuration.connections() == 50) {
                let Some(measured) = &mut trial.measured else { continue };
                measured.resources.worker_busy_max = Some(0.97);
                measured.counts =
                    Counts { failed: 2, started: measured.counts.started + 2, ..measured.counts };
                let first_message =
                    "Deadlock found when trying to get lock; try <again> & again".to_owned();
                measured.errors = vec![ErrorCount {
                    class: ErrorClass::Deadlock,
                    code: 1213,
                    count: 2,
                    retried: 0,
                    first_message,
                }];
            }
            trials.pop();
        })
    }

    /// This experiment after a change to its trials. What was recorded beside them goes.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Vec<Trial>)) -> Self {
        let mut trials = self.run.trials.into_iter().map(|one| one.trial).collect();
        change(&mut trials);
        self.run.trials = trials.into_iter().map(LoadedTrial::from).collect();
        self.analysis = self.run.analyse();
        self
    }

    /// Two cores have 16 core-seconds: the server has so many of them, the generator 1.5, and so
    /// many are idle.
    pub(crate) fn with_cpu_times(
        self,
        connections: u32,
        server_us: f64,
        idle_us: f64,
        wait: f64,
    ) -> Self {
        self.with(|trials| {
            for trial in
                trials.iter_mut().filter(|trial| trial.configuration.connections() == connections)
            {
                trial.engine.as_mut().unwrap().shares_cores = Some(true);
                let resources = &mut trial.measured.as_mut().unwrap().resources;
                resources.worker_wait_max = Some(wait);
                let (ok, idle_us) = (1000.0, Some(idle_us));
                resources.cpu_window = Some(CpuWindow {
                    from_ms: 0.0,
                    to_ms: 8000.0,
                    ok,
                    server_us,
                    generator_us: 1.5e6,
                    idle_us,
                });
            }
        })
    }

    /// Servers without a binlog that had the settings of their configurations.
    pub(crate) fn with_settings(mut self) -> Self {
        for LoadedTrial { trial, variables, .. } in &mut self.run.trials {
            let own = trial
                .configuration
                .settings()
                .map(|(name, level)| (name.to_owned(), level.option_text()));
            *variables = Some(own.chain([("log_bin".to_owned(), "OFF".to_owned())]).collect());
        }
        self
    }

    pub(crate) fn input(&self) -> ReportInput<'_> {
        ReportInput { run: &self.run, analysis: &self.analysis }
    }
}

/// One of four parts of a load.
pub(crate) fn part_of_four(index: u32) -> PartOfExperiment {
    PartOfExperiment { part: Part { index, of: 4 }, pid: 7, meeting: "m".to_owned() }
}

fn run(plan: &Plan) -> (Vec<ScheduledTrial>, Vec<Trial>) {
    let (mut schedule, mut trials) = (Vec::new(), Vec::new());
    for block in 0..plan.design.blocks {
        let mut list: Vec<_> =
            plan.configurations().into_iter().map(|one| (TrialRole::Cell, one)).collect();
        if plan.design.aa_pair {
            list.push((TrialRole::AaTwin, list[1.min(list.len() - 1)].1.clone()));
        }
        for (position, (role, configuration)) in list.into_iter().enumerate() {
            let position = position as u32;
            let name = format!("trial-{:04}", schedule.len() + 1);
            let entry =
                ScheduledTrial { name, block, position, role, configuration, mixture: None };
            trials.push(trial(&entry));
            schedule.push(entry);
        }
    }
    (schedule, trials)
}

/// Truth in the shape of the field report, and up to 2 % of made-up noise that is the same in each
/// test run.
fn tps_of(entry: &ScheduledTrial) -> f64 {
    let flush = entry.configuration.levels.get(FLUSH).and_then(SettingValue::as_int).unwrap_or(1);
    let connections = f64::from(entry.configuration.connections());
    let truth = match flush {
        1 => 210.0 * connections.powf(0.65),
        _ if entry.configuration.connections() == 8 => 9000.0,
        _ => 6000.0,
    };
    let wobble = f64::from((entry.block * 7 + entry.position * 3) % 5) - 2.0;
    truth * (1.0 + wobble * 0.01)
}

fn trial(entry: &ScheduledTrial) -> Trial {
    let tps = tps_of(entry);
    let connections = entry.configuration.connections();
    let ok = (tps * 10.0) as u64;
    let us = |factor: f64| Some(f64::from(connections) / tps * 1e6 * factor);
    let response = LatencyFigures {
        response_us_mean: us(1.0),
        response_us_p50: us(0.9),
        response_us_p95: us(1.8),
        response_us_p99: us(3.0),
        response_us_p999: us(6.0),
        response_us_max: us(40.0),
    };
    let resources = ResourceUse {
        client_cpu_us_per_tx: Some(11.5),
        server_cpu_us_per_tx: Some(84.0),
        worker_busy_max: Some(0.3),
        server_rss_bytes: Some(300 << 20),
        ..ResourceUse::default()
    };
    let counts = Counts {
        carried_in: 0,
        started: ok,
        ok,
        failed: 0,
        in_flight: 0,
        statements: ok,
        ..Counts::default()
    };
    let clients = EngineFacts {
        workers: 1,
        clients: connections,
        clients_failed: 0,
        connect_ms: 12.0,
        protocol: Protocol::Prepared,
        ..EngineFacts::default()
    };
    Trial {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        name: entry.name.clone(),
        block: entry.block,
        position: entry.position,
        role: entry.role,
        configuration: entry.configuration.clone(),
        workload: "insert".to_owned(),
        seed: 7,
        server: Some(server()),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        ended_at: Some("2026-01-02T03:04:16Z".to_owned()),
        validity: Validity::Valid,
        engine: Some(clients),
        measured: Some(Measured {
            length_ms: 10_000.0,
            tps,
            qps: tps,
            counts,
            response,
            resources,
            ..Measured::default()
        }),
        profile: None,
        script: None,
        logged: None,
        beside: Vec::new(),
        surroundings: None,
        repeated_after: None,
        notes: Vec::new(),
        start: None,
        parts: Vec::new(),
    }
}

fn server() -> ServerFacts {
    ServerFacts {
        name: None,
        flavour: Flavour::Mariadb,
        version: "10.11.19".to_owned(),
        version_text: "mariadbd  Ver 10.11.19-MariaDB".to_owned(),
        chosen_settings: vec![("innodb_buffer_pool_size".to_owned(), "512M".to_owned())],
        of_option_file: Vec::new(),
    }
}

fn experiment(plan: &Plan, schedule: Vec<ScheduledTrial>) -> Experiment {
    let flush = FlushProbe { writes: 200, us_p50: 310.0, us_p99: 2100.0, us_max: 9000.0 };
    let host = HostFacts {
        hostname: "lab".to_owned(),
        kernel: "6.1.0".to_owned(),
        cpu_model: "Made-up CPU".to_owned(),
        cores: 2,
        memory_bytes: 4 << 30,
        virtualisation: Some("kvm".to_owned()),
        file_system: Some("ext4".to_owned()),
        device: Some("vda".to_owned()),
        rotational: Some(false),
        flush: Some(flush),
    };
    Experiment {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        name: plan.name.clone(),
        created_at: "2026-01-02T03:04:00Z".to_owned(),
        quick: false,
        seed: 42,
        host,
        server: Some(server()),
        servers: Vec::new(),
        disks: Vec::new(),
        workers: 1,
        couplings: Vec::new(),
        sandbox_dir: Some("sandbox".to_owned()),
        server_address: None,
        schedule,
        extensions: Vec::new(),
        random_order: true,
        slo: None,
        external: None,
        command: vec!["truetps".to_owned(), "sweep".to_owned()],
        asked: None,
        part: None,
        parts: Vec::new(),
        parts_missing: Vec::new(),
    }
}
