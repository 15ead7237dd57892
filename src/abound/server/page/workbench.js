// A text, its ranked labels, why, and what is decided on them: the work of Tag and of Queue.
import * as api from "./api.js";
import { Completion } from "./completion.js";
import { decisions } from "./decisions.js";
import { fill, h, keyOf, nameOf, plural, say } from "./dom.js";
import { Editor } from "./editor.js";
import { toUnits } from "./highlight.js";
import { bind, resume } from "./keys.js";
import { RankingList } from "./ranking.js";
import { Why } from "./why.js";

const SHOWN = 10;
const KEPT_TIMES = 1000;
const ON_LABELS = new Set(["j", "k", "ArrowDown", "ArrowUp", "a", "r", "o"]);
const narrow = matchMedia("(max-width: 46rem)");

/** Note how long each key had to wait until its labels were painted. */
function timed(pressed) {
  const end = performance.now();
  if (performance.getEntriesByName("abound:rank").length > KEPT_TIMES) performance.clearMeasures("abound:rank");
  for (const start of pressed) performance.measure("abound:rank", { start, end });
}

export class Workbench {
  constructor({ onText = () => {}, onFile = () => {}, info = {} } = {}) {
    this.onText = onText;
    this.info = info;
    this.ranked = { text: "", labels: [], sequence: 0 };
    this.before = null;
    this.pressed = []; // when the keys were pressed whose labels are not shown yet
    this.editor = new Editor({ label: "Text to rank", onInput: (event) => this.typed(event) });
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
    this.onLearnt = ({ detail }) => this.learnt(detail);
    this.onWidth = () => this.placeWhy();
    decisions.addEventListener("change", this.onDecisions);
    decisions.addEventListener("learnt", this.onLearnt);
    narrow.addEventListener("change", this.onWidth);
    this.why.clear();
    this.show();
  }

  close() {
    decisions.removeEventListener("change", this.onDecisions);
    decisions.removeEventListener("learnt", this.onLearnt);
    narrow.removeEventListener("change", this.onWidth);
    this.asking?.abort();
    this.closed = true;
  }

  get text() {
    return this.editor.value;
  }

  /** Whether the labels that are shown are still those of another text. */
  get isBehind() {
    return this.ranked.text !== this.text;
  }

  /** Bind the keys of the labels, and those of the part. */
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
      if (!file) return; // a piece of text: the field takes it
      event.preventDefault();
      onFile(file);
    });
  }

  // -- ranking ----------------------------------------------------------------------------------------------------

  /** Rank what stands in the field: one request at a time, and the newest text next. */
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
      const labels = answer.labels.map((entry) => ({ ...entry, words: toUnits(text, entry.words ?? []) }));
      this.ranked = { text, labels, sequence: answer.sequence, note: answer.note };
      this.problem = null;
      this.show();
      requestAnimationFrame(() => setTimeout(() => timed(pressed)));
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
    this.length.textContent = this.text.trim() ? plural([...this.text.matchAll(/\S+/g)].length, "word") : "";
    this.clearButton.hidden = !this.text;
    fill(this.state, this.stateWords());
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

  stateWords() {
    if (this.problem) return this.problem.message;
    if (this.ranked.labels.length) return "";
    if (!this.text.trim()) return "Labels appear here as you type.";
    const why = this.ranked.note ? ` (${this.ranked.note})` : "";
    return `No word of this text votes for a label yet${why}. Add one with / and the next text like it will have it.`;
  }

  redraw() {
    const decided = decisions.on(this.text); // also while the ranking is still that of a moment ago
    this.list.show(this.ranked.labels, decided, this.before);
    const items = [...decided.values()];
    fill(this.chips, items.map((item) => h("span", { class: `chip ${item.kind} ${item.state}` },
      h("span", { class: "chip-kind" }, { accept: "✓", reject: "✕", add: "+" }[item.kind]), h("bdi", {}, nameOf(item)),
      h("span", { class: "chip-state" }, { learnt: "learnt", held: "held", sending: "sending", waiting: "waiting" }[item.state]))));
    this.chips.hidden = !items.length;
  }

  showWhy(entry) {
    if (!entry) return;
    this.editor.mark(this.ranked.text, entry.words);
    this.why.show(entry);
    this.placeWhy();
  }

  /** On a narrow screen the reasons stand below the label they belong to. */
  placeWhy() {
    const row = this.list.rows[this.list.at]?.element;
    const inRow = narrow.matches && row && this.list.touched;
    this.why.element.hidden = narrow.matches && !inRow;
    if (inRow && this.why.element.parentNode !== row) row.append(this.why.element);
    else if (!inRow && this.why.element.parentNode !== this.element) this.element.append(this.why.element);
  }

  // -- deciding ---------------------------------------------------------------------------------------------------

  decide(entry, kind) {
    if (this.isBehind) return; // clicked on a label of the text before
    if (kind === "reject" && this.info.learns_wrong === false) {
      say("This model cannot learn from wrong labels.");
      this.problem = { message: "This model cannot learn from wrong labels. Add the right one instead." };
      this.show();
      this.problem = null;
      return;
    }
    decisions.decide(this.text, entry, kind);
  }

  add(option) {
    const { text } = this;
    if (!text.trim()) {
      fill(this.state, "Give a text first: a label is learnt with a text.");
      return;
    }
    decisions.decide(text, option, "add");
    this.list.focus();
  }

  /** A lesson was learnt: rank again, and show what moved. */
  async learnt({ batch }) {
    if (batch.text !== this.text) return;
    this.before = new Map(this.ranked.labels.map((entry) => [keyOf(entry.label), entry]));
    const first = this.ranked.labels[0];
    await this.rank();
    const now = this.ranked.labels[0];
    if (now && (!first || keyOf(now.label) !== keyOf(first.label))) say(`Learnt. First is now ${nameOf(now)}.`);
    else say("Learnt.");
  }
}
