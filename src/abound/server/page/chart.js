// A line with its interval over the corrections, with dates, and a table of its points for screen readers.
import { axisOf } from "./dates.js";
import { h, svg } from "./dom.js";

const HIGH = 240;
const LEFT = 44;
const BOTTOM = 28;
const TICK_WIDTH = 140; // pixels between dates

/** Points have a value, its interval (low, high) and perhaps a time. */
export function lineChart(points, { title, table, wide }) {
  const right = Math.max(240, Math.min(1100, wide)); // drawn at its display width, so that letters keep their size
  const x = (i) => LEFT + (points.length > 1 ? (i / (points.length - 1)) * (right - LEFT - 12) : 0);
  const y = (value) => 10 + (1 - value) * (HIGH - BOTTOM - 10);
  const at = (value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`;
  const line = points.map(({ value }, i) => `${i ? "L" : "M"}${at(value, i)}`).join("");
  const above = points.map(({ high }, i) => `${i ? "L" : "M"}${at(high, i)}`).join("");
  const below = points.map(({ low }, i) => `L${at(low, i)}`).reverse().join("");
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: right - 12, y1: y(share), y2: y(share) }),
    svg("text", { class: "tick", x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}%`),
  ]);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${right} ${HIGH}`, role: "img", "aria-label": title },
    grid, dates(points, x, right),
    svg("path", { class: "interval", d: `${above}${below}Z` }),
    svg("path", { class: "line", d: line }),
    svg("circle", { class: "dot", cx: x(points.length - 1), cy: y(points.at(-1).value), r: 4 }));
  return h("figure", { class: "figure-chart" }, picture, h("details", {}, h("summary", {}, "As a table"), h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "The points of the chart" }, table)));
}

/** Dates or times below the first, the last and some points between; none is repeated. */
function dates(points, x, right) {
  const timed = points.map((point, i) => ({ ...point, i })).filter(({ time }) => time);
  if (!timed.length) return [];
  const most = Math.max(2, Math.floor((right - LEFT) / TICK_WIDTH));
  const chosen = [...new Set([...Array(most).keys()].map((n) => timed[Math.round((n / (most - 1)) * (timed.length - 1))]))];
  const words = axisOf(chosen.map(({ time }) => time));
  return chosen.flatMap(({ i }, n) => (!words[n] ? []
    : [svg("line", { class: "grid", x1: x(i), x2: x(i), y1: HIGH - BOTTOM, y2: HIGH - BOTTOM + 5 }),
      svg("text", { class: "tick date", x: x(i), y: HIGH - 6, "text-anchor": n === 0 ? "start" : i === points.length - 1 ? "end" : "middle" }, words[n])]));
}
