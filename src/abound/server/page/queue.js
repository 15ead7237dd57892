// Work through the texts of a file. The position and the decisions are kept when the page is closed.
import { decisions } from "./decisions.js";
import { count, fill, h, keyOf, plural } from "./dom.js";
import { ACCEPTED, download } from "./files.js";
import { bind } from "./keys.js";
import { forget, forgetLarge, read, readLarge, write } from "./store.js";
import { importFile } from "./import_file.js";
import { Workbench } from "./workbench.js";

export async function openQueue(main, info) {
  const file = await readLarge("queue");
  if (!file) return openEmpty(main);
  return openFile(main, info, file);
}

function chooser() {
  const input = h("input", { type: "file", id: "file", class: "unseen", accept: ACCEPTED, onchange: () => input.files[0] && importFile(input.files[0]) });
  return h("span", { class: "chooser" }, input, h("label", { for: "file", class: "button primary" }, "Choose a file"));
}

function openEmpty(main) {
  bind({});
  const place = h("section", { class: "card drop" }, h("h2", {}, "Drop a file here"),
    h("p", {}, "One text per line (.txt), a table (.csv, .tsv) or JSON Lines (.jsonl). The file stays in this browser; texts are sent only to be ranked and learned. A document (.pdf, .docx, .html) is sent to the server, which extracts its text."),
    chooser());
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("is-over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("is-over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("is-over");
    if (event.dataTransfer.files[0]) importFile(event.dataTransfer.files[0]);
  });
  fill(main, h("h1", {}, "Queue"), place);
  return () => {};
}

function openFile(main, info, { name, rows }) {
  let at = Math.min(read("queue-at", 0), rows.length - 1);
  const decided = read("queue-decided", {}); // row -> {text, items}
  const bench = new Workbench({ info, onFile: (file) => importFile(file), doneName: "Done, next", needsDecision: false, onDone: () => go(at + 1) });
  const place = h("output", { class: "place", "aria-live": "off" });
  const done = h("span", { class: "hint" });
  const back = h("button", { type: "button", class: "button", onclick: () => go(at - 1), "aria-keyshortcuts": "p" }, "← Previous");
  const next = h("button", { type: "button", class: "button primary", onclick: () => go(at + 1), "aria-keyshortcuts": "n" }, "Next →");
  const out = h("button", { type: "button", class: "button", onclick: () => save(), "aria-keyshortcuts": "x" }, "Export");
  const end = h("button", { type: "button", class: "quiet", onclick: () => leave() }, "Close file");

  function draw() {
    place.textContent = `${count(at + 1)} of ${count(rows.length)}`;
    done.textContent = `${plural(Object.keys(decided).length, "text")} decided`;
    back.disabled = at === 0;
    next.disabled = at === rows.length - 1;
  }

  function go(to) {
    if (to < 0 || to >= rows.length) return;
    at = to;
    write("queue-at", at);
    bench.setText(decided[at]?.text ?? rows[at].text);
    draw();
  }

  /** Store the decisions on the current row, in addition to its earlier ones. */
  function note() {
    const items = new Map();
    const before = decided[at]?.text === bench.text ? decided[at].items : [];
    for (const { label, kind } of [...before, ...decisions.on(bench.text).values()]) items.set(keyOf(label), { label, kind });
    if (items.size) decided[at] = { text: bench.text, items: [...items.values()] };
    write("queue-decided", decided);
    draw();
  }

  /** Remove decisions that were undone; they may belong to a row that is no longer shown. */
  function forgetDecision({ detail: { text, items } }) {
    const gone = new Set(items.map(({ label }) => keyOf(label)));
    for (const [row, entry] of Object.entries(decided)) {
      if (entry.text !== text) continue;
      entry.items = entry.items.filter(({ label }) => !gone.has(keyOf(label)));
      if (!entry.items.length) delete decided[row];
    }
  }

  function save() {
    const lines = Object.entries(decided).sort(([a], [b]) => a - b).map(([row, { text, items }]) => {
      const of = (...kinds) => items.filter(({ kind }) => kinds.includes(kind)).map(({ label }) => label);
      return JSON.stringify({
        ...(rows[row].source ?? {}), text, labels: of("accept", "add"), accepted: of("accept"), rejected: of("reject"),
        added: of("add"), row: Number(row) + 1,
      });
    });
    download(`${name.replace(/\.[^.]*$/, "")}-decided.jsonl`, lines.length ? `${lines.join("\n")}\n` : "");
  }

  async function leave() {
    await forgetLarge("queue");
    forget("queue-at");
    forget("queue-decided");
    close();
    openEmpty(main);
  }

  decisions.addEventListener("undone", forgetDecision);
  decisions.addEventListener("change", note);
  const close = () => {
    decisions.removeEventListener("undone", forgetDecision);
    decisions.removeEventListener("change", note);
    bench.close();
  };
  fill(main, h("h1", { class: "unseen" }, "Queue"),
    h("div", { class: "queue-bar card" }, h("span", { class: "file-name", dir: "auto" }, name), place, done,
      h("span", { class: "spacer" }), back, next, out, end),
    bench.element);
  go(at);
  bench.bindKeys({ n: () => go(at + 1), p: () => go(at - 1), x: save });
  bench.list.focus();
  return close;
}
