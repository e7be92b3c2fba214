//! What one screen shows of a comparison.

use truetps_analysis::Figure;
use truetps_knowledge::Survival;

use super::inputs::InputsDiffer;
use super::run_comparison::RunComparison;
use super::settings::{both_values, settings_items};
use super::{conditions, figures, verdict, work};
use crate::document::{DocumentTable, TableEntry};
use crate::format::{self, NOTHING};

/// The parts of the screen of one comparison.
pub(crate) struct ShortView {
    pub(crate) title: String,
    /// Both sides with their servers.
    pub(crate) sides: String,
    pub(crate) speed: String,
    /// In rows a second, where a transaction of the one changes more rows than of the other.
    pub(crate) rows: Option<String>,
    /// That the workloads differ.
    pub(crate) caution: Option<String>,
    /// The lines and statements that differ.
    pub(crate) work: Vec<String>,
    pub(crate) figures: DocumentTable,
    /// `None` where neither side stalled.
    pub(crate) stalls: Option<String>,
    /// Conditions other than settings.
    pub(crate) differing: Vec<String>,
    pub(crate) settings: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Files that could not be read.
    pub(crate) unread: Vec<String>,
}

pub(crate) fn short_view(input: &RunComparison<'_>) -> ShortView {
    const SETTINGS_MAX: usize = 4;
    let inputs = InputsDiffer::of(input);
    let (a, b) = (verdict::side_name(&input.a, input), verdict::side_name(&input.b, input));
    let is_other = conditions::is_other_work(input, &inputs);
    let differing = conditions::differing(input, &inputs).into_iter();
    let work = work::in_short(&inputs);
    let where_shown = if work.is_empty() { "Differs" } else { "Work" };
    let sides = [&input.comparison.a, &input.comparison.b];
    let [server_a, server_b] =
        [&input.a, &input.b].map(|side| format::text_or_nothing(conditions::server(side)));
    let stalled = sides.iter().any(|side| side.get(Figure::LongestStall).is_some());
    ShortView {
        title: format!("{b} compared with {a}"),
        sides: if server_a == server_b {
            format!("A and B on {server_a}")
        } else {
            format!("A on {server_a}, B on {server_b}")
        },
        speed: verdict::speed(input),
        rows: work::rows(input),
        caution: is_other.then(|| format!("The workloads differ: see {where_shown}.")),
        work,
        figures: figures::most_telling(input),
        stalls: stalled.then(|| {
            let [a, b] = sides.map(verdict::stalls_of);
            format!("A {a}; B {b}")
        }),
        differing: differing.map(|one| format!("{}: A {}, B {}", one.what, one.a, one.b)).collect(),
        settings: settings_items(input, SETTINGS_MAX, both_values),
        unread: verdict::unread(input),
        notes: [verdict::limits(input, &inputs), verdict::remarks_of(input)].concat(),
    }
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

/// Throughput of both, the change and the verdict.
pub(crate) fn tps_row(input: &RunComparison<'_>) -> [TableEntry; 4] {
    match input.comparison.line(Figure::Tps) {
        Some(line) => figures::tps_entries(line),
        None => [NOTHING; 4].map(TableEntry::from),
    }
}
