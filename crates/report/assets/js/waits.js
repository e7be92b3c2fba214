// What the sessions of one trial waited on over time, stacked, on the axis of the series above it.

/** Answers a function that shows the waits of another configuration's trials. */
function waitChart(figure) {
  const plot = figure.querySelector("[data-waits]");
  if (!plot) return () => {};
  const select = figure.querySelector("[data-wait-trial]");
  let lines = [];
  let trial = null;
  let layers = [];
  let show = () => {};
  const read = (chart) => show(chart && chart.posToVal(chart.cursor.left, "x"));
  const redraw = mount(plot, () => describeWaits(trial, layers, lines), read);
  const choose = () => {
    trial = lines.find((line) => line.name === select.value);
    layers = (trial?.waits.classes ?? []).map(waitLayer);
    show = waitLegend(figure.querySelector("[data-wait-legend]"), trial, layers, () => redraw());
    waitTable(figure.querySelector("[data-wait-table]"), trial);
    redraw();
  };
  select.addEventListener("change", choose);
  return (of) => {
    lines = of;
    const watched = lines.filter((line) => line.waits);
    select.replaceChildren(...watched.map((line) => element("option", { value: line.name }, `${line.name} (block ${line.block})`)));
    const stalled = (line) => (line.stalls ?? []).reduce((sum, [, length, isDip]) => sum + (isDip ? 0 : length), 0);
    const worst = watched.reduce((worst, line) => (worst && stalled(worst) >= stalled(line) ? worst : line), null);
    if (worst) select.value = worst.name;
    choose();
  };
}

/** Classes have the same colour in every trial. */
function waitLayer([name, sessions, colour]) {
  return { name, sessions, shown: true, look: { ...look(colour), dash: [], marker: null } };
}

function sessionsText(sessions) {
  if (sessions > 0 && sessions < 0.05) return "under 0.1 sessions";
  return `${sessions >= 9.95 ? grouped(Math.round(sessions)) : sessions.toFixed(1)} sessions`;
}

function waitLegend(holder, trial, layers, redraw) {
  const items = layers.map((layer) => ({ line: layer, look: layer.look, width: 10, label: layer.name }));
  const show = legend(holder, trial ? `waits in ${trial.name}` : "no waits were read of these trials", items, redraw);
  const mean = (layer) => {
    const length = (_, at) => trial.waits.edges[at + 1] - trial.waits.edges[at];
    const all = trial.waits.edges.at(-1) - trial.waits.edges[0];
    return layer.sessions.reduce((sum, sessions, at) => sum + sessions * length(sessions, at), 0) / Math.max(1, all);
  };
  return (second) => {
    const at = second == null || !trial ? -1 : trial.waits.edges.findIndex((edge) => edge > second * 1e3 + EDGE_TOLERANCE_MS) - 1;
    const head = second == null ? "on average" : `at second ${Math.max(0, second).toFixed(1)}`;
    const text = (layer) => {
      if (second == null) return sessionsText(mean(layer));
      return at < 0 ? "–" : sessionsText(layer.sessions[at]);
    };
    show(head, layers.map(text));
  };
}

function waitTable(details, trial) {
  const holder = details.querySelector(".scroll");
  holder.replaceChildren();
  details.ontoggle = () => {
    if (details.open && trial && !holder.firstChild) holder.append(waitRows(trial.waits));
  };
  details.ontoggle();
}

function waitRows({ edges, classes }) {
  const head = (text, scope) => element("th", { scope }, text);
  const heads = element("tr", {}, head("from second", "col"), ...classes.map(([name]) => head(name, "col")));
  const body = element("tbody");
  edges.slice(0, -1).forEach((edge, at) => {
    const figures = classes.map(([, sessions]) => element("td", {}, sessions[at].toFixed(2)));
    body.append(element("tr", {}, head((edge / 1e3).toFixed(1), "row"), ...figures));
  });
  return element("table", { className: "figures" }, element("thead", {}, heads), body);
}

function describeWaits(trial, layers, lines) {
  const shown = layers.filter((layer) => layer.shown);
  const edges = trial?.waits.edges ?? [0, 1];
  const totals = edges.slice(0, -1).map((_, at) => shown.reduce((sum, layer) => sum + layer.sessions[at], 0));
  const high = Math.max(0.1, ...totals);
  const end = lines.length === 0 ? 1 : endOf(lines) / 1e3;
  const options = {
    height: 180,
    padding: [8, 24, 0, 0],
    scales: { x: { time: false, range: (_chart, from, to) => [Math.max(0, from), Math.min(end, to)] }, y: { range: () => [0, high * 1.1] } },
    axes: [axis({ size: 30, values: (_chart, splits) => splits.map(tickNumber) }), yAxis(false, tickNumber)],
    series: [{}, { points: { show: false }, width: 0 }],
    cursor: { sync: { key: "seconds" }, y: false, points: { show: false }, drag: { x: true, y: false } },
    hooks: {
      drawClear: [(chart) => trial && shadePhases(chart, [trial]), (chart) => trial && shadeStalls(chart, [trial])],
      draw: [(chart) => drawLayers(chart, edges, shown)],
    },
  };
  // The axis is shared with the series: its ends are points, too.
  const inside = edges.map((edge) => edge / 1e3).filter((second) => second > 0 && second < end);
  const xs = [0, ...inside, end];
  return { options, columns: [xs, xs.map(() => 0)] };
}

function drawLayers(chart, edges, layers) {
  const { left, top, width, height } = chart.bbox;
  paint(chart, (ctx) => {
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    const heights = edges.slice(0, -1).map(() => 0);
    for (const layer of layers) {
      ctx.fillStyle = colour(layer.look.colour);
      layer.sessions.forEach((sessions, at) => {
        const [from, to] = [edges[at], edges[at + 1]].map((edge) => Math.round(chart.valToPos(edge / 1e3, "x", true)));
        const bottom = chart.valToPos(heights[at], "y", true);
        heights[at] += sessions;
        const upper = chart.valToPos(heights[at], "y", true);
        ctx.fillRect(from, upper, Math.max(1, to - from), bottom - upper);
      });
    }
  });
}
