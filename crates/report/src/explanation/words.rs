//! What the findings say, in words that the design supports.

use std::time::Duration;

use truetps_archive::ExplainedRun;
use truetps_causes::{Cause, CauseRole, LogInterval, Mixture, Outcome};
use truetps_knowledge::{find_setting, people_value};
use truetps_record::{
    ExplainedFactor, FactorChange, FactorLevel, Flavour, Version, is_setting_factor, parse_time,
};

use super::factors::{corners, ends_text, factor_name, part_text, ratio_text, with_names};
use crate::disturbances::disturbed;
use crate::format::and_more;
use crate::{durability_of, format, names};

pub(crate) fn role(role: CauseRole) -> &'static str {
    match role {
        CauseRole::Sufficient => "sufficient, alone",
        CauseRole::Part => "a part",
        CauseRole::OnlyTogether => "only together",
        CauseRole::EitherAlone => "either alone",
        CauseRole::Opposite => "counteracts",
        CauseRole::NotKnown => "role not known",
    }
}

/// Sentences, the most important first.
pub(crate) fn answer(run: &ExplainedRun) -> Vec<String> {
    let findings = &run.findings;
    let Some(gap) = findings.gap else { return nothing_measured(run) };
    let tps = corners(run).map_or(String::new(), |[(a, _), (b, _)]| {
        format!(" ({} against {} tps)", format::tps(b), format::tps(a))
    });
    let ratio = ratio_text(&gap);
    let whole = format!("B has {ratio} of the throughput of A{tps}");
    let causes = causes_text(run);
    match findings.outcome {
        Outcome::NotReproduced => {
            vec![format!(
                "No difference between A and B is reproduced: B has {ratio} of the throughput of \
                 A{tps}."
            )]
        }
        Outcome::TooNoisy => vec![format!(
            "This machine is too noisy for the question: B has {ratio} of the throughput of A, \
             which may be anything."
        )],
        Outcome::Explained => {
            vec![
                format!("{whole}."),
                format!("{}; {}.", names::capital_word(&causes), rest_text(run)),
            ]
        }
        Outcome::PartlyExplained => {
            let rest = findings.closures.sufficiency.map(|rest| ratio_text(&rest.reversed()));
            let rest = rest
                .map_or(String::new(), |rest| format!(" What is left of the difference: {rest}."));
            vec![
                format!("{whole}."),
                format!("{}, and that is not all.{rest}", names::capital_word(&causes)),
            ]
        }
        Outcome::NothingFound => vec![
            format!("{whole}."),
            format!(
                "None of the {} is confirmed to make it: the noise may hide its effect, more than \
                 two may be needed together, or it is something that was not measured.",
                format::plural(run.explanation.factors.len() as u64, "difference")
            ),
        ],
        Outcome::Unfinished | Outcome::NoResult => unfinished(run, &whole, &causes),
    }
}

/// Why A and B cannot be compared: a corner gave no result, or was not measured yet.
fn nothing_measured(run: &ExplainedRun) -> Vec<String> {
    let b = Mixture::b(run.explanation.factors.len());
    let dead = [("A", Mixture::A), ("B", b)]
        .into_iter()
        .find(|(_, corner)| run.findings.not_started.iter().any(|one| one.mixture == *corner));
    if let Some((name, corner)) = dead {
        return vec![format!(
            "{name} gave no result, so that there is nothing to compare: {}",
            failure_of(run, corner)
        )];
    }
    let unfinished = "Unfinished: A and B were not compared yet.".to_owned();
    [unfinished].into_iter().chain(still_needed(run)).collect()
}

