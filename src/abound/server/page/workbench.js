// A text, its ranked labels, the reasons and the decisions: shared by Tag and Queue.
//
// The list changes only if the text changes, or if the person asks: nothing moves while a person decides.
import { Chips } from "./chips.js";
import { Completion } from "./completion.js";
import { decisions } from "./decisions.js";
import { fill, h, keyOf, nameOf, plural, say } from "./dom.js";
import { Editor } from "./editor.js";
import { example, setFields } from "./fields.js";
import { countWords, isEditOf } from "./highlight.js";
import { bind, resume } from "./keys.js";
import { notice } from "./notice.js";
import { attach, redraw } from "./pending.js";
import { Ranker } from "./ranker.js";
import { Reasons } from "./reasons.js";
import { likely, RankingList } from "./ranking.js";
import { Why } from "./why.js";

const SHOWN = 10;
const MORE = 50;
const SLOW_MS = 150; // until the page says that it waits for the labels
const QUIET_MS = 1000; // without a key press, until a ranking is announced
const MESSAGE_MS = 8000;
const ON_LABELS = new Set(["j", "k", "ArrowDown", "ArrowUp", "a", "r", "o", "m", "w", ..."1234567890"]);
const SPOKEN = { accept: "Accepted", reject: "Rejected", add: "Added" };

/** Labels, and below them those of a longer ranking that are not among them. */
function below(above, labels) {
  const known = new Set(above.map(({ label }) => keyOf(label)));
  return [...above, ...labels.filter(({ label }) => !known.has(keyOf(label)))];
}

const nothing = (text) => ({ text, labels: [], sequence: 0 });

export class Workbench {
  /**
   * `onText` receives a typed text, `onFile` a dropped file, and `onDone` {text, items, isNew} when the person is done with
   * a text. With `needsDecision`, a text without decisions cannot be done. `whenEmpty` is shown while there is no text.
   * `submit` stores what was decided on a text, and returns {isNew, isDurable}.
   */
  constructor({ onText = () => {}, onFile = () => {}, onDone = () => {}, info = {}, doneName = "Done", needsDecision = true, whenEmpty = null, submit = (text) => decisions.submit(text) } = {}) {
    Object.assign(this, { onText, onDone, info, needsDecision, whenEmpty, submit });
    setFields(info.fields);
    this.ranked = nothing("");
    this.k = SHOWN;
    this.before = null; // the labels before the last correction
    this.message = "";
    this.anchor = ""; // the text on which the person decided last
    this.ranker = new Ranker({ wanted: () => ({ text: this.text, k: this.k, bands: info.bands }), onAnswer: (answer) => this.answered(answer) });
    this.makeParts(doneName);
    this.acceptFiles(onFile);
    this.listen();
    this.why.clear();
    this.show();
    attach(this);
  }

