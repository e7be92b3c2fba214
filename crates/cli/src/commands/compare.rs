//! `truetps compare`: two runs side by side.

use indexmap::IndexMap;
use truetps_archive::Run;
use truetps_record::{Configuration, SettingValue};
use truetps_report::{ComparedSide, FailIf, RunComparison, threshold_word};

use crate::answer::{print_answer, warn_of, warn_of_parts};
use crate::args::CompareArgs;
use crate::commands::probe::refuse_folder;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::named_run::{folder_named, name_of, open_named};
use crate::terminal::shell_path;
use crate::terminal::{print_message, print_progress};

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, CommandFailure> {
    let thresholds = thresholds(&args.fail_if)?;
    let a = SideRun::open(args, &args.a, &args.a_levels, "--a-levels")?;
    let b = SideRun::open(args, &args.b, &args.b_levels, "--b-levels")?;
    let pairs = pairs(&a, &b)?;
    let sides: Vec<_> = pairs.iter().map(|(of_a, of_b)| (a.side(of_a), b.side(of_b))).collect();
    let compared = RunComparison::all(&sides, &thresholds);
    if args.format.name == CSV {
        // It has no place for them.
        tell_thresholds(&compared);
    }
    let exit = print_answer(&compared, args.form())?;
    if let ([one], true) = (&compared[..], args.format.is_text()) {
        print_progress(&next_command(one).unwrap_or_default());
    }
    Ok(exit)
}

/// The format that neither judges thresholds nor says which part of a load it shows.
const CSV: &str = "csv";

/// The command that measures which difference matters, if there are several. A run of
/// another program cannot be repeated.
fn next_command(compared: &RunComparison<'_>) -> Option<String> {
    const SEVERAL: usize = 2;
    let differences = compared.differences();
    let (a, b) = (trial_to_explain(&compared.a)?, trial_to_explain(&compared.b)?);
    (differences >= SEVERAL).then(|| {
        format!(
            "\nNext   truetps explain {a} {b}   (measures which of {differences} \
                          differences matters)\n"
        )
    })
}

/// The first comparable trial of a side, where private servers were measured.
fn trial_to_explain(side: &ComparedSide<'_>) -> Option<String> {
    let trial = side.run.comparable_of(side.configuration).next()?;
    let is_private =
        side.run.experiment.sandbox_dir.is_some() && side.run.plan.recorded_from.is_none();
    is_private.then(|| shell_path(&side.run.path.join(&trial.trial.name)))
}

fn tell_thresholds(compared: &[RunComparison<'_>]) {
    for one in compared {
        for (threshold, state) in &one.thresholds {
            let ComparedSide { name, configuration: levels, .. } = one.b;
            print_message(&format!(
                "{name} ({levels}): --fail-if {threshold}: {}\n",
                threshold_word(*state)
            ));
        }
    }
}

fn thresholds(texts: &[String]) -> Result<Vec<FailIf>, CommandFailure> {
    texts
        .iter()
        .map(|text| {
            text.parse()
                .map_err(|problem| CommandFailure::usage(format!("--fail-if '{text}': {problem}")))
        })
        .collect()
}

/// What one of the two arguments names.
struct SideRun {
    run: Run,
    name: String,
    /// Those that were asked for.
    configurations: Vec<Configuration>,
    /// Factors that levels were named of.
    named_factors: Vec<String>,
}

impl SideRun {
    fn open(
        args: &CompareArgs,
        path: &std::path::Path,
        levels: &[String],
        flag: &str,
    ) -> Result<Self, CommandFailure> {
        let path = folder_named(Some(path), args.runs.as_deref());
        refuse_folder(Some(&path))?;
        let run = open_named(Some(&path), args.runs.as_deref())?;
        let name = name_of(&run);
        let has_none = run.comparable().next().is_none();
        if has_none || !args.format.names_unread {
            // There is no other place for it.
            warn_of(&run);
        }
        if args.format.name == CSV {
            warn_of_parts(&run);
        }
        if has_none {
            let message =
                format!("{name}: has no valid trial that can be read ({} read)", run.trials.len());
            return Err(CommandFailure::usage(message)
                .hint("`truetps report` says why each trial is not valid"));
        }
        let all = configurations(&run);
        let mut configurations = all.clone();
        for level in levels {
            configurations.retain(|configuration| has_level(configuration, level));
        }
        if configurations.is_empty() {
            let message = format!("{flag} {}: {name} has no such trial", levels.join(" "));
            return Err(CommandFailure::usage(message).hint(format!("it has {}", listed(&all))));
        }
        let named_factors = levels
            .iter()
            .filter_map(|level| Some(level.split_once('=')?.0.trim().to_owned()))
            .collect();
        Ok(Self { run, name, configurations, named_factors })
    }

    fn side<'a>(&'a self, configuration: &'a Configuration) -> ComparedSide<'a> {
        ComparedSide { name: &self.name, run: &self.run, configuration }
    }
}

/// Configurations that have a comparable trial.
fn configurations(run: &Run) -> Vec<Configuration> {
    let mut found: Vec<Configuration> = Vec::new();
    for one in run.comparable() {
        if !found.contains(&one.trial.configuration) {
            found.push(one.trial.configuration.clone());
        }
    }
    found
}

fn listed(configurations: &[Configuration]) -> String {
    configurations.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
}

/// `key=auto`; levels are compared as text.
fn has_level(configuration: &Configuration, wanted: &str) -> bool {
    let Some((name, level)) = wanted.split_once('=') else { return false };
    configuration.levels.get(name.trim()).is_some_and(|own| {
        own.to_string() == level || own.option_text().eq_ignore_ascii_case(level)
    })
}

/// Which configuration of A is compared with which of B: the only ones, or each with its equal.
fn pairs(a: &SideRun, b: &SideRun) -> Result<Vec<(Configuration, Configuration)>, CommandFailure> {
    let is_same_folder = a.run.path == b.run.path && a.run.named_trial == b.run.named_trial;
    let pairs: Vec<_> = match (&a.configurations[..], &b.configurations[..]) {
        ([of_a], [of_b]) => vec![(of_a.clone(), of_b.clone())],
        (of_a, of_b) => of_a
            .iter()
            .filter_map(|one| {
                let levels = equal_levels(one, a, b);
                let partner = of_b.iter().find(|other| equal_levels(other, a, b) == levels)?;
                Some((one.clone(), partner.clone()))
            })
            .collect(),
    };
    if pairs.is_empty() {
        let message = format!(
            "the two have no configuration in common: A has {}; B has {}",
            listed(&a.configurations),
            listed(&b.configurations)
        );
        return Err(CommandFailure::usage(message)
            .hint("name one of each: --a-levels key=deleted --b-levels key=auto"));
    }
    if is_same_folder && pairs.iter().any(|(of_a, of_b)| of_a == of_b) {
        let message = format!("A and B are the same trials: {}", a.name);
        return Err(CommandFailure::usage(message)
            .hint("name two folders, or levels: --a-levels key=deleted --b-levels key=auto"));
    }
    Ok(pairs)
}

/// The levels that a partner has, too: factors named on either side may differ.
fn equal_levels(
    configuration: &Configuration,
    a: &SideRun,
    b: &SideRun,
) -> IndexMap<String, SettingValue> {
    let mut levels = configuration.levels.clone();
    levels.retain(|name, _| !a.named_factors.contains(name) && !b.named_factors.contains(name));
    levels
}
