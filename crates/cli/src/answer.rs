//! From an experiment's folder to its answer: read, analyse, write `report.html`, print.

use std::path::{Path, PathBuf};

use truetps_analysis::{Analysis, Contrast, OpenComparisons, Verdict};
use truetps_archive::{Histograms, Run};
use truetps_files::write_atomically;
use truetps_folder::{ExperimentFolder, FolderError, LATEST};
use truetps_report::ReportInput;

use crate::args::{DocumentArgs, DocumentFormat, OutputFormat};
use crate::commands::again;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::owner::is_ours;
use crate::screen::screen;
use crate::terminal::{print_line, print_made, print_message, print_progress, shown};

/// More blocks than so many times those that were run are not worth waiting for.
const WORTH_WAITING_MAX: u32 = 6;

/// What to do about an experiment's files.
pub(crate) const EDITED: &str = "plan.toml and experiment.json record the run: if one is missing, cut off or edited, \
                                 restore the file that truetps has written";

/// An experiment's folder, or the newest one below `runs`, to go on with it. A plan may have statements that run programs:
/// where others may write, theirs is not taken unless the user names it.
pub(crate) fn open_folder(
    named: Option<&Path>,
    runs: &Path,
) -> Result<ExperimentFolder, CommandFailure> {
    let path = named.map_or_else(|| runs.join(LATEST), Path::to_owned);
    let deciding = [path.clone(), path.join("plan.toml"), path.join("experiment.json")];
    if named.is_none()
        && let Some(foreign) = deciding.iter().find(|path| !is_ours(path))
    {
        let message =
            format!("{}: belongs to another user, whose plan would be run", foreign.display());
        return Err(CommandFailure::usage(message)
            .hint("read its plan.toml, and name the folder after --resume"));
    }
    ExperimentFolder::open(&path).map_err(|error| {
        let is_trial = matches!(ExperimentFolder::find(&path), Ok((_, Some(_))));
        let hint = if is_trial {
            "name the folder above it; `truetps stalls` and `truetps compare` take a trial's folder"
        } else {
            "start an experiment with `truetps sweep`, or name an experiment's folder"
        };
        CommandFailure::usage(error).hint(hint)
    })
}

/// Writes `report.html` and prints the answer.
pub(crate) fn give(
    folder: &ExperimentFolder,
    format: OutputFormat,
    full: bool,
) -> Result<Exit, CommandFailure> {
    let run = Run::open(folder.path(), Histograms::Read).map_err(unreadable)?;
    let analysis = run.analyse();
    let input = ReportInput { run: &run, analysis: &analysis };
    let page = write_page(folder.path(), &truetps_report::html(&input));
    let text = match format {
        OutputFormat::Text if full => truetps_report::text(&input, screen()),
        OutputFormat::Text => truetps_report::summary_text(&input, screen()),
        OutputFormat::Json => truetps_report::json(&input),
        OutputFormat::Csv => truetps_report::csv(&input),
        OutputFormat::Md => truetps_report::markdown(&input),
        OutputFormat::Jsonl => truetps_report::jsonl(&input),
        OutputFormat::Sysbench => truetps_report::sysbench(&input),
        OutputFormat::Junit => truetps_report::junit(&input),
        OutputFormat::Prometheus => truetps_report::prometheus(&input),
    };
    if !matches!(format, OutputFormat::Text | OutputFormat::Json | OutputFormat::Md) {
        // The other formats have no place for it.
        warn_of(&run);
    }
    if matches!(format, OutputFormat::Jsonl | OutputFormat::Sysbench) {
        warn_of_parts(&run);
    }
    let printed = print_made(&text);
    let is_short = format == OutputFormat::Text && !full;
    if name_page(folder.path(), &page, is_short) {
        for next in next_commands(folder, &input, is_short) {
            print_progress(&format!("       {next}\n"));
        }
    }
    if run.has_lost_a_trial() && printed == Exit::Good {
        return Ok(Exit::Failed);
    }
    Ok(if printed == Exit::Good { judge(&analysis) } else { printed })
}