/// Why a mixture gave no result.
fn failure_of(run: &ExplainedRun, mixture: Mixture) -> String {
    let failed = run
        .trials
        .iter()
        .find(|(other, loaded)| *other == mixture && loaded.trial.log_tps().is_none());
    failed
        .and_then(|(_, loaded)| loaded.trial.validity.reason())
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// What is known of the differences that are no causes.
fn rest_text(run: &ExplainedRun) -> String {
    match run.findings.others_bound {
        None => "there is no other difference".to_owned(),
        Some(bound) => format!(
            "no effect of anything else was confirmed: each is between {}",
            ends_text(&bound)
        ),
    }
}

fn unfinished(run: &ExplainedRun, whole: &str, causes: &str) -> Vec<String> {
    let mut said = vec![format!("Unfinished: {whole}.")];
    if !run.findings.causes.is_empty() {
        said.push(format!("So far: {causes}."));
    } else if !run.findings.suspects.is_empty() {
        let alone = run.findings.suspects.iter();
        let alone: Vec<_> = alone
            .map(|(index, step)| {
                format!("{} gives {} of A's throughput", with_levels(run, *index), ratio_text(step))
            })
            .collect();
        said.push(format!("So far, each changed alone in A: {}.", format::list(&alone)));
    }
    let differences = format::plural(run.explanation.factors.len() as u64, "difference");
    let open = if run.findings.causes.is_empty() {
        format!("Still open: which of the {differences} between A and B make it.")
    } else {
        format!("Still open: whether that is all, or others of the {differences} count, too.")
    };
    said.extend([open].into_iter().chain(still_needed(run)));
    said
}

/// How much more time it takes: so far as is planned, and each trial as long as the trials so far.
fn still_needed(run: &ExplainedRun) -> Option<String> {
    // Trials of a step that was not finished are in no finding, and need not be made again.
    let ahead = run.trials.len().saturating_sub(run.findings.trials);
    let left = run.findings.left?.saturating_sub(ahead).max(1);
    let trials = format::plural(left as u64, "more trial");
    let time = trial_s(run).map_or(String::new(), |trial_s| {
        let left_s = (trial_s * left as f64).ceil();
        format!(", about {}", format::duration(Duration::from_secs_f64(left_s)))
    });
    Some(format!("It needs at least {trials}{time}."))
}

/// A trial's mean duration, with what is usual between two trials: the time between two commands
/// that resume an explanation is not.
fn trial_s(run: &ExplainedRun) -> Option<f64> {
    let spans: Vec<_> = run
        .trials
        .iter()
        .filter_map(|(_, loaded)| {
            let began_s = time_s(&loaded.trial.started_at)?;
            Some((began_s, time_s(loaded.trial.ended_at.as_deref()?)?))
        })
        .collect();
    let own_s: i64 = spans.iter().map(|(began, ended)| (ended - began).max(0)).sum();
    let mut between_s: Vec<_> =
        spans.windows(2).map(|pair| (pair[1].0 - pair[0].1).max(0)).collect();
    between_s.sort_unstable();
    let usual_s = between_s.get(between_s.len() / 2).copied().unwrap_or(0);
    let trial_s = own_s as f64 / spans.len().max(1) as f64 + usual_s as f64;
    (trial_s > 0.0).then_some(trial_s)
}

/// Whole seconds of `2024-02-29T12:30:00Z`.
fn time_s(text: &str) -> Option<i64> {
    parse_time(text.get(..19)?)
}

/// `log_bin (OFF → ON)`.
fn with_levels(run: &ExplainedRun, index: usize) -> String {
    let factor = &run.explanation.factors[index];
    let levels = match &factor.levels[..] {
        [FactorLevel { name, a, b, .. }] => {
            let [a, b] = [a, b].map(|value| short(&people_value(name, &value.option_text())));
            format!(" ({a} → {b})")
        }
        _ => String::new(),
    };
    format!("{}{levels}", factor_name(run, index))
}

/// `log_bin makes 94 % [81, 107] of it`, `log_bin and sync_binlog make it, only together`.
fn causes_text(run: &ExplainedRun) -> String {
    let causes = &run.findings.causes;
    let names: Vec<_> = causes.iter().map(|one| with_levels(run, one.factor)).collect();
    let parts = causes.iter().map(part_or_share);
    match &causes[..] {
        [] => String::new(),
        [only] if only.role == CauseRole::Sufficient => format!("{} alone makes it", names[0]),
        [only] => format!("{} makes {} of it", names[0], part_or_share(only)),
        several if several.iter().all(|one| one.role == CauseRole::OnlyTogether) => {
            format!("{} make it, only together", format::list(&names))
        }
        several if several.iter().all(|one| one.role == CauseRole::EitherAlone) => {
            format!("{} make it, either alone", format::list(&names))
        }
        several => {
            let each = several.iter().zip(names.iter().zip(parts));
            let each = each.map(|(one, (name, part))| match one.role {
                CauseRole::Opposite => format!("{name} counteracts ({part})"),
                CauseRole::OnlyTogether => format!("{name} makes {part} (only together)"),
                _ => format!("{name} makes {part}"),
            });
            format!("of the difference, {}", format::list(&each.collect::<Vec<_>>()))
        }
    }
}

/// The part of the difference, or the ratio, where the difference is not known well enough.
fn part_or_share(cause: &Cause) -> String {
    cause.part.map_or_else(|| ratio_text(&cause.share), |part| part_text(&part))
}

const SHORT: usize = 24;

fn short(text: &str) -> String {
    if text.chars().count() <= SHORT {
        text.to_owned()
    } else {
        text.chars().take(SHORT).chain(['…']).collect()
    }
}

/// How sure the answer is.
pub(crate) fn trust(run: &ExplainedRun) -> Vec<String> {
    let closures = &run.findings.closures;
    let found = disturbed(run.trials.iter().map(|(_, loaded)| &loaded.trial)).into_iter();
    let (grave, others): (Vec<_>, Vec<_>) = found.partition(|one| one.is_grave);
    let mut said: Vec<_> = grave.into_iter().map(|one| one.text).collect();
    if let (Some(with), Some(without)) = (closures.sufficiency, closures.exclusivity) {
        said.push(format!(
            "A with the causes{} has {} of B's throughput, B without them {} of A's",
            also_found(run),
            ratio_text(&with),
            ratio_text(&without)
        ));
    }
    said.extend(bound_text(run));
    said.extend(fresh_text(run));
    said.extend(others.into_iter().map(|one| one.text));
    let merged = run.findings.merged.iter().map(|group| {
        let names: Vec<_> =
            group.factors().map(|index| run.explanation.factors[index].name.clone()).collect();
        format!("{} do not work apart and are one difference here", format::list(&names))
    });
    said.extend(merged);
    if run.is_foreign {
        said.push(
            "the recorded trials are not those that the seed leads to: only the first ones count"
                .to_owned(),
        );
    }
    said
}

/// Factors of the closures that were found and not confirmed: ` and x, which is not confirmed,`.
fn also_found(run: &ExplainedRun) -> String {
    let with = run.findings.closures.with.factors();
    let also = with.filter(|factor| {
        let merged = run.findings.merged.iter().find(|group| group.has(*factor));
        run.findings.causes.iter().all(|cause| {
            cause.factor != *factor && merged.is_none_or(|group| !group.has(cause.factor))
        })
    });
    let names: Vec<_> = also.map(|index| run.explanation.factors[index].name.clone()).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(" and {}, which is not confirmed,", names[0]),
        _ => format!(" and {}, which are not confirmed,", format::list(&names)),
    }
}

