// The trials of one configuration over time: throughput, the queue of an open loop, and response times on the same axis.

const PHASE_NOTES = { w: " (warm-up)", m: "", d: " (drain)" };

function seriesCharts(figure) {
  const select = figure.querySelector("select");
  let lines = seriesLines(data.chosen);
  let show = () => {};
  const read = (chart) => {
    const last = endOf(lines) / 1e3 - 2 * (EDGE_TOLERANCE_MS / 1e3);
    show(chart && Math.min(last, chart.posToVal(chart.cursor.left, "x")));
  };
  const charts = [
    ["[data-throughput]", describeThroughput],
    ["[data-queue]", describeQueue],
    ["[data-response]", describeResponse],
  ];
  const draws = charts.flatMap(([selector, describe]) => {
    const plot = figure.querySelector(selector);
    return plot ? [mount(plot, () => describe(lines), read)] : [];
  });
  const redraw = () => draws.forEach((draw) => draw());
  const showWaits = waitChart(figure);
  const choose = (index) => {
    lines = seriesLines(index);
    show = seriesLegend(figure.querySelector("[data-trials]"), lines, redraw);
    seriesTable(figure.querySelector("[data-series-table]"), lines);
    showWaits(lines);
    redraw();
  };
  select.value = String(data.chosen);
  select.addEventListener("change", () => choose(Number(select.value)));
  choose(data.chosen);
}

function seriesLines(configuration) {
  return data.configurations[configuration].trials.map((at, index) => {
    const trial = data.trials[at];
    return { ...trial, shown: true, width: trial.note ? 1.25 : 2, look: { ...look(index), marker: null } };
  });
}

const endOf = (lines) => Math.max(...lines.map((line) => line.edges.at(-1)));

// ---- Legend and table

function seriesLegend(holder, lines, redraw) {
  const items = lines.map((line) => {
    const note = line.note ? `, ${line.note}` : "";
    return { line, look: line.look, width: line.width, label: `${line.name} (block ${line.block}${note})` };
  });
  const show = legend(holder, "trial", items, redraw);
  return (second) => {
    const head = second == null ? "whole measure phase" : `at second ${Math.max(0, second).toFixed(1)}`;
    show(head, lines.map((line) => (second == null ? line.total : intervalText(line, second))));
  };
}

/** A cursor that the keyboard put on an edge means the interval that begins there: a pixel's rounding must not matter. */
const EDGE_TOLERANCE_MS = 1;

function intervalText(line, second) {
  const at = line.edges.findIndex((edge) => edge > second * 1e3 + EDGE_TOLERANCE_MS) - 1;
  if (at < 0) return "–";
  const times = `p99 ${orDash(line.p99[at], duration)} · max ${orDash(line.max[at], duration)}`;
  if (!line.open) return `${rate(line.tps[at])} tps · ${times}`;
  const { scheduled, queue, lag } = line.open;
  const queued = `lag p99 ${orDash(lag[at], duration)} · queue ${grouped(queue[at])}`;
  return `${rate(line.tps[at])} of ${rate(scheduled[at])} tps · ${times} · ${queued}`;
}

/** The same figures as a table, made when it is opened. */
function seriesTable(details, lines) {
  const holder = details.querySelector(".scroll");
  holder.replaceChildren();
  details.ontoggle = () => {
    if (details.open && !holder.firstChild) holder.append(tableOf(lines));
  };
  details.ontoggle();
}

/** Name of each column of a trial, and its text of an interval. */
const COLUMNS = [
  ["tps", (line, at) => orDash(line.tps[at], rate)],
  ["p99", (line, at) => orDash(line.p99[at], duration)],
  ["max", (line, at) => orDash(line.max[at], duration)],
];
const OPEN_COLUMNS = [
  ["scheduled", (line, at) => orDash(line.open.scheduled[at], rate)],
  ["lag p99", (line, at) => orDash(line.open.lag[at], duration)],
  ["queue", (line, at) => orDash(line.open.queue[at], grouped)],
];

