// Work through the texts of a file. The file, the place in it and the decisions stay in this browser.
import { textOf } from "./columns.js";
import { decisions, plainItems } from "./decisions.js";
import { count, fill, go, h, keyOf, plural, say } from "./dom.js";
import { download } from "./download.js";
import { importFile } from "./import_file.js";
import { notice } from "./notice.js";
import { attach } from "./pending.js";
import { question } from "./question.js";
import { askColumns, RowColumns } from "./queue_columns.js";
import { endScreen } from "./queue_end.js";
import { exportOf } from "./queue_export.js";
import { QueueList, STATES } from "./queue_list.js";
import { closingQuestion } from "./queue_question.js";
import { askToShare } from "./queue_share.js";
import { read, write, writeLarge } from "./store.js";
import { Workbench } from "./workbench.js";

/** The state of a text as the end of a sentence. */
const stateWords = (state) => (state === "none" ? "marked \u201cnone fits\u201d" : STATES[state]);
const NOTHING = "No label is decided. Accept or add one, press z if none fits, or s to skip this text.";
const FULL = "This browser has no room left to keep decisions. Export them and close the file.";

/** The acts on the whole file: on a narrow screen they are folded, so that the text is seen. */
const fileMenu = (buttons) => (matchMedia("(max-width: 46rem)").matches ? h("details", { class: "file-menu" }, h("summary", {}, "File"), buttons) : buttons);

class FileQueue {
  constructor(main, info, model) {
    this.main = main;
    this.model = model;
    this.bench = new Workbench({ info, doneName: "Done, next", needsDecision: false, onText: () => this.edited(), onFile: (file) => importFile(file), onDone: ({ items }) => this.finish(items) });
    this.columns = new RowColumns();
    this.list = new QueueList({ find: (asked) => this.find(asked), onPick: (i) => this.show(i) });
    this.end = h("div", { hidden: true });
    this.place = h("output", { class: "place", "aria-live": "off" });
    this.done = h("span", { class: "hint" });
    this.state = h("p", { class: "queue-state", role: "status" });
    this.restoreButton = this.button("Restore the file’s text", () => this.restore(), { kind: "quiet" });
    this.setUpBar();
    this.listeners = [
      [decisions, "undone", (event) => this.undone(event.detail)], [decisions, "change", () => this.decided()],
      [model, "change", (event) => this.changed(event.detail)], [model, "replaced", () => this.replaced()],
    ];
    for (const [target, name, act] of this.listeners) target.addEventListener(name, act);
  }

  button(name, act, { kind = "button", key } = {}) {
    return h("button", { type: "button", class: kind, onclick: act, "aria-keyshortcuts": key }, name, key ? [" ", h("kbd", {}, key)] : null);
  }

  setUpBar() {
    const { file } = this.model;
    this.back = this.button("← Previous", () => this.show(this.row - 1), { key: "p" });
    this.next = this.button("Next →", () => this.show(this.row + 1), { key: "n" });
    this.skipButton = this.button("Skip", () => this.skip(), { key: "s" });
    this.noneButton = this.button("None fits", () => this.noneFits(), { key: "z" });
    this.jump = this.button("Next undecided", () => this.toOpen(this.row + 1), { key: "f" });
    this.listButton = this.button("Texts", () => this.toggleList(), { key: "v" });
    this.listButton.setAttribute("aria-expanded", "false");
    const columns = file.columns.length > 1 ? this.button("Columns", () => this.chooseColumns(), { kind: "quiet" }) : null;
    this.bar = h("div", { class: "queue-bar card" },
      h("div", { class: "queue-line" }, h("span", { class: "file-name", dir: "auto" }, file.name), this.place, this.done, h("span", { class: "spacer" }),
        this.listButton, fileMenu([columns, this.button("Share", () => askToShare(this.model), { kind: "quiet" }), this.button("Export", () => this.save(), { kind: "quiet", key: "x" }),
          this.button("Close file", () => this.leave(), { kind: "quiet" })])),
      h("div", { class: "queue-line" }, this.back, this.next, this.jump, h("span", { class: "spacer" }), this.skipButton, this.noneButton));
  }

