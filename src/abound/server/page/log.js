// The history: what was taught, when, by whom and from where. Each entry can be undone.
import * as api from "./api.js";
import { dayOf, startOf, timeOf } from "./dates.js";
import { bdi, count, fill, h, labelLink, plural, say } from "./dom.js";
import { download } from "./download.js";
import { bind } from "./keys.js";
import { CANCEL, question } from "./question.js";
import { exportLines, exportTable } from "./log_export.js";

const SHOWN = 25;
const MOST_REQUESTS = 8; // until the person is asked whether to search further; each reads up to 2,000 records
const TYPING_MS = 250; // after the last key, a search may read many records
const EXPORTED_AT_ONCE = 1000;
const KINDS = [["", "everything"], ["learn", "corrections"], ["undo", "undone"], ["rename label", "labels renamed"], ["merge labels", "labels merged"],
  ["retire label", "labels retired"], ["add label", "labels added"], ["name label", "labels named"]];
const SOURCES = [["", "anywhere"], ["page", "this page"], ["client", "Python client"], ["command line", "command line"], ["label studio", "Label Studio"], ["api", "another program"]];
const SOURCE_NAME = Object.fromEntries(SOURCES);
const FIELDS = ["text", "label", "who", "source", "kind", "since", "until"];

export async function openLog(main, info, query) {
  const form = filterForm(query, () => start());
  const status = h("p", { class: "hint", role: "status" });
  const list = h("ol", { class: "log" });
  const newer = h("button", { type: "button", class: "button", onclick: () => turn(-1) }, "Newer");
  const older = h("button", { type: "button", class: "button", onclick: () => turn(1) }, "Older");
  const paging = h("nav", { class: "paging", "aria-label": "Pages of the history" }, newer, older);
  const place = h("div", {}, h("div", { class: "page-head" }, h("h1", {}, "History"), exportButtons(form, status)), form.element, status, list, paging);
  fill(main, place);
  bind({ "/": () => form.focus(), n: () => turn(1), p: () => turn(-1) });
  let cursors = [undefined]; // the `before` of each page up to the current one
  let following;
  let asking = null;

  const start = () => {
    cursors = [undefined];
    following = undefined;
    return show();
  };

  function turn(step) { // to older pages, or back
    if (step > 0 && following !== undefined) cursors.push(following);
    else if (step < 0 && cursors.length > 1) cursors.pop();
    else return undefined;
    return show().then(() => { // the pressed button may be disabled now
      (step > 0 ? (older.disabled ? newer : older) : newer.disabled ? older : newer).focus({ preventScroll: true });
      scrollTo(0, 0);
    });
  }

  async function show() {
    asking?.abort();
    asking = new AbortController();
    list.setAttribute("aria-busy", "true");
    try {
      const page = await find(form.filters(), cursors.at(-1), asking.signal);
      following = page.next;
      draw(page);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(list);
      fill(status, error.message, " ", h("button", { type: "button", class: "button", onclick: show }, "Try again"));
    }
    list.removeAttribute("aria-busy");
  }

  function draw({ records, names, next }) {
    const hasFilter = Object.values(form.filters()).some((value) => value !== undefined);
    fill(list, records.map((record) => entry(record, names, show)));
    newer.disabled = cursors.length === 1;
    older.disabled = next === undefined;
    paging.hidden = newer.disabled && older.disabled;
    if (records.length) status.textContent = `${plural(records.length, "entry", "entries")}, ${cursors.length > 1 ? `page ${count(cursors.length)}` : "the newest first"}`;
    else if (next !== undefined) status.textContent = "None of these entries matches. “Older” searches further.";
    else status.textContent = hasFilter ? "No entry matches. A label is found by its full name." : "Nothing was taught yet. Each text that you finish with Done becomes one correction, and is listed here.";
  }

  await show();
  return () => asking?.abort();
}

/** A page of records, from as many requests as it takes. */
async function find(filters, before, signal) {
  const found = { records: [], names: {}, next: before };
  for (let i = 0; i < MOST_REQUESTS && found.records.length < SHOWN; i += 1) {
    const { records, names, next } = await api.records({ ...filters, before: found.next, limit: SHOWN - found.records.length }, signal);
    found.records.push(...records);
    Object.assign(found.names, names);
    found.next = next;
    if (next === undefined) break;
  }
  return found;
}

