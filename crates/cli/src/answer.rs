//! From an experiment's folder to its answer: read, analyse, write `report.html`, print.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use truetps_analysis::{Analysis, analyse};
use truetps_record::{Experiment, ExperimentFolder, FolderError, LATEST, Plan, Trial, write_atomically};
use truetps_report::{ReportInput, TrialSeries};

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print_out, say};

/// Everything in an experiment's folder that an answer needs.
pub(crate) struct Recorded {
    plan: Plan,
    experiment: Experiment,
    trials: Vec<Trial>,
    series: Vec<TrialSeries>,
    variables: BTreeMap<String, BTreeMap<String, String>>,
}

/// An experiment's folder, or the newest one below `runs`.
pub(crate) fn open_folder(named: Option<&Path>, runs: &Path) -> Result<ExperimentFolder, Failure> {
    let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
    let hint = "start an experiment with `truetps sweep`, or name the folder of one".to_owned();
    ExperimentFolder::open(&path).map_err(|error| Failure::usage(error).hint(hint))
}

impl Recorded {
    pub(crate) fn read(folder: &ExperimentFolder) -> Result<Self, FolderError> {
        let experiment = folder.experiment()?;
        let mut recorded = Self {
            plan: folder.plan()?,
            experiment,
            trials: Vec::new(),
            series: Vec::new(),
            variables: BTreeMap::new(),
        };
        for scheduled in &recorded.experiment.schedule {
            let Some(trial) = folder.trial(&scheduled.name)? else { continue };
            let intervals = folder.intervals(&scheduled.name).unwrap_or_default();
            recorded.series.push(TrialSeries { name: trial.name.clone(), intervals });
            if let Ok(Some(variables)) = folder.variables(&trial.name) {
                recorded.variables.insert(trial.name.clone(), variables);
            }
            recorded.trials.push(trial);
        }
        Ok(recorded)
    }

    pub(crate) fn analyse(&self) -> Analysis {
        analyse(&self.plan, &self.experiment, &self.trials)
    }
}

/// Writes `report.html` and prints the answer.
pub(crate) fn give(folder: &ExperimentFolder, format: Format) -> Result<Exit, Failure> {
    let recorded = Recorded::read(folder).map_err(Failure::failed)?;
    let analysis = recorded.analyse();
    let input = ReportInput {
        plan: &recorded.plan,
        experiment: &recorded.experiment,
        analysis: &analysis,
        trials: &recorded.trials,
        variables: &recorded.variables,
    };
    let page = folder.path().join("report.html");
    let written = write_atomically(&page, truetps_report::html(&input, &recorded.series).as_bytes());
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let text = match format {
        Format::Text => truetps_report::text(&input, colour),
        Format::Json => truetps_report::json(&input),
        Format::Csv => truetps_report::csv(&input),
        Format::Md => truetps_report::markdown(&input),
    };
    let printed = print_out(&text);
    match written {
        Ok(()) => {
            say(&format!("\nSaved  {}\nNext   open {}\n", shown(folder.path()).display(), shown(&page).display()));
        }
        // The answer itself is out: a page that cannot be written is worth a word, no more.
        Err(error) => say(&format!("\nwarning: report.html was not written: {error}\n")),
    }
    Ok(if printed == Exit::Good { judge(&analysis) } else { printed })
}

/// What the answer means for a script.
fn judge(analysis: &Analysis) -> Exit {
    if analysis.invalid.iter().any(|trial| !trial.partial) {
        return Exit::Failed;
    }
    let undecided = |contrast: &truetps_analysis::Contrast| {
        matches!(contrast.verdict, truetps_analysis::Verdict::NotEnoughData { .. })
    };
    let none_decided = !analysis.contrasts.is_empty() && analysis.contrasts.iter().all(undecided);
    if !analysis.complete() || none_decided {
        return Exit::Inconclusive;
    }
    Exit::Good
}

/// The path as a user would write it: relative to the folder that they are in, where it is below that.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned)).unwrap_or_else(|| path.to_owned())
}
