//! The layout of the picture for every size of a terminal.

use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use truetps_record::Phase;
use truetps_report::format;

use crate::ui::chart::{self, Zoom};
use crate::ui::look::{FAINT, PLAIN, Palette, Pen, STRONG, bar, below};
use crate::ui::model::{Model, Running, Subject};
use crate::ui::panels;

/// From this size on there are panels; below it a line for each.
const PANELS_FROM: u16 = 24;
/// From this width on three panels are beside each other.
const WIDE: u16 = 120;
/// Below this size no picture is drawn.
const SMALLEST: (u16, u16) = (30, 8);

/// The user's choices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PictureView {
    pub(crate) frozen: bool,
    pub(crate) help: bool,
    pub(crate) zoom: Zoom,
    /// The terminal can be read for keys.
    pub(crate) keys: bool,
}

/// When it is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// The run was asked to end.
    pub(crate) stopping: bool,
}

/// Draws all of it.
pub(crate) fn draw(
    model: &Model,
    view: PictureView,
    palette: Palette,
    now: Moment,
    buffer: &mut Buffer,
) {
    let area = *buffer.area();
    let pen = &mut Pen { buffer, palette };
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return tiny(pen, area, model, now);
    }
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(3), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    draw_header(pen, header, model, view, now);
    if view.help {
        draw_help(pen, body);
    } else if area.height >= PANELS_FROM {
        with_panels(pen, body, model, view);
    } else {
        with_lines(pen, body, model, view);
    }
    draw_footer(pen, footer, model, view, now);
}

/// What there is room for in a few letters.
fn tiny(pen: &mut Pen<'_>, area: Rect, model: &Model, now: Moment) {
    let last = model.running.as_ref().and_then(|running| running.last.as_ref());
    let text =
        last.map_or_else(|| "truetps".to_owned(), |last| format!("{} tps", format::tps(last.tps)));
    pen.text(area, 0, 0, if now.stopping { "STOPPING" } else { &text }, STRONG);
    pen.text(area, 0, 1, "the terminal is too small", FAINT);
}

/// What is done now: `measuring, 12 s`.
fn state(model: &Model, now: Moment) -> String {
    if let Some(doing) = &model.doing {
        let since = now.at.saturating_duration_since(doing.since);
        let seconds = if since < Duration::from_secs(2) {
            String::new()
        } else {
            format!(", {}", format::duration(since))
        };
        return format!("{}{}{seconds}", doing.step, doing.progress);
    }
    let Some(last) = model.running.as_ref().and_then(|running| running.last.as_ref()) else {
        return String::new();
    };
    let second = format!("{:.0} s", (last.start_ms + last.length_ms) / 1e3);
    if model.subject == Subject::Server {
        second
    } else if last.phase == Phase::Measure {
        format!("measuring, {second}")
    } else {
        format!("warm-up, not counted, {second}")
    }
}

fn draw_header(pen: &mut Pen<'_>, area: Rect, model: &Model, view: PictureView, now: Moment) {
    let x = pen.text(area, 0, 0, "truetps  ", STRONG);
    let end = pen.text(area, x, 0, &model.title, PLAIN);
    let word = match (now.stopping, view.frozen) {
        (true, _) => "STOPPING",
        (false, true) => "FROZEN",
        (false, false) => "",
    };
    if area.width > end + 10 {
        pen.right(area, 0, word, pen.palette.warning());
    }
    let Some(running) = &model.running else {
        pen.text(area, 0, 1, &state(model, now), STRONG);
        return;
    };
    let done = running.index + usize::from(running.over);
    let of = running.of.map_or(String::new(), |of| format!(" of {of}"));
    let trial = match model.subject {
        Subject::Trials => format!("trial {}{of}", running.index + 1),
        Subject::Server => "watched without a load".to_owned(),
    };
    let left =
        running.left.map_or(String::new(), |left| format!("left {}", format::duration(left)));
    pen.text(area, 0, 1, &trial, STRONG);
    pen.right(area, 1, &left, PLAIN);
    let from = trial.chars().count() as u16 + 2;
    let width = area.width.saturating_sub(from + left.chars().count() as u16 + 9);
    if let Some(of) = running.of.filter(|of| width >= 5 && *of > 1) {
        let share = done as f64 / of as f64;
        pen.text(area, from, 1, &"░".repeat(width.into()), FAINT);
        pen.text(area, from, 1, &bar(share, width), pen.palette.bar());
        pen.text(area, from + width + 1, 1, &format::percent(share), FAINT);
    }
    let state = state(model, now);
    let room = area.width.saturating_sub(state.chars().count() as u16 + 2);
    let left_part = Rect { width: room, ..area };
    pen.text(left_part, 0, 2, &running.configuration, PLAIN);
    pen.right(area, 2, &state, STRONG);
}

