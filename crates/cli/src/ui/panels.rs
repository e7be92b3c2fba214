//! The panels below the chart: waits, stalls, results.

use ratatui::layout::Rect;
use truetps_analysis::{LiveWait, StallsSoFar};
use truetps_report::format;

use crate::ui::look::{FAINT, PLAIN, Pen, STRONG, bar, below, cut, cut_front};
use crate::ui::model::{FinishedTrial, Model, Running, Subject};

/// Columns of a wait's name, and of its number.
const NAME_MAX: u16 = 34;
const NUMBER: u16 = 6;
const STATES: &str = "states, sessions";
const TIMED: &str = "waits, sessions";

/// A line for each panel, where there is no room for more.
pub(crate) fn lines(pen: &mut Pen<'_>, area: Rect, model: &Model, running: &Running) {
    pen.text(area, 0, 0, "waits", STRONG);
    let states = running.probe.states.as_ref().or(running.probe.timed.as_ref());
    let text = match states.filter(|_| running.probe.outage.is_none()) {
        None => not_read(running),
        Some(waits) if waits.is_empty() => "none".to_owned(),
        Some(waits) => waits
            .iter()
            .map(|wait| format!("{} {}", wait.name, sessions(wait)))
            .collect::<Vec<_>>()
            .join(", "),
    };
    pen.text(area, 8, 0, &text, PLAIN);
    if model.subject == Subject::Server {
        return;
    }
    pen.text(area, 0, 1, "stalls", STRONG);
    let style = if running.so_far.count > 0 { pen.palette.stall() } else { PLAIN };
    pen.text(area, 8, 1, &stalls_text(running), style);
    last_line(pen, area, 2, model);
}

pub(crate) fn last_line(pen: &mut Pen<'_>, area: Rect, row: u16, model: &Model) {
    let Some(outcome) = model.outcomes.back() else { return };
    pen.text(area, 0, row, "last", STRONG);
    let p99 =
        outcome.p99_us.map_or(String::new(), |us| format!("p99 {}  ", format::duration_us(us)));
    let text = match (&outcome.not_valid, outcome.tps) {
        (Some(reason), _) => format!("NOT VALID: {reason}"),
        (None, tps) => {
            format!(
                "{} tps  {p99}stalls {}  {}",
                format::or_nothing(tps, format::tps),
                stalls_of(outcome),
                outcome.configuration
            )
        }
    };
    pen.text(area, 8, row, &text, PLAIN);
}

/// `2, longest 1.90 s`, and the one that goes on.
fn stalls_text(running: &Running) -> String {
    let so_far = running.so_far;
    if so_far.count == 0 {
        return if so_far.judged { "none" } else { "not enough data yet" }.to_owned();
    }
    let longest =
        format!("{}, longest {}", so_far.count, format::duration_us(so_far.longest_ms * 1e3));
    match so_far.going_on_ms {
        Some(ms) => format!("STALL for {} now; {longest}", format::duration_us(ms * 1e3)),
        None => longest,
    }
}

/// The number of a trial's stalls, and a dash if it is unknown.
fn stalls_of(outcome: &FinishedTrial) -> String {
    match outcome.stalls {
        StallsSoFar { judged: false, .. } => format::NOTHING.to_owned(),
        StallsSoFar { count, .. } => count.to_string(),
    }
}

fn sessions(wait: &LiveWait) -> String {
    if wait.sessions >= 9.95 || wait.sessions.fract() == 0.0 {
        format!("{:.0}", wait.sessions)
    } else {
        format!("{:.1}", wait.sessions)
    }
}

/// Why there are no waits.
fn not_read(running: &Running) -> String {
    let outage = running.probe.outage.map(|outage| format::duration_us(outage.length_ms() * 1e3));
    outage.map_or("not read".to_owned(), |length| format!("no answer from the server for {length}"))
}

pub(crate) fn waits(pen: &mut Pen<'_>, area: Rect, running: &Running) {
    let probe = &running.probe;
    match (probe.outage, &probe.states, &probe.timed) {
        (Some(_), ..) | (None, None, None) => {
            pen.heading(area, "waits");
            pen.text(below(area), 2, 0, &not_read(running), FAINT);
        }
        (None, Some(states), None) => wait_rows(pen, area, STATES, states),
        (None, None, Some(timed)) => wait_rows(pen, area, TIMED, timed),
        (None, Some(states), Some(timed)) => {
            // The second one has what the first one does not need.
            let rows =
                wanted_rows(states).min(area.height - wanted_rows(timed).min(area.height / 2));
            wait_rows(pen, Rect { height: rows, ..area }, STATES, states);
            let rest = Rect { y: area.y + rows, height: area.height - rows, ..area };
            wait_rows(pen, rest, TIMED, timed);
        }
    }
}

