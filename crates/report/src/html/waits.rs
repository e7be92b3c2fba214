//! Waits of the server's sessions over time, for the chart below the throughput.

use std::collections::BTreeSet;

use serde::Serialize;
use truetps_analysis::{WaitSeries, WaitSource};

use super::chart_number::ChartNumber;
use crate::format;

/// Figures of waits in the page, of all trials and classes together: 80 KB. Where there are more,
/// neighbours are joined.
const FIGURES_MAX: usize = 16_000;

#[derive(Serialize)]
pub(super) struct WaitData {
    /// Milliseconds: starts of the steps and the end of the last one.
    edges: Vec<ChartNumber>,
    /// Name, sessions in each step, and the number of the class's colour, in the order in which
    /// the classes are stacked.
    classes: Vec<(&'static str, Vec<ChartNumber>, usize)>,
}

/// How many neighbouring steps are one in the page.
pub(super) fn joined(waits: &[&WaitSeries]) -> usize {
    let figures: usize =
        waits.iter().map(|waits| waits.edges_ms.len() * (waits.classes.len() + 1)).sum();
    figures.div_ceil(FIGURES_MAX).max(1)
}

/// `None` where no trial has waits.
pub(super) fn how_to_read(waits: &[&WaitSeries], joined: usize) -> Option<String> {
    let how = how_counted(waits)?;
    let merged =
        if joined == 1 { String::new() } else { format!(" Each step joins {joined} readings.") };
    Some(format!(
        "The height is how many sessions waited at a time; each colour is a class of waits, in the \
         order of the list. {how}. A class that grows where throughput breaks down is where to \
         look first.{merged}"
    ))
}

/// How the numbers of these trials came about; servers may differ.
fn how_counted(all: &[&WaitSeries]) -> Option<String> {
    const BY_STATE: &str =
        "counted by their state at each reading, so short waits are seen by chance";
    let timed: Vec<_> = all.iter().filter(|waits| waits.source == WaitSource::Timed).collect();
    let sampled: BTreeSet<_> =
        timed.iter().flat_map(|waits| &waits.sampled).map(|class| class.name()).collect();
    let sampled: Vec<_> = sampled.into_iter().collect();
    let booked = "each wait, including waits of its background threads, and counts it when it \
                  ends: a long wait is all in the step of its end";
    Some(match (timed.len(), all.len()) {
        (_, 0) => return None,
        (0, _) => format!("The server times no waits here: its sessions were {BY_STATE}"),
        (timed, all) if timed < all => {
            format!(
                "A server that times its waits has timed {booked}; on the other servers sessions \
                 were {BY_STATE}"
            )
        }
        _ if sampled.is_empty() => format!("The server has timed {booked}"),
        _ => {
            let sampled = format::list(&sampled);
            format!("The server has timed {booked}. But sessions in {sampled} were {BY_STATE}")
        }
    })
}

impl WaitData {
    pub(super) fn of(series: &WaitSeries, joined: usize) -> Option<Self> {
        let series = series.joined(joined)?;
        let classes = series.classes.iter().map(|(class, values)| {
            let figures = values.iter().map(|value| ChartNumber::new(*value)).collect();
            (class.name(), figures, *class as usize)
        });
        Some(Self {
            edges: series.edges_ms.iter().map(|edge| ChartNumber::whole(*edge)).collect(),
            classes: classes.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use truetps_analysis::WaitClass;

    use super::*;

    #[test]
    fn each_way_of_counting_is_named() {
        let series = |source, sampled: &[WaitClass]| WaitSeries {
            source,
            sampled: sampled.to_vec(),
            edges_ms: vec![0.0, 1e3],
            classes: vec![(WaitClass::Commit, vec![1.0])],
        };
        let check = |all: &[&WaitSeries], expect: &str| {
            let text = how_counted(all).unwrap();
            assert!(text.contains(expect), "{text}");
        };
        let timed = series(WaitSource::Timed, &[]);
        let partly = series(WaitSource::Timed, &[WaitClass::RowLock, WaitClass::Commit]);
        let sampled = series(WaitSource::Sampled, &[]);
        check(&[&timed], "a long wait is all in the step of its end");
        check(
            &[&timed, &partly],
            "But sessions in commit and row lock were counted by their state",
        );
        check(&[&sampled], "The server times no waits here");
        check(&[&timed, &sampled], "on the other servers sessions were counted by their state");
        assert_eq!(how_counted(&[]), None);
    }
}
