//! The folders of the parts of one load, put together to the folder of the whole: counts are added,
//! histograms merged, intervals added by the common clock. No quantile is averaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use truetps_record::{
    Counts, EngineFacts, ErrorTally, Experiment, Histogram, Interval, LatencyFigures, Measured,
    MergedPart, NoEvidence, OtherRun, Part, PartOfExperiment, ResourceUse, Trial, TrialPart,
    Validity, per_second,
};

use crate::error::{FolderError, MergeError};
use crate::file_names::PROBE;
use crate::folder::ExperimentFolder;
use crate::merge_script::{merge_script_files, script_run_of};
use crate::merge_series::{common_open_loop, common_series};
use crate::part_series::PartSeries;
use crate::publish::HiddenExperiment;
use crate::run_file::{LINES_MAX, TEXT_MAX, check_length, open_below};
use crate::trial_writer::TrialWriter;

/// One part that takes part in the merge.
struct PartFolder {
    of: PartOfExperiment,
    folder: ExperimentFolder,
    experiment: Experiment,
}

impl PartFolder {
    fn merged(&self) -> MergedPart {
        MergedPart {
            index: self.of.part.index,
            host: self.experiment.host.hostname.clone(),
            folder: self.folder.path().display().to_string(),
        }
    }

    /// A process of the part's host.
    fn process(&self, pid: u32) -> (&str, u32) {
        (&self.experiment.host.hostname, pid)
    }
}

/// Merges the parts, in any order, into a new folder below `runs`, which is there only once it is
/// whole. `name`: of the new folder. `stop`: ends it early.
pub fn merge_parts(
    folders: &[ExperimentFolder],
    runs: &Path,
    name: impl FnOnce(&Experiment) -> String,
    command: Vec<String>,
    stop: &AtomicBool,
) -> Result<ExperimentFolder, MergeError> {
    let parts = parts_of(folders)?;
    let first = &parts[0];
    let plan = first.folder.plan()?;
    first.folder.experiment_of(&plan)?;
    let indexes = 0..first.of.part.of;
    let missing: Vec<_> =
        indexes.filter(|index| parts.iter().all(|one| one.of.part.index != *index)).collect();
    let experiment = Experiment {
        part: None,
        parts: parts.iter().map(PartFolder::merged).collect(),
        parts_missing: missing.clone(),
        command,
        ..first.experiment.clone()
    };
    let name = name(&experiment);
    let merged =
        HiddenExperiment::create(runs, &name, &plan, &experiment).map_err(MergeError::Write)?;
    for scheduled in &experiment.schedule {
        merge_trial(&parts, &missing, &scheduled.name, merged.folder(), stop)?;
    }
    merged.publish().map_err(MergeError::Write)
}

/// Checks that these folders belong together; in the order of their numbers.
fn parts_of(folders: &[ExperimentFolder]) -> Result<Vec<PartFolder>, MergeError> {
    let mut parts: Vec<PartFolder> = Vec::new();
    for folder in folders {
        let experiment = folder.experiment()?;
        let path = folder.path().to_owned();
        let Some(of) = experiment.part.clone() else { return Err(MergeError::NoPart { path }) };
        if let Some(first) = parts.first()
            && (first.of.meeting != of.meeting || first.of.part.of != of.part.of)
        {
            return Err(MergeError::OtherExperiment {
                part: of.part,
                path,
                first: first.folder.path().to_owned(),
            });
        }
        if let Some(same) = parts.iter().find(|other| other.of.part.index == of.part.index) {
            return Err(MergeError::Twice {
                part: of.part,
                first: same.folder.path().to_owned(),
                second: path,
            });
        }
        parts.push(PartFolder { of, folder: folder.clone(), experiment });
    }
    parts.sort_by_key(|one| one.of.part.index);
    Ok(parts)
}

