//! Two sides of a comparison, and what is compared of them.

use serde::Serialize;
use truetps_analysis::{
    Analysis, CompareQuestion, CompareSide, Comparison, KnownContrast, LoadedTrial, Pairing,
    RecordedScript, ThresholdState, compare,
};
use truetps_archive::Run;
use truetps_knowledge::{Diff, DurabilityPair, SettingsSide, diff};
use truetps_plan::WorkloadSpec;
use truetps_record::{Configuration, ServerFacts, Trial, is_setting_factor};

use super::fail_if::FailIf;
use crate::durability_of;

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparedSide<'a> {
    /// The name that the user gave it.
    pub name: &'a str,
    pub run: &'a Run,
    pub configuration: &'a Configuration,
}

impl<'a> ComparedSide<'a> {
    /// What is compared of it.
    pub fn trials(&self) -> impl Iterator<Item = &'a LoadedTrial> + use<'a> {
        self.run.comparable_of(self.configuration)
    }

    pub(super) fn trial(&self) -> Option<&'a Trial> {
        self.trials().next().map(|one| &one.trial)
    }

    /// `None` where it is no run of a script.
    pub(super) fn script(&self) -> Option<&'a RecordedScript> {
        self.trials().next()?.script.as_ref()
    }

    pub(super) fn workload(&self) -> WorkloadSpec {
        self.run.plan.workload_of(self.configuration)
    }

    /// The settings of its first trial's server.
    pub(super) fn settings(&self) -> Option<SettingsSide> {
        let first = self.trials().next()?;
        let name = self.run.path.join(&first.trial.name).display().to_string();
        Some(SettingsSide::recorded(name, self.server(), first.variables.as_ref()?))
    }

    /// The server that it was measured on.
    pub(super) fn server(&self) -> Option<&'a ServerFacts> {
        self.trial().and_then(|trial| trial.server.as_ref()).or(self.run.experiment.server.as_ref())
    }
}

/// Two configurations compared, from their runs alone.
#[derive(Debug, Clone)]
pub struct RunComparison<'a> {
    pub a: ComparedSide<'a>,
    pub b: ComparedSide<'a>,
    pub comparison: Comparison,
    /// What the servers were set to; `None` where a side has not recorded it.
    pub settings: Option<Diff>,
    /// What commits survive on each side.
    pub durability: DurabilityPair,
    pub thresholds: Vec<(FailIf, ThresholdState)>,
}

impl<'a> RunComparison<'a> {
    /// All comparisons that are made at once share the chance of a false claim.
    pub fn all(pairs: &[(ComparedSide<'a>, ComparedSide<'a>)], thresholds: &[FailIf]) -> Vec<Self> {
        let analyses: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (pairing(*a, *b) == Pairing::Blocks).then(|| a.run.analyse()))
            .collect();
        let questions = pairs.iter().zip(&analyses).map(|((a, b), analysis)| {
            let [of_a, of_b] = [a, b].map(|side| CompareSide { trials: side.trials().collect() });
            let smallest_effect = a.run.plan.design.smallest_effect_percent / 100.0;
            let contrast = analysis.as_ref().and_then(|analysis| known_contrast(analysis, a, b));
            CompareQuestion {
                a: of_a,
                b: of_b,
                pairing: pairing(*a, *b),
                smallest_effect,
                contrast,
            }
        });
        let comparisons = compare(&questions.collect::<Vec<_>>());
        let figures = pairs.len() * thresholds.iter().filter(|one| one.is_figure()).count();
        let all = pairs.iter().zip(comparisons).map(|((a, b), comparison)| {
            let [of_a, of_b] =
                [a, b].map(|side| durability_of(&side.run.experiment, side.trials()));
            let durability = DurabilityPair::of(of_a, of_b);
            let judged =
                thresholds.iter().map(|one| (*one, one.state(&comparison, &durability, figures)));
            Self {
                a: *a,
                b: *b,
                thresholds: judged.collect(),
                settings: a.settings().zip(b.settings()).map(|(a, b)| diff(&a, &b)),
                comparison,
                durability,
            }
        });
        all.collect()
    }

    /// Factors with different levels, or that one side lacks.
    pub(super) fn differing_levels(&self) -> Vec<&'a str> {
        let (a, b) = (&self.a.configuration.levels, &self.b.configuration.levels);
        let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
        names.filter(|name| a.get(*name) != b.get(*name)).map(String::as_str).collect()
    }
}

impl RunComparison<'_> {
    /// How many settings of the servers, and other factors, have another value on the other side.
    pub fn differences(&self) -> usize {
        let settings = self.settings.as_ref().map_or(0, |diff| diff.counts().0);
        let levels = self.differing_levels().into_iter().filter(|name| !is_setting_factor(name));
        settings + levels.count()
    }
}

/// What the experiment of both sides says of them, where one is the other's baseline.
fn known_contrast<'a>(
    analysis: &'a Analysis,
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
) -> Option<KnownContrast<'a>> {
    analysis.contrasts.iter().find_map(|contrast| {
        let compared =
            [contrast.cell, contrast.baseline_cell].map(|cell| &analysis.cells[cell].configuration);
        let is_reversed = compared == [a.configuration, b.configuration];
        let is_it = is_reversed || compared == [b.configuration, a.configuration];
        is_it.then_some(KnownContrast { contrast, is_reversed })
    })
}

/// Two trials of a block are a pair whatever else was run: they were measured one soon after the
/// other.
fn pairing(a: ComparedSide<'_>, b: ComparedSide<'_>) -> Pairing {
    if a.run.path == b.run.path
        && a.trials().any(|one| b.trials().any(|other| other.trial.block == one.trial.block))
    {
        Pairing::Blocks
    } else {
        Pairing::None
    }
}

/// One condition, with its value on each side.
#[derive(Serialize)]
pub(crate) struct DifferingCondition {
    pub(crate) what: String,
    pub(crate) a: String,
    pub(crate) b: String,
}