fn draw_footer(pen: &mut Pen<'_>, area: Rect, model: &Model, view: PictureView, now: Moment) {
    if now.stopping {
        let text = "stopping; measured data are kept; Ctrl-C again exits at once";
        pen.text(area, 0, 0, text, pen.palette.warning());
        return;
    }
    let mut x = 0;
    let keys: &[(&str, &str)] = match view {
        PictureView { keys: false, .. } => &[],
        PictureView { help: true, .. } => &[("?", "back"), ("q", "stop and summarise")],
        PictureView { frozen: true, .. } => {
            &[("p", "resume"), ("q", "stop and summarise"), ("?", "help")]
        }
        _ => &[("q", "stop and summarise"), ("p", "freeze"), ("s", "steps"), ("?", "help")],
    };
    for (key, what) in keys {
        x = pen.text(area, x, 0, key, STRONG);
        x = pen.text(area, x + 1, 0, what, FAINT) + 2;
    }
    let passed = format!(
        "{} since the start",
        format::duration(now.at.saturating_duration_since(model.begun))
    );
    if usize::from(x) + passed.chars().count() < area.width.into() {
        pen.right(area, 0, &passed, FAINT);
    }
}

fn draw_help(pen: &mut Pen<'_>, area: Rect) {
    const LINES: [(&str, &str); 12] = [
        ("q, Ctrl-C", "stop, keep the measured data, and summarise; again: exit at once"),
        ("p, space", "freeze or resume the view; the run continues"),
        ("s", "steps of 100 ms, or the whole trial"),
        ("Ctrl-Z", "suspend truetps and its load: the trial becomes invalid"),
        ("Ctrl-L", "redraw everything"),
        ("", ""),
        ("▲ stall", "under 30 % of the usual throughput of the last 30 s, for 0.2 s or longer"),
        ("┬", "from here on transactions count; before it is the warm-up"),
        ("p99", "99 of 100 transactions of that second ended within it"),
        ("states", "sessions that wait in this state of the server now"),
        ("waits", "sessions that waited on this, on average since the last reading"),
        ("redo", "age of the checkpoint, as a share of what the redo log has room for"),
    ];
    pen.heading(area, "help");
    let area = below(area);
    for (row, (key, text)) in LINES.iter().enumerate() {
        pen.text(area, 2, row as u16, key, STRONG);
        pen.text(area, 13, row as u16, text, PLAIN);
    }
}

/// Percentiles and failures of the last interval, and what server and host are at.
fn figures(running: &Running, palette: Palette) -> [Vec<Figure>; 2] {
    let Some(last) = &running.last else { return [Vec::new(), Vec::new()] };
    let response = &last.response;
    let mut first: Vec<_> = [
        duration("p50", response.response_us_p50),
        duration("p95", response.response_us_p95),
        duration("p99", response.response_us_p99),
        duration("max", response.response_us_max),
    ]
    .into_iter()
    .flatten()
    .collect();
    let failed = (format!("failed {}", format::count(running.failed)), palette.warning());
    first.extend((running.failed > 0).then_some(failed));
    let probe = &running.probe;
    let open = last.open_loop.as_ref();
    let second = [
        count("queue", open.map(|open| open.starts.queued)),
        duration("lag p99", open.and_then(|open| open.lag_us_p99)),
        count("skipped", open.map(|open| open.starts.skipped).filter(|skipped| *skipped > 0)),
        percent("redo", probe.redo_share),
        percent("host busy", probe.host_busy),
        percent("waits for disks", probe.io_pressure),
        count("threads running", probe.threads_running.map(|n| n as u64)),
        count("row-lock waits", probe.row_lock_waits.map(|n| n as u64).filter(|n| *n > 0)),
    ];
    [first, second.into_iter().flatten().collect()]
}