function tableOf(lines) {
  const head = (text, changes = {}) => element("th", { scope: "col", ...changes }, text);
  const columnsOf = (line) => (line.open ? [...COLUMNS, ...OPEN_COLUMNS] : COLUMNS);
  const names = lines.map((line) => head(line.name, { scope: "colgroup", colSpan: columnsOf(line).length }));
  const columns = lines.flatMap((line) => columnsOf(line).map(([text]) => head(text)));
  const heads = element("thead", {}, element("tr", {}, head(""), ...names), element("tr", {}, head("from second"), ...columns));
  const longest = lines.reduce((longest, line) => (line.tps.length > longest.tps.length ? line : longest));
  const body = element("tbody");
  longest.tps.forEach((_, at) => {
    const second = `${(longest.edges[at] / 1e3).toFixed(1)}${PHASE_NOTES[longest.phases[at]]}`;
    const figures = lines.flatMap((line) => columnsOf(line).map(([, text]) => text(line, at)));
    const row = figures.map((text) => element("td", {}, text));
    body.append(element("tr", {}, head(second, { scope: "row" }), ...row));
  });
  return element("table", { className: "figures" }, heads, body);
}

// ---- Charts

function describeThroughput(lines) {
  const shown = lines.filter((line) => line.shown);
  const steps = (line) => line.fine ?? line;
  const high = Math.max(1, ...shown.flatMap((line) => [...steps(line).tps, ...(line.open?.scheduled ?? [])]));
  return describeSeries(lines, (line) => steps(line).tps, {
    edges: (line) => steps(line).edges,
    height: 260,
    scales: { y: { range: () => [0, high * 1.1] } },
    axes: [yAxis(false, tickNumber)],
    hooks: { draw: [(chart) => shown.forEach((line) => drawSchedule(chart, line))] },
  });
}

/** Starts that wait for a client: a closed loop has none. */
function describeQueue(lines) {
  const queue = (line) => line.open?.queue ?? line.tps.map(() => null);
  const high = Math.max(1, ...present(lines.filter((line) => line.shown).flatMap(queue)));
  return describeSeries(lines, queue, {
    height: 140,
    scales: { y: { range: () => [0, high * 1.1] } },
    axes: [yAxis(false, tickNumber)],
    hooks: {},
  });
}

/** The rate of the schedule, as thin dotted steps. */
function drawSchedule(chart, line) {
  if (!line.open) return;
  const { left, top, width, height } = chart.bbox;
  const x = (ms) => chart.valToPos(ms / 1e3, "x", true);
  paint(chart, (ctx, px) => {
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.strokeStyle = colour("--text");
    ctx.lineWidth = px;
    ctx.setLineDash([1.5 * px, 3 * px]);
    ctx.beginPath();
    line.open.scheduled.forEach((scheduled, at) => {
      if (line.phases[at] === "d") return;
      const y = chart.valToPos(scheduled, "y", true);
      ctx.lineTo(x(line.edges[at]), y);
      ctx.lineTo(x(line.edges[at + 1]), y);
    });
    ctx.stroke();
  });
}

function describeResponse(lines) {
  const shown = lines.filter((line) => line.shown);
  const values = present(shown.flatMap((line) => [...line.p99, ...line.max])).filter((value) => value > 0);
  const range = values.length === 0 ? [1, 10] : [Math.min(...values) / 1.4, Math.max(...values) * 1.6];
  return describeSeries(lines, (line) => line.p99, {
    height: 200,
    scales: { y: { distr: 3, range: () => range } },
    axes: [yAxis(true, tickDuration)],
    hooks: { draw: [(chart) => drawMaxima(chart, shown)] },
  });
}

