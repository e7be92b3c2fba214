// What every page has: the theme, printing, and tables that scroll.

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
/** A function for each thing that is drawn in colours of the theme: after a change of it, before and after printing. */
const redraws = [];
const redrawAll = () => redraws.forEach((draw) => draw());

function themeButton(holder) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  const refresh = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
    redrawAll();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    refresh();
  });
  dark.addEventListener("change", refresh);
  holder.append(button);
  refresh();
}

/** Paper is white and narrow, and cannot open what is folded. */
function preparePrinting() {
  let theme;
  let opened = [];
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("printing");
    opened = [...document.querySelectorAll("details[data-print]:not([open])")];
    opened.forEach((details) => (details.open = true));
    redrawAll();
  });
  addEventListener("afterprint", () => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    root.classList.remove("printing");
    opened.forEach((details) => (details.open = false));
    redrawAll();
  });
}

/** A table that is wider than the page says that it scrolls. */
function markScrolling() {
  const mark = (box) => box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
  // In the next frame: the mark changes the height that is observed.
  const watch = new ResizeObserver((entries) => {
    const boxes = new Set(entries.map(({ target }) => target.closest(".scroll")));
    requestAnimationFrame(() => boxes.forEach(mark));
  });
  document.querySelectorAll(".scroll").forEach((box) => {
    watch.observe(box);
    if (box.firstElementChild) watch.observe(box.firstElementChild);
  });
}

markScrolling();
themeButton(document.querySelector(".top > div"));
preparePrinting();
