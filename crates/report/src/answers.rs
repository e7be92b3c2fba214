//! The answers: what each kind shows in each form, and its verdict.

use std::path::Path;

use truetps_analysis::{Analysis, Contrast, Figure, ThresholdState, Verdict};
use truetps_archive::{CrashedRun, ExplainedRun, PoolRun, RecordedProbe, Run, VerifiedRun};
use truetps_causes::Outcome;
use truetps_knowledge::Diff;
use truetps_pool::PoolOutcome;
use truetps_record::{Explanation, NoEvidence, Reason, Validity};

use crate::document::Document;
use crate::html::{self, document_html};
use crate::json::{self, json_text};
use crate::junit::{self, comparison_junit};
use crate::{
    AnswerVerdict, FolderAnswer, PoolLibrary, ReportAnswer, ReportInput, RunComparison, TextScreen,
    comparison, crash_report, csv, explanation, pool, probe_list, run_document, settings_diff,
    stall_list, summary, verification,
};

impl ReportAnswer for ReportInput<'_> {
    fn summary(&self, screen: TextScreen) -> String {
        summary::summary_text(self, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![run_document::document(self)]
    }

    fn json(&self) -> String {
        json::json(self)
    }

    fn verdict(&self) -> AnswerVerdict {
        if self.run.has_lost_a_trial() { AnswerVerdict::Failed } else { judge(self.analysis) }
    }

    fn csv(&self) -> Option<String> {
        Some(csv::csv(self))
    }

    fn junit(&self) -> Option<String> {
        Some(junit::junit(self))
    }

    fn report_input(&self) -> Option<&ReportInput<'_>> {
        Some(self)
    }
}

impl FolderAnswer for ReportInput<'_> {
    fn folder(&self) -> &Path {
        &self.run.path
    }

    fn html(&self) -> String {
        html::html(self)
    }
}

fn judge(analysis: &Analysis) -> AnswerVerdict {
    if analysis.invalid.iter().any(|trial| !trial.partial) {
        return AnswerVerdict::Failed;
    }
    let none_decided =
        !analysis.contrasts.is_empty() && analysis.contrasts.iter().all(is_undecided);
    if !analysis.complete() || none_decided {
        return AnswerVerdict::Inconclusive;
    }
    AnswerVerdict::Good
}

fn is_undecided(contrast: &Contrast) -> bool {
    matches!(contrast.verdict, Verdict::NotEnoughData { .. })
}

impl ReportAnswer for ExplainedRun {
    fn summary(&self, screen: TextScreen) -> String {
        summary::explanation_summary(self, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![explanation::document(self)]
    }

    fn json(&self) -> String {
        explanation::explanation_json(self)
    }

    fn verdict(&self) -> AnswerVerdict {
        match self.findings.outcome {
            Outcome::NoResult => AnswerVerdict::Failed,
            Outcome::Explained | Outcome::NotReproduced => AnswerVerdict::Good,
            _ => AnswerVerdict::Inconclusive,
        }
    }
}

impl FolderAnswer for ExplainedRun {
    fn folder(&self) -> &Path {
        &self.path
    }

    fn html(&self) -> String {
        document_html(&explanation::document(self), &self.experiment.tool_version)
    }
}

/// Why there is nothing to measure.
#[derive(Debug, Clone, Copy)]
pub struct NothingDiffers<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    pub explanation: &'a Explanation,
}

impl ReportAnswer for NothingDiffers<'_> {
    /// It is short.
    fn summary(&self, screen: TextScreen) -> String {
        self.text(screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![explanation::nothing_differs(self.explanation)]
    }

    fn json(&self) -> String {
        explanation::nothing_differs_json(self.experiment, self.explanation)
    }

    fn verdict(&self) -> AnswerVerdict {
        AnswerVerdict::Good
    }
}

/// The answer of a search, with the libraries whose configuration is on its screen.
#[derive(Debug, Clone, Copy)]
pub struct PoolAnswer<'a> {
    pub run: &'a PoolRun,
    pub libraries: &'a [PoolLibrary],
}

impl ReportAnswer for PoolAnswer<'_> {
    fn summary(&self, screen: TextScreen) -> String {
        summary::pool_summary(self.run, self.libraries, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![pool::document(self.run)]
    }

    fn json(&self) -> String {
        pool::pool_json(self.run)
    }

    fn verdict(&self) -> AnswerVerdict {
        match self.run.findings.outcome {
            PoolOutcome::NoResult => AnswerVerdict::Failed,
            PoolOutcome::NothingMeetsLimit => AnswerVerdict::No,
            PoolOutcome::Unfinished => AnswerVerdict::Inconclusive,
            PoolOutcome::Advised => AnswerVerdict::Good,
        }
    }
}

impl FolderAnswer for PoolAnswer<'_> {
    fn folder(&self) -> &Path {
        &self.run.path
    }

    fn html(&self) -> String {
        document_html(&pool::document(self.run), &self.run.experiment.tool_version)
    }
}

impl ReportAnswer for VerifiedRun {
    fn summary(&self, screen: TextScreen) -> String {
        summary::verification_summary(self, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![verification::document(self)]
    }

    fn json(&self) -> String {
        verification::verification_json(self)
    }

    fn verdict(&self) -> AnswerVerdict {
        let has_failed = self.trial.as_ref().is_some_and(|trial| has_failed(&trial.validity));
        match &self.verification.comparison {
            Some(found) if found.rows.has_fault() => AnswerVerdict::No,
            Some(found) if found.rows.acknowledged > 0 && !has_failed => AnswerVerdict::Good,
            _ => AnswerVerdict::Failed,
        }
    }
}

impl FolderAnswer for VerifiedRun {
    fn folder(&self) -> &Path {
        &self.path
    }

