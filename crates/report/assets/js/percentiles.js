// Response times by percentile, on the scale of HdrHistogram: each further nine is as wide as the one before.

const POINTS_A_NINE = 10;
const NINES = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];

function percentileChart(figure) {
  const select = figure.querySelector("select");
  let log = true;
  let lines = percentileLines(data.percentiles.chosen);
  let show = () => {};
  const read = (chart) => {
    const at = chart && chart.data[0][chart.cursor.idx];
    const head = chart ? `at ${percentText(at)}` : "slowest of all";
    show(head, lines.map((line) => (chart ? timeAt(line, at) : duration(line.max))));
  };
  const redraw = mount(figure.querySelector(".plot"), () => describePercentiles(lines, log), read);
  const choose = (index) => {
    lines = percentileLines(index);
    const items = lines.map((line) => ({ line, look: line.look, width: line.width, label: line.name }));
    show = legend(figure.querySelector(".legend"), select ? data.factors : "configuration", items, redraw);
    redraw();
  };
  choice(figure.querySelector(".choice"), "percentile-axis", ["log", "linear"], "log", (chosen) => {
    log = chosen === "log";
    redraw();
  });
  if (select) {
    select.value = String(data.percentiles.chosen);
    select.addEventListener("change", () => choose(Number(select.value)));
  }
  choose(data.percentiles.chosen);
}

/** Lines with the places of their points: tenths of a nine, and the slowest transaction at the end. */
function percentileLines(group) {
  return data.percentiles.groups[group].lines.map((line) => {
    const end = Math.log10(line.transactions);
    const tenths = line.us.map((_, point) => point / POINTS_A_NINE).filter((nines) => nines < end);
    const us = [...line.us.slice(0, tenths.length), line.max];
    const look_ = { ...look(line.look), marker: null };
    return { ...line, shown: true, width: line.baseline ? 3 : 2, look: look_, xs: [...tenths, end], us };
  });
}

/** The share of transactions that were faster, with as many nines as it takes. */
function percentText(nines) {
  const decimals = Math.max(0, Math.ceil(nines) - 1);
  return `${(100 * (1 - 10 ** -nines)).toFixed(decimals)} %`;
}

function timeAt(line, nines) {
  const at = line.xs.findIndex((x) => x >= nines - 1e-9);
  if (at < 0) return "–";
  return at === line.xs.length - 1 ? `${duration(line.max)} (slowest)` : duration(line.us[at]);
}

function describePercentiles(lines, log) {
  const shown = lines.filter((line) => line.shown);
  const values = shown.flatMap((line) => line.us).filter((value) => value > 0);
  const [low, high] = values.length === 0 ? [1, 10] : [Math.min(...values), Math.max(...values)];
  const range = log ? [low / 1.3, high * 1.4] : [0, high * 1.1];
  const end = Math.max(1, ...lines.map((line) => line.xs.at(-1)));
  const series = lines.map((line) => ({
    stroke: colour(line.look.colour),
    width: line.width,
    dash: line.look.dash,
    points: { show: false },
    spanGaps: true,
    show: line.shown,
  }));
  const options = {
    height: 320,
    padding: [10, 30, 0, 0],
    scales: { x: { time: false, range: () => [0, end * 1.02] }, y: { distr: log ? 3 : 1, range: () => range } },
    axes: [axis({ size: 30, splits: () => NINES.map((_, nine) => nine).filter((nine) => nine <= end), filter: (_chart, splits) => splits, values: nineTexts }), yAxis(log, tickDuration)],
    series: [{}, ...series],
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    hooks: {},
  };
  return { options, columns: uPlot.join(lines.map((line) => [line.xs, line.us])) };
}

/** Without those that would run into their left neighbour. */
function nineTexts(chart, splits) {
  let free = -Infinity;
  return splits.map((nine) => {
    const at = chart.valToPos(nine, "x");
    const half = NINES[nine].length * 3.6 + 3;
    if (at - half < free) return "";
    free = at + half;
    return NINES[nine];
  });
}