/** Each trial has edges of its own; joined on one axis, a column has gaps only where its trial had nothing to show. */
function describeSeries(lines, column, { height, scales, axes, hooks, edges = (line) => line.edges }) {
  const end = endOf(lines) / 1e3;
  const series = lines.map((line) => ({
    stroke: colour(line.look.colour),
    width: line.width,
    dash: line.look.dash,
    paths: uPlot.paths.stepped({ align: 1 }),
    points: { show: false },
    show: line.shown,
  }));
  const options = {
    height,
    padding: [8, 24, 0, 0],
    scales: { x: { time: false, range: (_chart, from, to) => [Math.max(0, from), Math.min(end, to)] }, ...scales },
    axes: [axis({ size: 30, values: (_chart, splits) => splits.map(tickNumber) }), ...axes],
    series: [{}, ...series],
    cursor: { sync: { key: "seconds" }, y: false, points: { show: false }, drag: { x: true, y: false } },
    hooks: { drawClear: [(chart) => shadePhases(chart, lines), (chart) => shadeStalls(chart, lines)], ...hooks },
  };
  const table = (line) => [edges(line).map((edge) => edge / 1e3), [...column(line), column(line).at(-1)]];
  return { options, columns: uPlot.join(lines.map(table)) };
}

/** Shades what is not counted: warm-up at the left, drain at the right. */
function shadePhases(chart, lines) {
  const measured = lines
    .map((line) => ({ edges: line.edges, first: line.phases.indexOf("m"), last: line.phases.lastIndexOf("m") }))
    .filter(({ first }) => first >= 0);
  shade(chart, 0, Math.max(0, ...measured.map(({ edges, first }) => edges[first])), "warm-up");
  shade(chart, Math.min(...measured.map(({ edges, last }) => edges[last + 1])), endOf(lines), "drain");
}

function shade(chart, fromMs, toMs, text) {
  const { left, top, width, height } = chart.bbox;
  const x = (ms) => Math.min(left + width, Math.max(left, chart.valToPos(ms / 1e3, "x", true)));
  const [from, to] = [x(fromMs), x(toMs)];
  if (!(to > from)) return;
  paint(chart, (ctx, px) => {
    ctx.fillStyle = colour("--shade");
    ctx.fillRect(from, top, to - from, height);
    ctx.fillStyle = colour("--muted");
    ctx.font = `${11 * px}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    if (ctx.measureText(text).width + 10 * px < to - from) ctx.fillText(text, from + 5 * px, top + 5 * px);
  });
}

/** Narrower than this a stall would not be seen. */
const STALL_PX_MIN = 2;

function shadeStalls(chart, lines) {
  const { left, top, width, height } = chart.bbox;
  const { min, max } = chart.scales.x;
  paint(chart, (ctx, px) => {
    for (const [start, length, isDip] of lines.filter((line) => line.shown).flatMap((line) => line.stalls ?? [])) {
      if ((start + length) / 1e3 < min || start / 1e3 > max) continue;
      const from = Math.max(left, chart.valToPos(start / 1e3, "x", true));
      const to = Math.min(left + width, chart.valToPos((start + length) / 1e3, "x", true));
      ctx.fillStyle = colour(isDip ? "--dip" : "--stall");
      ctx.fillRect(from, top, Math.max(STALL_PX_MIN * px, to - from), height);
    }
  });
}

/** Steps narrower than this have dots for their maxima: triangles would run into each other. */
const TRIANGLE_STEP_PX_MIN = 9;
const DOT_PX = 2;

/** The slowest transaction of each interval, as a small triangle over the middle of its step. */
function drawMaxima(chart, lines) {
  const { min, max } = chart.scales.x;
  for (const line of lines) {
    const steps = line.edges.filter((edge) => edge >= min * 1e3 && edge <= max * 1e3).length;
    const narrow = chart.over.clientWidth / steps < TRIANGLE_STEP_PX_MIN;
    line.max.forEach((value, at) => {
      const second = (line.edges[at] + line.edges[at + 1]) / 2e3;
      if (value == null || second < min || second > max) return;
      const spot = { x: chart.valToPos(second, "x", true), y: chart.valToPos(value, "y", true) };
      if (narrow) drawDot(chart, spot, line.look.colour);
      else drawMarker(chart, spot, { colour: line.look.colour, marker: TRIANGLE }, { scale: 0.8, filled: false });
    });
  }
}

function drawDot(chart, { x, y }, name) {
  paint(chart, (ctx, px) => {
    ctx.fillStyle = colour(name);
    ctx.fillRect(x - (DOT_PX / 2) * px, y - (DOT_PX / 2) * px, DOT_PX * px, DOT_PX * px);
  });
}
