// What all charts share: axes, drawing on the canvas (in its own pixels), and the life of a chart in the page.

const FONT = "12px system-ui, sans-serif";
const Y_AXIS_PX = 68;

// ---- Axes

/** Round numbers inside low..high: 1, 2, 5 of each power of ten, fewer where there are many powers. */
function logSplits(low, high) {
  const powers = Math.log10(high / low);
  const steps = powers <= 2.2 ? [1, 2, 5] : powers <= 3.2 ? [1, 3] : [1];
  const splits = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of steps) splits.push(step * 10 ** power);
  }
  const inside = splits.filter((value) => value >= low && value <= high);
  return inside.length >= 3 ? inside : linearSplits(low, high);
}

function linearSplits(low, high) {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const splits = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) splits.push(n * step);
  return splits;
}

function axis(changes) {
  const line = { stroke: colour("--grid"), width: 1 };
  return { stroke: colour("--muted"), font: FONT, grid: line, ticks: { ...line, size: 5 }, gap: 4, ...changes };
}

function yAxis(log, tick) {
  return axis({
    size: Y_AXIS_PX,
    splits: (_chart, _axis, low, high) => (log ? logSplits : linearSplits)(low, high),
    filter: (_chart, splits) => splits,
    values: (_chart, splits) => splits.map(tick),
  });
}

/** Texts of ticks at given numbers, without those that would run into their left neighbour. */
function spacedTexts(chart, splits) {
  let free = -Infinity;
  return splits.map((value) => {
    const text = grouped(value);
    const at = chart.valToPos(value, "x");
    const half = text.length * 3.6 + 3;
    if (at - half < free) return "";
    free = at + half;
    return text;
  });
}

// ---- Drawing

/** Runs `draw` with whole lines, and leaves the canvas' state as it was: uPlot keeps the dash of its last line. */
function paint(chart, draw) {
  chart.ctx.save();
  chart.ctx.setLineDash([]);
  draw(chart.ctx, uPlot.pxRatio);
  chart.ctx.restore();
}

function drawMarker(chart, { x, y }, { colour: name, marker }, { scale = 1, filled = true } = {}) {
  paint(chart, (ctx, px) => {
    ctx.translate(x, y);
    ctx.scale(px * scale, px * scale);
    ctx.fillStyle = colour(filled ? name : "--paper");
    ctx.strokeStyle = colour(filled ? "--paper" : name);
    ctx.lineWidth = 1.5;
    const path = new Path2D(marker);
    if (filled) ctx.stroke(path);
    ctx.fill(path);
    if (!filled) ctx.stroke(path);
  });
}

/**
 * A function that writes a text at the first of several spots `[x, y, align]` where it covers neither an earlier text nor
 * what is drawn: `drawn` has boxes of it.
 */
function labeller(chart, drawn) {
  const { ctx, bbox } = chart;
  const taken = [...drawn];
  const apart = (one, other) =>
    one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
  const clear = (box) => {
    const inside = box.left >= bbox.left && box.right <= ctx.canvas.width && box.top >= 0;
    return inside && box.bottom <= bbox.top + bbox.height && taken.every((other) => apart(box, other));
  };
  return (text, name, spots) =>
    paint(chart, (_, px) => {
      ctx.font = `600 ${12 * px}px system-ui, sans-serif`;
      const width = ctx.measureText(text).width;
      const boxes = spots.map(([x, y, align]) => {
        const left = x - width * { left: 0, centre: 0.5, right: 1 }[align];
        return { left, right: left + width, top: y - 8 * px, bottom: y + 8 * px };
      });
      const box = boxes.find(clear) ?? boxes[0];
      taken.push(box);
      ctx.textAlign = "left";
      ctx.textBaseline = "middle";
      ctx.lineJoin = "round";
      ctx.lineWidth = 4 * px;
      ctx.strokeStyle = colour("--paper");
      ctx.fillStyle = colour(name);
      ctx.strokeText(text, box.left, (box.top + box.bottom) / 2);
      ctx.fillText(text, box.left, (box.top + box.bottom) / 2);
    });
}

// ---- A chart in the page

/**
 * Keeps a chart drawn in `plot`, whatever its width and theme. `describe()` answers uPlot's options and columns;
 * `read(chart)` is called with the chart while the cursor is on it, and with null when it leaves. Answers a function
 * that draws the chart; call it once the data is complete.
 */
function mount(plot, describe, read) {
  let chart = null;
  const draw = () => {
    chart?.destroy();
    const { options, columns } = describe();
    const setCursor = [(moved) => read(moved.cursor.idx == null || moved.cursor.left < 0 ? null : moved)];
    const hooks = { ...options.hooks, setCursor };
    chart = new uPlot({ ...options, width: plot.clientWidth, legend: { show: false }, hooks }, columns, plot);
    read(null);
  };
  new ResizeObserver(() => chart && chart.width !== plot.clientWidth && draw()).observe(plot);
  plot.addEventListener("keydown", (event) => moveCursor(chart, event));
  redraws.push(draw);
  return draw;
}

/** Arrow keys, Home and End move the cursor of a chart from point to point; Escape takes it away. */
function moveCursor(chart, event) {
  const xs = chart.data[0];
  const last = xs.length - 1;
  const at = chart.cursor.left < 0 ? null : chart.cursor.idx;
  const targets = { ArrowLeft: at == null ? last : at - 1, ArrowRight: at == null ? 0 : at + 1, Home: 0, End: last };
  if (event.key in targets) {
    const index = Math.min(last, Math.max(0, targets[event.key]));
    chart.setCursor({ left: chart.valToPos(xs[index], "x"), top: chart.over.clientHeight / 2 });
  } else if (event.key === "Escape") {
    chart.setCursor({ left: -10, top: -10 });
  } else {
    return;
  }
  event.preventDefault();
}
