//! The settings that differ between two servers, on one screen: sentences and the top ten.

use truetps_knowledge::{Diff, Difference, DurabilityPair};

use super::layout::{ScreenPart, Screenful, without_columns};
use crate::comparison::verdict::survival_sentence;
use crate::document::DocumentTable;
use crate::format::NOTHING;
use crate::settings_diff::{both, summary, title};
use crate::{TextScreen, names, printable};

/// Rows of the table.
const TOP: usize = 10;
/// The column with the topic of each setting.
const ABOUT: &str = "about";

pub(crate) fn diff_summary(diff: &Diff, screen: TextScreen) -> String {
    let shown: Vec<_> = diff.shown().filter(|one| one.same_but_for.is_none()).collect();
    let top = shown.iter().take(TOP).map(|one| row(one));
    let table =
        without_columns(DocumentTable::new(["setting", "A", "B", ABOUT], top), &[ABOUT], screen);
    let hidden = shown.len().saturating_sub(TOP);
    let mut parts: Vec<_> =
        ScreenPart::table(table).map(|part| part.leaving_out(hidden)).into_iter().collect();
    parts.extend(crash(diff));
    let notes = [("A", &diff.a), ("B", &diff.b)].into_iter().flat_map(|(letter, side)| {
        side.notes.iter().map(move |note| format!("{letter}: {}", printable(note)))
    });
    parts.extend(ScreenPart::facts("Note", notes.collect()));
    parts.extend(ScreenPart::facts(
        "In all",
        summary(diff, false).lines().map(str::to_owned).collect(),
    ));
    let title = format!("A  {}\nB  {}", title(&diff.a), title(&diff.b));
    Screenful { title, source: String::new(), answer: answer(diff, &shown), parts }.draw(screen)
}

/// How much differs, the one most likely to matter, and what it means for a crash.
fn answer(diff: &Diff, shown: &[&Difference]) -> Vec<String> {
    let first = match shown {
        [] => "Nothing that could matter differs.".to_owned(),
        [one, ..] => {
            let (a, b) = both(one);
            let meaning = one.meaning.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let text = format!(
                "Most likely to matter: {} is {a} on A and {b} on B{meaning}",
                printable(&one.name)
            );
            format!("{}.", text.trim_end_matches('.'))
        }
    };
    let pair = DurabilityPair::of(diff.a.durability.clone(), diff.b.durability.clone());
    let crash = match (pair.risk("A", "B"), &pair.a, &pair.b) {
        (Some(risk), ..) => {
            Some(format!("{} {}.", survival_sentence(pair.b_survives), names::capital_word(&risk)))
        }
        (None, Some(of_a), Some(of_b)) if of_a.sentence == of_b.sentence => {
            Some(format!("Crash, A and B: {}.", printable(&of_a.sentence)))
        }
        _ => None,
    };
    std::iter::once(first).chain(crash).collect()
}

/// What each side survives, where the two differ and it is not known which of them risks more.
fn crash(diff: &Diff) -> Option<ScreenPart> {
    let (a, b) = (diff.a.durability.as_ref(), diff.b.durability.as_ref());
    let is_same = a.map(|one| &one.sentence) == b.map(|one| &one.sentence);
    if is_same || DurabilityPair::of(a.cloned(), b.cloned()).risk("A", "B").is_some() {
        return None;
    }
    let sides = [("A", a), ("B", b)].into_iter();
    let items =
        sides.filter_map(|(letter, of)| Some(format!("{letter}: {}", printable(&of?.sentence))));
    ScreenPart::facts("Crash", items.collect())
}

fn row(one: &Difference) -> [String; 4] {
    let (a, b) = both(one);
    let about = one.group.map_or_else(|| NOTHING.to_owned(), |group| group.to_string());
    [printable(&one.name), cut(&a), cut(&b), about]
}

/// A value in a column. `--full` has it whole.
fn cut(value: &str) -> String {
    const CHARS_MAX: usize = 16;
    let short: String = value.chars().take(CHARS_MAX).collect();
    if short.len() < value.len() { short + "…" } else { short }
}
