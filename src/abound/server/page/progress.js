// How often the first label was right before the correction was learned.
import * as api from "./api.js";
import { byId, count, fill, h, labelLink, plural } from "./dom.js";
import { lineChart } from "./chart.js";
import { timeOf } from "./dates.js";
import { bind } from "./keys.js";
import { percent } from "./quality.js";

const REFRESH_MS = 5000;
const TABLE_ROWS = 50;
const WARM_UP = 10;

export async function openProgress(main) {
  bind({});
  const body = h("div", { class: "progress" });
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Progress")), body);
  let shownAt = null;
  async function draw() {
    try {
      const progress = await api.progress();
      const state = JSON.stringify(progress);
      const isOpen = body.querySelector("details")?.open ?? false;
      if (state !== shownAt) fill(body, ...content(progress));
      if (isOpen && body.querySelector("details")) body.querySelector("details").open = true;
      shownAt = state;
    } catch (error) {
      if (shownAt === null) fill(body, h("p", { class: "empty" }, error.message));
    }
  }
  await draw();
  const timer = setInterval(() => document.visibilityState === "visible" && draw(), REFRESH_MS);
  return () => clearInterval(timer);
}

function content(progress) {
  const { verdict } = progress;
  // The mean of a few corrections says nothing, unless there are no others.
  const points = progress.points.slice(Math.min(WARM_UP, Math.floor(progress.points.length / 2))).map(({ p1, ...point }) => ({ ...point, value: p1 }));
  return [
    h("div", {}, h("p", { class: `verdict ${verdict.direction}` }, points.length ? verdict.sentence : "Not known yet"), h("p", { class: "hint" }, meaning(progress))),
    h("section", { class: "card" }, h("h2", {}, "Share of texts whose first label was right before the correction"),
      points.length ? chart(points, progress) : h("p", { class: "empty" }, "There are no recent corrections. Each text that you finish with Done adds a point: was the first label the right one?")),
    h("div", { class: "facts" },
      fact(count(progress.rows), "texts learned"), fact(count(progress.labels), "labels"), fact(count(progress.learnt), "recent corrections")),
    h("div", { class: "two" }, trend("Getting better", progress.improving), trend("Getting worse", progress.worsening)),
    h("p", { class: "hint" }, "Which labels are refused most is in the ", h("a", { href: "#/labels?sort=rejected" }, "table of labels"), ", and who taught what is in the ", h("a", { href: "#/history" }, "history"), "."),
    h("section", { class: "card" }, h("h2", {}, "Server"), h("p", {}, `The model is at revision ${count(progress.last)}. Each change adds one.`),
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Process"), h("th", { scope: "col", class: "figure" }, "Revision"), h("th", { scope: "col", class: "figure" }, "Behind"))),
        h("tbody", {}, progress.workers.map(({ pid, sequence }) => h("tr", {}, h("th", { scope: "row" }, String(pid)),
          h("td", { class: "figure" }, count(sequence)), h("td", { class: "figure" }, count(Math.max(0, progress.last - sequence)))))))),
  ];
}

/** What the verdict compares, in words. */
function meaning({ verdict, measured }) {
  if (!measured) return "As soon as texts are corrected, this page says whether the first label gets better.";
  const now = `The first label was right for ${percent(verdict.share)} of the last ${plural(verdict.corrections, "correction")}`;
  if (verdict.before === undefined) return `${now}. A comparison needs at least 40 corrections.`;
  return `${now}, and for ${percent(verdict.before)} of the ${count(verdict.corrections)} before. ± is the 95% interval; a smaller difference may be chance.`;
}

const fact = (value, name) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, value), h("span", { class: "fact-name" }, name));

function chart(points, progress) {
  const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
  const rows = points.filter((_, i) => (points.length - 1 - i) % step === 0);
  const columns = ["Revision", "When", "First label right", "95% interval"];
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, columns.map((words, i) => h("th", { scope: "col", class: i > 1 ? "figure" : null }, words)))),
    h("tbody", {}, rows.map(({ sequence, time, value, low, high }) => h("tr", {}, h("th", { scope: "row" }, count(sequence)), h("td", {}, time ? timeOf(time) : "–"),
      h("td", { class: "figure" }, percent(value)), h("td", { class: "figure" }, `${percent(low)} to ${percent(high)}`)))));
  const { value, low, high } = points.at(-1);
  return [
    h("p", { class: "hint" }, `The line is the mean of the ${count(progress.smoothed)} corrections up to each of the last ${plural(progress.measured, "correction")}, the band its 95% interval.`),
    lineChart(points, { title: `First label right: from ${percent(points[0].value)} to ${percent(value)}, which may be from ${percent(low)} to ${percent(high)}`, table, wide: byId("main").clientWidth - 90 }),
  ];
}

function trend(title, entries) {
  return h("section", { class: "card" }, h("h2", {}, title), entries.length
    ? h("ul", { class: "trend" }, entries.map((entry) => h("li", {}, labelLink(entry), h("span", { class: "figure" }, `${percent(entry.before)} → ${percent(entry.after)}`))))
    : h("p", { class: "empty" }, "No label has enough corrections yet to show a trend."));
}
