// How often the first label was right, before it was taught.
import * as api from "./api.js";
import { byId, count, fill, h, labelLink, plural } from "./dom.js";
import { lineChart } from "./chart.js";
import { bind } from "./keys.js";

const EVERY = 5000;
const TABLE_ROWS = 20;
const percent = (share) => `${Math.round(share * 100)}%`;

export async function openProgress(main) {
  bind({});
  const body = h("div", { class: "progress" });
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Progress")), body);
  let shownAt = null;
  async function draw() {
    try {
      const found = await api.progress();
      const state = JSON.stringify(found);
      if (state !== shownAt) fill(body, ...content(found));
      shownAt = state;
    } catch (error) {
      if (shownAt === null) fill(body, h("p", { class: "empty" }, error.message));
    }
  }
  await draw();
  const timer = setInterval(() => document.visibilityState === "visible" && draw(), EVERY);
  return () => clearInterval(timer);
}

function content(found) {
  const points = found.points.map(({ sequence, p1 }) => ({ sequence, value: p1 }));
  return [
    h("div", { class: "facts" },
      fact(count(found.rows), "texts known"), fact(count(found.labels), "labels known"), fact(count(found.learnt), "lessons since it is served"),
      fact(points.length ? percent(points.at(-1).value) : "–", "first label right, lately")),
    h("section", { class: "card" }, h("h2", {}, "First label right, before learning"),
      points.length ? chart(points, found) : h("p", { class: "empty" }, "Nothing has been learnt since the last snapshot. Each decision adds a point: was the label that stood first the right one?")),
    h("div", { class: "two" }, trend("Getting better", found.improving), trend("Getting worse", found.worsening)),
    h("section", { class: "card" }, h("h2", {}, "Journal"), h("p", {}, `The journal is at record ${count(found.sequence)}.`),
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Worker"), h("th", { scope: "col", class: "figure" }, "Record"), h("th", { scope: "col", class: "figure" }, "Behind"))),
        h("tbody", {}, found.workers.map(({ pid, sequence }) => h("tr", {}, h("th", { scope: "row" }, String(pid)),
          h("td", { class: "figure" }, count(sequence)), h("td", { class: "figure" }, count(Math.max(0, found.sequence - sequence)))))))),
  ];
}

const fact = (value, name) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, value), h("span", { class: "fact-name" }, name));

function chart(points, found) {
  const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
  const rows = points.filter((_, i) => i % step === 0 || i === points.length - 1);
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Record"), h("th", { scope: "col", class: "figure" }, "First right"))),
    h("tbody", {}, rows.map(({ sequence, value }) => h("tr", {}, h("th", { scope: "row" }, count(sequence)), h("td", { class: "figure" }, percent(value))))));
  return [
    h("p", { class: "hint" }, `The last ${plural(found.measured, "lesson")}, ${count(found.window)} at most; each point is the mean of the 50 lessons up to it.`),
    lineChart(points, { title: `First label right: from ${percent(points[0].value)} to ${percent(points.at(-1).value)}`, from: `record ${count(points[0].sequence)}`, to: `record ${count(points.at(-1).sequence)}`, table, wide: byId("main").clientWidth - 90 }),
  ];
}

function trend(title, entries) {
  return h("section", { class: "card" }, h("h2", {}, title), entries.length
    ? h("ul", { class: "trend" }, entries.map((entry) => h("li", {}, labelLink(entry), h("span", { class: "figure" }, `${percent(entry.before)} → ${percent(entry.after)}`))))
    : h("p", { class: "empty" }, "A label stands here once it has come up often enough to tell."));
}
