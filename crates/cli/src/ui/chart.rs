//! Throughput and latency over time.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Sparkline, SparklineBar, Widget};
use truetps_record::{BUCKET_MS, Phase, TimeSpan};
use truetps_report::format;

use crate::ui::look::{FAINT, PLAIN, Palette, Pen, STRONG};
use crate::ui::model::{ChartStep, Running};

/// Room for numbers at the left: `12 350 `.
const LABEL: u16 = 8;
/// From this height on the times have a row.
const TIMES_FROM: u16 = 7;
/// Heights of bars are counted in this many steps.
const FINENESS: f64 = 10_000.0;

/// What of the trial is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Zoom {
    /// All of it, in steps as long as it takes.
    #[default]
    Whole,
    /// The end of it, in the shortest steps.
    Fine,
}

impl Zoom {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Whole => Self::Fine,
            Self::Fine => Self::Whole,
        }
    }
}

/// What each column shows, and how long that is. Steps that are joined begin at the beginning, so
/// that what has been drawn does not change.
pub(crate) fn columns(running: &Running, width: usize, zoom: Zoom) -> (Vec<ChartStep>, f64) {
    const BUCKETS: [usize; 3] = [1, 2, 5];
    const SECONDS: [usize; 6] = [1, 2, 5, 10, 30, 60];
    let buckets: Vec<_> = running.buckets.iter().copied().collect();
    let from = buckets.len().saturating_sub(width);
    if zoom == Zoom::Fine {
        return (buckets[from..].to_vec(), BUCKET_MS);
    }
    let seconds: Vec<_> = running.seconds.iter().copied().collect();
    let are_whole = !buckets.is_empty() && start_ms(&buckets) == start_ms(&seconds);
    if let Some(joined) =
        BUCKETS.into_iter().find(|joined| are_whole && buckets.len().div_ceil(*joined) <= width)
    {
        return (join(&buckets, joined), BUCKET_MS * joined as f64);
    }
    let joined = SECONDS
        .into_iter()
        .find(|joined| seconds.len().div_ceil(*joined) <= width)
        .unwrap_or(SECONDS[0]);
    let all = join(&seconds, joined);
    (all[all.len().saturating_sub(width)..].to_vec(), 1e3 * joined as f64)
}

fn start_ms(steps: &[ChartStep]) -> Option<f64> {
    steps.first().map(|step| step.start_ms)
}

fn join(steps: &[ChartStep], joined: usize) -> Vec<ChartStep> {
    let chunks = steps.chunk_by(|a, b| a.phase == b.phase).flat_map(|phase| phase.chunks(joined));
    chunks
        .map(|chunk| {
            let length_ms: f64 = chunk.iter().map(|step| step.length_ms).sum();
            let all: f64 = chunk.iter().map(|step| step.tps * step.length_ms).sum();
            ChartStep { length_ms, tps: all / length_ms.max(1.0), ..chunk[0] }
        })
        .collect()
}

fn is_stalled(step: &ChartStep, stalls: &[TimeSpan]) -> bool {
    stalls
        .iter()
        .any(|stall| stall.from_ms < step.end_ms() - 1.0 && stall.to_ms > step.start_ms + 1.0)
}

/// A number that is easily read, and not below this one: 1, 2, 3, 5 or 8 with zeros.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let digit =
        [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].into_iter().find(|digit| digit * power >= value);
    digit.unwrap_or(10.0) * power
}

/// Throughput with stalls marked below it.
pub(crate) fn throughput(
    pen: &mut Pen<'_>,
    area: Rect,
    running: &Running,
    counts: &str,
    zoom: Zoom,
) {
    let palette = pen.palette;
    let has_times = area.height >= TIMES_FROM;
    let height = area.height.saturating_sub(if has_times { 3 } else { 2 });
    let plot =
        Rect { x: area.x + LABEL, y: area.y + 1, width: area.width.saturating_sub(LABEL), height };
    let (steps, step_ms) = columns(running, plot.width.into(), zoom);
    let last = running.last.as_ref().filter(|_| !running.over);
    let now = last.map_or(String::new(), |last| format!("  {} now", format::tps(last.tps)));
    let mean =
        running.mean_tps().map_or(String::new(), |mean| format!(", mean {}", format::tps(mean)));
    pen.heading(
        area,
        &format!("{counts}{now}{mean}, a column is {}", format::duration_us(step_ms * 1e3)),
    );
    let max = round_up(steps.iter().map(|step| step.tps).fold(0.0, f64::max));
    pen.text(area, 0, 1, &right_aligned(&format::tps(max)), FAINT);
    pen.text(area, 0, height, &right_aligned("0"), FAINT);
    let bars: Vec<_> = steps
        .iter()
        .map(|step| {
            SparklineBar::from((step.tps / max * FINENESS) as u64).style(bar_style(
                step,
                &running.stalls,
                palette,
            ))
        })
        .collect();
    Sparkline::default().data(bars).max(FINENESS as u64).render(plot, pen.buffer);
    let marks = Rect { y: plot.y + height, height: 1, ..plot };
    pen.text(marks, 0, 0, &"─".repeat(steps.len()), FAINT);
    for (column, step) in steps.iter().enumerate() {
        let begins =
            column > 0 && step.phase == Phase::Measure && steps[column - 1].phase != Phase::Measure;
        if is_stalled(step, &running.stalls) {
            pen.text(marks, column as u16, 0, "▲", palette.stall());
        } else if begins {
            pen.text(marks, column as u16, 0, "┬", STRONG);
        }
    }
    if has_times {
        let times = Rect { y: marks.y + 1, ..marks };
        time_row(pen, times, &steps, &running.stalls);
    }
}

