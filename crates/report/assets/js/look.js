// How a line looks (never by its colour alone: each has a dash and a marker too), and the legend that names it.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** The colour that a custom property of the style sheet has in the theme that is shown, for a canvas. */
const probe = document.body.appendChild(element("i", { hidden: true }));
/** Asked for with every point that is drawn, and slow to ask the page for: kept until the theme changes. */
const colours = new Map();
redraws.push(() => colours.clear());
function colour(name) {
  if (!colours.has(name)) {
    probe.style.color = `var(${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  return colours.get(name);
}

const COLOURS = 8;
const DASHES = [[], [7, 4], [2, 3], [11, 3, 2, 3]];
/** Outlines around 0,0 as SVG paths: circle, square, triangle, diamond, triangle down, plus. */
const MARKERS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
  "M-3.6-3.6h7.2v7.2h-7.2Z",
  "M0-5L4.6 3.4H-4.6Z",
  "M0-5.2L5.2 0L0 5.2L-5.2 0Z",
  "M0 5L4.6-3.4H-4.6Z",
  "M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z",
];
const TRIANGLE = MARKERS[2];

function look(index) {
  return {
    colour: `--line-${index % COLOURS}`,
    dash: DASHES[index % DASHES.length],
    marker: MARKERS[index % MARKERS.length],
  };
}

/** A piece of the line for the legend. */
function swatch({ colour, dash, marker }, width) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const set = (node, attributes) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  const path = (attributes) => {
    const node = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
    set(node, attributes);
    return node.style;
  };
  set(svg, { viewBox: "-18 -7 36 14", "aria-hidden": "true", class: "swatch" });
  path({ d: "M-17 0H17", "stroke-width": width, "stroke-dasharray": dash.join(" ") }).stroke = `var(${colour})`;
  if (marker) path({ d: marker }).fill = `var(${colour})`;
  return svg;
}

/**
 * Rows under a chart: what each line is, its value at the cursor, and a button that hides it. Answers a function that
 * shows a text above the values and the values.
 */
function legend(holder, title, items, onToggle) {
  const head = element("span", { className: "legend-head" });
  holder.replaceChildren(element("p", { className: "legend-title" }, title, head));
  const values = items.map((item) => {
    const value = element("span", { className: "legend-value" });
    const button = element("button", { type: "button", className: "legend-item", title: "Show or hide this line" });
    button.append(swatch(item.look, item.width), element("span", { className: "legend-label" }, item.label), value);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      item.line.shown = !item.line.shown;
      button.setAttribute("aria-pressed", String(item.line.shown));
      onToggle();
    });
    holder.append(button);
    return value;
  });
  return (headText, texts) => {
    head.textContent = headText;
    values.forEach((value, index) => (value.textContent = texts[index]));
  };
}

/** Radio buttons side by side: the arrow keys move between them. */
function choice(holder, name, options, chosen, onChange) {
  for (const option of options) {
    const input = element("input", { type: "radio", name, value: option, checked: option === chosen });
    input.addEventListener("change", () => onChange(option));
    holder.append(element("label", {}, input, element("span", {}, option)));
  }
}
