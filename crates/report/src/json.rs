//! A report as one JSON document: `docs/reference/report.schema.json` describes it.

use serde::Serialize;
use truetps_analysis::{
    Absent, Analysis, CellDetail, FigureGroup, FigureValues, Ledger, LoadedTrial, Stall, TopWaits,
};
use truetps_archive::Run;
use truetps_plan::Plan;
use truetps_record::{
    Configuration, Coupling, DiskFacts, Disturbance, DriveMode, ExternalFacts, HostFacts,
    LogVolume, Measured, MergedPart, OtherRun, PartOfExperiment, ServerFacts, TrialRole,
    ValidityWords, printable_json,
};

use crate::disks::disk_of;
use crate::durability::DurabilityPart;
use crate::external::PlatformPart;
use crate::meaning::{caveats, meaning};
use crate::verdicts::verdicts;
use crate::{ReportInput, durability, external};

/// Version of the JSON documents of `report`, `compare` and `stalls`: it grows when an old reader
/// would misread one.
pub(crate) const DOCUMENT_VERSION: u32 = 2;

#[derive(Serialize)]
struct ReportDocument<'a> {
    schema_version: u32,
    experiment: ExperimentPart<'a>,
    plan: &'a Plan,
    host: &'a HostFacts,
    /// `null` where a script connected to none.
    server: Option<&'a ServerFacts>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    servers: &'a [ServerFacts],
    /// The managed or distributed server; `null` for an ordinary one, and where its settings are
    /// unknown.
    platform: Option<PlatformPart<'a>>,
    /// The emulated disks of private servers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    disks: &'a [DiskFacts],
    analysis: &'a Analysis,
    /// Stalls and cost of each configuration, in the order of `analysis.cells`.
    cell_details: Vec<&'a CellDetail>,
    trials: Vec<ReportedTrial<'a>>,
    /// Files that could not be read, and why.
    unread: Vec<&'a str>,
    /// Sentences for people: the same as in every other format.
    verdicts: Vec<String>,
    meaning: Vec<String>,
    /// What commits survive, one part for each distinct answer.
    durability: Vec<DurabilityPart>,
    caveats: Vec<String>,
}

/// The experiment without what the document has elsewhere, and without the schedule, which is in
/// `experiment.json`.
#[derive(Serialize)]
struct ExperimentPart<'a> {
    name: &'a str,
    tool_version: &'a str,
    created_at: &'a str,
    quick: bool,
    seed: u64,
    command: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_address: Option<&'a str>,
    couplings: &'a [Coupling],
    /// What was found on a server that truetps did not start.
    #[serde(rename = "guest", skip_serializing_if = "Option::is_none")]
    external: Option<&'a ExternalFacts>,
    /// What it wrote to its logs in all trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    logged: Option<LogVolume>,
    /// This is one part of a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a PartOfExperiment>,
    /// The parts that were merged, and those that are missing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts: &'a [MergedPart],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts_missing: &'a [u32],
    /// Every configuration has a valid trial.
    complete: bool,
    /// Every comparison has a verdict.
    decided: bool,
}

/// A trial's block, position and main figures; the rest is in its `run.json`.
#[derive(Serialize)]
struct ReportedTrial<'a> {
    name: &'a str,
    block: u32,
    position: u32,
    role: TrialRole,
    configuration: &'a Configuration,
    /// Profile of the emulated disk that its server was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_profile: Option<&'a str>,
    validity: ValidityWords,
    #[serde(flatten)]
    figures: FigureValues,
    engine: Option<EnginePart<'a>>,
    /// `null` in a closed loop.
    open_loop: Option<FigureValues>,
    sustained: Option<bool>,
    /// Why the load generator limited the figures; `null` if it did not.
    generator_limited: Option<String>,
    /// Response times do not describe it: `littles_law` is too far from 1.
    unsteady: bool,
    stalls: StallsPart<'a>,
    /// What a transaction cost; `null` where the trial has no figures.
    ledger: Option<&'a Ledger>,
    /// What sessions waited on, longest first; `null` where no wait was seen.
    waits: Option<TopWaits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logged: Option<LogVolume>,
    /// Other runs of truetps that put load on the host during this one.
    beside: &'a [OtherRun],
    /// What disturbed it, the gravest first.
    disturbances: Vec<Disturbance>,
    /// What disturbed an earlier attempt, which this one replaces; `null` if there was none.
    repeated_after: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts: &'a [truetps_record::TrialPart],
    notes: &'a [String],
}

