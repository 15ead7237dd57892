// How often the first label was right before the correction was learned.
import * as api from "./api.js";
import { byId, count, fill, h, labelLink, plural } from "./dom.js";
import { lineChart } from "./chart.js";
import { bind } from "./keys.js";

const REFRESH_MS = 5000;
const TABLE_ROWS = 20;
const percent = (share) => `${Math.round(share * 100)}%`;

export async function openProgress(main) {
  bind({});
  const body = h("div", { class: "progress" });
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Progress")), body);
  let shownAt = null;
  async function draw() {
    try {
      const progress = await api.progress();
      const state = JSON.stringify(progress);
      if (state !== shownAt) fill(body, ...content(progress));
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
  const points = progress.points.map(({ sequence, p1 }) => ({ sequence, value: p1 }));
  return [
    h("div", { class: "facts" },
      fact(count(progress.rows), "texts learned"), fact(count(progress.labels), "labels"), fact(count(progress.learnt), "recent corrections"),
      fact(points.length ? percent(points.at(-1).value) : "–", "first label right, recently")),
    h("section", { class: "card" }, h("h2", {}, "Share of texts whose first label was right before the correction"),
      points.length ? chart(points, progress) : h("p", { class: "empty" }, "There are no recent corrections. Each correction adds a point: was the first label the right one?")),
    h("div", { class: "two" }, trend("Getting better", progress.improving), trend("Getting worse", progress.worsening)),
    h("section", { class: "card" }, h("h2", {}, "Server"), h("p", {}, `The model is at revision ${count(progress.last)}. Each change adds one.`),
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Process"), h("th", { scope: "col", class: "figure" }, "Revision"), h("th", { scope: "col", class: "figure" }, "Behind"))),
        h("tbody", {}, progress.workers.map(({ pid, sequence }) => h("tr", {}, h("th", { scope: "row" }, String(pid)),
          h("td", { class: "figure" }, count(sequence)), h("td", { class: "figure" }, count(Math.max(0, progress.last - sequence)))))))),
  ];
}

const fact = (value, name) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, value), h("span", { class: "fact-name" }, name));

function chart(points, progress) {
  const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
  const rows = points.filter((_, i) => i % step === 0 || i === points.length - 1);
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Revision"), h("th", { scope: "col", class: "figure" }, "First label right"))),
    h("tbody", {}, rows.map(({ sequence, value }) => h("tr", {}, h("th", { scope: "row" }, count(sequence)), h("td", { class: "figure" }, percent(value))))));
  return [
    h("p", { class: "hint" }, `The last ${plural(progress.measured, "correction")}, at most ${count(progress.window)}. Each point is the mean of the 50 corrections up to it.`),
    lineChart(points, { title: `First label right: from ${percent(points[0].value)} to ${percent(points.at(-1).value)}`, from: `revision ${count(points[0].sequence)}`, to: `revision ${count(points.at(-1).sequence)}`, table, wide: byId("main").clientWidth - 90 }),
  ];
}

function trend(title, entries) {
  return h("section", { class: "card" }, h("h2", {}, title), entries.length
    ? h("ul", { class: "trend" }, entries.map((entry) => h("li", {}, labelLink(entry), h("span", { class: "figure" }, `${percent(entry.before)} → ${percent(entry.after)}`))))
    : h("p", { class: "empty" }, "No label has enough corrections yet to show a trend."));
}
