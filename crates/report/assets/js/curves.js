// Throughput and response time against connections, or against the rate.

const MEASURES = {
  tps: { name: "tps", tick: tickNumber, better: (one, other) => one > other },
  p99: { name: "p99", tick: tickDuration, better: (one, other) => one < other },
};

/** Places on the axis, of all curves: numbers of connections, or rates. */
const LEVELS = [...new Set(data.curves.flatMap((curve) => curve.cells.map((cell) => cell.level)))];
LEVELS.sort((one, other) => one - other);
/** With one place there is no curve: the settings stand beside each other, this far apart at most. */
const ONE_LEVEL = LEVELS.length === 1;
const BESIDE_PX_MAX = 140;
/** Where the largest value is this many times the smallest, a linear axis would hide the small ones. */
const LOG_FROM_RATIO = 20;
/** Longer names stand in the legend alone. */
const END_LABEL_LETTERS_MAX = 12;

function curveChart(figure) {
  const measure = MEASURES[figure.dataset.measure];
  const lines = data.curves.map((curve, index) => ({ ...curve, index, look: look(index), shown: true }));
  const { low, high } = extent(lines, measure);
  // Against a logarithmic rate, a server that keeps up is a straight line on a logarithmic axis alone.
  const isTarget = data.axis === "rate" && measure.name === "tps";
  let log = isTarget || high / low > LOG_FROM_RATIO;
  let logX = true;

  const items = lines.map((line) => ({ line, look: line.look, width: lineWidth(line), label: lineLabel(line) }));
  const show = legend(figure.querySelector(".legend"), data.factors, items, () => redraw());
  const read = (chart) => {
    const level = chart && LEVELS[chart.cursor.idx];
    const head = chart ? `at ${levelText(level)}` : figure.dataset.rest;
    show(head, lines.map((line) => (chart ? textAt(line, level, measure) : bestText(line, measure))));
  };
  const redraw = mount(figure.querySelector(".plot"), () => describeCurves(lines, measure, { log, logX }), read);
  choice(figure.querySelector(".choice"), figure.id, ["log", "linear"], log ? "log" : "linear", (chosen) => {
    log = chosen === "log";
    redraw();
  });
  const below = figure.querySelector(".axis-below");
  const titleX = below.textContent;
  choice(figure.querySelector(".choice-x"), `${figure.id}-x`, ["log", "linear"], "log", (chosen) => {
    logX = chosen === "log";
    below.textContent = logX ? titleX : titleX.replace(" (log scale)", "");
    redraw();
  });
  redraw();
}

function levelText(level) {
  if (data.axis === "rate") return `a target rate of ${grouped(level)} tps`;
  return `${grouped(level)} connection${level === 1 ? "" : "s"}`;
}

/** What has to be known about the figures of a cell. */
function notes(cell) {
  const said = [cell.sustained === false && "not sustained", cell.limited && "generator-limited"].filter(Boolean);
  return said.map((note) => ` · ${note}`).join("");
}

const lineWidth = (line) => (line.baseline ? 3 : 2);
const lineLabel = (line) => (line.baseline && data.curves.length > 1 ? `${line.name} (baseline)` : line.name);

const cellsWith = (line, measure) => line.cells.filter((cell) => cell[measure.name]);

function textAt(line, level, measure) {
  const cell = cellsWith(line, measure).find((cell) => cell.level === level);
  return cell ? cell[measure.name].text + notes(cell) : "no valid trial";
}

function bestText(line, measure) {
  const cells = cellsWith(line, measure);
  if (cells.length === 0) return "no valid trial";
  const value = (cell) => cell[measure.name].value;
  const best = cells.reduce((best, cell) => (measure.better(value(cell), value(best)) ? cell : best));
  return `${best[measure.name].text} at ${grouped(best.level)}${notes(best)}`;
}

/** Lowest and highest value that a chart has to show, intervals and single trials included. */
function extent(lines, measure) {
  const cells = lines.filter((line) => line.shown).flatMap((line) => cellsWith(line, measure));
  const values = cells.flatMap((cell) => {
    const { value, range, trials } = cell[measure.name];
    return [value, ...(range ?? []), ...trials];
  });
  const positive = values.filter((value) => value > 0);
  return positive.length === 0 ? { low: 1, high: 10 } : { low: Math.min(...positive), high: Math.max(...positive) };
}

