// A text, its ranked labels, the reasons and the decisions: shared by Tag and Queue.
import * as api from "./api.js";
import { Completion } from "./completion.js";
import { decisions } from "./decisions.js";
import { fill, h, keyOf, nameOf, plural, say } from "./dom.js";
import { Editor } from "./editor.js";
import { example, place, setFields } from "./fields.js";
import { countWords } from "./highlight.js";
import { bind, resume } from "./keys.js";
import { RankingList } from "./ranking.js";
import { Why } from "./why.js";

const SHOWN = 10;
const KEPT_TIMES = 1000;
const ON_LABELS = new Set(["j", "k", "ArrowDown", "ArrowUp", "a", "r", "o"]);
const narrow = matchMedia("(max-width: 46rem)");

/** Measure the time from each key press until its labels were painted. */
function measureLatency(pressed) {
  const end = performance.now();
  if (performance.getEntriesByName("abound:rank").length > KEPT_TIMES) performance.clearMeasures("abound:rank");
  for (const start of pressed) performance.measure("abound:rank", { start, end });
}

export class Workbench {
  constructor({ onText = () => {}, onFile = () => {}, info = {} } = {}) {
    this.onText = onText;
    this.info = info;
    setFields(info.fields);
    this.ranked = { text: "", labels: [], sequence: 0 };
    this.before = null;
    this.pressed = []; // times of the key presses whose labels are not shown yet
    this.editor = new Editor({ label: "Text to rank", example: example(), onInput: (event) => this.typed(event) });
    this.list = new RankingList({
      onCurrent: (entry) => this.showWhy(entry),
      onDecide: (entry, kind) => this.decide(entry, kind),
    });
    this.why = new Why();
    this.adding = new Completion({
      label: "Add a label", placeholder: "Add a label  /", mayCreate: () => !this.info.closed,
      onPick: (option) => this.add(option), onLeave: () => this.list.focus(),
    });
    this.state = h("p", { class: "state", id: "state" });
    this.chips = h("div", { class: "chips" });
    this.length = h("span", { class: "hint" });
    this.clearButton = h("button", { type: "button", class: "quiet", onclick: () => this.clear() }, "Clear");
    this.textCard = h("section", { class: "card text-card", "aria-label": "Text" },
      this.editor.element, h("div", { class: "under" }, this.length, this.chips, this.clearButton));
    this.listCard = h("section", { class: "card list-card", "aria-labelledby": "labels-title" },
      h("div", { class: "card-head" }, h("h2", { id: "labels-title" }, "Labels"), this.adding.element),
      this.state, this.list.element);
    this.element = h("div", { class: "bench" }, this.textCard, this.listCard, this.why.element);
    this.editor.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.list.focus();
    });
    this.acceptFiles(onFile);
    this.onDecisions = () => this.redraw();
    this.onLearned = ({ detail }) => this.learned(detail);
    this.onWidth = () => this.placeWhy();
    decisions.addEventListener("change", this.onDecisions);
    decisions.addEventListener("learned", this.onLearned);
    narrow.addEventListener("change", this.onWidth);
    this.why.clear();
    this.show();
  }

  close() {
    decisions.removeEventListener("change", this.onDecisions);
    decisions.removeEventListener("learned", this.onLearned);
    narrow.removeEventListener("change", this.onWidth);
    this.asking?.abort();
    this.closed = true;
  }

  get text() {
    return this.editor.value;
  }

  /** Whether the labels shown belong to an older text. */
  get isBehind() {
    return this.ranked.text !== this.text;
  }

  /** Bind the keys of the labels and of the section. */
  bindKeys(others = {}) {
    const list = this.list;
    const keys = {
      j: () => list.move(1), k: () => list.move(-1), ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1),
      a: () => list.decide(list.at, "accept"), r: () => list.decide(list.at, "reject"),
      "/": () => this.adding.focus(), e: () => this.editor.field.focus(),
      o: () => list.current && (location.hash = `#/label?name=${encodeURIComponent(list.current.label)}`),
    };
    bind({ ...keys, ...others }, (key) => this.isBehind && ON_LABELS.has(key));
  }

  // -- the text ---------------------------------------------------------------------------------------------------

  setText(text) {
    this.editor.set(text);
    this.before = null;
    this.list.toStart();
    this.rank();
  }

  clear() {
    this.setText("");
    this.onText("");
    this.editor.field.focus();
  }

  typed(event) {
    this.before = null;
    this.list.toStart();
    this.onText(this.text);
    this.pressed.push(event.timeStamp);
    this.rank();
  }

  acceptFiles(onFile) {
    const drop = (over) => this.textCard.classList.toggle("is-over", over);
    this.textCard.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop(true);
    });
    this.textCard.addEventListener("dragleave", () => drop(false));
    this.textCard.addEventListener("drop", (event) => {
      const [file] = event.dataTransfer.files;
      drop(false);
      if (!file) return; // dropped text: the field handles it
      event.preventDefault();
      onFile(file);
    });
  }

  // -- ranking ----------------------------------------------------------------------------------------------------

  /** Rank the text of the field: one request at a time, then the newest text. */
  async rank() {
    this.again = this.busy;
    if (this.busy) return;
    const { text } = this;
    const pressed = this.pressed.splice(0);
    if (!text.trim()) {
      this.ranked = { text, labels: [], sequence: 0 };
      this.problem = null;
      this.show();
      return;
    }
    this.busy = true;
    this.asking = new AbortController();
    try {
      const answer = await api.rank(text, { k: SHOWN, bands: this.info.bands, signal: this.asking.signal });
      const labels = answer.labels.map((entry) => ({ ...entry, isExplained: Boolean(entry.words), words: place(text, entry.words ?? []) }));
      this.ranked = { text, labels, sequence: answer.sequence, note: answer.note };
      this.problem = null;
      this.show();
      requestAnimationFrame(() => setTimeout(() => measureLatency(pressed)));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.ranked = this.isBehind ? { text, labels: [], sequence: 0 } : this.ranked;
      this.problem = error;
      this.show();
      if (error.mayPass) setTimeout(() => this.problem === error && !this.closed && this.rank(), Math.max(2000, error.wait * 1000));
    } finally {
      this.busy = false;
    }
    if (this.again) await this.rank();
  }

  show() {
    this.redraw();
    this.length.textContent = this.text.trim() ? plural(countWords(this.text), "word") : "";
    this.clearButton.hidden = !this.text;
    fill(this.state, this.stateMessage());
    this.state.classList.toggle("is-problem", Boolean(this.problem));
    if (!this.ranked.labels.length) {
      this.editor.mark(this.ranked.text, []);
      this.why.clear();
      this.placeWhy();
    }
    if (this.problem) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
    resume();
  }

  stateMessage() {
    if (this.problem) return this.problem.message;
    if (this.ranked.labels.length) return "";
    if (!this.text.trim()) return "Labels appear here as you type.";
    const why = this.ranked.note ? ` (${this.ranked.note})` : "";
    return `No word of this text votes for a label yet${why}. Press / to add a label; similar texts will get it from then on.`;
  }

  redraw() {
    const decided = decisions.on(this.text); // shown even while the ranking is of an older text
    this.list.show(this.ranked.labels, decided, this.before);
    const items = [...decided.values()];
    fill(this.chips, items.map((item) => h("span", { class: `chip ${item.kind} ${item.state}` },
      h("span", { class: "chip-kind" }, { accept: "✓", reject: "✕", add: "+" }[item.kind]), h("bdi", {}, nameOf(item)),
      h("span", { class: "chip-state" }, { learned: "learned", pending: "not sent yet", sending: "sending", waiting: "retrying" }[item.state]))));
    this.chips.hidden = !items.length;
  }

  showWhy(entry) {
    if (!entry) return;
    this.editor.mark(this.ranked.text, entry.words);
    this.why.show(entry);
    this.placeWhy();
  }

  /** On a narrow screen, put the reasons below their label. */
  placeWhy() {
    const row = this.list.rows[this.list.at]?.element;
    const inRow = narrow.matches && row && this.list.touched;
    this.why.element.hidden = narrow.matches && !inRow;
    if (inRow && this.why.element.parentNode !== row) row.append(this.why.element);
    else if (!inRow && this.why.element.parentNode !== this.element) this.element.append(this.why.element);
  }

  // -- deciding ---------------------------------------------------------------------------------------------------

  decide(entry, kind) {
    if (this.isBehind) return; // the clicked label belongs to an older text
    if (kind === "reject" && this.info.learns_wrong === false) {
      say("This model cannot learn from wrong labels.");
      this.problem = { message: "This model cannot learn from wrong labels. Add the right label instead." };
      this.show();
      this.problem = null;
      return;
    }
    decisions.decide(this.text, entry, kind);
  }

  add(option) {
    const { text } = this;
    if (!text.trim()) {
      fill(this.state, "Enter a text first. A label is learned from a text.");
      return;
    }
    decisions.decide(text, option, "add");
    this.list.focus();
  }

  /** A correction was learned: rank again and show what moved. */
  async learned({ batch }) {
    if (batch.text !== this.text) return;
    this.before = new Map(this.ranked.labels.map((entry) => [keyOf(entry.label), entry]));
    const first = this.ranked.labels[0];
    await this.rank();
    const now = this.ranked.labels[0];
    if (now && (!first || keyOf(now.label) !== keyOf(first.label))) say(`Learned. The first label is now ${nameOf(now)}.`);
    else say("Learned.");
  }
}
