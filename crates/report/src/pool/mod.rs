//! How many connections a pool needs: the answer of `truetps pool`.

mod libraries;
mod picture;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use truetps_archive::PoolRun;
use truetps_pool::{PoolFindings, PoolParameters, RateAnswer};
use truetps_record::{Disturbance, PoolRecord};

use crate::document::{Block, Document, DocumentSection, DocumentTable, TableEntry, Tone};
use crate::json::json_text;
use crate::{format, names, own_settings};

pub use libraries::PoolLibrary;
pub(crate) use words::{answer, durability_text, parameters_text, rate_text, rule_text, trust};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// Everything as an indented JSON document that ends with a line feed. Times are microseconds
/// unless their name says another unit.
pub(crate) fn pool_json(run: &PoolRun) -> String {
    #[derive(Serialize)]
    struct PoolDocument<'a> {
        schema_version: u32,
        experiment: &'a str,
        pool: PoolRecord,
        findings: &'a PoolFindings,
        rate: Option<&'a RateAnswer>,
        parameters: Option<&'a PoolParameters>,
        /// Name of a library, and its configuration.
        libraries: Vec<(&'static str, String)>,
        trials: Vec<PoolTrial<'a>>,
    }
    #[derive(Serialize)]
    struct PoolTrial<'a> {
        name: &'a str,
        connections: u32,
        tps: Option<f64>,
        response_us_p99: Option<f64>,
        /// What disturbed it, the gravest first.
        disturbances: Vec<Disturbance>,
        /// What disturbed an earlier attempt, which this one replaces; `null` if there was none.
        repeated_after: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    }
    let trials = run.trials.iter().map(|loaded| {
        let (trial, measured) = (&loaded.trial, loaded.trial.measured.as_ref());
        PoolTrial {
            name: &trial.name,
            connections: trial.configuration.connections(),
            tps: measured.map(|measured| measured.tps),
            response_us_p99: measured.and_then(|measured| measured.response.response_us_p99),
            disturbances: trial.disturbances(),
            repeated_after: trial.repeated_after.as_deref(),
            problem: trial.validity.reason().map(ToString::to_string),
        }
    });
    json_text(&PoolDocument {
        schema_version: SCHEMA_VERSION,
        experiment: &run.experiment.name,
        // How to go on is no answer.
        pool: PoolRecord { asked: None, ..run.pool.clone() },
        findings: &run.findings,
        rate: run.rate.as_ref(),
        parameters: run.parameters.as_ref(),
        libraries: configurations(run)
            .into_iter()
            .map(|(library, lines)| (library.name(), lines.join("\n")))
            .collect(),
        trials: trials.collect(),
    })
}

/// The configuration of each library that the server's clients have.
pub(crate) fn configurations(run: &PoolRun) -> Vec<(PoolLibrary, Vec<String>)> {
    let (Some(parameters), Some(dialect)) = (&run.parameters, words::dialect(run)) else {
        return Vec::new();
    };
    PoolLibrary::ALL
        .iter()
        .filter_map(|library| Some((*library, library.lines(parameters, dialect)?)))
        .collect()
}

pub(crate) fn document(run: &PoolRun) -> Document {
    let mut sections = vec![
        DocumentSection::of(
            "Throughput and response time by connections",
            [picture::picture(run), curve_table(run).block(), Some(Block::paragraph(CURVE))],
        ),
        DocumentSection::of("The pool's parameters", [parameters_table(run).block()]),
    ];
    sections.extend(
        configurations(run).into_iter().map(|(library, lines)| {
            DocumentSection::of(library.title(), [Some(Block::Code(lines))])
        }),
    );
    Document::new(title(run), facts(run), sections)
}

const CURVE: &str = "tps: geometric mean of the trials, corrected for the blocks that a number was \
    measured in; trials far from the others hardly count. curve: share of the best on the curve \
    through all trials, which the advice follows. p99: the median of the trials, with its 95 % \
    range. mean: of the same trials as tps; tps × mean = connections.";

pub(crate) fn title(run: &PoolRun) -> String {
    format!("{}: how many connections does it need?", run.plan.workload.kind.name())
}

fn facts(run: &PoolRun) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = answer(run).into_iter().map(|text| ("Answer", text)).collect();
    facts.extend(rate_text(run).map(|text| ("Rate", text)));
    facts.extend(rule_text(run).map(|text| ("Rule", text)));
    facts.extend(words::usl_text(run).map(|text| ("Scaling", text)));
    facts.extend(durability_text(run).map(|text| ("Commits", text)));
    facts.extend(trust(run).into_iter().map(|text| ("Trust", text)));
    facts.push(("Trials", trials_fact(run)));
    facts.push(("Server", names::measured_on(&run.experiment).join(", ")));
    facts
        .extend(own_settings::full_text(&run.plan, &run.experiment).map(|text| ("Settings", text)));
    facts.push(("Seed", run.pool.seed.to_string()));
    facts
}

pub(crate) fn trials_fact(run: &PoolRun) -> String {
    let load = &run.plan.load;
    let failed = run.trials.iter().filter(|loaded| !loaded.trial.validity.is_valid()).count();
    let failed = if failed > 0 { format!("; {failed} without a result") } else { String::new() };
    format!(
        "{} of {} s after {} s of warm-up{failed}",
        run.trials.len(),
        load.measure_s,
        load.warm_up_s
    )
}

/// All numbers that were measured in blocks.
pub(crate) fn curve_table(run: &PoolRun) -> DocumentTable {
    let header = ["connections", "tps", "of the best", "curve", "p99", "mean", "trials", ""];
    let best = run.findings.best.and_then(|best| run.findings.point(best));
    let rows = run.findings.curve.iter().map(|point| {
        let [share, share_on_curve] = [
            best.map(|best| point.tps / best.tps),
            best.map(|best| point.tps_smoothed / best.tps_smoothed),
        ]
        .map(|share| format::or_nothing(share, format::percent));
        let p99 = format::or_nothing(words::p99_range(point), |range| range);
        let p99_tone =
            if point.meets_limit || point.is_near_limit { Tone::Plain } else { Tone::Bad };
        let is_advice = run.findings.advice == Some(point.connections);
        [
            format::count(point.connections.into()).into(),
            format::tps(point.tps).into(),
            share.into(),
            share_on_curve.into(),
            TableEntry::new(p99, p99_tone),
            format::or_nothing(point.response_us_mean, format::duration_us).into(),
            point.trials.to_string().into(),
            TableEntry::new(
                words::remark(run, point),
                if is_advice { Tone::Good } else { Tone::Plain },
            ),
        ]
    });
    DocumentTable::new(header, rows)
}

/// Each parameter with its value and the reason.
fn parameters_table(run: &PoolRun) -> DocumentTable {
    let rows = run
        .parameters
        .as_ref()
        .map(|parameters| words::reasons(run, parameters))
        .unwrap_or_default();
    DocumentTable::new(["parameter", "value", "why"], rows)
}
