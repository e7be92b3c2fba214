//! The answer of a comparison in sentences.

use std::collections::BTreeSet;

use truetps_analysis::{CellDetail, Figure, Judgement, Missing, Pairing, ThresholdState};
use truetps_knowledge::Survival;

use super::inputs::InputsDiffer;
use super::run_comparison::{ComparedSide, RunComparison};
use super::{conditions, figures, scripts, work};
use crate::disturbances::disturbed;
use crate::{format, parts, remarks};

/// The name, with the levels where it has several configurations: the levels that differ between
/// the two, and the levels of factors with several in the plan, so that no two comparisons have the
/// same name.
pub(crate) fn side_name(side: &ComparedSide<'_>, input: &RunComparison<'_>) -> String {
    let several =
        input.a.run.plan.configurations().len() > 1 || input.b.run.plan.configurations().len() > 1;
    let differing = input.differing_levels();
    let own = side.configuration.levels.iter().filter(|(name, _)| {
        differing.contains(&name.as_str())
            || [&input.a, &input.b]
                .iter()
                .any(|side| side.run.plan.factors.get(*name).is_some_and(|levels| levels.len() > 1))
    });
    match format::joined(own.map(|(name, level)| format!("{name}={level}")), " ") {
        Some(own) => format!("{} ({own})", side.name),
        None if several => format!("{} ({})", side.name, side.configuration),
        None => side.name.to_owned(),
    }
}

pub(super) fn facts(
    input: &RunComparison<'_>,
    inputs: &InputsDiffer,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Verdict", sentence(input))];
    facts.extend(work::rows(input).map(|rows| ("Rows", rows)));
    if conditions::is_other_work(input, inputs) {
        facts.push(("Caution", "the workloads differ: see what was different below".to_owned()));
    }
    facts.extend(
        input.thresholds.iter().map(|(threshold, state)| {
            ("Fail if", format!("{threshold}: {}", threshold_word(*state)))
        }),
    );
    facts.extend(durability(input).map(|text| ("Crash", text)));
    facts.extend(cause(input).map(|cause| ("Cost", cause)));
    let stalls = [("A", &input.comparison.a), ("B", &input.comparison.b)];
    let stalls = stalls.map(|(letter, side)| format!("{letter} {}", stalls_of(side)));
    facts.push(("Stalls", stalls.join("; ")));
    for (letter, side, trials) in
        [("A", &input.a, input.comparison.trials_a), ("B", &input.b, input.comparison.trials_b)]
    {
        let mut parts = vec![side_name(side, input), format::trials(trials)];
        parts.extend(conditions::server(side));
        facts.push((letter, parts.join(", ")));
    }
    facts
}

/// The state of a threshold.
pub fn threshold_word(state: ThresholdState) -> &'static str {
    match state {
        ThresholdState::Crossed => "crossed",
        ThresholdState::Kept => "kept",
        ThresholdState::Unsure => "not enough data",
        ThresholdState::NoFigure => "a side does not have this figure",
        ThresholdState::Bound => "cannot be judged: gaps under 100 ms are not recorded",
        ThresholdState::DurabilityUnknown => {
            "cannot be judged: durability is not known on both sides"
        }
    }
}

/// The answer, and the loss in a crash.
fn sentence(input: &RunComparison<'_>) -> String {
    let risk = input.durability.risk("A", "B").map_or(String::new(), |risk| format!("; {risk}"));
    format!("{}{risk}", speed(input))
}

/// Whose commits are at risk, in one sentence before the figures of it.
pub(crate) fn survival_sentence(b_survives: Survival) -> &'static str {
    match b_survives {
        Survival::Less => "B risks more commits in a crash.",
        Survival::More => "B risks fewer commits in a crash.",
        Survival::Same | Survival::Mixed | Survival::Unknown => {
            "A and B risk different commits in a crash."
        }
    }
}

/// The durability of each side; `None` if no side had a server.
pub(crate) fn durability(input: &RunComparison<'_>) -> Option<String> {
    let sides = [("A", &input.a, &input.durability.a), ("B", &input.b, &input.durability.b)];
    if sides.iter().all(|(_, side, _)| conditions::server(side).is_none()) {
        return None;
    }
    let [Some(a), Some(b)] = [&input.durability.a, &input.durability.b].map(Option::as_ref) else {
        let missing: Vec<_> = sides
            .iter()
            .filter(|(.., known)| known.is_none())
            .map(|(letter, ..)| (*letter).to_owned())
            .collect();
        let whose = if missing.len() == 2 { "A and B".to_owned() } else { missing.concat() };
        return Some(format!(
            "not known: durability cannot be judged without the settings of {whose}, which are not \
             recorded or differ between trials"
        ));
    };
    if a.sentence == b.sentence {
        return Some(format!("the same on both sides: {}", a.sentence));
    }
    Some(format!("A: {}. B: {}", a.sentence, b.sentence))
}