/// One trial of all parts. None is written that no part has begun.
fn merge_trial(
    parts: &[PartFolder],
    missing: &[u32],
    name: &str,
    merged: &ExperimentFolder,
    stop: &AtomicBool,
) -> Result<(), MergeError> {
    let mut trials = Vec::new();
    let mut absent: Vec<_> = missing.to_vec();
    for one in parts {
        match one.folder.trial(name)? {
            Some(trial) => trials.push((one, trial)),
            None => absent.push(one.of.part.index),
        }
    }
    let Some((first, first_trial)) = trials.first() else { return Ok(()) };
    let series =
        trials.iter().enumerate().map(|(at, (one, _))| PartSeries::open(at, &one.folder, name));
    let series = series.collect::<Result<Vec<_>, _>>()?;
    let of = first.of.part.of;
    let mut trial = first_trial.clone();
    trial.start = None;
    trial.parts = trials.iter().map(|(one, trial)| trial_part(one.of.part, trial)).collect();
    trial.notes = trials.iter().flat_map(|(one, trial)| notes_of(one.of.part, trial)).collect();
    trial.engine = engine_of(trials.iter().map(|(_, trial)| trial));
    trial.ended_at = trials.iter().filter_map(|(_, trial)| trial.ended_at.clone()).max();
    trial.beside = beside(parts, &trials);
    trial.validity = validity_of(&trials, &absent, of);
    let mut writer = merged.begin_trial(&trial).map_err(MergeError::Write)?;
    let common = common_series(series, stop, |interval, histogram| {
        writer.append_latency(interval, histogram)
    })?;
    trial.measured =
        measured_of(trials.iter().map(|(_, trial)| trial), &common.intervals, &common.measured);
    let intervals =
        common.intervals.iter().try_for_each(|interval| writer.append_interval(interval));
    trial.script = script_run_of(&trials.iter().map(|(_, trial)| trial).collect::<Vec<_>>());
    let folders: Vec<_> = trials.iter().map(|(one, _)| &one.folder).collect();
    intervals
        .and_then(|()| merge_script_files(&folders, name, &writer))
        .and_then(|()| copy_server_files(first, name, &writer))
        .and_then(|()| writer.write_trial(&trial))
        .map_err(MergeError::Write)
}

/// Other runs on the hosts of the parts, each once, without the parts themselves.
fn beside(parts: &[PartFolder], trials: &[(&PartFolder, Trial)]) -> Vec<OtherRun> {
    let own: BTreeSet<_> = parts.iter().map(|one| one.process(one.of.pid)).collect();
    let seen = trials.iter().flat_map(|(part, trial)| {
        trial.beside.iter().map(|other| (part.process(other.pid), other))
    });
    let others: BTreeMap<_, _> = seen.filter(|(process, _)| !own.contains(process)).collect();
    others.into_values().cloned().collect()
}

/// What part 0 has seen of the server.
fn copy_server_files(
    first: &PartFolder,
    name: &str,
    writer: &TrialWriter,
) -> Result<(), FolderError> {
    for file in first.folder.trial_files(name) {
        let bytes_max = match file {
            PROBE => LINES_MAX,
            file if file.starts_with("server/") => TEXT_MAX,
            _ => continue,
        };
        let from = first.folder.trial_path(name)?.join(file);
        copy_file(
            &from,
            open_below(first.folder.path(), &from)?,
            &writer.path().join(file),
            bytes_max,
        )?;
    }
    Ok(())
}

/// A hole in the file becomes zeros, so that its length is checked first.
fn copy_file(from: &Path, file: File, to: &Path, bytes_max: u64) -> Result<(), FolderError> {
    check_length(from, file.metadata().map_err(FolderError::io(from))?.len(), bytes_max)?;
    let copied =
        File::create_new(to).and_then(|mut copy| io::copy(&mut file.take(bytes_max), &mut copy));
    copied.map(drop).map_err(FolderError::io(to))
}

