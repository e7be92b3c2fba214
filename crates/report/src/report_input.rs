//! What a report is made from.

use truetps_analysis::Analysis;
use truetps_archive::Run;
use truetps_record::Trial;

/// Everything that a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    pub run: &'a Run,
    /// The analysis of this run: [`Run::analyse`].
    pub analysis: &'a Analysis,
}

impl<'a> ReportInput<'a> {
    pub(crate) fn trials(&self) -> impl Iterator<Item = &'a Trial> + Clone + use<'a> {
        self.run.trials.iter().map(|one| &one.trial)
    }
}
