//! What was run: server, host, load, factors, settings, command.

use truetps_plan::{DatadirState, Plan};
use truetps_record::{DriveMode, Experiment, HostFacts, Personality, Protocol, SettingValue};

use super::labels::unbroken;
use crate::disks::disks;
use crate::external::{self, is_external};
use crate::generator::{Facts, shares_text};
use crate::load::{self, arrivals, latency_limit, rates, script_hash};
use crate::run_document::{NO_SERVER, extended};
use crate::{ReportInput, format, names};

pub(super) struct Setup<'a> {
    pub(super) summary: String,
    pub(super) groups: Vec<FactGroup>,
    /// Name, levels and the baseline's level.
    pub(super) factors: Vec<(&'a str, String, String)>,
    /// Name, value and who chose it.
    pub(super) settings: Vec<(&'a str, String, &'static str)>,
    pub(super) command: String,
    pub(super) plan_toml: String,
}

pub(super) struct FactGroup {
    pub(super) title: &'static str,
    pub(super) facts: Vec<(&'static str, String)>,
}

impl<'a> Setup<'a> {
    pub(super) fn of(input: &ReportInput<'a>) -> Self {
        Self {
            summary: unbroken(&summary(input)),
            groups: vec![
                server(input),
                host(&input.run.experiment),
                load(input),
                generator(input),
                design(input),
            ],
            factors: factors(&input.run.plan),
            settings: settings(input),
            command: command(&input.run.experiment.command),
            plan_toml: input.run.plan.to_toml(),
        }
    }
}

fn summary(input: &ReportInput) -> String {
    let (analysis, plan) = (input.analysis, &input.run.plan);
    let extended = extended(&input.run.experiment)
        .map(|said| format!(" The experiment was {said}."))
        .unwrap_or_default();
    let valid = match (analysis.trials_valid, analysis.trials_planned) {
        (1, 1) => "the trial is valid".to_owned(),
        (valid, all) if valid == all => format!("all {} are valid", format::trials(all)),
        (valid, all) => format!("{valid} of {} are valid", format::trials(all)),
    };
    format!(
        "{} of {} in {}, one trial after another; {valid}.{extended}",
        format::plural(analysis.trials_planned as u64, "trial"),
        format::plural(analysis.cells.len() as u64, "configuration"),
        format::plural(
            plan.design.blocks.into(),
            if input.run.experiment.random_order { "randomised block" } else { "block" }
        ),
    )
}

fn server(input: &ReportInput) -> FactGroup {
    let Experiment { sandbox_dir, server_address, .. } = &input.run.experiment;
    let at = sandbox_dir.as_ref().or(server_address.as_ref()).cloned().unwrap_or_default();
    let servers = names::servers(&input.run.experiment);
    if servers.is_empty() {
        return FactGroup { title: "Server", facts: vec![("Server", NO_SERVER.to_owned())] };
    }
    let mut facts = Vec::new();
    for server in servers {
        facts.extend([
            ("Server", names::server(server)),
            ("Version text", server.version_text.clone()),
        ]);
    }
    facts.extend(
        external::platform(&input.run.trials).map(|platform| ("Platform", platform.sentence())),
    );
    facts.extend(match input.run.plan.recorded_from {
        Some(personality) => {
            [("Was at", at), ("Before a run", before_recorded(personality).to_owned())]
        }
        None if is_external(input.run) => {
            [("Was at", at), ("Before a trial", BEFORE_EXTERNAL.to_owned())]
        }
        None => [
            ("Data lived in", at),
            ("Before a trial", datadir(input.run.plan.design.datadir).to_owned()),
        ],
    });
    FactGroup { title: "Server", facts }
}

/// On a server that truetps did not start.
const BEFORE_EXTERNAL: &str = "tables truncated and refilled from a pristine copy. The server \
    keeps running: it may write changed pages during a trial, and its logs are not reset (refill)";

fn before_recorded(personality: Personality) -> &'static str {
    match personality {
        Personality::Sysbench => "nothing: the script used the tables as they were",
        Personality::Slap => "tables as created by the command line, or already present",
        Personality::Mtls => "nothing: the run used the table as it was",
        Personality::Verify => "the table was empty",
    }
}