fn trial_part(part: Part, trial: &Trial) -> TrialPart {
    let measured = trial.measured.as_ref();
    TrialPart {
        index: part.index,
        tps: measured.map(|measured| measured.tps),
        clients: trial.engine.as_ref().map_or(0, |engine| engine.clients),
        client_cpu_us_per_tx: measured.and_then(|measured| measured.resources.client_cpu_us_per_tx),
        worker_busy_max: measured.and_then(|measured| measured.resources.worker_busy_max),
        late_us_p99: measured.and_then(|measured| measured.open_loop?.late_us_p99),
        start: trial.start,
        problem: trial.validity.reason().map(ToString::to_string),
    }
}

fn notes_of(part: Part, trial: &Trial) -> Vec<String> {
    trial.notes.iter().map(|note| format!("part {part}: {note}")).collect()
}

/// The whole load is evidence if every part is.
fn validity_of(trials: &[(&PartFolder, Trial)], absent: &[u32], of: u32) -> Validity {
    if let Some(index) = absent.iter().min() {
        let others = if absent.len() > 1 {
            format!(" (and {} more)", absent.len() - 1)
        } else {
            String::new()
        };
        let problem = format!("part {index}/{of}{others} is missing");
        return Validity::invalid(NoEvidence::PartsApart { problem });
    }
    let invalid = first_problem(trials, |validity| matches!(validity, Validity::Invalid(_)))
        .or_else(|| trials.iter().find_map(|one| not_together(one, trials)));
    if let Some(problem) = invalid {
        return Validity::invalid(NoEvidence::PartsApart { problem });
    }
    match first_problem(trials, Validity::is_partial) {
        Some(problem) => Validity::partial(NoEvidence::PartsApart { problem }),
        None => Validity::Valid,
    }
}

/// The reason of the first part with such a validity.
fn first_problem(
    trials: &[(&PartFolder, Trial)],
    is_such: fn(&Validity) -> bool,
) -> Option<String> {
    let (one, trial) = trials.iter().find(|(_, trial)| is_such(&trial.validity))?;
    Some(format!("part {}: {}", one.of.part, trial.validity.reason()?))
}

/// Why this part did not start together with the others. A part that was killed may have ended
/// before its start.
fn not_together(
    (one, trial): &(&PartFolder, Trial),
    trials: &[(&PartFolder, Trial)],
) -> Option<String> {
    let part = one.of.part;
    let Some(start) = trial.start else {
        return trial.validity.is_valid().then(|| {
            format!("part {part}: start is missing, the moment at which all parts start")
        });
    };
    let first = trials.iter().find_map(|(_, trial)| trial.start).unwrap_or(start);
    start.problem_beside(first).map(|problem| format!("part {part}: {problem}"))
}

fn engine_of<'t>(trials: impl Iterator<Item = &'t Trial>) -> Option<EngineFacts> {
    trials.filter_map(|trial| trial.engine.clone()).reduce(|sum, other| EngineFacts {
        workers: sum.workers + other.workers,
        clients: sum.clients + other.clients,
        clients_failed: sum.clients_failed + other.clients_failed,
        connect_ms: sum.connect_ms.max(other.connect_ms),
        // Cores of several hosts have no common numbers.
        pinned_to: Vec::new(),
        shares_cores: sum
            .shares_cores
            .into_iter()
            .chain(other.shares_cores)
            .reduce(|one, other| one || other),
        reconnects: sum.reconnects + other.reconnects,
        clients_finished: sum
            .clients_finished
            .zip(other.clients_finished)
            .map(|(one, other)| one + other),
        suspensions: [sum.suspensions, other.suspensions].concat(),
        ..sum
    })
}