/// What holds all other differences at once: on average, and where an effect depends on one other
/// difference, which halves its mean.
fn bound_text(run: &ExplainedRun) -> Option<String> {
    let bound = run.findings.others_bound?;
    let twice = LogInterval { value: 0.0, low: 2.0 * bound.low, high: 2.0 * bound.high };
    let known = run.findings.others.iter().filter(|one| one.effect.is_some()).count();
    Some(format!(
        "the mean effect of each of the other {} is between {} (all of them in 95 %); where it \
         depends on one other difference, its effect is between {}",
        format::plural(known as u64, "difference"),
        ends_text(&bound),
        ends_text(&twice)
    ))
}

fn fresh_text(run: &ExplainedRun) -> Option<String> {
    let fresh = run.findings.causes.iter().filter(|cause| cause.is_of_fresh_trials);
    let names: Vec<_> = fresh.map(|cause| factor_name(run, cause.factor)).collect();
    let (share, is) = if names.len() == 1 { ("share", "is") } else { ("shares", "are") };
    (!names.is_empty()).then(|| {
        format!("the {share} of {} {is} measured again, in fresh trials", format::list(&names))
    })
}

/// What the version makes, beside the settings: with A's settings, and over all mixtures of them.
pub(crate) fn version_text(run: &ExplainedRun) -> Option<String> {
    let index =
        run.explanation.factors.iter().position(|factor| factor.change == FactorChange::Server)?;
    let level = &run.explanation.factors[index].levels[0];
    let (a, b) = (level.a.to_string(), level.b.to_string());
    let alone =
        run.findings.suspects.iter().find(|(factor, _)| *factor == index).map(|(_, step)| step);
    let mean =
        run.findings.others.iter().find(|one| one.factor == index).and_then(|one| one.effect);
    let alone = alone.map(|step| {
        format!("{b} with the settings of A has {} of the throughput of {a}", ratio_text(step))
    });
    let mean = mean.map(|effect| format!("over mixtures of all settings {}", ratio_text(&effect)));
    format::joined(alone.into_iter().chain(mean), "; ")
}

