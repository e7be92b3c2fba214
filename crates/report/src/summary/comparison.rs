//! Two sides on one screen: what differs, by how much, and what else was different.

use std::collections::BTreeSet;

use truetps_analysis::{Figure, Judgement, ThresholdState};

use super::layout::{ScreenPart, Screenful};
use crate::comparison::{
    self, ComparedSide, InputsDiffer, RunComparison, conditions, figures, settings, verdict, work,
};
use crate::document::DocumentTable;
use crate::{TextScreen, format, names, threshold_word};

/// Each pair of configurations is one comparison; several are rows of a table.
pub(crate) fn comparison_summary(inputs: &[RunComparison<'_>], screen: TextScreen) -> String {
    match inputs {
        [one] => one_pair(one).draw(screen),
        several => several_pairs(several).draw(screen),
    }
}

fn one_pair(input: &RunComparison<'_>) -> Screenful {
    const SETTINGS_MAX: usize = 4;
    let inputs = InputsDiffer::of(input);
    let work = work::in_short(&inputs);
    let mut answer = vec![format!("{}.", names::capital(&verdict::speed(input)))];
    answer.extend(work::rows(input).map(|rows| format!("{}.", names::capital(&rows))));
    if conditions::is_other_work(input, &inputs) {
        let word = if work.is_empty() { "Differs" } else { "Work" };
        answer.push(format!("The workloads differ: see {word}."));
    }
    answer.extend(loss(input));
    let mut parts: Vec<_> = ScreenPart::table(figures::most_telling(input)).into_iter().collect();
    let is_open = input
        .comparison
        .lines
        .iter()
        .any(|line| matches!(line.change, Judgement::NotEnoughData { .. }));
    if is_open && !parts.is_empty() {
        parts.push(ScreenPart::note("? not enough data for a verdict".to_owned()));
    }
    parts.extend(ScreenPart::facts("Work", work).map(ScreenPart::whole));
    parts.extend(crash(input).map(|text| ScreenPart::fact("Crash", text)));
    parts.extend(stalls(input).map(|text| ScreenPart::fact("Stalls", text)));
    parts.extend(thresholds(std::slice::from_ref(input)));
    let differing = conditions::differing(input, &inputs).into_iter();
    let differing = differing.map(|one| format!("{}: A {}, B {}", one.what, one.a, one.b));
    parts.extend(ScreenPart::facts("Differs", differing.collect()));
    parts.extend(ScreenPart::facts(
        "Settings",
        settings::settings_items(input, SETTINGS_MAX, settings::both_values),
    ));
    let notes = [verdict::limits(input, &inputs), verdict::remarks_of(input)].concat();
    parts.extend(ScreenPart::facts("Trust", notes));
    parts.extend(ScreenPart::facts("Note", verdict::unread(input)));
    Screenful { title: comparison::title(input), source: servers(input), answer, parts }
}

/// Both sides with their servers.
fn servers(input: &RunComparison<'_>) -> String {
    let [a, b] = [&input.a, &input.b].map(|side| format::text_or_nothing(conditions::server(side)));
    if a == b { format!("A and B on {a}") } else { format!("A on {a}, B on {b}") }
}

/// `None` where neither side stalled.
fn stalls(input: &RunComparison<'_>) -> Option<String> {
    let sides = [&input.comparison.a, &input.comparison.b];
    sides.iter().find(|side| side.get(Figure::LongestStall).is_some())?;
    let [a, b] = sides.map(verdict::stalls_of);
    Some(format!("A {a}; B {b}"))
}

/// What a user has to know beside a verdict on speed.
fn loss(input: &RunComparison<'_>) -> Option<String> {
    let risk = input.durability.risk("A", "B")?;
    Some(format!(
        "{} {}.",
        verdict::survival_sentence(input.durability.b_survives),
        names::capital_word(&risk)
    ))
}

/// Where both lose the same, one line has it.
fn crash(input: &RunComparison<'_>) -> Option<String> {
    let pair = &input.durability;
    match (&pair.a, &pair.b) {
        (Some(a), Some(b)) if a.sentence == b.sentence => {
            Some(format!("the same on both sides: {}", a.sentence))
        }
        (Some(_), Some(_)) => None,
        _ => verdict::durability(input),
    }
}

/// One line for each state of a threshold.
fn thresholds(inputs: &[RunComparison<'_>]) -> Option<ScreenPart> {
    let judged = inputs.iter().flat_map(|one| {
        one.thresholds.iter().map(|(threshold, state)| (threshold.to_string(), *state))
    });
    let mut by_threshold: Vec<(String, Vec<ThresholdState>)> = crate::grouped(judged);
    // What makes a script fail comes first.
    by_threshold.sort_by_key(|(_, states)| !states.contains(&ThresholdState::Crossed));
    let items = by_threshold
        .iter()
        .map(|(threshold, states)| format!("{threshold}: {}", states_text(states)))
        .collect();
    ScreenPart::facts("Fail if", items)
}

/// `crossed in 2, kept in 4`; `kept` where all are.
fn states_text(states: &[ThresholdState]) -> String {
    let by_state = crate::grouped(states.iter().map(|state| (*state, ())));
    let parts = by_state.into_iter().map(|(state, all)| match all.len() {
        n if n == states.len() => threshold_word(state).to_owned(),
        n => format!("{} in {n}", threshold_word(state)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn several_pairs(inputs: &[RunComparison<'_>]) -> Screenful {
    let risks: Vec<_> = inputs.iter().filter_map(loss).collect();
    let mut answer = vec![counted(inputs)];
    if let Some(first) = risks.first() {
        let n = risks.len();
        answer.push(if n == inputs.len() {
            first.clone()
        } else {
            format!("In {n} of {}: {first}", inputs.len())
        });
    }
    let mut parts: Vec<_> = ScreenPart::table(table(inputs)).into_iter().collect();
    parts.extend(thresholds(inputs));
    let unread: BTreeSet<_> = inputs.iter().flat_map(verdict::unread).collect();
    parts.extend(ScreenPart::facts("Note", unread.into_iter().collect()));
    let pairs = format::plural(inputs.len() as u64, "configuration");
    let title = inputs.first().map_or_else(String::new, |one| {
        let (a, b) = (own_name(&one.a, &one.b), own_name(&one.b, &one.a));
        format!("{b} compared with {a}: {pairs}")
    });
    Screenful { title, source: String::new(), answer, parts }
}

/// `B (log_bin=ON)`: a side, and what the pairs of one comparison differ by.
fn own_name(side: &ComparedSide<'_>, other: &ComparedSide<'_>) -> String {
    let levels = side.configuration.levels.iter();
    let own = levels.filter(|(name, level)| other.configuration.levels.get(*name) != Some(level));
    match format::joined(own.map(|(name, level)| format!("{name}={level}")), " ") {
        Some(own) => format!("{} ({own})", side.name),
        None => side.name.to_owned(),
    }
}

/// What distinguishes one pair from the others.
fn common_levels(one: &RunComparison<'_>) -> String {
    let levels = one.a.configuration.levels.iter();
    let common =
        levels.filter(|(name, level)| one.b.configuration.levels.get(*name) == Some(level));
    common.map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(" ")
}

/// `B is faster in 2 of 6 comparisons, …`.
fn counted(inputs: &[RunComparison<'_>]) -> String {
    let verdicts = inputs.iter().map(|one| {
        let word = match one.comparison.line(Figure::Tps).map(|line| line.change) {
            Some(Judgement::Higher) => "faster in",
            Some(Judgement::Lower) => "slower in",
            Some(Judgement::Equivalent) => "equivalent in",
            Some(Judgement::NotEnoughData { .. }) => "undecided in",
            None => "without throughput in",
        };
        (word, tps_ratio(one))
    });
    let parts: Vec<_> = crate::grouped(verdicts)
        .into_iter()
        .map(|(word, ratios)| {
            let known: Vec<_> = ratios.iter().copied().flatten().collect();
            let range = match &known[..] {
                [] => String::new(),
                [one] => format!(" ({})", format::ratio(*one)),
                several => {
                    let low = several.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = several.iter().copied().fold(0.0, f64::max);
                    format!(" ({} to {})", format::ratio(low), format::ratio(high))
                }
            };
            format!("{word} {}{range}", ratios.len())
        })
        .collect();
    format!("Of {} configurations, B is {}.", inputs.len(), format::list(&parts))
}

fn tps_ratio(one: &RunComparison<'_>) -> Option<f64> {
    Some(one.comparison.line(Figure::Tps)?.ratio?.value)
}

/// How far throughput differs, in either direction.
fn distance(one: &RunComparison<'_>) -> f64 {
    tps_ratio(one).map_or(0.0, |ratio| ratio.ln().abs())
}

/// A row for each pair: the largest differences first.
fn table(inputs: &[RunComparison<'_>]) -> DocumentTable {
    let mut order: Vec<_> = inputs.iter().collect();
    order.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    let rows = order.iter().map(|one| {
        let label = common_levels(one);
        figures::tps_row(one).into_iter().chain([label.into()]).collect::<Vec<_>>()
    });
    DocumentTable::new(["A tps", "B tps", "change", "B is", "configuration"], rows)
}