fn datadir(state: DatadirState) -> &'static str {
    match state {
        DatadirState::Refill => {
            "tables truncated, refilled from a pristine copy and flushed; the server continues to \
             run, or restarts if a factor needs it (refill)"
        }
        DatadirState::FreshCopy => {
            "server started anew on a fresh copy of a prepared datadir (fresh_copy)"
        }
    }
}

fn host(experiment: &Experiment) -> FactGroup {
    let host = &experiment.host;
    let flush = host.flush.map(|probe| {
        let times = [probe.us_p50, probe.us_p99, probe.us_max].map(format::duration_us);
        let writes = format::plural(probe.writes.into(), "write");
        unbroken(&format!("p50 {}, p99 {}, max {} over {writes}", times[0], times[1], times[2]))
    });
    let mut facts = vec![
        ("CPU", readable(Some(host.cpu_model.clone()))),
        ("Cores", host.cores.to_string()),
        ("Memory", format::bytes(host.memory_bytes)),
        ("Kernel", readable(Some(host.kernel.clone()))),
        ("Virtualisation", readable(host.virtualisation.clone())),
        ("File system", readable(host.file_system.clone())),
        ("Device", readable(device(host))),
        ("One flush", readable(flush)),
    ];
    facts.extend(disks(experiment).into_iter().map(|disk| ("Server's disk", disk)));
    FactGroup { title: "Host", facts }
}

fn readable(fact: Option<String>) -> String {
    fact.filter(|text| !text.is_empty()).unwrap_or_else(|| "not readable".to_owned())
}

fn device(host: &HostFacts) -> Option<String> {
    let kind = match host.rotational {
        Some(true) => ", rotational, per kernel",
        Some(false) => ", non-rotational, per kernel",
        None => "",
    };
    host.device.as_ref().map(|name| format!("{name}{kind}"))
}

fn load(input: &ReportInput) -> FactGroup {
    let (workload, load) = (&input.run.plan.workload, &input.run.plan.load);
    let protocol = match workload.protocol {
        Protocol::Prepared => "prepared statements",
        Protocol::Text => "text, a whole SQL statement each time",
    };
    let until = load
        .measure_transactions
        .map(|n| format!(", or {} if sooner", format::plural(n, "transaction")));
    let warm_up = format!("{} s, not counted", load.warm_up_s);
    let length = match input.run.plan.recorded_from {
        Some(_) => load::recorded_length(&input.run.plan),
        None => format!("{} s{}", load.measure_s, until.unwrap_or_default()),
    };
    let mut facts = match workload.script() {
        Some(script) => {
            let hash = script_hash(input).map_or_else(String::new, |hash| format!(", {hash}"));
            vec![("Script", format!("{script}, of sysbench{hash}"))]
        }
        None => vec![
            ("Workload", workload.kind.name().to_owned()),
            ("Tables", unbroken(&load::tables(&input.run.plan))),
            ("Protocol", protocol.to_owned()),
        ],
    };
    facts.extend([("Warm-up", warm_up), ("Measured", unbroken(&length))]);
    if let Some(rates) = rates(&input.run.plan) {
        facts.push(("Loop", unbroken(&format!("open: starts follow a schedule; {rates}"))));
        facts.push(("Arrivals", arrivals(load.arrivals).to_owned()));
        facts.extend(latency_limit(load).map(|limit| ("Latency limit", unbroken(&limit))));
    } else {
        facts.push((
            "Loop",
            "closed: a client's next transaction starts when its last one has ended".to_owned(),
        ));
    }
    let errors = if workload.script().is_some() { Vec::new() } else { load::errors(&load.errors) };
    facts.extend((!errors.is_empty()).then(|| ("Errors", unbroken(&errors.join("; ")))));
    FactGroup { title: "Load", facts }
}