/// The figures of the whole load; `None` where a part has none.
fn measured_of<'t>(
    trials: impl Iterator<Item = &'t Trial>,
    intervals: &[Interval],
    histogram: &Histogram,
) -> Option<Measured> {
    let parts: Option<Vec<(&Measured, f64)>> = trials
        .map(|trial| {
            Some((
                trial.measured.as_ref()?,
                f64::from(trial.engine.as_ref().map_or(0, |one| one.clients)),
            ))
        })
        .collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    let mut counts = Counts::default();
    for (part, _) in &parts {
        counts.merge_worker(&part.counts);
    }
    let length_ms = parts.iter().map(|(part, _)| part.length_ms).fold(0.0, f64::max);
    let mut errors = ErrorTally::default();
    for (part, _) in &parts {
        errors.append(&part.errors);
    }
    let all_sustained = parts.iter().map(|(part, _)| part.sustained).collect::<Option<Vec<_>>>();
    Some(Measured {
        length_ms,
        tps: per_second(counts.ok, length_ms),
        qps: per_second(counts.statements, length_ms),
        counts,
        response: LatencyFigures::of(histogram),
        resources: resources_of(&parts, intervals),
        open_loop: parts
            .iter()
            .fold(None, |common, (part, _)| common_open_loop(common, part.open_loop)),
        sustained: all_sustained.map(|all| all.into_iter().all(|is| is)),
        littles_law: weighted(&parts, |part, clients| Some((part.littles_law?, clients))),
        generator_limited: parts.iter().find_map(|(part, _)| part.generator_limited.clone()),
        errors: errors.into_sorted(),
    })
}

/// The server is in part 0's record; generators add up.
fn resources_of(parts: &[(&Measured, f64)], intervals: &[Interval]) -> ResourceUse {
    let first = &parts[0].0.resources;
    let cpu_window = first.cpu_window.map(|mut window| {
        window.ok = intervals
            .iter()
            .map(|interval| interval.ok_between(window.from_ms, window.to_ms))
            .sum();
        window.generator_us = all_generators_us(parts, window.to_ms - window.from_ms);
        window
    });
    ResourceUse {
        client_cpu_us_per_tx: mean_per_tx(parts, |one| one.client_cpu_us_per_tx),
        server_cpu_us_per_tx: cpu_window
            .filter(|window| window.ok > 0.0)
            .map(|window| window.server_us / window.ok),
        worker_busy_max: largest(parts, |one| one.worker_busy_max),
        worker_wait_max: largest(parts, |one| one.worker_wait_max),
        steal: largest(parts, |one| one.steal),
        server_rss_bytes: first.server_rss_bytes,
        client_switches_per_tx: mean_per_tx(parts, |one| one.client_switches_per_tx),
        cpu_window,
    }
}

/// CPU time of all generators in a window of this length. Each part has its own window, of nearly
/// this length, and puts its load on the server steadily.
fn all_generators_us(parts: &[(&Measured, f64)], length_ms: f64) -> f64 {
    let windows = parts.iter().filter_map(|(part, _)| part.resources.cpu_window);
    windows.map(|own| own.generator_us * length_ms / (own.to_ms - own.from_ms).max(1.0)).sum()
}

fn largest(parts: &[(&Measured, f64)], value: fn(&ResourceUse) -> Option<f64>) -> Option<f64> {
    parts.iter().filter_map(|(part, _)| value(&part.resources)).reduce(f64::max)
}

/// The mean of all transactions.
fn mean_per_tx(parts: &[(&Measured, f64)], value: fn(&ResourceUse) -> Option<f64>) -> Option<f64> {
    weighted(parts, |part, _| Some((value(&part.resources)?, part.counts.ok as f64)))
}

/// The mean of all parts; `None` if one has no value, or all weights are 0.
fn weighted(
    parts: &[(&Measured, f64)],
    of: impl Fn(&Measured, f64) -> Option<(f64, f64)>,
) -> Option<f64> {
    let all: Option<Vec<_>> = parts.iter().map(|(part, clients)| of(part, *clients)).collect();
    let (sum, weights) = all?.iter().fold((0.0, 0.0), |(sum, weights), (value, weight)| {
        (sum + value * weight, weights + weight)
    });
    (weights > 0.0).then(|| sum / weights)
}