/// What answers the questions that this experiment leaves open.
fn next_commands(
    folder: &ExperimentFolder,
    input: &ReportInput<'_>,
    is_short: bool,
) -> Vec<String> {
    let (run, analysis) = (input.run, input.analysis);
    let mut next = Vec::new();
    if let Some(open) = open_comparisons(input) {
        let blocks = run.plan.design.blocks.saturating_add(open.more_blocks);
        let command = again::until_decided(folder, &run.experiment, blocks);
        let (some, all) = (open.comparisons, analysis.undecided());
        next.push(format!("{command}   (may decide {some} of {all} that are open)"));
    }
    let is_whole = run.experiment.part.is_none() && run.experiment.parts.is_empty();
    if !is_short || !is_whole || run.plan.recorded_from.is_some() {
        return next;
    }
    let is_private = run.experiment.sandbox_dir.is_some();
    if let Some((base, best)) = truetps_report::base_and_best(input).filter(|_| is_private) {
        let command = again::explain(folder, &run.experiment, (&base, &best));
        next.push(format!("{command}   (measures which of these settings make the difference)"));
    } else if truetps_report::names_connections(input) {
        let command = again::pool(folder, &run.experiment);
        next.push(format!("{command}   (finds the number of connections between those tried)"));
    }
    next
}

/// Why a folder gives no answer.
pub(crate) fn unreadable(error: FolderError) -> CommandFailure {
    CommandFailure::broken(error).or_hint(EDITED)
}

/// Writes `report.html` into a run's folder.
pub(crate) fn write_page(folder: &Path, html: &str) -> Result<PathBuf, FolderError> {
    let page = folder.join("report.html");
    write_atomically(&page, html.as_bytes()).map_err(FolderError::io(&page))?;
    Ok(page)
}

/// The forms of an answer that is no table of trials.
pub(crate) struct DocumentForms<'a> {
    /// One screen.
    pub(crate) summary: &'a dyn Fn() -> String,
    pub(crate) text: &'a dyn Fn() -> String,
    pub(crate) json: &'a dyn Fn() -> String,
    pub(crate) markdown: &'a dyn Fn() -> String,
    pub(crate) html: &'a dyn Fn() -> String,
}

/// Prints such an answer, and writes its page.
pub(crate) fn print_document(folder: &Path, args: DocumentArgs, forms: &DocumentForms<'_>) -> Exit {
    let is_short = args.format == DocumentFormat::Text && !args.full;
    let text = match args.format {
        DocumentFormat::Text if is_short => (forms.summary)(),
        DocumentFormat::Text => (forms.text)(),
        DocumentFormat::Json => (forms.json)(),
        DocumentFormat::Md => (forms.markdown)(),
    };
    let page = write_page(folder, &(forms.html)());
    let printed = print_made(&text);
    name_page(folder, &page, is_short);
    printed
}

/// Names the folder and its page, behind the answer. The answer is already printed: a page that could not be written is only
/// a warning. `is_short`: the answer was one screen, and there is more. Returns whether it was written.
pub(crate) fn name_page(
    folder: &Path,
    page: &Result<PathBuf, FolderError>,
    is_short: bool,
) -> bool {
    match page {
        Ok(page) => {
            let folder = shown(folder).display().to_string();
            let more = if is_short {
                format!("       truetps report {folder} --full\n")
            } else {
                String::new()
            };
            print_progress(&format!(
                "\nSaved  {folder}\nNext   open {}\n{more}",
                shown(page).display()
            ));
        }
        Err(error) => print_message(&format!("\nwarning: report.html was not written: {error}\n")),
    }
    page.is_ok()
}

/// What more blocks are likely to decide; `None` where they cannot be added or would take too long, and where the figures
/// are of one part of a load.
fn open_comparisons(input: &ReportInput<'_>) -> Option<OpenComparisons> {
    let experiment = &input.run.experiment;
    let is_planned = experiment.slo.is_none()
        && experiment.part.is_none()
        && input.run.plan.recorded_from.is_none();
    let within = input.run.plan.design.blocks.saturating_mul(WORTH_WAITING_MAX);
    input.analysis.open_comparisons(within).filter(|_| is_planned)
}

/// Names what could not be read, where the answer itself does not.
pub(crate) fn warn_of(run: &Run) {
    for unread in run.all_unread() {
        print_line(&format!(
            "warning: {}: cannot be read: {}",
            shown(&run.path).display(),
            unread.what
        ));
    }
}

/// Says that the figures are not of the whole load, where the answer itself does not.
pub(crate) fn warn_of_parts(run: &Run) {
    if let Some(problem) = truetps_report::incomplete(&run.experiment) {
        print_line(&format!("warning: {}: {problem}", shown(&run.path).display()));
    }
}

/// The exit code of the answer.
fn judge(analysis: &Analysis) -> Exit {
    if analysis.invalid.iter().any(|trial| !trial.partial) {
        return Exit::Failed;
    }
    let undecided = |contrast: &Contrast| matches!(contrast.verdict, Verdict::NotEnoughData { .. });
    let none_decided = !analysis.contrasts.is_empty() && analysis.contrasts.iter().all(undecided);
    if !analysis.complete() || none_decided {
        return Exit::Inconclusive;
    }
    Exit::Good
}