fn generator(input: &ReportInput) -> FactGroup {
    let found = Facts::of(input);
    let asked = match input.run.plan.load.mode {
        DriveMode::Auto => String::new(),
        mode => format!(", as the plan says ({})", load::mode(mode)),
    };
    let facts = vec![
        ("Mode", recorded(found.mode) + &asked),
        ("Workers", recorded(found.workers)),
        ("Pinned to", found.pinned_to.unwrap_or_else(|| "no dedicated cores".to_owned())),
        ("Ran", recorded(found.shares_cores.map(|shares| shares_text(shares).to_owned()))),
        ("Busiest worker", share_of(found.busy, "the time on a CPU")),
        ("CPU wait", share_of(found.wait, "the time ready to run without a CPU, at most")),
        (
            "Steal",
            share_of(found.steal, "the host's CPU, at most, went to other guests of its machine"),
        ),
        ("Reconnects", format::count(found.reconnects)),
    ];
    FactGroup { title: "Generator", facts }
}

fn recorded(fact: Option<String>) -> String {
    fact.unwrap_or_else(|| "not recorded".to_owned())
}

fn share_of(share: Option<f64>, whole: &str) -> String {
    recorded(share.map(|share| unbroken(&format!("{} of {whole}", format::percent(share)))))
}

fn design(input: &ReportInput) -> FactGroup {
    let (experiment, design) = (&input.run.experiment, &input.run.plan.design);
    let length = if experiment.quick { "quick: short trials, a first look" } else { "full" };
    let facts = vec![
        ("Started", experiment.created_at.clone()),
        ("Length", length.to_owned()),
        ("Blocks", design.blocks.to_string()),
        ("A/A pair", if design.aa_pair { "one in each block" } else { "none" }.to_owned()),
        ("Seed", experiment.seed.to_string()),
        ("Matters from", format::percent(design.smallest_effect_percent / 100.0)),
    ];
    FactGroup { title: "Experiment", facts }
}

fn factors(plan: &Plan) -> Vec<(&str, String, String)> {
    let baseline = plan.baseline();
    let own_level = if baseline.is_empty() { format::NOTHING } else { "same level" };
    let rows = plan.factors.iter().map(|(name, levels)| {
        let levels: Vec<_> = levels.iter().map(SettingValue::to_string).collect();
        let level = baseline.get(name).map_or(own_level.to_owned(), SettingValue::to_string);
        (name.as_str(), levels.join(", "), level)
    });
    rows.collect()
}

/// The plan's own settings first; what truetps chose follows.
fn settings<'a>(input: &ReportInput<'a>) -> Vec<(&'a str, String, &'static str)> {
    let plan = &input.run.plan.server.settings;
    let from_plan =
        plan.iter().map(|(name, value)| (name.as_str(), value.option_text(), "the plan"));
    // Each of several servers may have different settings; a common line is shown once.
    let mut chosen: Vec<_> = Vec::new();
    for server in names::servers(&input.run.experiment) {
        for (name, value) in names::chosen_settings(&input.run.plan, server) {
            let is_of_file = server.of_option_file.contains(name);
            let who = if is_of_file { "the option file" } else { "truetps" };
            // An option without a value, as `skip-name-resolve`, is set by being there.
            let value = if value.is_empty() { "set" } else { value };
            let line = (name.as_str(), value.to_owned(), who);
            if !chosen.contains(&line) {
                chosen.push(line);
            }
        }
    }
    from_plan.chain(chosen).collect()
}

/// The command line, quoted for a shell.
fn command(words: &[String]) -> String {
    words.iter().map(|word| format::shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_can_be_typed_again() {
        let check = |words: &[&str], expect| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(command(&words), expect);
        };
        check(&["truetps", "sweep", "--quick"], "truetps sweep --quick");
        check(&["truetps", "sweep", "my plan.toml", ""], "truetps sweep 'my plan.toml' ''");
        check(&["it's"], r"'it'\''s'");
    }
}
