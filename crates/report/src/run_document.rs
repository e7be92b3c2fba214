//! The document of an experiment's report.

use truetps_analysis::Axis;
use truetps_record::{Experiment, ServerFacts};

use crate::disks::disks;
use crate::document::Document;
use crate::generator::Facts;
use crate::verdicts::{answer, verdicts};
use crate::{
    ReportInput, cell_tables, external, format, ledger, load, main_effects, names, own_settings,
    sections, stalls, waits,
};

pub(crate) fn document(input: &ReportInput<'_>) -> Document {
    let sections = [
        sections::throughput(input),
        cell_tables::open_loop(input),
        cell_tables::figures(input),
        main_effects::section(input),
        sections::comparisons(input),
        sections::noise(input),
        stalls::section(input),
        ledger::section(input),
        waits::section(input),
        sections::knees(input),
        sections::troubles(input),
        sections::words(input),
    ];
    Document::new(
        format!("{}: {}", input.run.plan.name, input.run.plan.about),
        facts(input),
        sections,
    )
}

fn facts(input: &ReportInput<'_>) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = answer(input).map(|answer| ("Answer", answer)).into_iter().collect();
    facts.extend(verdicts(input).into_iter().map(|verdict| ("Verdict", verdict)));
    facts.extend(stalls::fact(input).map(|fact| ("Stalls", fact)));
    facts.extend(ledger::fact(input).map(|fact| ("Ledger", fact)));
    facts.push(("Trials", trials_fact(input)));
    facts.push(("Server", server_fact(input)));
    facts.extend(
        own_settings::full_text(&input.run.plan, &input.run.experiment)
            .map(|text| ("Settings", text)),
    );
    facts.push(("Load", load_fact(input)));
    facts.extend(Facts::of(input).line().map(|line| ("Generator", line)));
    facts.extend(disks(&input.run.experiment).into_iter().map(|disk| ("Disk", disk)));
    facts.push(("Host", host_fact(input)));
    facts
}

/// The server of a script that ended without a connection.
pub(crate) const NO_SERVER: &str = "none: the script had connected to no server";

/// `27 of 30 valid, 1 invalid, 1 partial, 1 not run`.
pub(crate) fn trials_counted(input: &ReportInput<'_>) -> String {
    let analysis = input.analysis;
    let unread = input.run.unread.iter().filter(|unread| unread.whole_trial).count();
    let not_run = analysis
        .trials_planned
        .saturating_sub(analysis.trials_valid + analysis.invalid.len() + unread);
    let partial = analysis.invalid.iter().filter(|trial| trial.partial).count();
    let others = [
        (analysis.invalid.len() - partial, "invalid"),
        (partial, "partial"),
        (unread, "unreadable"),
        (not_run, "not run"),
    ];
    let mut parts = vec![format!("{} of {} valid", analysis.trials_valid, analysis.trials_planned)];
    parts.extend(
        others
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}")),
    );
    parts.join(", ")
}

fn trials_fact(input: &ReportInput<'_>) -> String {
    let analysis = input.analysis;
    let blocks = format::plural(analysis.blocks_planned.into(), "block");
    let quick = if input.run.experiment.quick { "; quick" } else { "" };
    let order = match (input.run.experiment.random_order, analysis.trials_planned) {
        (true, _) => " in random order",
        (false, 0 | 1) => "",
        (false, _) => " in the order of the command line",
    };
    let extended =
        extended(&input.run.experiment).map(|said| format!("; {said}")).unwrap_or_default();
    format!(
        "{}; {blocks}{order}, seed {}{quick}{extended}",
        trials_counted(input),
        input.run.experiment.seed
    )
}

/// An interval does not allow for blocks that were added after results were known.
pub(crate) fn extended(experiment: &Experiment) -> Option<String> {
    let first = experiment.extensions.first()?.blocks_before;
    let steps: Vec<_> = experiment.extensions.iter().map(|step| step.blocks.to_string()).collect();
    Some(format!(
        "extended from {first} to {} blocks after results were known: each extension makes chance \
         differences more likely than the intervals say (`truetps help verdicts`)",
        steps.join(", then ")
    ))
}

fn server_fact(input: &ReportInput<'_>) -> String {
    let servers: Vec<_> = names::servers(&input.run.experiment)
        .iter()
        .map(|server| one_server(input, server))
        .collect();
    if servers.is_empty() { NO_SERVER.to_owned() } else { servers.join("; ") }
}

fn one_server(input: &ReportInput<'_>, server: &ServerFacts) -> String {
    let platform = external::platform(&input.run.trials).map(|platform| platform.name.clone());
    let mut parts: Vec<_> = [names::server(server)].into_iter().chain(platform).collect();
    let fixed = &input.run.plan.server.settings;
    parts.extend(fixed.iter().map(|(name, value)| format!("{name}={}", value.option_text())));
    let of_file = names::chosen_settings(&input.run.plan, server)
        .filter(|(name, _)| server.of_option_file.contains(name));
    parts.extend(of_file.map(|(name, value)| own_settings::shown(name, value)));
    parts.extend(external::durability_settings(input, server));
    parts.join(", ")
}

fn load_fact(input: &ReportInput<'_>) -> String {
    let (workload, load) = (&input.run.plan.workload, &input.run.plan.load);
    if let Some(mut parts) = load::script_load(&input.run.plan) {
        parts.extend(load::script_hash(input));
        return parts.join("; ");
    }
    let protocol = match workload.protocol {
        truetps_record::Protocol::Prepared => "prepared statements",
        truetps_record::Protocol::Text => "text protocol",
    };
    let most = load
        .measure_transactions
        .map(|most| format!(" or {}", format::plural(most, "transaction")));
    let length = match input.run.plan.recorded_from {
        Some(_) => load::recorded_length(&input.run.plan),
        None => format!(
            "{} s of warm-up, {} s{} measured",
            load.warm_up_s,
            load.measure_s,
            most.unwrap_or_default()
        ),
    };
    let mut parts = vec![
        format!("{}, {protocol}", workload.kind.name()),
        load::tables(&input.run.plan),
        length,
    ];
    if input.analysis.axis == Axis::Rate {
        parts.push(format::plural(input.run.plan.connections_max().into(), "connection"));
    }
    if let Some(rates) = load::rates(&input.run.plan) {
        parts.push(format!("open loop: {rates}, {}", load::arrivals(load.arrivals)));
        parts.extend(load::latency_limit(load));
    }
    parts.extend(load::errors(&load.errors));
    parts.join("; ")
}

fn host_fact(input: &ReportInput<'_>) -> String {
    let host = &input.run.experiment.host;
    let model =
        if host.cpu_model.is_empty() { String::new() } else { format!(" ({})", host.cpu_model) };
    let mut parts = vec![format!("{}{model}", format::plural(host.cores.into(), "core"))];
    parts.push(format!("{} of memory", format::bytes(host.memory_bytes)));
    match (&host.file_system, &host.device) {
        (Some(file_system), Some(device)) => parts.push(format!("{file_system} on {device}")),
        (Some(one), None) | (None, Some(one)) => parts.push(one.clone()),
        (None, None) => {}
    }
    parts.extend(host.virtualisation.clone());
    if let Some(flush) = host.flush {
        let (p50, p99) = (format::duration_us(flush.us_p50), format::duration_us(flush.us_p99));
        parts.push(format!("one flush {p50} (p50), {p99} (p99)"));
    }
    parts.join(", ")
}
