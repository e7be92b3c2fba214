//! Response times of a trial over time as a picture: time to the right, response time upwards, the
//! darker the more transactions of a time step took so long.

use std::collections::BTreeMap;

use serde::Serialize;
use truetps_analysis::{IntervalSteps, LoadedTrial, TrialLatency, step_start_ns};
use truetps_record::Phase;

use super::chart_number::ChartNumber;
use super::labels::{configuration, unbroken};
use super::series;
use crate::{ReportInput, format, grouped};

/// Size of a picture: finer detail is not visible on a page, and an hour has 3,600 intervals.
const COLUMNS_MAX: usize = 90;
const ROWS_MAX: u16 = 48;
/// Bytes of all pictures in a page: about fifty of them, or hundreds of short trials.
const BYTES_MAX: usize = 120_000;
/// Degrees of darkness. The lightest stands for up to one of ten thousand transactions, and each
/// further one for the same factor more, up to all of them.
const DEGREES: [char; 15] =
    ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
const LIGHTEST: f64 = 1e-4;
/// A run of 1 to 26 empty fields of the picture is one letter, `a` to `z`.
const EMPTY_RUN_MAX: u8 = 26;

pub(super) struct HeatSection {
    /// A configuration, and for each of its trials the index of its picture and its name.
    pub(super) options: Vec<(String, Vec<(usize, String)>)>,
    pub(super) how_to_read: String,
    pub(super) data: Vec<Picture>,
}

#[derive(Serialize)]
pub(super) struct Picture {
    /// Start of each column and end of the last, milliseconds.
    edges: Vec<ChartNumber>,
    /// `w`, `m` or `d` for each column.
    phases: String,
    /// Microseconds: where the lowest row begins and by which factor each row is higher.
    from: f64,
    factor: f64,
    rows: u16,
    /// Column by column from below: a degree (`1` to `F`), or a run of empty fields (`a` to `z`).
    places: String,
}

impl HeatSection {
    /// Pictures of as many trials as fit, one of each configuration first.
    pub(super) fn of(input: &ReportInput) -> Self {
        let (mut bytes, mut pictures) = (0, Vec::new());
        let mut left_out = 0;
        for (cell, one) in by_turns(input) {
            let Some(picture) = one.latency.as_ref().and_then(Picture::of) else { continue };
            let size = picture.places.len() + 6 * picture.edges.len() + 120;
            if bytes + size > BYTES_MAX {
                left_out += 1;
                continue;
            }
            bytes += size;
            pictures.push((cell, series::name_of(&one.trial), picture));
        }
        pictures.sort_by_key(|(cell, ..)| *cell);
        let how_to_read = how_to_read(pictures.len(), left_out);
        let named = pictures.iter().enumerate().map(|(index, (cell, name, _))| {
            let label = configuration(&input.analysis.cells[*cell].configuration);
            (label, (index, name.clone()))
        });
        Self {
            options: grouped(named),
            how_to_read,
            data: pictures.into_iter().map(|(.., picture)| picture).collect(),
        }
    }
}

/// The first trial of each configuration, then the second of each, and so on, each with the index
/// of its cell.
fn by_turns<'a>(input: &ReportInput<'a>) -> Vec<(usize, &'a LoadedTrial)> {
    let mut turns = Vec::new();
    for (index, cell) in input.analysis.cells.iter().enumerate() {
        let own =
            input.run.trials.iter().filter(|one| one.trial.configuration == cell.configuration);
        turns.extend(own.enumerate().map(|(turn, one)| (turn, index, one)));
    }
    turns.sort_by_key(|(turn, ..)| *turn);
    turns.into_iter().map(|(_, index, one)| (index, one)).collect()
}

fn how_to_read(shown: usize, left_out: usize) -> String {
    let reading = "Each column is a time step, each field the transactions of that step that took \
                    so long: the darker, the larger their share, from one of 10 000 or fewer \
                    (lightest) to all (darkest). Two dark bands are two kinds of transactions; a \
                    column that reaches up is a stall. The shaded part is not counted.";
    if left_out == 0 {
        return unbroken(reading);
    }
    unbroken(&format!(
        "{reading} {shown} of {} are shown, to keep the page small; the others are in latency.hdr, \
         under Raw files.",
        format::trials(shown + left_out)
    ))
}

impl Picture {
    /// `None` where no transaction ended.
    fn of(latency: &TrialLatency) -> Option<Self> {
        let columns = columns(&latency.intervals);
        let steps = columns.iter().flat_map(|column| &column.counts).map(|(step, _)| *step);
        let (lowest, highest) = (steps.clone().min()?, steps.max()?);
        let joined = (highest - lowest + 1).div_ceil(ROWS_MAX);
        let rows = (highest - lowest) / joined + 1;
        let starts = columns.iter().map(|column| ChartNumber::whole(column.start_ms));
        let end =
            columns.last().map(|column| ChartNumber::whole(column.start_ms + column.length_ms));
        let from = step_start_ns(lowest) / 1e3;
        let mut places = String::new();
        for column in &columns {
            push_column(&mut places, column, |step| (step - lowest) / joined, rows);
        }
        Some(Self {
            edges: starts.chain(end).collect(),
            phases: columns.iter().map(|column| series::letter(column.phase)).collect(),
            from,
            factor: step_start_ns(lowest + joined) / 1e3 / from,
            rows,
            places,
        })
    }
}

