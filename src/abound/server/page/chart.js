// A line chart of the last corrections, with a table of its points for screen readers.
import { h, svg } from "./dom.js";

const HIGH = 220;
const LEFT = 44;
const BOTTOM = 26;

export function lineChart(points, { title, from, to, table, wide }) {
  const right = Math.max(300, Math.min(1100, wide)); // drawn at its display width, so that letters keep their size
  const x = (i) => LEFT + (points.length > 1 ? (i / (points.length - 1)) * (right - LEFT - 12) : 0);
  const y = (value) => 10 + (1 - value) * (HIGH - BOTTOM - 10);
  const path = points.map(({ value }, i) => `${i ? "L" : "M"}${x(i).toFixed(1)},${y(value).toFixed(1)}`).join("");
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: right - 12, y1: y(share), y2: y(share) }),
    svg("text", { class: "tick", x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}%`),
  ]);
  const last = points.at(-1);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${right} ${HIGH}`, role: "img", "aria-label": title },
    grid,
    svg("text", { class: "tick", x: LEFT, y: HIGH - 6 }, from),
    svg("text", { class: "tick", x: right - 12, y: HIGH - 6, "text-anchor": "end" }, to),
    svg("path", { class: "line", d: path }),
    svg("circle", { class: "dot", cx: x(points.length - 1), cy: y(last.value), r: 4 }));
  return h("figure", { class: "figure-chart" }, picture, h("details", {}, h("summary", {}, "As a table"), table));
}
