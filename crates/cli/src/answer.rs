//! From an experiment's folder to its answer: read, analyse, write `report.html`, print.

use std::path::{Path, PathBuf};

use truetps_analysis::OpenComparisons;
use truetps_archive::{Histograms, Run};
use truetps_files::write_atomically;
use truetps_folder::{ExperimentFolder, FolderError, LATEST};
use truetps_report::{AnswerVerdict, FORMATS, FolderAnswer, ReportAnswer, ReportInput};

use crate::args::AnswerForm;
use crate::commands::again;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::owner::is_ours;
use crate::screen::screen;
use crate::terminal::{print_line, print_made, print_message, print_progress, shell_path, shown};

/// More blocks than so many times those that were run are not worth waiting for.
const WORTH_WAITING_MAX: u32 = 6;

/// What to do about an experiment's files.
pub(crate) const EDITED: &str = "plan.toml and experiment.json record the run: if one is missing, \
                                 cut off or edited, restore the file that truetps has written";

/// An experiment's folder, or the newest one below `runs`, to go on with it. A plan may have
/// statements that run programs: where others may write, theirs is not taken unless the user names
/// it.
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

/// Writes `report.html` of an experiment, prints the answer, and names what may come next.
pub(crate) fn give(folder: &Path, form: AnswerForm) -> Result<Exit, CommandFailure> {
    let run = Run::open(folder, Histograms::Read).map_err(unreadable)?;
    give_run(&run, form)
}

/// [`give`] for an experiment that has been read.
pub(crate) fn give_run(run: &Run, form: AnswerForm) -> Result<Exit, CommandFailure> {
    let analysis = run.analyse();
    let input = ReportInput { run, analysis: &analysis };
    let text = drawn(&input, form)?;
    let page = write_page(&input);
    if !form.format.names_unread {
        warn_of(run);
    }
    if !form.format.names_parts {
        warn_of_parts(run);
    }
    let printed = print_made(&text);
    if name_page(&run.path, &page, form.is_screen()) {
        for next in next_commands(&input, form.is_screen()) {
            print_progress(&format!("       {next}\n"));
        }
    }
    Ok(judged(printed, &input))
}

/// Writes the page of another kind of answer, and prints it.
pub(crate) fn give_document(
    answer: &dyn FolderAnswer,
    form: AnswerForm,
) -> Result<Exit, CommandFailure> {
    let text = drawn(answer, form)?;
    let page = write_page(answer);
    let printed = print_made(&text);
    name_page(answer.folder(), &page, form.is_screen());
    Ok(judged(printed, answer))
}

/// Prints an answer that no folder keeps.
pub(crate) fn print_answer(
    answer: &dyn ReportAnswer,
    form: AnswerForm,
) -> Result<Exit, CommandFailure> {
    let printed = print_made(&drawn(answer, form)?);
    Ok(judged(printed, answer))
}

fn drawn(answer: &dyn ReportAnswer, form: AnswerForm) -> Result<String, CommandFailure> {
    if form.is_screen() {
        return Ok(answer.summary(screen()));
    }
    form.format.draw(answer, screen()).ok_or_else(|| {
        let others = FORMATS.iter().filter(|other| other.draw(answer, screen()).is_some());
        let names: Vec<_> = others.map(|other| other.name).collect();
        let name = form.format.name;
        CommandFailure::usage(format!(
            "--format {name}: this answer has no {name}, only {}",
            names.join(", ")
        ))
        .hint("name one of these formats with --format")
    })
}

/// The exit code of an answer, or of why it could not be printed.
fn judged(printed: Exit, answer: &dyn ReportAnswer) -> Exit {
    match answer.verdict() {
        _ if printed != Exit::Good => printed,
        AnswerVerdict::Good => Exit::Good,
        AnswerVerdict::No => Exit::No,
        AnswerVerdict::Inconclusive => Exit::Inconclusive,
        AnswerVerdict::Failed => Exit::Failed,
    }
}

/// What answers the questions that this experiment leaves open.
fn next_commands(input: &ReportInput<'_>, is_short: bool) -> Vec<String> {
    let (run, analysis) = (input.run, input.analysis);
    let mut next = Vec::new();
    if let Some(open) = open_comparisons(input) {
        let blocks = run.plan.design.blocks.saturating_add(open.more_blocks);
        let command = again::until_decided(&run.path, &run.experiment, blocks);
        let (some, all) = (open.comparisons, analysis.undecided());
        next.push(format!("{command}   (may decide {some} of {all} that are open)"));
    }
    let is_whole = run.experiment.part.is_none() && run.experiment.parts.is_empty();
    if !is_short || !is_whole || run.plan.recorded_from.is_some() {
        return next;
    }
    let is_private = run.experiment.sandbox_dir.is_some();
    if let Some((base, best)) = truetps_report::base_and_best(input).filter(|_| is_private) {
        let command = again::explain(&run.path, &run.experiment, (&base, &best));
        next.push(format!("{command}   (measures which of these settings make the difference)"));
    } else if truetps_report::names_connections(input) {
        let command = again::pool(&run.path, &run.experiment);
        next.push(format!("{command}   (finds the number of connections between those tried)"));
    }
    next
}

/// Why a folder gives no answer.
pub(crate) fn unreadable(error: FolderError) -> CommandFailure {
    CommandFailure::broken(error).or_hint(EDITED)
}

/// Writes `report.html` into a run's folder.
fn write_page(answer: &dyn FolderAnswer) -> Result<PathBuf, FolderError> {
    let page = answer.folder().join("report.html");
    write_atomically(&page, answer.html().as_bytes()).map_err(FolderError::io(&page))?;
    Ok(page)
}

/// Names the folder and its page, behind the answer. The answer is already printed: a page that
/// could not be written is only a warning. `is_short`: the answer was one screen, and there is
/// more. Returns whether it was written.
fn name_page(folder: &Path, page: &Result<PathBuf, FolderError>, is_short: bool) -> bool {
    match page {
        Ok(page) => {
            let more = if is_short {
                format!("       truetps report {} --full\n", shell_path(folder))
            } else {
                String::new()
            };
            print_progress(&format!(
                "\nSaved  {}\nNext   open {}\n{more}",
                shown(folder).display(),
                shell_path(page)
            ));
        }
        Err(error) => print_message(&format!("\nwarning: report.html was not written: {error}\n")),
    }
    page.is_ok()
}

/// What more blocks are likely to decide; `None` where they cannot be added or would take too long,
/// and where the figures are of one part of a load.
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

#[cfg(test)]
mod tests {
    use truetps_report::{AnswerFormat, Document, TextScreen};

    use super::*;

    /// Text, Markdown and JSON alone.
    struct PlainAnswer;

    impl ReportAnswer for PlainAnswer {
        fn summary(&self, _: TextScreen) -> String {
            String::new()
        }

        fn documents(&self) -> Vec<Document> {
            Vec::new()
        }

        fn json(&self) -> String {
            "{}".to_owned()
        }

        fn verdict(&self) -> AnswerVerdict {
            AnswerVerdict::Good
        }
    }

    #[test]
    fn an_answer_names_the_formats_that_it_has() {
        let csv = AnswerForm { format: AnswerFormat::named("csv").unwrap(), full: false };
        let said = format!("{:?}", drawn(&PlainAnswer, csv).unwrap_err());
        assert!(
            said.contains("--format csv: this answer has no csv, only text, json, md"),
            "{said}"
        );
    }
}