function describeCurves(lines, measure, { log, logX }) {
  const { low, high } = extent(lines, measure);
  const yRange = log ? [low / 1.3, high * 1.4] : [0, high * 1.12];
  const withRule = data.rule != null && !ONE_LEVEL;
  const xs = withRule ? [...LEVELS, data.rule] : LEVELS;
  const xRange = logX ? [Math.min(...xs) / 1.25, Math.max(...xs) * 1.25] : [0, Math.max(...xs) * 1.06];
  const endLabels = lines.length > 1 && lines.every((line) => line.name.length <= END_LABEL_LETTERS_MAX);
  const series = lines.map((line) => ({
    stroke: colour(line.look.colour),
    width: lineWidth(line),
    dash: line.look.dash,
    points: { show: false },
    spanGaps: true,
    show: line.shown,
  }));
  const options = {
    height: 380,
    padding: [26, endLabels ? 44 : 16, 0, 0],
    scales: {
      x: { time: false, distr: logX ? 3 : 1, range: () => xRange },
      y: { distr: log ? 3 : 1, range: () => yRange },
    },
    axes: [
      axis({ splits: () => LEVELS, filter: (_chart, splits) => splits, values: spacedTexts, size: 30 }),
      yAxis(log, measure.tick),
    ],
    series: [{}, ...series],
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    hooks: { drawAxes: references(measure, withRule), draw: [(chart) => drawCurves(chart, lines, measure, endLabels)] },
  };
  const value = (line, level) => cellsWith(line, measure).find((cell) => cell.level === level);
  const column = (line) => LEVELS.map((level) => value(line, level)?.[measure.name].value ?? null);
  return { options, columns: [LEVELS, ...lines.map(column)] };
}

/** What is drawn behind the curves to compare them with. */
function references(measure, withRule) {
  const drawn = withRule ? [drawRule] : [];
  return data.axis === "rate" && measure.name === "tps" ? [...drawn, drawTarget] : drawn;
}

/** Where throughput is the rate: a point on this line kept up with its schedule. */
function drawTarget(chart) {
  const { left, top, width, height } = chart.bbox;
  paint(chart, (ctx, px) => {
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.strokeStyle = colour("--muted");
    ctx.lineWidth = px;
    ctx.setLineDash([2 * px, 4 * px]);
    ctx.beginPath();
    // A straight line of a linear axis is a curve on the logarithmic one below.
    const { max } = chart.scales.x;
    const min = chart.scales.x.min || max / 1e4;
    for (let step = 0; step <= 100; step++) {
      const rate = min * (max / min) ** (step / 100);
      ctx.lineTo(chart.valToPos(rate, "x", true), chart.valToPos(rate, "y", true));
    }
    ctx.stroke();
  });
}

/** The rule "cores × 2 + spindles", as a line to compare the knees with. */
function drawRule(chart) {
  const { left, top, width, height } = chart.bbox;
  const x = chart.valToPos(data.rule, "x", true);
  const toLeft = x > left + width * 0.55;
  paint(chart, (ctx, px) => {
    ctx.strokeStyle = ctx.fillStyle = colour("--muted");
    ctx.lineWidth = px;
    ctx.setLineDash([4 * px, 4 * px]);
    ctx.beginPath();
    ctx.moveTo(x, top - 6 * px);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.font = `${12 * px}px system-ui, sans-serif`;
    ctx.textBaseline = "bottom";
    ctx.textAlign = toLeft ? "right" : "left";
    ctx.fillText(`rule: cores × 2 + spindles = ${grouped(data.rule)}`, x + (toLeft ? px : -px), top - 8 * px);
  });
}

