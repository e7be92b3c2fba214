//! Two sides on one screen: what differs, by how much, and what else was different.

use std::collections::BTreeSet;

use truetps_analysis::{Figure, Judgement, ThresholdState};

use super::layout::{ScreenPart, Screenful};
use crate::comparison::{self, ComparedSide, RunComparison};
use crate::document::DocumentTable;
use crate::{TextScreen, format, names, threshold_word};

/// Each pair of configurations is one comparison; several are rows of a table.
pub(crate) fn comparison_summary(inputs: &[RunComparison<'_>], screen: TextScreen) -> String {
    match inputs {
        [one] => of_one(one).draw(screen),
        several => of_several(several).draw(screen),
    }
}

fn of_one(input: &RunComparison<'_>) -> Screenful {
    let view = comparison::short_view(input);
    let mut answer = vec![format!("{}.", names::capital(&view.speed))];
    answer.extend(view.rows.map(|rows| format!("{}.", names::capital(&rows))));
    answer.extend(view.caution);
    answer.extend(loss(input));
    let mut parts: Vec<_> = ScreenPart::table(view.figures).into_iter().collect();
    let is_open = input
        .comparison
        .lines
        .iter()
        .any(|line| matches!(line.change, Judgement::NotEnoughData { .. }));
    if is_open && !parts.is_empty() {
        parts.push(ScreenPart::note("? not enough data for a verdict".to_owned()));
    }
    parts.extend((!view.work.is_empty()).then(|| ScreenPart::facts("Work", view.work).whole()));
    parts.extend(crash(input).map(|text| ScreenPart::fact("Crash", text)));
    parts.extend(view.stalls.map(|text| ScreenPart::fact("Stalls", text)));
    parts.extend(thresholds(inputs_of(input)));
    let listed = [
        ("Differs", view.differing),
        ("Settings", view.settings),
        ("Trust", view.notes),
        ("Note", view.unread),
    ];
    parts.extend(
        listed
            .into_iter()
            .filter(|(_, items)| !items.is_empty())
            .map(|(word, items)| ScreenPart::facts(word, items)),
    );
    Screenful { title: view.title, place: view.sides, answer, parts }
}

fn inputs_of<'a, 'b>(one: &'b RunComparison<'a>) -> &'b [RunComparison<'a>] {
    std::slice::from_ref(one)
}

/// What a user has to know beside a verdict on speed.
fn loss(input: &RunComparison<'_>) -> Option<String> {
    let risk = input.durability.risk("A", "B")?;
    Some(format!(
        "{} {}.",
        comparison::survival_sentence(input.durability.b_survives),
        names::capital(&risk)
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
        _ => comparison::durability(input),
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
    let line = |(threshold, states): &(String, Vec<ThresholdState>)| {
        let n = states.len();
        let parts = crate::grouped(states.iter().map(|state| (*state, ()))).into_iter().map(
            |(state, all)| match (all.len(), n) {
                (some, all) if some == all => threshold_word(state).to_owned(),
                (some, _) => format!("{} in {some}", threshold_word(state)),
            },
        );
        format!("{threshold}: {}", parts.collect::<Vec<_>>().join(", "))
    };
    let items: Vec<_> = by_threshold.iter().map(line).collect();
    (!items.is_empty()).then(|| ScreenPart::facts("Fail if", items))
}

fn of_several(inputs: &[RunComparison<'_>]) -> Screenful {
    let names =
        |side: fn(&RunComparison<'_>) -> String| inputs.first().map(side).unwrap_or_default();
    let (a, b) = (names(|one| one.a.name.to_owned()), names(|one| one.b.name.to_owned()));
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
    let unread: BTreeSet<_> = inputs.iter().flat_map(comparison::unread).collect();
    parts.extend(
        (!unread.is_empty()).then(|| ScreenPart::facts("Note", unread.into_iter().collect())),
    );
    let (only_a, only_b) =
        (names(|one| own_levels(&one.a, &one.b)), names(|one| own_levels(&one.b, &one.a)));
    let pairs = format::plural(inputs.len() as u64, "configuration");
    let title = format!("{b}{only_b} compared with {a}{only_a}: {pairs}");
    Screenful { title, place: String::new(), answer, parts }
}

/// ` (log_bin=ON)`: what the pairs of one comparison differ by.
fn own_levels(side: &ComparedSide<'_>, other: &ComparedSide<'_>) -> String {
    let levels = side.configuration.levels.iter();
    let own = levels.filter(|(name, level)| other.configuration.levels.get(*name) != Some(level));
    let own: Vec<_> = own.map(|(name, level)| format!("{name}={level}")).collect();
    if own.is_empty() { String::new() } else { format!(" ({})", own.join(" ")) }
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
    let verdict = |one: &RunComparison<'_>| {
        let line = one.comparison.line(Figure::Tps);
        let word = match line.map(|line| line.change) {
            Some(Judgement::Higher) => "faster in",
            Some(Judgement::Lower) => "slower in",
            Some(Judgement::Equivalent) => "equivalent in",
            Some(Judgement::NotEnoughData { .. }) => "undecided in",
            None => "without throughput in",
        };
        (word, line.and_then(|line| line.ratio).map(|ratio| ratio.value))
    };
    let part = |(word, ratios): (&str, Vec<Option<f64>>)| {
        let known = || ratios.iter().flatten().copied();
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
        let range = match known().count() {
            0 => String::new(),
            1 => format!(" ({})", format::ratio(low)),
            _ => format!(" ({} to {})", format::ratio(low), format::ratio(high)),
        };
        format!("{word} {}{range}", ratios.len())
    };
    let parts: Vec<_> = crate::grouped(inputs.iter().map(verdict)).into_iter().map(part).collect();
    format!("Of {} configurations, B is {}.", inputs.len(), format::list(&parts))
}

/// A row for each pair: the largest differences first.
fn table(inputs: &[RunComparison<'_>]) -> DocumentTable {
    let mut order: Vec<_> = inputs.iter().collect();
    let size = |one: &RunComparison<'_>| {
        one.comparison
            .line(Figure::Tps)
            .and_then(|line| line.ratio)
            .map_or(0.0, |ratio| ratio.value.ln().abs())
    };
    order.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let row = |one: &&RunComparison<'_>| {
        let label = common_levels(one);
        comparison::tps_row(one).into_iter().chain([label.into()]).collect::<Vec<_>>()
    };
    DocumentTable::new(["A tps", "B tps", "change", "B is", "configuration"], order.iter().map(row))
}
