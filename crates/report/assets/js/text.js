"use strict";

// Draws the charts of a report from the block of data at the end of its page. All text and every table are in the page
// already and stay useful without this. What is written into the page goes through textContent: nothing that a server
// or a user named is ever read as markup.
//
// This file: the data, and numbers as text by the same rules as in the rest of the report.

const data = JSON.parse(document.getElementById("report-data").textContent);

const THOUSANDS_SPACE = "\u00a0";

function grouped(value) {
  return value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, THOUSANDS_SPACE);
}

/** Four significant digits: 17.61, 802.3, 5 230. */
function rate(value) {
  if (!value) return "0";
  const rounded = Number(value.toPrecision(4));
  const decimals = Math.min(3, Math.max(0, 3 - Math.floor(Math.log10(rounded))));
  return decimals === 0 ? grouped(rounded) : rounded.toFixed(decimals);
}

/** Three significant digits with the unit that suits: 812 µs, 4.12 ms, 2.30 s. */
function duration(us) {
  if (us < 999.5) return `${threeDigits(us)} µs`;
  return us < 999500 ? `${threeDigits(us / 1e3)} ms` : `${threeDigits(us / 1e6)} s`;
}

function threeDigits(value) {
  if (value >= 99.95) return grouped(Math.round(value));
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** For the ticks of an axis: without zeros that say nothing. */
const tickDuration = (us) => duration(us).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
const tickNumber = (value) => (Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(3))));

const orDash = (value, text) => (value == null ? "–" : text(value));
const present = (values) => values.filter((value) => value != null);