function filterForm(query, onChange) {
  const field = (label, control) => h("label", { class: "filter" }, h("span", {}, label), control);
  const text = (name) => h("input", { type: "search", class: "input", name, dir: "auto", autocomplete: "off", maxlength: "300" });
  const date = (name) => h("input", { type: "date", class: "input", name });
  const choice = (name, options) => h("select", { class: "input", name }, options.map(([value, words]) => h("option", { value }, words)));
  const first = text("text");
  const reset = h("button", { type: "reset", class: "quiet" }, "Clear the filters");
  const isOpen = matchMedia("(min-width: 46rem)").matches || FIELDS.some((name) => query.get(name));
  const element = h("form", { role: "search", "aria-label": "Filter the history" }, h("details", { class: "filter-card card", open: isOpen }, h("summary", {}, "Filter"),
    h("div", { class: "filters" }, field("Text contains", first), field("Label", text("label")), field("Who", text("who")),
      field("From", choice("source", SOURCES)), field("Show", choice("kind", KINDS)), field("Since", date("since")), field("Until", date("until")), reset)));
  for (const name of FIELDS) if (query.get(name)) element.elements[name].value = query.get(name);
  const value = (name) => element.elements[name].value.trim() || undefined;
  let typing = null;
  const changed = (event) => {
    const given = new URLSearchParams(FIELDS.filter(value).map((name) => [name, value(name)]));
    history.replaceState(null, "", `#/history${given.size ? `?${given}` : ""}`);
    reset.hidden = !given.size;
    clearTimeout(typing);
    typing = setTimeout(onChange, event?.inputType ? TYPING_MS : 0);
  };
  element.addEventListener("submit", (event) => event.preventDefault());
  element.addEventListener("input", changed);
  element.addEventListener("reset", () => setTimeout(() => {
    changed();
    first.focus();
  }));
  reset.hidden = !FIELDS.some(value);
  const focus = () => {
    element.firstChild.open = true;
    first.focus();
  };
  return { element, focus, filters: () => ({
    ...Object.fromEntries(["text", "label", "who", "source", "kind"].map((name) => [name, value(name)])),
    since: startOf(value("since")), until: startOf(value("until"), 1), // the whole day
  }) };
}

// -- one entry -------------------------------------------------------------------------------------------------------

const DECISIONS = [["accepted", "accepted", "+"], ["added", "added", "+"], ["rejected", "rejected", "\u2212"]];

function entry(record, names, reload) {
  const isGone = record.status !== "live";
  const title = `log-${record.sequence}`;
  return h("li", { class: isGone ? "log-entry is-undone" : "log-entry", data: { sequence: String(record.sequence) } },
    h("p", { class: "log-head", id: title }, timeOf(record.time), " ", record.who && bdi(record.who, "log-who"),
      h("span", { class: "hint" }, ` from ${SOURCE_NAME[record.source] ?? record.source ?? "an unknown place"} · entry ${count(record.sequence)}`)),
    h("div", { class: "log-what" }, content(record, names)),
    h("div", { class: "log-acts" }, acts(record, names, reload)));
}

/** What an entry changed; in a question a long text scrolls, so that keys must reach it. */
function content(record, names, isQuestion = false) {
  const { kind } = record;
  const shown = (label) => labelLink({ label, name: names[String(label)] });
  if (record.status === "forgotten") return h("p", { class: "empty" }, "Its content was removed for ever.");
  if (kind === "learn") {
    return [h("p", { class: "log-text", dir: "auto", tabindex: isQuestion ? "0" : null }, plain(record.text)), h("ul", { class: "log-labels", "aria-label": "Decisions" }, DECISIONS.flatMap(([field, words, sign]) =>
      (record[field] ?? []).map((label) => h("li", { class: `chip ${field === "rejected" ? "reject" : "accept"}` },
        h("span", { class: "chip-kind", "aria-hidden": "true" }, sign), h("span", { class: "unseen" }, `${words}: `), shown(label)))))];
  }
  if (kind === "undo") return h("p", {}, `Took back ${plural(record.records.length, "entry", "entries")}: ${record.records.slice(0, 20).map(count).join(", ")}${record.records.length > 20 ? " …" : ""}.`, reason(record));
  if (kind === "rename label") return h("p", {}, "Renamed ", shown(record.label), " to ", bdi(record.to));
  if (kind === "merge labels") return h("p", {}, "Merged ", shown(record.label), " into ", shown(record.into));
  if (kind === "retire label") return h("p", {}, "Retired ", shown(record.label));
  if (kind === "add label" || kind === "name label") return h("p", {}, kind === "add label" ? "Added " : "Named ", shown(record.label), record.names?.length ? [": ", bdi(record.names.join(", "))] : "");
  return h("p", {}, `${kind[0].toUpperCase()}${kind.slice(1)}`, record.label === undefined ? "" : [" ", shown(record.label)], reason(record));
}

