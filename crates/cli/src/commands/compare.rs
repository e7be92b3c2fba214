//! `truetps compare`: two runs side by side.

use std::collections::BTreeMap;

use truetps_analysis::{
    CompareOptions, CompareSide, Comparison, Judgement, Metric, Noise, OwnMetric, Pairing, ThresholdState, compare,
};
use truetps_inspect::side_of_path;
use truetps_knowledge::{Diff, Durability, DurabilityPair, diff};
use truetps_record::{Configuration, FolderError, SettingValue, Trial, TrialRole};
use truetps_report::{
    ComparedScript, ComparedSide, ComparisonInput, FailIf, UnreadFile, comparison_csv, comparison_json,
    comparison_markdown, comparison_text, durability_of, remarks, threshold_word,
};

use crate::answer::{screen, warn_of};
use crate::args::{CompareArgs, TableFormat};
use crate::commands::probe::refuse_folder;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::{NamedRun, RecordedTrial, configurations};
use crate::{print_made, print_message};

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, CommandFailure> {
    let thresholds = thresholds(&args.fail_if)?;
    let a = SideRun::open(args, &args.a, &args.a_levels, "--a-levels")?;
    let b = SideRun::open(args, &args.b, &args.b_levels, "--b-levels")?;
    let pairs = pairs(&a, &b)?;
    let compared: Vec<_> =
        pairs.iter().map(|(of_a, of_b)| ComparedConfigurations::of((&a, of_a), (&b, of_b), pairs.len())).collect();
    let figures = compared.len() * thresholds.iter().filter(|threshold| threshold.is_figure()).count();
    let judged: Vec<Vec<_>> = compared
        .iter()
        .map(|one| {
            let state = |threshold: &FailIf| threshold.state(&one.comparison, &one.durability, figures);
            thresholds.iter().map(|threshold| (*threshold, state(threshold))).collect()
        })
        .collect();
    let inputs: Vec<_> = compared.iter().zip(&judged).map(|(one, judged)| one.input(&a, &b, judged)).collect();
    if args.format == TableFormat::Csv {
        // It has no place for them.
        tell_thresholds(&compared, &judged);
    }
    let printed = print_made(&match args.format {
        TableFormat::Text => comparison_text(&inputs, screen()),
        TableFormat::Json => comparison_json(&inputs),
        TableFormat::Csv => comparison_csv(&inputs),
        TableFormat::Md => comparison_markdown(&inputs),
    });
    Ok(if printed == Exit::Good { judge(&compared, &judged) } else { printed })
}

fn tell_thresholds(compared: &[ComparedConfigurations], judged: &[Vec<(FailIf, ThresholdState)>]) {
    for (one, judged) in compared.iter().zip(judged) {
        for (threshold, state) in judged {
            let (name, levels) = (&one.name_b, &one.of_b);
            print_message(&format!("{name} ({levels}): --fail-if {threshold}: {}\n", threshold_word(*state)));
        }
    }
}

fn thresholds(texts: &[String]) -> Result<Vec<FailIf>, CommandFailure> {
    let parse =
        |text: &String| text.parse().map_err(|problem| CommandFailure::usage(format!("--fail-if '{text}': {problem}")));
    texts.iter().map(parse).collect()
}

/// What the comparison means for a script: a threshold that was crossed, then one that could not be judged, decide. Without
/// thresholds it is whether throughput could be compared.
fn judge(compared: &[ComparedConfigurations], judged: &[Vec<(FailIf, ThresholdState)>]) -> Exit {
    let has = |wanted: ThresholdState| judged.iter().flatten().any(|(_, state)| *state == wanted);
    if has(ThresholdState::Crossed) {
        return Exit::No;
    }
    let is_open = |one: &ComparedConfigurations| {
        let line = one.comparison.line(Metric::Own(OwnMetric::Tps));
        line.is_none_or(|line| matches!(line.change, Judgement::NotEnoughData { .. }))
    };
    let unsure =
        [ThresholdState::Unsure, ThresholdState::NoFigure, ThresholdState::Bound, ThresholdState::DurabilityUnknown];
    let is_unsure = unsure.into_iter().any(has);
    if is_unsure || (judged.iter().all(Vec::is_empty) && compared.iter().any(is_open)) {
        return Exit::Inconclusive;
    }
    Exit::Good
}

