// All labels in a table, which can be searched, sorted and paged.
import * as api from "./api.js";
import { dayOf } from "./dates.js";
import { bdi, count, fill, h, labelLink, plural } from "./dom.js";
import { bind } from "./keys.js";
import { drawWhenAnswered } from "./loading.js";
import { percent, qualityLine } from "./quality.js";

const SHOWN = 50;
const TYPING_MS = 120;

// What a column sorts by, one order after the other, with the value of aria-sort, and its cell.
const COLUMNS = [
  { title: "Label", orders: [["name", "ascending"]] },
  { title: "Texts", orders: [["frequent", "descending"]], cell: (row) => count(row.count) },
  { title: "Quality", orders: [["worst", "ascending"], ["best", "descending"]], isRated: true, hint: "F1: the mean of how often it is right and how often it is found",
    cell: ({ quality }) => (quality ? percent(quality.f1) : "–") },
  { title: "Refused", orders: [["rejected", "descending"]], hint: "Of the recent corrections that offered it in the first ten labels, the share in which it was rejected or not chosen",
    cell: ({ rejected, offered }) => (rejected === undefined ? "–" : h("span", {}, percent(rejected), h("span", { class: "of" }, ` of ${count(offered)}`))) },
  { title: "Last correction", orders: [["recent", "descending"]], cls: "last-correction", cell: ({ changed }) => (changed ? h("time", { datetime: changed, title: changed }, dayOf(changed)) : "–") },
];
const ORDERS = [["frequent", "most texts first"], ["name", "by name"], ["rejected", "most refused first"], ["recent", "last correction first"], ["worst", "worst quality first"], ["best", "best quality first"]];
const needsQuality = (order) => order === "worst" || order === "best";

export async function openLabels(main, info, query) {
  const state = { query: query.get("query") ?? "", sort: query.get("sort") ?? "frequent", page: Math.max(1, Number(query.get("page")) || 1) };
  if (!ORDERS.some(([order]) => order === state.sort)) state.sort = "frequent";
  const input = h("input", { type: "search", class: "input", "aria-label": "Find a label", placeholder: "Find a label", dir: "auto", autocomplete: "off", maxlength: "300" });
  input.value = state.query;
  const order = h("select", { class: "input", onchange: () => sortBy(order.value) });
  const status = h("p", { class: "hint", role: "status" });
  const body = h("div", {});
  const paging = h("nav", { class: "paging", "aria-label": "Pages of labels" });
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Labels"), input, h("label", { class: "filter sort" }, h("span", {}, "Sort"), order)), status, body, paging);
  bind({ "/": () => input.focus(), n: () => turn(1), p: () => turn(-1) });
  let asking = null;
  let last = 1;
  let typing = null;

  function ask() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const given = Object.entries({ query: state.query, sort: state.sort === "frequent" ? "" : state.sort, page: state.page > 1 ? state.page : "" }).filter(([, value]) => value);
    history.replaceState(null, "", `#/labels${given.length ? `?${new URLSearchParams(given)}` : ""}`);
    const request = () => api.labelTable({ query: state.query, sort: state.sort, offset: (state.page - 1) * SHOWN, limit: SHOWN }, signal);
    return drawWhenAnswered(body, request, draw).catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
  }

  function sortBy(wanted) {
    Object.assign(state, { sort: wanted, page: 1 });
    return ask();
  }

  function turn(step) {
    const page = Math.min(last, Math.max(1, state.page + step));
    if (page === state.page) return;
    state.page = page;
    ask().then(() => {
      scrollTo(0, 0);
      paging.querySelector(`[data-step="${step}"]:enabled, button:enabled`)?.focus({ preventScroll: true });
    });
  }

  function draw({ labels, total, rated: isRated = false }) {
    last = Math.max(1, Math.ceil(total / SHOWN));
    if (state.page > last) {
      state.page = last;
      ask();
      return;
    }
    fill(order, ORDERS.filter(([name]) => isRated || !needsQuality(name)).map(([name, words]) => h("option", { value: name, selected: name === state.sort }, words)));
    order.value = state.sort;
    const first = (state.page - 1) * SHOWN + 1;
    if (total) status.textContent = total > labels.length ? `${count(first)} to ${count(first + labels.length - 1)} of ${plural(total, "label")}` : plural(total, "label");
    else status.textContent = state.query ? "No label has a name with words that begin like this." : "There are no labels yet. Add one to a text on the page Tag.";
    const columns = COLUMNS.filter((column) => isRated || !column.isRated);
    fill(body, total > 0 && table(labels, columns, state.sort, (wanted, at) => sortBy(wanted).then(() => body.querySelectorAll("th button")[at]?.focus())));
    const step = (words, by, isOn) => h("button", { type: "button", class: "button", disabled: !isOn, data: { step: String(by) }, onclick: () => turn(by) }, words);
    fill(paging, last > 1 && [step("Previous", -1, state.page > 1), h("span", { class: "hint" }, `Page ${count(state.page)} of ${count(last)}`), step("Next", 1, state.page < last)]);
  }

  input.addEventListener("input", () => {
    Object.assign(state, { query: input.value.trim(), page: 1 });
    clearTimeout(typing);
    typing = setTimeout(ask, TYPING_MS);
  });
  await ask();
  if (document.activeElement === document.body) input.focus({ preventScroll: true });
  return () => {
    clearTimeout(typing);
    asking?.abort();
  };
}

function table(labels, columns, sort, onSort) {
  const head = columns.map(({ title, orders, hint, cls }, at) => {
    const now = orders.findIndex(([order]) => order === sort);
    const next = orders[(now + 1) % orders.length][0];
    return h("th", { scope: "col", class: at ? `figure ${cls ?? ""}` : null, "aria-sort": now >= 0 ? orders[now][1] : null },
      h("button", { type: "button", class: "sorter", title: hint, onclick: () => onSort(next, at) }, title,
        h("span", { class: "sort-sign", "aria-hidden": "true" }, now < 0 ? "" : orders[now][1] === "ascending" ? " ▲" : " ▼")));
  });
  return h("table", { class: "plain label-table" }, h("caption", { class: "unseen" }, "Labels; the buttons in the header sort them"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, labels.map((row) => h("tr", {}, h("th", { scope: "row" }, labelLink(row), row.found_by !== undefined && h("span", { class: "hint" }, " found by its other name ", bdi(row.found_by)), qualityLine(row.quality)),
      columns.slice(1).map(({ cell, cls }) => h("td", { class: `figure ${cls ?? ""}` }, cell(row)))))));
}