/// Stalls and dips of a trial's measure phase.
#[derive(Serialize)]
pub(crate) struct StallsPart<'a> {
    list: &'a [Stall],
    #[serde(flatten)]
    figures: FigureValues,
    /// Why stalls are unknown; `null` where they are known.
    absent: Option<&'a Absent>,
}

impl<'a> StallsPart<'a> {
    pub(crate) fn of(loaded: &'a LoadedTrial) -> Self {
        let stalls = &loaded.detail.stalls;
        Self {
            list: &stalls.list,
            figures: figures(loaded, FigureGroup::Stalls),
            absent: stalls.absent.as_ref(),
        }
    }
}

/// How a trial was driven.
#[derive(Serialize)]
struct EnginePart<'a> {
    mode: Option<DriveMode>,
    workers: u32,
    clients: u32,
    clients_failed: u32,
    pinned_to: &'a [u32],
    shares_cores: Option<bool>,
    #[serde(flatten)]
    figures: FigureValues,
}

/// The report as an indented JSON document that ends with a line feed.
pub(crate) fn json(input: &ReportInput<'_>) -> String {
    let experiment = &input.run.experiment;
    let report = ReportDocument {
        schema_version: DOCUMENT_VERSION,
        experiment: ExperimentPart {
            name: &experiment.name,
            tool_version: &experiment.tool_version,
            created_at: &experiment.created_at,
            quick: experiment.quick,
            seed: experiment.seed,
            command: &experiment.command,
            sandbox_dir: experiment.sandbox_dir.as_deref(),
            server_address: experiment.server_address.as_deref(),
            couplings: &experiment.couplings,
            external: experiment.external.as_ref(),
            logged: external::logged(input),
            part: experiment.part.as_ref(),
            parts: &experiment.parts,
            parts_missing: &experiment.parts_missing,
            complete: input.analysis.complete(),
            decided: input.analysis.decided(),
        },
        plan: &input.run.plan,
        host: &experiment.host,
        server: experiment.server.as_ref(),
        servers: &experiment.servers,
        platform: external::platform(&input.run.trials).map(PlatformPart::of),
        disks: &experiment.disks,
        analysis: input.analysis,
        cell_details: input.analysis.cells.iter().map(|cell| &cell.detail).collect(),
        trials: trial_parts(input).collect(),
        unread: input.run.all_unread().map(|unread| unread.what.as_str()).collect(),
        verdicts: verdicts(input),
        meaning: meaning(input),
        durability: durability::parts(input),
        caveats: caveats(input),
    };
    json_text(&report)
}

/// An indented JSON document that ends with a line feed.
pub(crate) fn json_text(document: &impl Serialize) -> String {
    printable_json(
        &serde_json::to_string_pretty(document).expect("every field of a document has a JSON form"),
    ) + "\n"
}

/// One JSON object a trial, each on a line of its own.
pub(crate) fn jsonl(input: &ReportInput<'_>) -> String {
    let lines = trial_parts(input).map(|part| {
        let text = serde_json::to_string(&part).expect("every field of a report has a JSON form");
        printable_json(&text) + "\n"
    });
    lines.collect()
}

fn trial_parts<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = ReportedTrial<'a>> {
    input.run.trials.iter().map(|loaded| trial_part(input.run, loaded))
}