  open() {
    const kept = read("queue-at", null, sessionStorage) ?? read("queue-at", null);
    const at = kept?.id === this.model.file.id ? kept.at : 0;
    fill(this.main, h("h1", { class: "unseen" }, "Queue"), this.bar, this.list.element, this.state, this.restoreButton, this.columns.element, this.bench.element, this.end);
    this.bindKeys();
    this.show(Math.min(at, this.model.length));
    this.bench.focusLabels();
    return () => this.close();
  }

  bindKeys() {
    this.bench.bindKeys({
      n: () => this.show(this.row + 1), p: () => this.show(this.row - 1), s: () => this.skip(), z: () => this.noneFits(),
      f: () => this.toOpen(this.row + 1), v: () => this.toggleList(), x: () => this.save(),
    });
  }

  close() {
    for (const [target, name, act] of this.listeners) target.removeEventListener(name, act);
    this.model.close();
    this.bench.close();
  }

  // -- the place ----------------------------------------------------------------------------------------------------

  get isAtEnd() {
    return this.row >= this.model.length;
  }

  show(row) {
    if (row < 0 || row > this.model.length) return;
    this.row = row;
    const place = { id: this.model.file.id, at: row };
    write("queue-at", place, sessionStorage);
    write("queue-at", place);
    this.tell("");
    if (!this.isAtEnd) {
      this.bench.setText(this.model.textAt(row));
      this.columns.show(this.model.file.rows[row].source, this.model.file.used);
      say(`Text ${row + 1} of ${this.model.length}.`);
    }
    attach(this.isAtEnd ? null : this.bench);
    this.draw();
    if (this.isAtEnd) this.end.querySelector("h2").focus();
  }

  /** Show the next undecided text below this one, or the end. */
  advance() {
    const open = this.isAtEnd ? -1 : this.model.next(this.row + 1);
    this.show(open > this.row ? open : this.model.length);
  }

  /** Show the next undecided text, also one above this one. */
  toOpen(from) {
    const open = this.model.next(from % this.model.length);
    if (open < 0) this.bench.say("No text is undecided.");
    this.show(open < 0 ? this.model.length : open);
  }

  tell(words) {
    this.state.textContent = words;
    this.state.hidden = !words;
  }

  draw() {
    const { model, row } = this;
    const { done, none } = model.counts;
    this.place.textContent = this.isAtEnd ? "the end" : `${count(row + 1)} of ${count(model.length)}`;
    this.done.textContent = `${plural(done + none, "text")} decided`;
    this.back.disabled = row === 0;
    for (const button of [this.next, this.skipButton, this.noneButton]) button.disabled = this.isAtEnd;
    this.bench.element.hidden = this.isAtEnd;
    this.end.hidden = !this.isAtEnd;
    if (this.isAtEnd) this.drawEnd();
    const entry = model.at(row);
    this.restoreButton.hidden = this.isAtEnd || !model.isEdited(row);
    if (this.isAtEnd) this.columns.element.hidden = true;
    else if (!this.state.textContent && entry.state !== "open") this.tell(`This text is ${stateWords(entry.state)}.`);
    this.list.draw(row);
  }

  drawEnd() {
    const { counts } = this.model;
    const rest = counts.open + counts.skipped;
    const title = rest ? "The end of the queue" : "All texts are decided";
    const words = rest ? (counts.open ? `${plural(counts.open, "text is", "texts are")} undecided.` : "Every text is decided or skipped.") : "Nothing is left to do in this queue.";
    const facts = { decided: counts.done, "none fits": counts.none, skipped: counts.skipped, undecided: counts.open };
    fill(this.end, endScreen({ title, words, facts, acts: [
      { name: "Next undecided", act: counts.open ? () => this.toOpen(0) : null, kind: "primary" },
      { name: "To the skipped texts", act: counts.skipped ? () => this.show(this.model.next(0, "skipped")) : null },
      { name: "Export decided texts", act: () => this.save(), kind: counts.open ? "" : "primary" },
      { name: "Export all texts", act: () => this.save(true) },
      { name: "Close file", act: () => this.leave() },
    ] }));
  }

