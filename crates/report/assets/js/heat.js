// Response times of one trial over time: a field for each time step and time, the darker the larger its share.

const DEGREES = 15;
const LIGHTEST = 1e-4;

function heatChart(figure) {
  const select = figure.querySelector("select");
  const reading = figure.querySelector(".reading");
  let picture = unpack(data.heat[Number(select.value)]);
  const read = (chart) => {
    reading.textContent = chart ? columnText(picture, columnAt(picture, chart.cursor)(chart)) : wholeText(picture);
  };
  const redraw = mount(figure.querySelector(".plot"), () => describeHeat(picture), read);
  const choose = () => {
    picture = unpack(data.heat[Number(select.value)]);
    heatTable(figure.querySelector(".series-table"), picture);
    redraw();
  };
  select.addEventListener("change", choose);
  heatScale(figure.querySelector(".heat-scale"));
  choose();
}

/** Columns of degrees, 0 for nothing, from their text: a degree is `1` to `F`, `a` to `z` are 1 to 26 empty fields. */
function unpack(packed) {
  const degrees = [];
  for (const letter of packed.places) {
    if (letter >= "a") for (let empty = letter.charCodeAt(0) - 96; empty > 0; empty--) degrees.push(0);
    else degrees.push(parseInt(letter, 16));
  }
  const columns = [];
  for (let from = 0; from < degrees.length; from += packed.rows) columns.push(degrees.slice(from, from + packed.rows));
  return { ...packed, columns, edges: packed.edges.map((edge) => edge / 1e3) };
}

const rowStart = (picture, row) => picture.from * picture.factor ** row;

/** The smallest share that a degree stands for. */
const shareOf = (degree) => LIGHTEST ** (1 - (degree - 1) / (DEGREES - 1));

// ---- Words

/** A cursor that the keyboard put on an edge means the column that begins there. */
const columnAt = (picture, cursor) => (chart) => {
  const second = chart.posToVal(cursor.left, "x") + EDGE_TOLERANCE_MS / 1e3;
  const at = picture.edges.findIndex((edge) => edge > second) - 1;
  return at < 0 ? picture.columns.length - 1 : at;
};

/** Lowest, most frequent and highest row of a column; null where nothing ended. */
function rowsOf(degrees) {
  const lowest = degrees.findIndex((degree) => degree > 0);
  if (lowest < 0) return null;
  const most = degrees.indexOf(Math.max(...degrees));
  return { lowest, most, highest: degrees.findLastIndex((degree) => degree > 0) };
}

const between = (picture, row) => `${duration(rowStart(picture, row))} to ${duration(rowStart(picture, row + 1))}`;
const stepText = (picture, at) => `${picture.edges[at].toFixed(1)} to ${picture.edges[at + 1].toFixed(1)}`;

function columnText(picture, at) {
  const rows = rowsOf(picture.columns[at]);
  const when = `Second ${stepText(picture, at)}${PHASE_NOTES[picture.phases[at]]}`;
  if (!rows) return `${when}: no transaction ended.`;
  const share = Math.round(100 * shareOf(picture.columns[at][rows.most]));
  const most = `most (about ${Math.max(1, share)} %) ${between(picture, rows.most)}`;
  return `${when}: fastest ${between(picture, rows.lowest)}; ${most}; slowest ${between(picture, rows.highest)}.`;
}

function wholeText(picture) {
  const highest = Math.max(...picture.columns.map((column) => rowsOf(column)?.highest ?? -1));
  const at = picture.columns.findIndex((column) => column[highest] > 0);
  return `Slowest of the trial: ${between(picture, highest)}, in second ${stepText(picture, at)}.`;
}

function heatTable(details, picture) {
  const holder = details.querySelector(".scroll");
  holder.replaceChildren();
  details.ontoggle = () => {
    if (details.open && !holder.firstChild) holder.append(heatRows(picture));
  };
  details.ontoggle();
}

function heatRows(picture) {
  const head = (text, scope) => element("th", { scope }, text);
  const heads = element("tr", {}, ...["seconds", "fastest", "most took", "slowest"].map((text) => head(text, "col")));
  const body = element("tbody");
  picture.columns.forEach((column, at) => {
    const rows = rowsOf(column);
    const texts = rows ? [rows.lowest, rows.most, rows.highest].map((row) => between(picture, row)) : ["–", "–", "–"];
    const name = head(`${stepText(picture, at)}${PHASE_NOTES[picture.phases[at]]}`, "row");
    body.append(element("tr", {}, name, ...texts.map((text) => element("td", {}, text))));
  });
  return element("table", { className: "figures" }, element("thead", {}, heads), body);
}

// ---- The picture

function describeHeat(picture) {
  const end = picture.edges.at(-1);
  const low = rowStart(picture, 0);
  const high = rowStart(picture, picture.rows);
  const options = {
    height: 300,
    padding: [8, 24, 0, 0],
    scales: {
      x: { time: false, range: () => [0, end] },
      y: { distr: 3, range: () => [low, high] },
    },
    axes: [axis({ size: 30, values: (_chart, splits) => splits.map(tickNumber), grid: { show: false } }), yAxis(true, tickDuration)],
    series: [{}, { show: true, points: { show: false }, width: 0 }],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { drawClear: [(chart) => shadePhases(chart, [picture].map(inMilliseconds))], draw: [(chart) => drawHeat(chart, picture)] },
  };
  const xs = picture.edges.slice(0, -1);
  return { options, columns: [xs, xs.map(() => low)] };
}

/** As the charts of the series have their edges. */
const inMilliseconds = ({ edges, phases }) => ({ edges: edges.map((edge) => edge * 1e3), phases });

const opacity = (degree) => 0.1 + (0.9 * degree) / DEGREES;

function drawHeat(chart, picture) {
  paint(chart, (ctx) => {
    ctx.fillStyle = colour("--heat");
    picture.columns.forEach((column, at) => {
      const left = Math.round(chart.valToPos(picture.edges[at], "x", true));
      const right = Math.round(chart.valToPos(picture.edges[at + 1], "x", true));
      column.forEach((degree, row) => {
        if (degree === 0) return;
        const bottom = Math.round(chart.valToPos(rowStart(picture, row), "y", true));
        const top = Math.round(chart.valToPos(rowStart(picture, row + 1), "y", true));
        ctx.globalAlpha = opacity(degree);
        ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
      });
    });
  });
}

/** Light to dark, with what the ends stand for. */
function heatScale(holder) {
  const box = (degree) => {
    const made = element("i");
    made.style.opacity = opacity(degree);
    return made;
  };
  holder.append("1 of 10\u00a0000 ", ...[1, 4, 8, 12, 15].map(box), " all");
}