  makeParts(doneName) {
    this.editor = new Editor({ label: "Text to rank", example: example(), onInput: (event, before) => this.typed(event, before) });
    this.list = new RankingList({
      onCurrent: (entry) => this.showWhy(entry), onDecide: (entry, kind) => this.decide(entry, kind), onWhy: () => this.why.open(),
    });
    this.why = new Why();
    this.reasons = new Reasons((entry) => this.list.current === entry && this.showWhy(entry));
    this.adding = new Completion({
      label: "Add a label", placeholder: "Add a label  /", mayCreate: () => !this.info.closed, text: () => this.text, isKnown: ({ label }) => this.isShown(label),
      onPick: (option) => this.add(option), onLeave: () => this.focusLabels(), onEmpty: () => this.done(),
    });
    this.state = h("div", { class: "state", id: "state" });
    this.chips = new Chips((item) => this.decide(item, item.kind));
    this.waits = h("span", { class: "waits hint", hidden: true }, "Ranking…");
    this.fresh = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.showNew() }, "Show the new ranking");
    this.moreButton = h("button", { type: "button", class: "quiet more-labels", hidden: true, "aria-keyshortcuts": "m", onclick: () => this.more() }, "More labels ", h("kbd", {}, "m"));
    this.voters = h("div", { class: "hint voters", hidden: true });
    this.length = h("span", { class: "hint" });
    this.clearButton = h("button", { type: "button", class: "quiet", onclick: () => this.clear() }, "Clear");
    this.doneButton = h("button", { type: "button", class: "button primary", "aria-keyshortcuts": "Enter", onclick: () => this.done() }, `${doneName} `, h("kbd", {}, "⏎"));
    this.textCard = h("section", { class: "card text-card", "aria-label": "Text" },
      this.editor.element, h("div", { class: "under" }, this.length, this.clearButton));
    this.listCard = h("section", { class: "card list-card", "aria-labelledby": "labels-title", tabindex: "-1" },
      h("div", { class: "card-head" }, h("h2", { id: "labels-title" }, "Labels"), this.waits, this.fresh, this.adding.element),
      this.chips.element, this.state, this.list.element, this.moreButton, this.voters);
    this.element = h("div", { class: "bench" }, this.textCard, this.listCard, this.why.element);
    this.editor.field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.focusLabels();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.done();
    });
  }

  listen() {
    this.onDecisions = () => this.redraw();
    this.onLearned = ({ detail }) => this.learned(detail);
    decisions.addEventListener("change", this.onDecisions);
    decisions.addEventListener("learned", this.onLearned);
  }

  close() {
    decisions.removeEventListener("change", this.onDecisions);
    decisions.removeEventListener("learned", this.onLearned);
    clearTimeout(this.slow);
    clearTimeout(this.quiet);
    this.ranker.close();
    this.reasons.close();
    this.why.close();
    attach(null);
  }

  get text() {
    return this.editor.value;
  }

  /** Whether the labels shown belong to an older text. */
  get isBehind() {
    return this.isHeld || this.ranked.text !== this.text;
  }

  /** The next text is on its way: keys on labels wait for it. */
  hold(isHeld = true) {
    this.isHeld = isHeld;
    if (isHeld) this.list.block();
    else this.list.unblock();
    if (!isHeld) resume();
  }

  get mayBeDone() {
    return Boolean(this.text.trim()) && (!this.needsDecision || decisions.isOpen(this.text));
  }

  /** The decisions on a text: [{label, name, kind, state}]. */
  decisionsOf(text) {
    return [...decisions.on(text).values()];
  }

  /** Bind the keys of the labels and of the section. */
  bindKeys(others = {}) {
    const { list } = this;
    const keys = {
      j: () => list.move(1), k: () => list.move(-1), ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1),
      a: () => list.decide(list.at, "accept"), r: () => list.decide(list.at, "reject"), Enter: () => this.done(),
      "/": () => this.adding.focus(), e: () => this.editor.field.focus(), m: () => this.more(), w: () => this.why.open(),
      o: () => list.current && (location.hash = `#/label?name=${encodeURIComponent(list.current.label)}`),
    };
    [..."1234567890"].forEach((digit, i) => { keys[digit] = () => this.decideAt(i); });
    bind({ ...keys, ...others }, (key) => (this.isBehind || list.isBlocked) && ON_LABELS.has(key));
  }

  /** Put the focus on the current label or, without labels, beside the text, so that keys work. */
  focusLabels() {
    if (this.list.current) this.list.focus();
    else this.listCard.focus({ preventScroll: true });
  }

  // -- the text ---------------------------------------------------------------------------------------------------

  /** Show another text. */
  setText(text) {
    this.isHeld = false;
    this.editor.set(text);
    this.restart();
    this.list.block(); // its labels belong to another text
    this.isNewText = true;
    this.ask();
  }

  clear() {
    this.setText("");
    this.onText("");
    this.editor.field.focus();
  }

  typed(event, before) {
    this.carry(before);
    this.restart();
    this.onText(this.text);
    this.ranker.pressed.push(event.timeStamp);
    this.ask();
  }

  restart() {
    this.before = null;
    this.above = null; // labels that stay above those of a longer ranking
    this.k = SHOWN;
    this.fresh.hidden = true;
    this.say("");
    this.list.toStart();
  }

  /** Decisions follow a text that is edited. They stay with the text on which they were made if it is replaced. */
  carry(before) {
    if (!decisions.isOpen(before)) return;
    decisions.move(before, isEditOf(this.anchor || before, this.text) ? this.text : this.anchor || before);
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

  ask() {
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.setWaits(this.isBehind), SLOW_MS);
    return this.ranker.ask();
  }

  /** Say that the labels shown are those of an older text. */
  setWaits(waits) {
    this.waits.hidden = !waits;
    this.list.element.classList.toggle("is-old", waits);
    if (waits || this.ranked.problem) this.listCard.setAttribute("aria-busy", "true");
    else this.listCard.removeAttribute("aria-busy");
  }

  answered(answer) {
    const isSame = answer.text === this.ranked.text;
    if (answer.problem && isSame) this.ranked = { ...this.ranked, problem: answer.problem };
    else this.ranked = isSame && this.above ? { ...answer, labels: below(this.above, answer.labels) } : answer;
    if (!this.isBehind) clearTimeout(this.slow);
    this.show();
    if (this.isBehind) return;
    this.setWaits(false);
    this.list.unblock();
    if (document.activeElement === this.listCard) this.focusLabels(); // it waited for the labels
    this.announceSoon();
    resume();
  }

  announceSoon() {
    clearTimeout(this.quiet);
    if (!this.text.trim() || this.ranked.problem) return;
    this.quiet = setTimeout(() => this.announce(this.isNewText ? "Next text: " : ""), this.isNewText ? 0 : QUIET_MS);
    if (this.isNewText) this.isNewText = false;
  }

  announce(before) {
    const [first] = this.ranked.labels;
    if (!first) say(`${before}no labels.`);
    else {
      const worth = first.probability === undefined ? "" : `, ${likely(first.probability).replace("<", "less than ").replace(">", "more than ")}`;
      say(`${before}${plural(this.ranked.labels.length, "label")}, first: ${nameOf(first)}${worth}.`);
    }
  }

  show() {
    this.redraw();
    const { labels, problem } = this.ranked;
    this.length.textContent = this.text.trim() ? plural(countWords(this.text), "word") : "";
    this.clearButton.hidden = !this.text;
    this.moreButton.hidden = labels.length < SHOWN || this.k >= MORE;
    this.voters.hidden = !labels.length || !this.ranked.voters;
    this.voters.textContent = this.ranked.voters ? `Ranked by ${this.ranked.voters.join(", ")}.` : "";
    fill(this.state, problem ? problem.message : labels.length ? "" : this.emptyMessage());
    this.state.classList.toggle("is-problem", Boolean(problem));
    if (labels.length) return;
    this.editor.mark(this.ranked.text, []);
    this.why.clear();
  }

  emptyMessage() {
    if (!this.text.trim()) return this.whenEmpty?.() ?? "Labels appear here as you type.";
    const why = this.ranked.note ? ` (${this.ranked.note})` : "";
    return `No word of this text votes for a label yet${why}. Press / to add a label; similar texts will get it from then on.`;
  }

  redraw() {
    const decided = decisions.on(this.text); // shown even while the ranking is of an older text
    this.list.show(this.ranked.labels, decided, this.before);
    this.chips.show([...decided.values()]);
    redraw();
  }

  showWhy(entry) {
    if (!entry) return;
    if (entry.words) this.editor.mark(this.ranked.text, entry.words);
    this.reasons.want(this.ranked.text, entry, this.info.explained_bytes, this.info.similar);
    this.why.show(entry);
  }

  /** Show more labels below those that are shown. */
  async more() {
    if (this.k >= MORE || !this.ranked.labels.length) return;
    this.above = this.ranked.labels;
    this.k = MORE;
    await this.ranker.ask();
    if (!this.isBehind && !this.ranked.problem) this.announce("");
  }

  /** Whether a label is among the first ten, or decided on. */
  isShown(label) {
    const key = keyOf(label);
    return decisions.on(this.text).has(key) || this.ranked.labels.slice(0, SHOWN).some((entry) => keyOf(entry.label) === key);
  }

  // -- deciding ---------------------------------------------------------------------------------------------------

  /** Show a message in the bar for a while. */
  say(words) {
    clearTimeout(this.talking);
    this.message = words;
    if (words) {
      say(words);
      this.talking = setTimeout(() => this.say(""), MESSAGE_MS);
    }
    redraw();
  }

  decideAt(i) {
    if (i < this.ranked.labels.length) this.list.decide(i, "accept");
  }

  decide(entry, kind) {
    if (kind === "reject" && this.info.learns_wrong === false) {
      this.say("This model cannot learn from wrong labels. Add the right label instead.");
      return;
    }
    this.say("");
    this.anchor = this.text;
    const item = decisions.decide(this.text, entry, kind);
    say(item ? `${SPOKEN[kind]} ${nameOf(entry)}.` : `${nameOf(entry)}: decision removed.`);
  }

  add(option) {
    if (!this.text.trim()) {
      this.say("Enter a text first. A label is learned from a text.");
      return;
    }
    const before = decisions.on(this.text).get(keyOf(option.label));
    if (!before || before.kind === "reject") this.decide(option, "add");
    else this.say(`${nameOf(option)} is already decided.`);
  }

  /** The person is done with the text: its correction is stored in the browser, then sent. */
  async done() {
    const { text } = this;
    if (!this.mayBeDone) {
      this.say(text.trim() ? "Nothing to send. Accept, reject or add a label first." : "Enter a text first.");
      return;
    }
    this.say("");
    const items = this.decisionsOf(text);
    const { isNew, isDurable } = this.submit(text);
    if (!isDurable) notice("This browser cannot store the correction. Leave the page open until it is learned.");
    if (isNew) say(`Done: ${plural(items.length, "decision")}.`);
    if (this.adding.element.contains(document.activeElement)) this.focusLabels();
    await this.onDone({ text, items, isNew });
  }

  /** A correction was learned: show the new ranking, unless the person goes on with the text. */
  learned({ batch }) {
    if (batch.text !== this.text) return;
    if (decisions.isOpen(this.text)) this.fresh.hidden = false;
    else this.showNew();
  }

  /** Rank again and show what moved; the current label stays current. */
  async showNew() {
    this.fresh.hidden = true;
    const before = new Map(this.ranked.labels.map((entry) => [keyOf(entry.label), entry]));
    const { text } = this;
    this.list.follow();
    this.above = null;
    this.before = before;
    await this.ranker.ask();
    clearTimeout(this.quiet);
    if (this.text === text) this.announce("Learned. New ranking: ");
  }
}