type Figure = (String, Style);

fn duration(name: &str, us: Option<f64>) -> Option<Figure> {
    us.map(|us| (format!("{name} {}", format::duration_us(us)), PLAIN))
}

fn percent(name: &str, share: Option<f64>) -> Option<Figure> {
    share.map(|share| (format!("{name} {:.0} %", share * 100.0), PLAIN))
}

fn count(name: &str, n: Option<u64>) -> Option<Figure> {
    n.map(|n| (format!("{name} {}", format::count(n)), PLAIN))
}

fn draw_figures(pen: &mut Pen<'_>, area: Rect, running: &Running) {
    let [first, second] = figures(running, pen.palette);
    pen.list(area, 0, &first);
    pen.list(area, 1, &second);
}

/// Nothing to draw yet.
fn not_yet(pen: &mut Pen<'_>, area: Rect, model: &Model) {
    pen.heading(area, model.subject.counts());
    let text = match model.subject {
        Subject::Trials => "no transaction has ended yet",
        Subject::Server => "the server was read once",
    };
    pen.text(below(area), 2, 0, text, FAINT);
}

/// The one row of the newest warning, where there is one.
fn warning_row(pen: &mut Pen<'_>, area: Rect, model: &Model) {
    let Some(last) = model.warnings.back() else { return };
    let more = model.warnings.len() - 1;
    let text = last.replace('\n', " ");
    let text = if more > 0 { format!("(+{more}) {text}") } else { text };
    pen.text(area, 0, 0, &text, pen.palette.warning());
}

fn with_lines(pen: &mut Pen<'_>, area: Rect, model: &Model, view: PictureView) {
    let warning = u16::from(!model.warnings.is_empty());
    let latency = u16::from(area.height >= 11);
    let [plot, figures, p99, lines, last] = Layout::vertical([
        Constraint::Min(3),
        Constraint::Length(2),
        Constraint::Length(latency),
        Constraint::Length(3),
        Constraint::Length(warning),
    ])
    .areas(area);
    if let Some(running) = model.running.as_ref().filter(|running| running.last.is_some()) {
        chart::throughput(pen, plot, running, model.subject.counts(), view.zoom);
        draw_figures(pen, figures, running);
        if model.subject == Subject::Trials {
            chart::latency(pen, p99, running);
        }
        panels::lines(pen, lines, model, running);
    } else {
        not_yet(pen, plot, model);
        panels::last_line(pen, lines, 0, model);
    }
    warning_row(pen, last, model);
}

fn with_panels(pen: &mut Pen<'_>, area: Rect, model: &Model, view: PictureView) {
    let warning = u16::from(!model.warnings.is_empty());
    let is_wide = area.width >= WIDE;
    let panel = (area.height / 4).clamp(5, 12);
    // What has no line yet leaves its room to the chart.
    let results = (model.outcomes.len() as u16 + 2).min(panel);
    let [plot, figures, p99, upper, lower, last] = Layout::vertical([
        Constraint::Min(6),
        Constraint::Length(2),
        Constraint::Length(if area.height >= 30 { 3 } else { 1 }),
        Constraint::Length(panel),
        Constraint::Length(if is_wide { 0 } else { results }),
        Constraint::Length(warning),
    ])
    .areas(area);
    let (waits, stalls, results) = if is_wide {
        let [waits, stalls, results] =
            Layout::horizontal([Constraint::Fill(2), Constraint::Length(30), Constraint::Fill(3)])
                .spacing(2)
                .areas(upper);
        (waits, stalls, results)
    } else {
        let [waits, stalls] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(30)])
            .spacing(2)
            .areas(upper);
        (waits, stalls, lower)
    };
    if let Some(running) = model.running.as_ref().filter(|running| running.last.is_some()) {
        chart::throughput(pen, plot, running, model.subject.counts(), view.zoom);
        draw_figures(pen, figures, running);
        if model.subject == Subject::Trials {
            chart::latency(pen, p99, running);
        }
        panels::waits(pen, waits, running);
        if model.subject == Subject::Trials {
            panels::stalls(pen, stalls, running);
        }
    } else {
        not_yet(pen, plot, model);
    }
    if model.subject == Subject::Trials {
        panels::results(pen, results, model);
    }
    warning_row(pen, last, model);
}