fn trial_part<'a>(run: &'a Run, loaded: &'a LoadedTrial) -> ReportedTrial<'a> {
    let LoadedTrial { trial, detail, .. } = loaded;
    let measured = trial.measured.as_ref();
    ReportedTrial {
        name: &trial.name,
        block: trial.block,
        position: trial.position,
        role: trial.role,
        configuration: &trial.configuration,
        disk_profile: disk_of(run, &trial.configuration).map(|disk| disk.profile.as_str()),
        validity: trial.validity.words(),
        figures: figures(loaded, FigureGroup::Own),
        engine: engine_part(loaded),
        open_loop: measured
            .and_then(|measured| measured.open_loop)
            .map(|_| figures(loaded, FigureGroup::OpenLoop)),
        sustained: measured.and_then(|measured| measured.sustained),
        generator_limited: measured
            .and_then(|measured| Some(measured.generator_limited.as_ref()?.to_string())),
        unsteady: measured.is_some_and(Measured::is_unsteady),
        stalls: StallsPart::of(loaded),
        ledger: detail.ledger.as_ref(),
        waits: detail.top_waits.as_ref().map(TopWaits::bounded),
        logged: trial.logged,
        beside: &trial.beside,
        disturbances: trial.disturbances(),
        repeated_after: trial.repeated_after.as_deref(),
        parts: &trial.parts,
        notes: &trial.notes,
    }
}

fn engine_part(loaded: &LoadedTrial) -> Option<EnginePart<'_>> {
    let engine = loaded.trial.engine.as_ref()?;
    Some(EnginePart {
        mode: engine.mode,
        workers: engine.workers,
        clients: engine.clients,
        clients_failed: engine.clients_failed,
        pinned_to: &engine.pinned_to,
        shares_cores: engine.shares_cores,
        figures: figures(loaded, FigureGroup::Engine),
    })
}

fn figures(loaded: &LoadedTrial, group: FigureGroup) -> FigureValues {
    FigureValues::new(|figure| figure.group() == group, |figure| figure.of_trial(loaded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::schema_check::violations;

    const SCHEMA: &str = include_str!("../../../docs/reference/report.schema.json");

    fn check(fixture: &Fixture) {
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let document = serde_json::from_str(&json(&fixture.input())).unwrap();
        assert_eq!(violations(&schema, &document), Vec::<String>::new());
    }

    #[test]
    fn documents_match_the_schema() {
        check(&Fixture::durability());
        check(&Fixture::troubled());
        check(&Fixture::connections_only());
        check(&Fixture::rates());
        check(&Fixture::rates().with(Vec::clear));
        check(&Fixture::open_run(1000));
        check(&Fixture::open_run(8000));
        check(&Fixture::old());
        check(&Fixture::watched());
        check(&Fixture::watched_at("1, 8, 64"));
        check(&Fixture::script_without_server());
        check(&Fixture::slap());
        check(&Fixture::external());
        check(&Fixture::durability().with(Vec::clear));
        check(&Fixture::durability().with(|trials| {
            for trial in trials {
                trial.measured.as_mut().unwrap().tps = 0.0;
            }
        }));
    }

    #[test]
    fn open_loops_are_in_the_document() {
        let text = json(&Fixture::rates().input());
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let check = |pointer: &str, expect: serde_json::Value| {
            assert_eq!(document.pointer(pointer), Some(&expect), "{pointer}");
        };
        check("/analysis/axis", "rate".into());
        check("/analysis/cells/2/open_loop/sustained/trials", 0.into());
        check("/analysis/cells/2/open_loop/not_sustained/queued", 1200.into());
        check("/analysis/cells/2/generator_limited/of", 3.into());
        check("/analysis/curves/0/sustained/highest", 1.into());
        check("/analysis/contrasts/2/generator_limited", true.into());
        check("/trials/2/generator_limited", "its own starts were late: p99 2.5 ms".into());
        check("/trials/2/open_loop/queued", 1200.into());
        check("/trials/0/sustained", true.into());
    }

    #[test]
    fn the_check_finds_what_is_wrong() {
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let text = json(&Fixture::durability().input());
        let check = |from: &str, to: &str, expect: &str| {
            let document = serde_json::from_str(&text.replacen(from, to, 1)).unwrap();
            let found = violations(&schema, &document);
            assert!(
                found.iter().any(|one| one.contains(expect)),
                "{found:?} should contain {expect}"
            );
        };
        check("\"schema_version\"", "\"scheme_version\"", "/scheme_version: not in the schema");
        check("\"schema_version\"", "\"scheme_version\"", "/schema_version: missing");
        check("\"quick\": false", "\"quick\": \"no\"", "/experiment/quick: not of type boolean");
        check("\"verdict\": \"faster\"", "\"verdict\": \"fast\"", "/analysis/contrasts/0/verdict");
    }
}