/// What one of the two arguments names.
struct SideRun {
    named: NamedRun,
    trials: Vec<RecordedTrial>,
    unread: Vec<UnreadFile>,
    /// Those that were asked for.
    configurations: Vec<Configuration>,
    /// Factors that levels were named of.
    named_factors: Vec<String>,
    /// What the experiment's twins differ by.
    noise: Option<Noise>,
    /// `None`: it is no run of a script.
    script: Option<ComparedScript>,
}

/// What the first trial of a script's run has of the script. What cannot be read is reported.
fn script_of(named: &NamedRun, trials: &[RecordedTrial], unread: &mut Vec<UnreadFile>) -> Option<ComparedScript> {
    named.plan.workload.script.as_ref()?;
    let trial = &trials.first()?.trial.name;
    let mut tell = |error: FolderError| unread.push(UnreadFile { what: error.to_string(), whole_trial: false });
    Some(ComparedScript {
        record: named.folder.script(trial).unwrap_or_else(|error| {
            tell(error);
            None
        }),
        options: match named.folder.script_options(trial) {
            Ok(options) => options.unwrap_or_default(),
            Err(error) => {
                tell(error);
                BTreeMap::new()
            }
        },
    })
}

impl SideRun {
    fn open(args: &CompareArgs, path: &std::path::Path, levels: &[String], flag: &str) -> Result<Self, CommandFailure> {
        let path = if path.as_os_str() == truetps_record::LATEST { args.runs.join(path) } else { path.to_owned() };
        refuse_folder(Some(&path))?;
        let named = NamedRun::open(Some(&path), &args.runs)?;
        let (mut trials, mut unread) = named.trials();
        let begun = trials.len();
        // A twin would give its configuration one trial too many; one that was named is meant.
        let is_cell = |trial: &Trial| named.trial.is_some() || trial.role != TrialRole::AaTwin;
        trials.retain(|one| one.trial.validity.is_valid() && one.trial.measured.is_some() && is_cell(&one.trial));
        let script = script_of(&named, &trials, &mut unread);
        if trials.is_empty() || args.format == TableFormat::Csv {
            // There is no other place for it.
            warn_of(&named.folder, &unread);
        }
        if trials.is_empty() {
            let message = format!("{}: has no valid trial that can be read ({begun} read)", named.name());
            return Err(
                CommandFailure::usage(message).hint("`truetps report` says why each trial is not valid".to_owned())
            );
        }
        let all = configurations(&trials);
        let mut configurations = all.clone();
        for level in levels {
            configurations.retain(|configuration| has_level(configuration, level));
        }
        if configurations.is_empty() {
            let listed: Vec<_> = all.iter().map(|one| format!("`{one}`")).collect();
            let message = format!("{flag} {}: {} has no such trial", levels.join(" "), named.name());
            return Err(CommandFailure::usage(message).hint(format!("it has {}", listed.join(", "))));
        }
        let noise = named.noise();
        let named_factors =
            levels.iter().filter_map(|level| Some(level.split_once('=')?.0.trim().to_owned())).collect();
        Ok(Self { named, trials, unread, configurations, named_factors, noise, script })
    }

    fn side(&self, configuration: &Configuration) -> CompareSide<'_> {
        let own = self.trials.iter().filter(|one| one.trial.configuration == *configuration);
        CompareSide { trials: own.map(|one| (one.record(), &one.detail)).collect() }
    }

    /// What commits survive on its server.
    fn durability(&self, configuration: &Configuration) -> Option<Durability> {
        let own = self.trials.iter().filter(|one| one.trial.configuration == *configuration);
        durability_of(own.map(|one| (&one.trial, one.variables.as_ref())))
    }

    /// Notes on the figures of these trials.
    fn notes(&self, configuration: &Configuration) -> Vec<String> {
        let own = self.trials.iter().map(|one| &one.trial).filter(|trial| trial.configuration == *configuration);
        own.flat_map(|trial| remarks(trial).into_iter().map(|note| format!("{}: {note}", trial.name))).collect()
    }

    fn first<'a>(&'a self, configuration: &Configuration) -> Option<&'a RecordedTrial> {
        self.trials.iter().find(|one| one.trial.configuration == *configuration)
    }
}

/// `key=auto`; levels are compared as text.
fn has_level(configuration: &Configuration, wanted: &str) -> bool {
    let Some((name, level)) = wanted.split_once('=') else { return false };
    let is_same = |own: &SettingValue| own.to_string() == level || own.option_text().eq_ignore_ascii_case(level);
    configuration.levels.get(name.trim()).is_some_and(is_same)
}

