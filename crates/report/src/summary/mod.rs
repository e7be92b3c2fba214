//! The short text answer of each command: one screen, at the width of the terminal. `--full` prints
//! everything.
//!
//! Each file here chooses what the screen of one command shows; `layout` fits it. Verdicts and
//! their words come from the full reports.

mod comparison;
mod crashes;
mod curves;
mod explanation;
mod layout;
mod pool;
mod probe;
mod search;
mod settings;
mod single;
mod stalls;
mod trust;
mod verification;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::check_screen;

pub(crate) use self::comparison::comparison_summary;
pub(crate) use crashes::crash_summary;
pub(crate) use explanation::explanation_summary;
pub(crate) use pool::pool_summary;
pub use probe::COMMITS;
pub(crate) use probe::probe_summary;
pub(crate) use settings::diff_summary;
pub(crate) use stalls::stalls_summary;
pub(crate) use verification::verification_summary;

use truetps_analysis::{Axis, Knee};
use truetps_archive::Run;
use truetps_record::DiskFacts;

use self::layout::{ScreenPart, Screenful};
use crate::{
    ReportInput, TextScreen, durability, external, format, generator, load, main_effects, meaning,
    names, open_loop, own_settings, sections, verdicts,
};

/// The answer of an experiment on one screen.
pub(crate) fn summary_text(input: &ReportInput<'_>, screen: TextScreen) -> String {
    let mut parts = vec![];
    if input.analysis.max_rate.is_some() {
        parts.extend(search::parts(input));
    } else if input.analysis.curves.len() > 1 {
        parts.extend(curves::parts(input, screen));
    } else {
        parts.extend(single::parts(input, screen));
    }
    parts.extend(connections_to_use(input));
    parts.extend(crash(input));
    parts.extend(bound(input));
    parts.extend(trust::part(input));
    let own = own_settings::short_text(&input.run.plan, &input.run.experiment);
    parts.extend(own.map(|text| ScreenPart::fact("Settings", text)));
    parts.extend(unread(input.run));
    parts.push(ScreenPart::fact("Trials", trust::trials(input)));
    Screenful { title: title(input), source: source(input), answer: answer(input), parts }
        .draw(screen)
}

/// The question.
fn title(input: &ReportInput<'_>) -> String {
    let quick = if input.run.experiment.quick { " (quick)" } else { "" };
    format!("{}{quick}: {}", input.run.plan.name, input.run.plan.about)
}

/// Where the figures come from, in one line.
fn source(input: &ReportInput<'_>) -> String {
    let (experiment, plan) = (&input.run.experiment, &input.run.plan);
    let servers: Vec<_> = names::servers(experiment).iter().map(names::server).collect();
    let platform =
        external::platform(&input.run.trials).map(|platform| format!(" ({})", platform.name));
    let platform = platform.unwrap_or_default();
    let kind =
        match (servers.is_empty(), experiment.sandbox_dir.is_some(), &experiment.server_address) {
            (true, ..) => "no server".to_owned(),
            (_, true, _) => format!("{}, private", format::list(&servers)),
            (_, false, Some(address)) => {
                format!("{}{platform} at {address}", format::list(&servers))
            }
            (_, false, None) => format!("{}{platform}", format::list(&servers)),
        };
    let disks: Vec<_> = experiment.disks.iter().map(disk_in_short).collect();
    let disk = (!disks.is_empty()).then(|| format!("disk {}", format::list(&disks)));
    let flush = experiment
        .host
        .flush
        .filter(|_| disks.is_empty())
        .map(|flush| format!("one flush {}", format::duration_us(flush.us_p50)));
    let rates = load::rates(plan).map(|rates| format!("open loop: {rates}"));
    let workload = plan.workload.kind.name().to_owned();
    let cores = format::plural(experiment.host.cores.into(), "core");
    [Some(kind), Some(cores), disk, flush, Some(workload), rates]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn disk_in_short(disk: &DiskFacts) -> String {
    format!("{}, emulated (level {})", disk.profile, disk.level.name())
}

/// The answer in sentences, the most important first.
fn answer(input: &ReportInput<'_>) -> Vec<String> {
    let analysis = input.analysis;
    let baseline = verdicts::answer(input);
    if analysis.curves.len() > verdicts::SENTENCES_MAX + 1 && !analysis.contrasts.is_empty() {
        let incomplete = verdicts::incomplete(input).map(|text| names::capital_word(&text));
        let main = main_effects::sentence(input);
        return incomplete
            .into_iter()
            .chain(main)
            .chain(baseline)
            .chain(verdicts::counted(analysis))
            .collect();
    }
    let sentences =
        verdicts::without_risk(input).into_iter().map(|text| names::capital_word(&text));
    main_effects::sentence(input).into_iter().chain(baseline).chain(sentences).collect()
}

/// How many connections to use: the fewest that are not shown to be slower than the best.
fn connections_to_use(input: &ReportInput<'_>) -> Option<ScreenPart> {
    let analysis = input.analysis;
    if analysis.axis == Axis::Rate || open_loop::has_figures(analysis) {
        return None;
    }
    let by_number = crate::grouped(analysis.curves.iter().filter_map(|curve| {
        let curve_name = names::short(&input.run.plan, &curve.label).to_owned();
        Some((knee_text(curve.knee.as_ref()?), curve_name))
    }));
    let items: Vec<_> = by_number
        .into_iter()
        .map(|(number, curves)| match &curves[..] {
            [only] if only.is_empty() => number,
            many if many.len() > verdicts::SENTENCES_MAX => {
                format!("{} combinations: {number}", many.len())
            }
            several => format!("{}: {number}", format::list(several)),
        })
        .collect();
    if items.is_empty() || items.len() > verdicts::SENTENCES_MAX {
        return None;
    }
    let rule = meaning::rule_short(analysis).map(|rule| format!(" ({rule})")).unwrap_or_default();
    Some(ScreenPart::fact("Use", format!("{}{rule}", items.join("; "))))
}

/// `50 connections`, and whether more may be faster.
fn knee_text(knee: &Knee) -> String {
    let rises = match (knee.best_is_last, knee.connections == knee.best_connections) {
        (true, true) => " (the most tried, and the fastest: more may be faster)".to_owned(),
        (true, false) => {
            format!(" ({}, the most tried, were not shown to be faster)", knee.best_connections)
        }
        (false, _) => String::new(),
    };
    format!("{}{rises}", names::connections(knee.connections))
}

/// Whether the answer names a number of connections: one of those that were tried, and the best may
/// lie between them.
pub fn names_connections(input: &ReportInput<'_>) -> bool {
    names::levels(input.analysis).len() > 1 && connections_to_use(input).is_some()
}

/// What a crash loses, where that is one sentence for all and not a column of the table.
fn crash(input: &ReportInput<'_>) -> Option<ScreenPart> {
    match &durability::distinct(input)[..] {
        [one] => Some(ScreenPart::fact("Crash", one.sentence.clone())),
        _ => None,
    }
}

/// How far the server may be from what it would do without the generator beside it.
fn bound(input: &ReportInput<'_>) -> Option<ScreenPart> {
    let limit = generator::limit(input.analysis).map(|text| format!("{text}."));
    let by_cores = generator::bound(input.analysis).and(meaning::shared_cores(input));
    let said = format::joined(limit.into_iter().chain(by_cores), " ")?;
    Some(ScreenPart::fact("Bound", said))
}

/// Files that are missing, damaged or of a newer version.
fn unread(run: &Run) -> Option<ScreenPart> {
    ScreenPart::facts("Note", sections::unread(run))
}