pub(crate) fn speed(input: &RunComparison<'_>) -> String {
    let comparison = &input.comparison;
    let Some(line) = comparison.line(Figure::Tps) else {
        return "no throughput was measured".to_owned();
    };
    let difference = match (line.ratio, line.a, line.b) {
        (Some(_), _, _) => figures::change(line),
        (None, Some(a), Some(b)) if a == 0.0 || b == 0.0 => {
            format!("{} -> {}", format::tps(a), format::tps(b))
        }
        _ => return "the sides have no common block, or a side has no valid trial".to_owned(),
    };
    let (a, b) = (comparison.trials_a, comparison.trials_b);
    let trials =
        if a == b { format!("{} each", format::trials(a)) } else { format!("{a} and {b} trials") };
    let order = match (comparison.pairing, comparison.pairs) {
        (Pairing::Blocks, Some(pairs)) if pairs < blocks(&input.a).max(blocks(&input.b)) => {
            format!(
                "interleaved, compared in the {} that both have",
                format::plural(pairs as u64, "block")
            )
        }
        (Pairing::Blocks, _) => "interleaved".to_owned(),
        (Pairing::None, _) => "not interleaved".to_owned(),
    };
    let effect = format::percent(comparison.smallest_effect);
    match line.change {
        Judgement::Higher => format!("B is faster: {difference} tps, {trials}, {order}"),
        Judgement::Lower => format!("B is slower: {difference} tps, {trials}, {order}"),
        Judgement::Equivalent => {
            format!("no difference of {effect} or more: {difference} tps, {trials}, {order}")
        }
        Judgement::NotEnoughData { more_trials } => {
            let more = more_trials.map(|more| {
                format!(" (about {} of each)", format::plural(more.into(), "more trial"))
            });
            let missing = line
                .missing
                .map_or(String::new(), |missing| format!("; {}", self::missing(missing, &effect)));
            format!(
                "not enough data{}: {difference} tps, {trials}, {order}{missing}",
                more.unwrap_or_default()
            )
        }
    }
}

fn blocks(side: &ComparedSide<'_>) -> usize {
    side.trials().map(|one| one.trial.block).collect::<BTreeSet<_>>().len()
}

/// Why there is no verdict although the interval excludes "no difference".
fn missing(missing: Missing, effect: &str) -> String {
    let lacks = match missing {
        Missing::Test { alpha } => {
            format!(
                "several figures and comparisons share the 5 % error rate, and the test at {} is \
                 not passed",
                format::percent(alpha)
            )
        }
        Missing::Interest => {
            format!("the difference is not proven to be at least the {effect} of interest")
        }
    };
    format!("the 95 % interval does not include \"no difference\", but {lacks}")
}

/// The lines of the ledger that changed most, as `redo log syncs 1.00 -> 0.03`.
fn cause(input: &RunComparison<'_>) -> Option<String> {
    const SHOWN_MAX: usize = 4;
    format::joined(figures::changed(input).into_iter().take(SHOWN_MAX), ", ")
}

/// `4 of 300 s (1.3 %), longest 1.90 s`.
pub(crate) fn stalls_of(side: &CellDetail) -> String {
    if side.trials_watched == 0 {
        return "not known".to_owned();
    }
    let [all, longest] = [Figure::Watched, Figure::LongestStall]
        .map(|figure| format::figure_or_nothing(figure, side.get(figure)));
    if side.get(Figure::LongestStall).is_none() {
        return format!("none in {all}");
    }
    let count = format::plural(side.get(Figure::Stalls).unwrap_or(0.0) as u64, "stall");
    format!("{count} in {all} ({} of it), longest {longest}", format::percent(side.stalled_share()))
}

pub(super) fn notes(input: &RunComparison<'_>, inputs: &InputsDiffer) -> Vec<String> {
    [unread(input), remarks_of(input), limits(input, inputs)].concat()
}

/// Files of either side.
pub(crate) fn unread(input: &RunComparison<'_>) -> Vec<String> {
    let of_both = [("A", &input.a), ("B", &input.b)].into_iter().flat_map(|(letter, side)| {
        side.run.all_unread().map(move |unread| format!("{letter}: not read: {}", unread.what))
    });
    of_both.collect()
}

/// What was noted of single trials.
pub(crate) fn remarks_of(input: &RunComparison<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (letter, side) in [("A", &input.a), ("B", &input.b)] {
        let remarked = side.trials().map(|one| &one.trial);
        let found = disturbed(side.trials().map(|one| &one.trial));
        notes.extend(found.into_iter().map(|one| format!("{letter}: {}", one.text)));
        notes.extend(remarked.flat_map(|trial| {
            remarks(trial).into_iter().map(move |note| format!("{letter}: {}: {note}", trial.name))
        }));
    }
    notes
}

/// How far the comparison as a whole goes.
pub(crate) fn limits(input: &RunComparison<'_>, inputs: &InputsDiffer) -> Vec<String> {
    let comparison = &input.comparison;
    let mut notes = Vec::new();
    for (letter, side) in [("A", &input.a), ("B", &input.b)] {
        let incomplete = parts::incomplete(&side.run.experiment);
        notes.extend(incomplete.map(|text| format!("{letter}: {text}.")));
    }
    if comparison.pairing == Pairing::None {
        notes.push(
            "The two were not interleaved: any change on the machine between them (another load, a \
             fuller disk, a warmer cache) is in every difference, and in no interval. `truetps \
             sweep` of a plan with both as levels of a factor alternates them, once per block."
                .to_owned(),
        );
    }
    if let Some(within) = comparison.line(Figure::Tps).and_then(|line| line.within_trials) {
        notes.push(format!(
            "A side has a single trial, so the variation between trials is unknown. Within these \
             trials throughput differs by {}; the interval covers the variation within them only.",
            format::difference_estimate(&within)
        ));
    } else if comparison.trials_a.min(comparison.trials_b) == 1 {
        notes
            .push("A side has a single trial: the variation between trials is unknown.".to_owned());
    }
    if conditions::is_other_work(input, inputs) {
        notes.push(
            "The workloads differ: this compares the workloads as much as the servers.".to_owned(),
        );
    }
    notes.extend(scripts::note(input));
    if comparison.generator_limited {
        notes.push(
            "The generator limited a trial: its figures are a lower bound for the server, and the \
             true difference may be larger, smaller or the opposite."
                .to_owned(),
        );
    }
    if let Some(detectable) = comparison.smallest_detectable_effect {
        notes.push(format!(
            "A difference in throughput under {} would get a verdict less than four times out of \
             five with these trials.",
            format::detectable(detectable)
        ));
    }
    notes
}