/// What is known of the factors that are no causes, the most suspicious first.
pub(crate) fn others_text(run: &ExplainedRun) -> Vec<String> {
    const NAMES_MAX: usize = 8;
    const SEEN: &str = "not confirmed, but not nothing";
    const UNSEEN: &str = "not told from ×1";
    const UNMEASURED: &str = "not measured yet";
    const CHANCE: &str = " (of 20 such intervals one leaves out ×1 by chance)";
    let suspects = &run.findings.suspects;
    let others = run.findings.others.iter();
    let others = others.filter(|one| {
        one.effect.is_some() || suspects.iter().all(|(suspect, _)| *suspect != one.factor)
    });
    let named = others.map(|one| match &one.effect {
        Some(effect) if effect.is_decided() => {
            (SEEN, format!("{} {}", factor_name(run, one.factor), ratio_text(effect)))
        }
        Some(_) => (UNSEEN, factor_name(run, one.factor)),
        None => (UNMEASURED, factor_name(run, one.factor)),
    });
    let mut groups = crate::grouped(named);
    groups.sort_by_key(|(what, _)| [SEEN, UNSEEN, UNMEASURED].iter().position(|one| one == what));
    let lines = groups.into_iter().map(|(what, names)| {
        let more = names.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let shown: Vec<_> = names.into_iter().take(NAMES_MAX).collect();
        let chance = if what == SEEN { CHANCE } else { "" };
        format!("{what}: {}{more}{chance}", shown.join(", "))
    });
    lines.collect()
}

/// Which differences are not measured, by the reason.
pub(crate) fn left_out_text(run: &ExplainedRun) -> Vec<String> {
    const NAMES_MAX: usize = 5;
    let groups = crate::grouped(
        run.explanation.left_out.iter().map(|one| (one.reason.clone(), one.name.clone())),
    );
    let lines = groups.into_iter().map(|(reason, names)| {
        let more = names.len().saturating_sub(NAMES_MAX);
        let shown: Vec<_> = names.into_iter().take(NAMES_MAX).collect();
        format!("{}{}: {reason}", shown.join(", "), and_more(more))
    });
    lines.collect()
}

/// Mixtures without a result, and why.
pub(crate) fn not_started(run: &ExplainedRun) -> Vec<String> {
    let lines = run.findings.not_started.iter().map(|one| {
        let names = with_names(&run.explanation.factors, one.mixture).join(", ");
        format!("A with {names}: {}", failure_of(run, one.mixture))
    });
    lines.collect()
}