const reason = (record) => (record.reason ? [" Reason: ", bdi(record.reason)] : "");
const plain = (text) => (typeof text === "string" ? text : Object.entries(text ?? {}).map(([field, words]) => `${field}: ${words}`).join("\n"));

function acts(record, names, reload) {
  const describedBy = { "aria-describedby": `log-${record.sequence}` };
  if (record.status === "undone") {
    return [h("span", { class: "log-state" }, "Undone"),
      h("button", { type: "button", class: "button", ...describedBy, onclick: () => restore(record, reload) }, "Count it again")];
  }
  if (record.status !== "live") return h("span", { class: "log-state" }, record.status === "forgotten" ? "Forgotten" : "Skipped");
  if (record.kind === "undo" || record.kind === "forget") return null;
  return h("button", { type: "button", class: "button", ...describedBy, onclick: () => undoCorrection(record, names, reload) }, "Undo");
}

/** Undo one entry after a question; the focus then is on the button that counts it again. */
function undoCorrection(record, names, reload) {
  const why = h("input", { type: "text", class: "input", id: "undo-reason", maxlength: "300", dir: "auto", autocomplete: "off" });
  const key = api.newKey();
  question({
    title: record.kind === "learn" ? "Undo this correction?" : "Undo this change?",
    words: [content(record, names, true), h("p", { class: "hint" }, `Taught on ${dayOf(record.time)}${record.who ? ` by ${record.who}` : ""}. The model will be as if this had never been taught, for all users. You can let it count again later.`),
      h("label", { for: "undo-reason" }, "Reason (optional)"), why],
    choices: [CANCEL, { name: "Undo", kind: "danger", act: () => api.undo([record.sequence], why.value.trim(), key).then(() => done(record, "undone", reload)) }],
  });
}

async function restore(record, reload) {
  const key = api.newKey();
  const { records } = await api.records({ after: record.by - 1, before: record.by + 1, limit: 1 }).catch(() => ({ records: [] }));
  const others = (records[0]?.records.length ?? 1) - 1;
  question({
    title: "Let it count again?",
    words: [h("p", {}, `Entry ${count(record.sequence)} was undone by entry ${count(record.by)}.`, records[0] ? reason(records[0]) : "",
      others > 0 ? ` ${plural(others, "other entry was", "other entries were")} undone with it and will count again, too.` : "")],
    choices: [CANCEL, { name: "Count it again", kind: "primary", act: () => api.undo([record.by], "", key).then(() => done(record, "counts again", reload)) }],
  });
}

async function done(record, words, reload) {
  await reload();
  say(`Entry ${record.sequence}: ${words}.`);
  setTimeout(() => document.querySelector(`[data-sequence="${record.sequence}"] button`)?.focus()); // after the dialog has closed
}

// -- export ----------------------------------------------------------------------------------------------------------

function exportButtons(form, status) {
  let stopping = null;
  const button = (words, ending, write) => h("button", { type: "button", class: "button", onclick: () => save(ending, write) }, words);
  const stop = h("button", { type: "button", class: "button", hidden: true, onclick: () => stopping?.abort() }, "Stop the export");

  async function save(ending, write) {
    const before = status.textContent;
    stopping?.abort();
    stopping = new AbortController();
    stop.hidden = false;
    const [records, names] = [[], {}];
    try {
      for (let next; ;) {
        const page = await api.records({ ...form.filters(), before: next, limit: EXPORTED_AT_ONCE }, stopping.signal);
        records.push(...page.records);
        Object.assign(names, page.names);
        status.textContent = `Exporting: ${plural(records.length, "entry", "entries")} so far.`;
        next = page.next;
        if (next === undefined) break;
      }
      download(`history.${ending}`, write(records, names), ending === "csv" ? "text/csv" : undefined);
      status.textContent = `Exported ${plural(records.length, "entry", "entries")}.`;
    } catch (error) {
      status.textContent = error.name === "AbortError" ? before : `Not exported: ${error.message}`;
    }
    stop.hidden = true;
  }

  return h("div", { class: "head-acts" }, stop, button("Export CSV", "csv", exportTable), button("Export JSON lines", "jsonl", exportLines));
}