    fn html(&self) -> String {
        document_html(&verification::document(self), &self.verification.tool_version)
    }
}

/// Whether the load did not run as it should. Clients without a connection or an answer at the end
/// are no failure of the run: their rows are unknown.
fn has_failed(validity: &Validity) -> bool {
    let Validity::Invalid(Reason::Code(reason)) = validity else { return false };
    matches!(
        reason,
        NoEvidence::NotStarted { .. }
            | NoEvidence::NotRecorded { .. }
            | NoEvidence::NoClientConnected { .. }
            | NoEvidence::ClientsNotConnected { .. }
            | NoEvidence::AllClientsLost { .. }
            | NoEvidence::FatalError { .. }
            | NoEvidence::NotMeasured
    )
}

impl ReportAnswer for CrashedRun {
    fn summary(&self, screen: TextScreen) -> String {
        summary::crash_summary(self, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![crash_report::document(self)]
    }

    fn json(&self) -> String {
        crash_report::crash_json(self)
    }

    fn verdict(&self) -> AnswerVerdict {
        if self.analysis.broke_promise() {
            AnswerVerdict::No
        } else if !self.analysis.not_proven.is_empty()
            || !self.run.is_complete
            || self.analysis.states_nothing()
        {
            AnswerVerdict::Inconclusive
        } else {
            AnswerVerdict::Good
        }
    }
}

impl FolderAnswer for CrashedRun {
    fn folder(&self) -> &Path {
        &self.path
    }

    fn html(&self) -> String {
        document_html(&crash_report::document(self), &self.run.tool_version)
    }
}

impl ReportAnswer for RecordedProbe {
    fn summary(&self, screen: TextScreen) -> String {
        summary::probe_summary(&self.summary, self.waits.as_ref(), screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![probe_list::document(&self.summary, self.waits.as_ref())]
    }

    fn json(&self) -> String {
        probe_list::probe_json(&self.summary, self.waits.as_ref())
    }

    fn verdict(&self) -> AnswerVerdict {
        if self.summary.answers_at_end { AnswerVerdict::Good } else { AnswerVerdict::Failed }
    }

    fn csv(&self) -> Option<String> {
        Some(probe_list::probe_csv(&self.summary))
    }
}

/// The stalls of a run.
#[derive(Debug, Clone, Copy)]
pub struct StallList<'a> {
    /// The folder, as the user named it.
    pub name: &'a str,
    pub run: &'a Run,
}

impl ReportAnswer for StallList<'_> {
    fn summary(&self, screen: TextScreen) -> String {
        summary::stalls_summary(self.name, self.run, screen)
    }

    fn documents(&self) -> Vec<Document> {
        vec![stall_list::document(self.name, self.run)]
    }

    fn json(&self) -> String {
        stall_list::stalls_json(self.run)
    }

    fn verdict(&self) -> AnswerVerdict {
        AnswerVerdict::Good
    }

    fn csv(&self) -> Option<String> {
        Some(stall_list::stalls_csv(self.run))
    }
}

impl ReportAnswer for Vec<RunComparison<'_>> {
    fn summary(&self, screen: TextScreen) -> String {
        summary::comparison_summary(self, screen)
    }

    fn documents(&self) -> Vec<Document> {
        self.iter().map(comparison::document).collect()
    }

    fn json(&self) -> String {
        comparison::comparison_json(self)
    }

    fn verdict(&self) -> AnswerVerdict {
        judge_comparisons(self)
    }

    fn csv(&self) -> Option<String> {
        Some(comparison::comparison_csv(self))
    }

    fn junit(&self) -> Option<String> {
        Some(comparison_junit(self))
    }
}

/// The verdict: of a crossed threshold, else of one that could not be judged. Without thresholds:
/// whether throughput could be compared.
fn judge_comparisons(compared: &[RunComparison<'_>]) -> AnswerVerdict {
    let states: Vec<_> =
        compared.iter().flat_map(|one| &one.thresholds).map(|(_, state)| *state).collect();
    if states.contains(&ThresholdState::Crossed) {
        return AnswerVerdict::No;
    }
    let unsure = [
        ThresholdState::Unsure,
        ThresholdState::NoFigure,
        ThresholdState::Bound,
        ThresholdState::DurabilityUnknown,
    ];
    let is_unsure = states.iter().any(|state| unsure.contains(state));
    if is_unsure || (states.is_empty() && compared.iter().any(is_open)) {
        return AnswerVerdict::Inconclusive;
    }
    AnswerVerdict::Good
}

fn is_open(one: &RunComparison<'_>) -> bool {
    one.comparison.line(Figure::Tps).is_none_or(|line| !line.change.is_decided())
}

/// What differs between the settings of two servers.
#[derive(Debug, Clone, Copy)]
pub struct SettingsDiff<'a> {
    pub diff: &'a Diff,
    /// Also what is folded away.
    pub all: bool,
}

impl ReportAnswer for SettingsDiff<'_> {
    fn summary(&self, screen: TextScreen) -> String {
        summary::diff_summary(self.diff, screen)
    }

    /// None: its lines have a form of their own.
    fn documents(&self) -> Vec<Document> {
        Vec::new()
    }

    /// What is folded away is in it, with the reason.
    fn json(&self) -> String {
        json_text(self.diff)
    }

    fn verdict(&self) -> AnswerVerdict {
        AnswerVerdict::Good
    }

    fn text(&self, _: TextScreen) -> String {
        settings_diff::diff_text(self.diff, self.all)
    }

    fn markdown(&self) -> String {
        settings_diff::diff_markdown(self.diff, self.all)
    }
}
