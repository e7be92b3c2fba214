//! Experiments with a known truth: no server, no clock, a seeded generator.

use indexmap::IndexMap;
use statrs::distribution::{ContinuousCDF, Normal};
use truetps_plan::Plan;
use truetps_record::{
    Configuration, Counts, CrashKind, CrashRecord, CrashRole, Experiment, Flavour, HostFacts,
    LatencyFigures, Measured, ResourceUse, SCHEMA_VERSION, ScheduledTrial, ServerFacts,
    SettingValue, Trial, TrialRole, Validity,
};

use crate::LoadedTrial;

/// SplitMix64 (Steele, Lea, Flood 2014): a few lines, and the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A draw from the exponential distribution with mean 1: the distance of two things that come
    /// by chance.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// A draw from the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        Normal::standard().inverse_cdf(self.uniform())
    }
}

/// A plan with one setting, its levels and numbers of connections.
pub(crate) fn plan(levels: &str, connections: &str, blocks: u32) -> Plan {
    let text = format!(
        "name = \"made-up\"\nabout = \"a test\"\n[workload]\nname = \"insert\"\n[design]\nblocks = \
         {blocks}\n\
         [factors]\ninnodb_flush_log_at_trx_commit = {levels}\nconnections = {connections}\n"
    );
    Plan::parse(&text).unwrap()
}

/// The flush level and the connections of a configuration.
pub(crate) fn flush_and_connections(configuration: &Configuration) -> (i64, u32) {
    let flush =
        configuration.levels.get("innodb_flush_log_at_trx_commit").and_then(SettingValue::as_int);
    (flush.unwrap(), configuration.connections())
}

/// Runs the plan with made-up results: every trial of every block is valid and has the throughput
/// that `tps` gives it. The A/A twin repeats the first configuration at the end of each block.
pub(crate) fn run(
    plan: &Plan,
    mut tps: impl FnMut(u32, &Configuration) -> f64,
) -> (Experiment, Vec<LoadedTrial>) {
    let (mut schedule, mut trials) = (Vec::new(), Vec::new());
    for block in 0..plan.design.blocks {
        let mut configurations: Vec<_> =
            plan.configurations().into_iter().map(|one| (TrialRole::Cell, one)).collect();
        if plan.design.aa_pair {
            configurations.push((TrialRole::AaTwin, configurations[0].1.clone()));
        }
        for (position, (role, configuration)) in configurations.into_iter().enumerate() {
            let tps = tps(block, &configuration);
            let name = format!("trial-{:04}", schedule.len() + 1);
            let position = position as u32;
            trials.push(trial(&name, (block, position, role), &configuration, tps).into());
            schedule.push(ScheduledTrial {
                name,
                block,
                position,
                role,
                configuration,
                mixture: None,
            });
        }
    }
    (experiment(schedule), trials)
}

fn trial(
    name: &str,
    position: (u32, u32, TrialRole),
    configuration: &Configuration,
    tps: f64,
) -> Trial {
    let (block, position, role) = position;
    let ok = (tps * 10.0) as u64;
    let counts = Counts {
        carried_in: 0,
        started: ok,
        ok,
        failed: 0,
        in_flight: 0,
        statements: ok,
        ..Counts::default()
    };
    let [mean, p95, p99, p999, max] =
        [1e6, 2e6, 3e6, 4e6, 5e6].map(|us| (tps > 0.0).then_some(us / tps));
    let response = LatencyFigures {
        response_us_mean: mean,
        response_us_p50: mean,
        response_us_p95: p95,
        response_us_p99: p99,
        response_us_p999: p999,
        response_us_max: max,
    };
    let resources = ResourceUse::default();
    let measured = Measured {
        length_ms: 10_000.0,
        tps,
        qps: tps,
        counts,
        response,
        resources,
        ..Measured::default()
    };
    Trial {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        name: name.to_owned(),
        block,
        position,
        role,
        configuration: configuration.clone(),
        workload: "insert".to_owned(),
        seed: 1,
        server: Some(server()),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        ended_at: Some("2026-01-01T00:00:11Z".to_owned()),
        validity: Validity::Valid,
        engine: None,
        measured: Some(measured),
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
        version: "10.11.1".to_owned(),
        version_text: "Ver 10.11.1-MariaDB".to_owned(),
        chosen_settings: Vec::new(),
        of_option_file: Vec::new(),
    }
}

fn experiment(schedule: Vec<ScheduledTrial>) -> Experiment {
    let host = HostFacts {
        hostname: "lab".to_owned(),
        kernel: "6.1".to_owned(),
        cpu_model: "made up".to_owned(),
        cores: 4,
        memory_bytes: 1 << 33,
        virtualisation: None,
        file_system: None,
        device: None,
        rotational: None,
        flush: None,
    };
    Experiment {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        name: "made-up".to_owned(),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
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
        command: Vec::new(),
        asked: None,
        part: None,
        parts: Vec::new(),
        parts_missing: Vec::new(),
    }
}

/// A crash of the system.
pub(crate) fn crash(role: CrashRole, flush: i64, lost: u64) -> CrashRecord {
    let levels =
        IndexMap::from([("innodb_flush_log_at_trx_commit".to_owned(), SettingValue::Int(flush))]);
    CrashRecord {
        number: 1,
        block: None,
        role,
        kind: CrashKind::Os,
        step: None,
        configuration: Configuration { levels },
        load_ms: 2000.0,
        tps: 1000.0,
        response_us_p99: Some(100.0),
        attempted: 2001,
        acknowledged: 2000,
        unknown: 1,
        lost,
        loss_window_ms: (lost > 0).then_some(500.0),
        recovered: 0,
        unexpected: 0,
        holes: 0,
        blocks_lost: 0,
        recovery_ms: 900.0,
        table_problem: None,
        binlog: None,
        promises_all_kept: Some(flush == 1),
        surroundings: None,
        steal: None,
        beside: Vec::new(),
    }
}