function drawCurves(chart, lines, measure, endLabels) {
  const drawn = lines.filter((line) => line.shown).map((line) => ({ line, points: linePoints(chart, line, measure) }));
  const label = labeller(chart, drawn.flatMap(({ points }) => points.map(spreadBox)));
  for (const { line, points } of drawn) {
    points.forEach((point) => drawSpread(chart, point, line.look));
    const scale = line.baseline ? 1.15 : 1;
    points.forEach((point) => drawMarker(chart, point, line.look, { scale, filled: point.sustained !== false }));
    points.filter((point) => point.limited).forEach((point) => drawLimit(chart, point, line.look));
  }
  for (const { line, points } of drawn) if (endLabels) labelEnd(label, line, points.at(-1));
  const knees = drawn.flatMap(({ line, points }) => {
    const point = points.find((point) => point.level === line.knee);
    return point ? [{ ...point, colour: line.look.colour }] : [];
  });
  knees.forEach((knee) => drawKnee(chart, knee));
  labelKnees(label, knees);
}

function linePoints(chart, line, measure) {
  const count = data.curves.length;
  const apart = ONE_LEVEL ? Math.min(BESIDE_PX_MAX * uPlot.pxRatio, chart.bbox.width / (count + 1)) : 0;
  const shift = (line.index - (count - 1) / 2) * apart;
  const y = (value) => chart.valToPos(value, "y", true);
  return cellsWith(line, measure).map((cell) => {
    const { value, range, trials } = cell[measure.name];
    return {
      level: cell.level,
      sustained: cell.sustained,
      limited: cell.limited,
      x: chart.valToPos(cell.level, "x", true) + shift,
      y: y(value),
      range: range?.map(y),
      trials: trials.filter((trial) => trial > 0).map(y),
    };
  });
}

/** What the whisker and the trials of a point cover. */
function spreadBox({ x, y, range, trials }) {
  const px = uPlot.pxRatio;
  const ys = [y, ...(range ?? []), ...trials];
  return { left: x - 5 * px, right: x + 14 * px, top: Math.min(...ys) - 2 * px, bottom: Math.max(...ys) + 2 * px };
}

/** The 95 % interval as a whisker, and beside it each trial as a short stroke. */
function drawSpread(chart, { x, range, trials }, { colour: name }) {
  paint(chart, (ctx, px) => {
    const line = (x0, y0, x1, y1) => {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    };
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = 1.5 * px;
    for (const y of range ?? []) line(x - 4 * px, y, x + 4 * px, y);
    if (range) line(x, range[0], x, range[1]);
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = 1.25 * px;
    for (const y of trials) line(x + 7 * px, y, x + 13 * px, y);
  });
}

/** The generator limited this figure: a dashed square around it. */
function drawLimit(chart, { x, y }, { colour: name }) {
  paint(chart, (ctx, px) => {
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = 1.5 * px;
    ctx.setLineDash([3 * px, 2 * px]);
    ctx.strokeRect(x - 9 * px, y - 9 * px, 18 * px, 18 * px);
  });
}

function labelEnd(label, line, point) {
  if (!point) return;
  const px = uPlot.pxRatio;
  const spots = [0, -15, 15, -30, 30].map((down) => [point.x + 17 * px, point.y + down * px, "left"]);
  label(line.name, line.look.colour, spots);
}

function drawKnee(chart, { x, y, colour: name }) {
  paint(chart, (ctx, px) => {
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = 2 * px;
    ctx.beginPath();
    ctx.arc(x, y, 10 * px, 0, 2 * Math.PI);
    ctx.stroke();
  });
}

/** Each number once, at the highest of its knees: the circles show which curves have it. */
function labelKnees(label, knees) {
  const px = uPlot.pxRatio;
  for (const level of new Set(knees.map((knee) => knee.level))) {
    const own = knees.filter((knee) => knee.level === level).sort((one, other) => one.y - other.y);
    const name = own.length === 1 ? own[0].colour : "--text";
    const beside = [-21, -37, 23, 39].flatMap((down) => [
      [own[0].x, own[0].y + down * px, "centre"],
      [own[0].x - 15 * px, own[0].y + down * px, "right"],
      [own[0].x + 18 * px, own[0].y + down * px, "left"],
    ]);
    const spots = own.flatMap(({ x, y }) => [[x - 15 * px, y, "right"], [x + 18 * px, y, "left"]]);
    label(`knee ${grouped(level)}`, name, [...beside, ...spots]);
  }
}