  toggleList() {
    this.list.toggle();
    this.listButton.setAttribute("aria-expanded", String(this.list.isOpen));
    if (this.list.isOpen) this.list.draw(this.row);
    else this.bench.focusLabels();
  }

  find({ state, words, limit }) {
    const rows = [];
    let total = 0;
    for (let i = 0; i < this.model.length; i += 1) {
      const entry = this.model.at(i);
      if (state && entry.state !== state) continue;
      const text = this.model.textAt(i);
      if (words.length && !words.every((word) => text.toLowerCase().includes(word))) continue;
      total += 1;
      if (rows.length < limit) rows.push({ i, text, state: entry.state });
    }
    return { total, rows };
  }

  // -- decisions ----------------------------------------------------------------------------------------------------

  set(row, change) {
    if (!this.model.set(row, change)) notice(FULL);
  }

  edited() {
    if (!this.isAtEnd) this.set(this.row, { text: this.bench.text });
  }

  restore() {
    this.set(this.row, { text: undefined });
    this.show(this.row);
  }

  /** The text is done, and the work bench has sent its decisions as one correction: show the next undecided text. */
  finish(decided) {
    if (this.isAtEnd) return;
    const items = plainItems(decided);
    if (!items.length && this.model.at(this.row).state !== "none") {
      this.bench.say(NOTHING);
      return;
    }
    if (items.length) this.set(this.row, { state: "done", items });
    this.advance();
  }

  skip() {
    if (this.isAtEnd) return;
    if (this.model.at(this.row).state === "open") this.set(this.row, { state: "skipped" });
    this.advance();
  }

  /** No label fits; the same again takes it back. */
  noneFits() {
    if (this.isAtEnd) return;
    if (this.model.at(this.row).state === "none") {
      this.set(this.row, { state: "open", items: [] });
      this.tell("This text is undecided again.");
      return;
    }
    const items = plainItems(this.bench.decisionsOf(this.bench.text));
    if (items.some(({ kind }) => kind !== "reject")) {
      this.bench.say("A label of this text is accepted. Undo that first (u), or press Enter for done.");
      return;
    }
    this.set(this.row, { state: "none", items });
    if (items.length) decisions.submit(this.bench.text);
    this.advance();
  }

  decided() {
    this.tell("");
    this.draw();
  }

  /** Decisions were undone; they may belong to a row that is not shown. */
  undone({ text, items }) {
    const gone = new Set(items.map(({ label }) => keyOf(label)));
    for (const row of [...this.model.rowsOf("done"), ...this.model.rowsOf("none")]) {
      if (this.model.textAt(row) !== text) continue;
      const entry = this.model.at(row);
      const left = entry.items.filter(({ label }) => !gone.has(keyOf(label)));
      if (left.length < entry.items.length) this.set(row, { items: left, state: left.length ? entry.state : "open" });
    }
  }

  changed({ row, isElsewhere }) {
    if (isElsewhere && row === this.row && this.model.at(row).state !== "open") this.tell(`This text was ${stateWords(this.model.at(row).state)} in another tab.`);
    this.draw();
  }

  replaced() {
    notice("The file was closed or replaced in another tab.");
    go("#/queue");
  }

  // -- the file -----------------------------------------------------------------------------------------------------

  save(all = false) {
    const { name, content, type, bar } = exportOf(this.model, all);
    download(name, content, type);
    if (bar && bar !== "|") notice(`A label contains a bar, so ${bar} separates the labels in ${name}.`, { kind: "hint" });
    say(`Exported ${name}.`);
  }

  async chooseColumns() {
    const { file } = this.model;
    if (this.model.hasWork) {
      await question({ title: "Columns", words: "The columns can be chosen as long as no text of the file is decided or edited.", choices: [{ name: "Close" }] });
      return;
    }
    const used = await askColumns(file.columns, file.used);
    if (!used) return;
    file.used = used;
    for (const row of file.rows) row.text = textOf(row.source, used);
    await writeLarge("queue", file);
    this.show(this.row);
  }

  async leave() {
    const answer = await closingQuestion(this.model, "Close");
    if (!answer) return;
    if (answer === "export") this.save();
    await this.model.forget();
    go("#/queue");
  }
}

export const openFileQueue = (main, info, model) => new FileQueue(main, info, model).open();