fn bar_style(step: &ChartStep, stalls: &[TimeSpan], palette: Palette) -> Style {
    match step.phase {
        _ if is_stalled(step, stalls) => palette.stall(),
        Phase::Measure => palette.bar(),
        Phase::WarmUp | Phase::Drain => FAINT,
    }
}

fn time_row(pen: &mut Pen<'_>, area: Rect, steps: &[ChartStep], stalls: &[TimeSpan]) {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
    let mut x = pen.text(area, 0, 0, &format!("{:.0} s", first.start_ms / 1e3), FAINT);
    let counted_from = steps
        .iter()
        .position(|step| step.phase == Phase::Measure && step.start_ms > first.start_ms);
    if let Some(column) = counted_from.map(|column| column as u16)
        && column > x
        && steps[0].phase != Phase::Measure
    {
        x = pen.text(area, column, 0, "counted from here", FAINT);
    }
    let end = format!("{:.0} s", last.end_ms() / 1e3);
    let end_at = (steps.len() as u16).saturating_sub(end.chars().count() as u16);
    if end_at > x + 1 {
        pen.text(area, end_at, 0, &end, FAINT);
    }
    if steps.iter().any(|step| is_stalled(step, stalls)) {
        const LEGEND: &str = "▲ stall";
        let at = area.width.saturating_sub(LEGEND.chars().count() as u16);
        if at > x + 1 && (at > steps.len() as u16 || at + 8 < end_at) {
            pen.text(area, at, 0, LEGEND, pen.palette.stall());
        }
    }
}

/// The 99th percentile of each interval, on a log scale.
pub(crate) fn latency(pen: &mut Pen<'_>, area: Rect, running: &Running) {
    let all: Vec<_> = running.p99_us.iter().copied().collect();
    let width = area.width.saturating_sub(LABEL);
    let shown = &all[all.len().saturating_sub(width.into())..];
    let known = shown.iter().flatten().copied().filter(|us| *us > 0.0);
    let (low, high) = (known.clone().fold(f64::MAX, f64::min), known.fold(0.0, f64::max));
    if high <= 0.0 {
        pen.text(area, 0, 0, "  p99", FAINT);
        return;
    }
    // At least a factor of ten from bottom to top: noise must not look like mountains.
    let floor = (low / 1.5).min(high / 10.0);
    let scale = (high / floor).ln();
    let bars: Vec<_> = shown
        .iter()
        .map(|us| {
            SparklineBar::from(us.map(|us| ((us / floor).ln() / scale * FINENESS).max(1.0) as u64))
        })
        .collect();
    let plot = Rect { x: area.x + LABEL, width, ..area };
    Sparkline::default()
        .data(bars)
        .max(FINENESS as u64)
        .style(PLAIN)
        .absent_value_symbol(" ")
        .render(plot, pen.buffer);
    if area.height > 1 {
        pen.text(area, 0, 0, &right_aligned(&format::duration_us(high)), FAINT);
        pen.text(area, 0, area.height / 2, &right_aligned("p99"), FAINT);
        pen.text(area, 0, area.height - 1, &right_aligned(&format::duration_us(floor)), FAINT);
    } else {
        pen.text(area, 0, 0, "p99 1 s", FAINT);
    }
}

fn right_aligned(text: &str) -> String {
    format!("{text:>7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_axis() {
        for (value, expect) in
            [(0.0, 1.0), (998.0, 1000.0), (1001.0, 1500.0), (8100.0, 10_000.0), (0.07, 0.08)]
        {
            assert!((round_up(value) / expect - 1.0).abs() < 1e-9, "{value}");
        }
    }

    fn running(seconds: usize) -> Running {
        let step = |start_ms: f64, length_ms| ChartStep {
            start_ms,
            length_ms,
            tps: 10.0,
            phase: Phase::Measure,
        };
        Running {
            seconds: (0..seconds).map(|at| step(at as f64 * 1e3, 1e3)).collect(),
            buckets: (0..seconds * 10).map(|at| step(at as f64 * 1e2, 1e2)).collect(),
            ..Running::default()
        }
    }

    #[test]
    fn steps_get_longer_so_that_the_whole_trial_is_seen() {
        for (seconds, expect_ms, expect) in [
            (5, 100.0, 50),
            (10, 200.0, 50),
            (20, 500.0, 40),
            (31, 1e3, 31),
            (100, 2e3, 50),
            (1000, 30e3, 34),
        ] {
            let (steps, step_ms) = columns(&running(seconds), 50, Zoom::Whole);
            assert_eq!((steps.len(), step_ms), (expect, expect_ms), "{seconds}");
            assert!(steps.iter().all(|step| (step.tps - 10.0).abs() < 1e-9));
        }
        let (steps, step_ms) = columns(&running(20), 50, Zoom::Fine);
        assert_eq!((steps.len(), step_ms, steps[0].start_ms), (50, 100.0, 15_000.0));
    }
}
