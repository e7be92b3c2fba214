//! How two workloads differ, in terms of keys and pages.

use truetps_analysis::is_same_figure;
use truetps_record::WorkloadProfile;

use super::run_comparison::RunComparison;
use crate::document::{Block, DocumentSection};
use crate::format;

pub(super) fn section(input: &RunComparison<'_>) -> Option<DocumentSection> {
    DocumentSection::of("What was sent", [Block::list(sentences(input))])
}

/// One sentence for each difference; empty if there is none, or a side has no profile.
pub(super) fn sentences(input: &RunComparison<'_>) -> Vec<String> {
    let (Some(a), Some(b)) = (&input.comparison.profile_a, &input.comparison.profile_b) else {
        return Vec::new();
    };
    LINES.iter().filter_map(|line| line.sentence(a, b)).chain(meaning(a, b)).collect()
}

/// One figure of a profile.
struct ProfileLine {
    name: &'static str,
    value: fn(&WorkloadProfile) -> Option<f64>,
    text: fn(f64) -> String,
    /// The text for a side without the figure.
    without: &'static str,
}

const fn per_tx(name: &'static str, value: fn(&WorkloadProfile) -> Option<f64>) -> ProfileLine {
    ProfileLine { name, value, text: format::per_tx, without: "not known" }
}

const fn share_of_inserts(
    name: &'static str,
    value: fn(&WorkloadProfile) -> Option<f64>,
) -> ProfileLine {
    ProfileLine { name, value, text: format::percent, without: "no insert" }
}

const LINES: &[ProfileLine] = &[
    per_tx("statements a transaction", |profile| Some(profile.statements_per_tx)),
    per_tx("statements a transaction that write", |profile| profile.writes_per_tx),
    per_tx("rows inserted a transaction", |profile| profile.inserted_rows_per_tx),
    share_of_inserts("inserts that name their primary key", |profile| profile.explicit_key_share),
    share_of_inserts(
        "inserts with the key that the same transaction has just deleted",
        |profile| profile.deleted_key_share,
    ),
    ProfileLine {
        name: "a client writes half of its keys again",
        value: |profile| {
            profile.writes_per_tx.map(|_| profile.key_reuse_tx_p50.unwrap_or(f64::INFINITY))
        },
        text: reuse,
        without: "not known",
    },
    ProfileLine {
        name: "writes of a key that the client has written in its last 1 000 transactions",
        value: |profile| profile.recent_key_share,
        text: format::percent,
        without: "not known",
    },
    per_tx("rows written on each page that 1 000 transactions touch", |profile| {
        profile.rows_per_page
    }),
    per_tx("new pages at the end of the table, in 1 000 transactions", |profile| {
        profile.new_pages_per_1000_tx
    }),
];

/// When half of the keys are written again.
fn reuse(transactions: f64) -> String {
    if transactions == 0.0 {
        "within the same transaction".to_owned()
    } else if transactions.is_finite() {
        format!("within {}", format::plural(transactions.ceil() as u64, "transaction"))
    } else {
        "hardly ever".to_owned()
    }
}

impl ProfileLine {
    /// `None` where both are the same.
    fn sentence(&self, a: &WorkloadProfile, b: &WorkloadProfile) -> Option<String> {
        let (of_a, of_b) = ((self.value)(a), (self.value)(b));
        let is_same = match (of_a, of_b) {
            (Some(one), Some(other)) if one.is_finite() && other.is_finite() => {
                is_same_figure(one, other)
            }
            // No value, or infinite.
            (one, other) => one == other,
        };
        let [a, b] =
            [of_a, of_b].map(|value| value.map_or_else(|| self.without.to_owned(), self.text));
        (!is_same).then(|| format!("{}: A {a}, B {b}", self.name))
    }
}

/// The effect of the differences on a server whose tables are ordered by their primary key.
fn meaning(a: &WorkloadProfile, b: &WorkloadProfile) -> Option<String> {
    let (new_a, new_b) = (a.new_pages_per_1000_tx?, b.new_pages_per_1000_tx?);
    let (more, less) = if new_b > new_a { ("B", "A") } else { ("A", "B") };
    let back = if new_b > new_a { a.deleted_key_share } else { b.deleted_key_share };
    let comes_back = back.is_some_and(|share| share > 0.5);
    (!is_same_figure(new_a, new_b)).then(|| {
        let rest = if comes_back {
            format!("rows of {less} go back to the page that the delete has just read")
        } else {
            format!("rows of {less} go to pages that exist")
        };
        format!(
            "{more} fills new pages all the time, which are written beside those that its deletes \
             empty; {rest}. Pages created, written and read in the ledger say what that cost here."
        )
    })
}
