//! Throughput and p99 by connections as one picture, for a page.

use std::fmt::Write;

use truetps_archive::PoolRun;
use truetps_pool::CurvePoint;

use crate::document::Block;
use crate::format;

const WIDTH: f64 = 720.0;
const PANEL: f64 = 170.0;
const GAP: f64 = 34.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const POINTS_MIN: usize = 2;

/// A value for each point, on an axis that begins at 0.
struct Panel {
    title: &'static str,
    top: f64,
    value: fn(&CurvePoint) -> Option<f64>,
    highest: f64,
    show: fn(f64) -> String,
}

/// `None` where there is no curve.
pub(crate) fn picture(run: &PoolRun) -> Option<Block> {
    let curve = &run.findings.curve;
    if curve.len() < POINTS_MIN {
        return None;
    }
    let mut panels = [
        Panel {
            title: "transactions per second",
            top: TOP,
            value: |point| Some(point.tps),
            highest: 1.0,
            show: format::tps,
        },
        Panel {
            title: "p99 of response time",
            top: TOP + PANEL + GAP,
            value: |point| point.response_us_p99,
            highest: 1.0,
            show: format::duration_us,
        },
    ];
    for panel in &mut panels {
        panel.highest =
            round_up(curve.iter().filter_map(panel.value).fold(panel.highest, f64::max));
    }
    let height = TOP + 2.0 * PANEL + GAP + 40.0;
    let mut svg = format!(
        "<svg class=\"pool\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Throughput \
         and p99 by connections; the table below has the figures\" \
         xmlns=\"http://www.w3.org/2000/svg\">"
    );
    draw_marks(&mut svg, run, &panels);
    for panel in &panels {
        draw_panel(&mut svg, curve, panel);
    }
    draw_axis(&mut svg, curve, height);
    svg.push_str("</svg>");
    Some(Block::Picture(svg))
}

/// The end of an axis above this value: it and its half have two digits at most.
fn round_up(value: f64) -> f64 {
    const PARTS: [f64; 11] = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let power = 10.0_f64.powf(value.log10().floor());
    power * PARTS.into_iter().find(|part| part * power >= value).unwrap_or(10.0)
}

/// Where a number of connections is on the logarithmic axis.
fn x_of(curve: &[CurvePoint], connections: u32) -> f64 {
    let [first, last] = [curve.first(), curve.last()]
        .map(|end| f64::from(end.map_or(1, |one| one.connections)).ln());
    let share = (f64::from(connections).ln() - first) / (last - first).max(1e-9);
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

impl Panel {
    fn y_of(&self, value: f64) -> f64 {
        self.top + PANEL * (1.0 - value / self.highest)
    }
}

/// Upright lines over both panels, each with its word above.
fn draw_marks(svg: &mut String, run: &PoolRun, panels: &[Panel; 2]) {
    let marks = [
        (run.findings.advice, "advice", "mark-good"),
        (run.pool.current, "current", "mark"),
        (run.pool.rule.map(|rule| rule.connections), "rule", "mark"),
    ];
    for (row, (number, word, class)) in marks.into_iter().enumerate() {
        let Some(number) = number.filter(|number| run.findings.point(*number).is_some()) else {
            continue;
        };
        let x = x_of(&run.findings.curve, number);
        let (top, bottom) = (panels[0].top, panels[1].top + PANEL);
        // Words of near marks are above each other inside of the panel.
        let y = top + 11.0 + 12.0 * row as f64;
        let (anchor, dx) = if x > WIDTH / 2.0 { ("end", -4.0) } else { ("start", 4.0) };
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" \
             y2=\"{bottom}\"/><text class=\"{class}\" x=\"{:.1}\" y=\"{y}\" \
             text-anchor=\"{anchor}\">{word} {number}</text>",
            x + dx
        );
    }
}

fn draw_panel(svg: &mut String, curve: &[CurvePoint], panel: &Panel) {
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>",
        panel.top - 7.0,
        panel.title
    );
    for part in [0.0, 0.5, 1.0] {
        let (value, y) = (panel.highest * part, panel.y_of(panel.highest * part));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            if value > 0.0 { (panel.show)(value) } else { "0".to_owned() }
        );
    }
    let points = curve.iter().filter_map(|point| {
        Some((x_of(curve, point.connections), panel.y_of((panel.value)(point)?)))
    });
    let points: Vec<_> = points.collect();
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(svg, "<polyline class=\"curve\" points=\"{}\"/>", path.join(" "));
    for (x, y) in points {
        let _ = write!(svg, "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
    }
}

/// Powers of two, as far as they have room.
fn draw_axis(svg: &mut String, curve: &[CurvePoint], height: f64) {
    let mut right = f64::MIN;
    for point in curve.iter().filter(|point| point.connections.is_power_of_two()) {
        let x = x_of(curve, point.connections);
        if x - right > 28.0 {
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height - 22.0,
                point.connections
            );
            right = x;
        }
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">connections (log \
         scale)</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        height - 5.0
    );
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in
            [(10_340.0, 12_000.0), (91.8, 100.0), (20_670.0, 24_000.0), (1.0, 1.0), (0.055, 0.06)]
        {
            assert!((round_up(value) / end - 1.0).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