/// Which configuration of A is compared with which of B: the only ones, or each with its equal.
fn pairs(a: &SideRun, b: &SideRun) -> Result<Vec<(Configuration, Configuration)>, CommandFailure> {
    let is_same_folder = a.named.path() == b.named.path() && a.named.trial == b.named.trial;
    let pairs: Vec<_> = match (&a.configurations[..], &b.configurations[..]) {
        ([of_a], [of_b]) => vec![(of_a.clone(), of_b.clone())],
        (of_a, of_b) => {
            // What was named on either side is what is to differ; everything else is the same.
            let rest = |configuration: &Configuration| {
                let mut levels = configuration.levels.clone();
                levels.retain(|name, _| !a.named_factors.contains(name) && !b.named_factors.contains(name));
                levels
            };
            let partner = |one: &Configuration| of_b.iter().find(|other| rest(other) == rest(one)).cloned();
            of_a.iter().filter_map(|one| Some((one.clone(), partner(one)?))).collect()
        }
    };
    if pairs.is_empty() {
        let listed =
            |side: &SideRun| side.configurations.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ");
        let message = format!("the two have no configuration in common: A has {}; B has {}", listed(a), listed(b));
        return Err(CommandFailure::usage(message)
            .hint("name one of each: --a-levels key=deleted --b-levels key=auto".to_owned()));
    }
    if is_same_folder && pairs.iter().any(|(of_a, of_b)| of_a == of_b) {
        let message = format!("A and B are the same trials: {}", a.named.name());
        return Err(CommandFailure::usage(message)
            .hint("name two folders, or levels: --a-levels key=deleted --b-levels key=auto".to_owned()));
    }
    Ok(pairs)
}

/// One configuration of each side, compared.
struct ComparedConfigurations {
    name_a: String,
    name_b: String,
    of_a: Configuration,
    of_b: Configuration,
    notes_a: Vec<String>,
    notes_b: Vec<String>,
    comparison: Comparison,
    durability: DurabilityPair,
    settings: Option<Diff>,
}

impl ComparedConfigurations {
    fn of((a, of_a): (&SideRun, &Configuration), (b, of_b): (&SideRun, &Configuration), of: usize) -> Self {
        // Two trials of a block are a pair whatever else was run: they were measured one soon after the other.
        let blocks = |side: &SideRun, of: &Configuration| {
            let own = side.trials.iter().filter(|one| one.trial.configuration == *of);
            own.map(|one| one.trial.block).collect::<Vec<_>>()
        };
        let of_b_too = |block: &u32| blocks(b, of_b).contains(block);
        let is_paired = a.named.path() == b.named.path() && blocks(a, of_a).iter().any(of_b_too);
        let pairing = if is_paired { Pairing::Blocks } else { Pairing::None };
        let options = CompareOptions {
            pairing,
            smallest_effect: a.named.plan.design.smallest_effect_percent / 100.0,
            of,
            noise: a.noise.as_ref().filter(|_| is_paired),
        };
        let settings = a.first(of_a).zip(b.first(of_b)).and_then(|(one, other)| {
            let side = |named: &NamedRun, recorded: &RecordedTrial| {
                side_of_path(&named.path().join(&recorded.trial.name), None).ok()
            };
            Some(diff(&side(&a.named, one)?, &side(&b.named, other)?))
        });
        Self {
            name_a: a.named.name(),
            name_b: b.named.name(),
            of_a: of_a.clone(),
            of_b: of_b.clone(),
            notes_a: a.notes(of_a),
            notes_b: b.notes(of_b),
            comparison: compare(&a.side(of_a), &b.side(of_b), &options),
            durability: DurabilityPair::of(a.durability(of_a), b.durability(of_b)),
            settings,
        }
    }

    fn input<'a>(
        &'a self,
        a: &'a SideRun,
        b: &'a SideRun,
        thresholds: &'a [(FailIf, ThresholdState)],
    ) -> ComparisonInput<'a> {
        let side = |side: &'a SideRun, name: &'a str, configuration: &'a Configuration| ComparedSide {
            name,
            plan: &side.named.plan,
            experiment: &side.named.experiment,
            configuration,
            trial: side.first(configuration).map(|recorded| &recorded.trial),
            script: side.script.as_ref(),
            notes: &[],
            unread: &side.unread,
        };
        ComparisonInput {
            a: ComparedSide { notes: &self.notes_a, ..side(a, &self.name_a, &self.of_a) },
            b: ComparedSide { notes: &self.notes_b, ..side(b, &self.name_b, &self.of_b) },
            comparison: &self.comparison,
            settings: self.settings.as_ref(),
            durability: &self.durability,
            thresholds,
        }
    }
}