/// Neighbours of the same phase, joined so that there are at most as many columns as a picture has.
fn columns(intervals: &[IntervalSteps]) -> Vec<IntervalSteps> {
    // Two phases end with a column that is not full.
    let merged = intervals.len().div_ceil(COLUMNS_MAX - 2).max(1);
    let phases = intervals.chunk_by(|one, next| one.phase == next.phase);
    phases.flat_map(|phase| phase.chunks(merged)).map(join).collect()
}

fn join(intervals: &[IntervalSteps]) -> IntervalSteps {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for (step, count) in intervals.iter().flat_map(|one| &one.counts) {
        let sum = counts.entry(*step).or_default();
        *sum = sum.saturating_add(*count);
    }
    let (first, last) = (intervals.first(), intervals.last());
    let start_ms = first.map_or(0.0, |one| one.start_ms);
    let end_ms = last.map_or(0.0, |one| one.start_ms + one.length_ms);
    IntervalSteps {
        phase: first.map_or(Phase::Measure, |one| one.phase),
        start_ms,
        length_ms: end_ms - start_ms,
        counts: counts.into_iter().collect(),
    }
}

fn push_column(places: &mut String, column: &IntervalSteps, row: impl Fn(u16) -> u16, rows: u16) {
    let all: f64 = column.counts.iter().map(|(_, count)| *count as f64).sum();
    let mut shares = vec![0.0; usize::from(rows)];
    for (step, count) in &column.counts {
        shares[usize::from(row(*step))] += *count as f64 / all;
    }
    let mut empty = 0;
    for share in shares {
        if share > 0.0 {
            push_empty(places, &mut empty);
            places.push(degree(share));
        } else {
            empty += 1;
        }
    }
    push_empty(places, &mut empty);
}

fn push_empty(places: &mut String, empty: &mut u8) {
    while *empty > 0 {
        let run = (*empty).min(EMPTY_RUN_MAX);
        places.push(char::from(b'a' + run - 1));
        *empty -= run;
    }
}

/// Darkness is by the logarithm: one slow transaction among thousands must be seen, too.
fn degree(share: f64) -> char {
    let last = DEGREES.len() - 1;
    let at = (1.0 - share.log10() / LIGHTEST.log10()) * last as f64;
    DEGREES[(at.round().max(0.0) as usize).min(last)]
}

#[cfg(test)]
mod tests {
    use truetps_record::LatencyInterval;

    use super::*;

    fn interval(second: u32, phase: Phase, counts: &[(u64, u64)]) -> LatencyInterval {
        LatencyInterval {
            phase,
            start_ms: f64::from(second) * 1e3,
            length_ms: 1e3,
            counts: counts.to_vec(),
        }
    }

    #[test]
    fn places_are_degrees_and_runs_of_nothing() {
        let latency = TrialLatency::of([
            interval(0, Phase::WarmUp, &[(256, 10)]),
            interval(1, Phase::Measure, &[]),
            interval(2, Phase::Measure, &[(256, 99_999), (279_180, 1)]),
        ]);
        let picture = Picture::of(&latency).unwrap();
        // 81 steps: two in each row.
        assert_eq!((picture.rows, picture.phases.as_str()), (41, "wmm"));
        assert!(
            (picture.from - 0.256).abs() < 1e-9 && (picture.factor - 2_f64.powf(0.25)).abs() < 1e-9
        );
        assert_eq!(picture.places, format!("Fzn{}{}", "zo", "Fzm1"));
        assert!(Picture::of(&TrialLatency::default()).is_none());
        assert!(Picture::of(&TrialLatency::of([interval(0, Phase::Measure, &[])])).is_none());
    }

    #[test]
    fn degrees_are_logarithmic() {
        let check = |share, expect| assert_eq!(degree(share), expect, "{share}");
        check(1.0, 'F');
        check(1e-4, '1');
        check(1e-9, '1');
        check(1e-2, '8');
    }

    #[test]
    fn an_hour_has_as_many_columns_as_a_minute() {
        let intervals = (0..3600).map(|second| {
            let phase = if second < 5 { Phase::WarmUp } else { Phase::Measure };
            interval(second, phase, &[(1_000_000, 500), (1 << (20 + second % 12), 1)])
        });
        let picture = Picture::of(&TrialLatency::of(intervals)).unwrap();
        assert!(
            picture.phases.len() <= COLUMNS_MAX && picture.rows <= ROWS_MAX,
            "{}",
            picture.phases.len()
        );
        assert!(picture.places.len() < 3000, "{}", picture.places.len());
    }
}