/// What would give B the result of A, and what that risks.
pub(crate) fn remedies(run: &ExplainedRun) -> Vec<String> {
    let Some(gap) = run.findings.gap else { return Vec::new() };
    // Of the two, the slower one is to be mended.
    let is_b_slower = gap.value < 0.0;
    let mut list: Vec<_> = run
        .findings
        .causes
        .iter()
        .filter(|cause| (cause.share.value < 0.0) == is_b_slower)
        .filter_map(|cause| {
            remedy(run, &run.explanation.factors[cause.factor], cause.role, is_b_slower)
        })
        .collect();
    list.extend(durability_change(run, is_b_slower).filter(|_| !list.is_empty()));
    list
}

fn remedy(
    run: &ExplainedRun,
    factor: &ExplainedFactor,
    role: CauseRole,
    is_b_slower: bool,
) -> Option<String> {
    let first = factor.levels.first()?;
    let (slow, fast) = if is_b_slower { (&first.b, &first.a) } else { (&first.a, &first.b) };
    let what = if is_b_slower { "B" } else { "A" };
    let (slow, fast) = (slow.option_text(), fast.option_text());
    let how = match factor.change {
        FactorChange::Dynamic => set_statement(run, &first.name, &fast),
        // A file's `log_bin = OFF` is a binlog with the name OFF.
        FactorChange::Restart | FactorChange::NewData
            if first.name == "log_bin" && fast == "OFF" =>
        {
            "skip_log_bin in the option file, and a restart".to_owned()
        }
        FactorChange::NewData if !is_setting_factor(&first.name) => {
            format!("{} = {fast} in place of {slow}", first.name)
        }
        FactorChange::Restart | FactorChange::NewData => {
            format!("{} = {fast} in the option file, and a restart", first.name)
        }
        FactorChange::Server if role == CauseRole::OnlyTogether => {
            return Some(format!(
                "the version matters together with another cause only: {fast} is faster than \
                 {slow} there"
            ));
        }
        FactorChange::Server => {
            return Some(format!("the version itself: {fast} in place of {slow}"));
        }
        FactorChange::Load => format!("{} = {fast} in place of {slow}", first.name),
    };
    let crash = find_setting(&first.name).and_then(|setting| setting.crash(&fast));
    let risk = crash.map_or(String::new(), |crash| format!("; then {}", crash.sentence()));
    let more = factor.levels.len() - 1;
    let more = if more > 0 {
        format!(" (with {} of its family)", format::plural(more as u64, "setting"))
    } else {
        String::new()
    };
    Some(format!("in {what}: {how}{more}{risk}"))
}

/// In the words of the server, which keeps the value until its next start, or for good.
fn set_statement(run: &ExplainedRun, name: &str, value: &str) -> String {
    let server = run.trials.iter().find_map(|(_, loaded)| loaded.trial.server.as_ref());
    match server.map(|server| (server.flavour, Version::parse(&server.version))) {
        Some((Flavour::Postgresql, _)) => {
            format!(
                "ALTER SYSTEM SET {name} = '{}', and SELECT pg_reload_conf()",
                value.replace('\'', "''")
            )
        }
        Some((Flavour::Mysql | Flavour::Percona, Some(version))) if version.series() >= (8, 0) => {
            format!("SET GLOBAL {name} = {value} (SET PERSIST for good)")
        }
        _ => format!("SET GLOBAL {name} = {value} (and in the option file for good)"),
    }
}

/// What the two sides survive, where that differs: speed is no gain where it is bought with data.
fn durability_change(run: &ExplainedRun, is_b_slower: bool) -> Option<String> {
    let corners = [Mixture::A, Mixture::b(run.explanation.factors.len())];
    let [a, b] = corners.map(|corner| {
        let trials = run.trials.iter().filter(|(mixture, _)| *mixture == corner);
        let durability = durability_of(&run.experiment, trials.map(|(_, loaded)| loaded))?;
        Some(durability.sentence)
    });
    let (slow, fast, slow_is, fast_is) =
        if is_b_slower { (b?, a?, "B", "A") } else { (a?, b?, "A", "B") };
    (slow != fast).then(|| {
        format!(
            "this is no free gain: with the settings of {fast_is}, {fast}; with the settings \
                 of {slow_is}, {slow}"
        )
    })
}