fn wanted_rows(waits: &[LiveWait]) -> u16 {
    waits.len().max(1) as u16 + 1
}

fn wait_rows(pen: &mut Pen<'_>, area: Rect, heading: &str, waits: &[LiveWait]) {
    pen.heading(area, heading);
    let area = below(area);
    if waits.is_empty() {
        pen.text(area, 2, 0, "none", FAINT);
        return;
    }
    let name = NAME_MAX.min(area.width * 3 / 5);
    let width = area.width.saturating_sub(name + NUMBER + 1);
    let most = waits.iter().map(|wait| wait.sessions).fold(1.0, f64::max);
    for (row, wait) in waits.iter().enumerate() {
        let row = row as u16;
        pen.text(area, 0, row, &cut(&wait.name, name.into()), PLAIN);
        pen.text(area, name, row, &format!("{:>5}", sessions(wait)), STRONG);
        pen.text(area, name + NUMBER, row, &bar(wait.sessions / most, width), pen.palette.bar());
    }
}

pub(crate) fn stalls(pen: &mut Pen<'_>, area: Rect, running: &Running) {
    pen.heading(area, "stalls");
    let area = below(area);
    let so_far = running.so_far;
    if running.stalls.is_empty() {
        pen.text(area, 2, 0, &stalls_text(running), FAINT);
        return;
    }
    let style = pen.palette.stall();
    let longest = running.stalls.iter().map(|stall| stall.length_ms()).fold(0.0, f64::max);
    let head = format!("{}, longest {}", running.stalls.len(), format::duration_us(longest * 1e3));
    pen.text(area, 0, 0, &head, style);
    for (row, stall) in running.stalls.iter().rev().enumerate() {
        let goes_on = row == 0 && so_far.going_on_ms.is_some();
        let length = format::duration_us(stall.length_ms() * 1e3);
        let text = format!(
            "at {:>7.1} s {:>8}{}",
            stall.from_ms / 1e3,
            length,
            if goes_on { "  goes on" } else { "" }
        );
        let style = if goes_on { style } else { PLAIN };
        pen.text(area, 0, row as u16 + 1, &text, style);
    }
}

/// Room for `12 350`, `836 ms`, `12` and `1 234` with what stands above them.
const COLUMNS: [(&str, u16); 4] = [("tps", 9), ("p99", 9), ("stalls", 7), ("failed", 7)];

pub(crate) fn results(pen: &mut Pen<'_>, area: Rect, model: &Model) {
    pen.heading(area, "results, newest first");
    let area = below(area);
    if model.outcomes.is_empty() {
        pen.text(area, 2, 0, "no trial has ended yet", FAINT);
        return;
    }
    let figures: u16 = COLUMNS.iter().map(|(_, width)| width).sum();
    let name = area.width.saturating_sub(figures);
    let mut x = name;
    for (heading, width) in COLUMNS {
        pen.text(area, x, 0, &format!("{heading:>width$}", width = width.into()), FAINT);
        x += width;
    }
    for (row, outcome) in model.outcomes.iter().rev().enumerate() {
        result_row(pen, area, row as u16 + 1, outcome, name);
    }
}

fn result_row(pen: &mut Pen<'_>, area: Rect, row: u16, outcome: &FinishedTrial, name: u16) {
    let twin = if outcome.is_twin { " (twin)" } else { "" };
    let number = format!("{} ", outcome.number);
    // What tells configurations apart is rather at the end.
    let room = usize::from(name).saturating_sub(number.len());
    let label = cut_front(&format!("{}{twin}", outcome.configuration), room);
    pen.text(area, 0, row, &(number + &label), PLAIN);
    if let Some(reason) = &outcome.not_valid {
        pen.text(area, name + 1, row, &format!("NOT VALID: {reason}"), pen.palette.warning());
        return;
    }
    let texts = [
        format::or_nothing(outcome.tps, format::tps),
        format::or_nothing(outcome.p99_us, format::duration_us),
        stalls_of(outcome),
        format::count(outcome.failed),
    ];
    let mut x = name;
    for ((_, width), text) in COLUMNS.into_iter().zip(texts) {
        let style = if outcome.stalls.count > 0 { STRONG } else { PLAIN };
        pen.text(area, x, row, &format!("{text:>width$}", width = width.into()), style);
        x += width;
    }
}
