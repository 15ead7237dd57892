// The ranked labels. Rows keep their position; one row is current, and the focus is nowhere else in the list.
import { fill, h, keyOf, nameOf } from "./dom.js";

const DONE = { accept: "accepted", reject: "rejected", add: "added" };
const BAND = { apply: "Apply", suggest: "Suggest", hide: "Hide" };

const MIN_CHANGE = 0.03; // relative change of a score that is shown
const MIN_POINTS = 0.01; // change of a probability that is shown

/** A probability in plain words; certainty is never claimed. */
export function likely(probability) {
  if (probability < 0.01) return "<1% likely";
  if (probability > 0.99) return ">99% likely";
  return `${Math.round(probability * 100)}% likely`;
}

/** The names of the labels above a label in the hierarchy, from the top concept on. */
export const pathOf = (entry) => (entry.path ?? []).map(nameOf).join(" › ");

/** What a correction did to a label: the change of its rank or, if there is none, of its score. */
function change(entry, before) {
  if (!before) return { cls: "came", mark: "new", spoken: "new in the list" };
  const ranks = before.rank - entry.rank;
  if (ranks > 0) return { cls: "rose", mark: `↑${ranks}`, spoken: `up ${ranks}` };
  if (ranks < 0) return { cls: "fell", mark: `↓${-ranks}`, spoken: `down ${-ranks}` };
  const isCalibrated = entry.probability !== undefined && before.probability !== undefined;
  const points = isCalibrated ? entry.probability - before.probability : entry.score - before.score;
  if (Math.abs(points) < (isCalibrated ? MIN_POINTS : MIN_CHANGE * Math.abs(before.score))) return null;
  const figure = isCalibrated ? `${Math.round(Math.abs(points) * 100)}%` : Math.abs(points).toFixed(2);
  const what = isCalibrated ? "probability" : "score";
  return points > 0 ? { cls: "rose", mark: `+${figure}`, spoken: `${what} up ${figure}` } : { cls: "fell", mark: `\u2212${figure}`, spoken: `${what} down ${figure}` };
}

export class RankingList {
  /** `onCurrent` receives the current label. Pointing at a label does nothing: the reasons are those of the current one. */
  constructor({ onCurrent, onDecide, onWhy }) {
    Object.assign(this, { onCurrent, onDecide, onWhy });
    this.entries = [];
    this.rows = [];
    this.at = 0;
    this.list = h("ol", { class: "ranking", "aria-label": "Ranked labels" });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.element = this.list;
  }

  get current() {
    return this.entries[this.at];
  }

  /** Show a ranking; `before` has the entries of an older one, to show what moved. */
  show(entries, decided, before = null) {
    const stays = this.followed === undefined ? -1 : entries.findIndex(({ label }) => keyOf(label) === this.followed);
    if (entries !== this.entries) this.followed = undefined;
    this.entries = entries;
    this.at = Math.min(stays >= 0 ? stays : this.at, Math.max(0, entries.length - 1));
    const most = Math.max(0, ...entries.map(({ score }) => score));
    while (this.rows.length < entries.length) this.rows.push(this.newRow(this.rows.length));
    this.rows.length = entries.length;
    entries.forEach((entry, i) => this.fillRow(this.rows[i], entry, most, decided.get(keyOf(entry.label)), before));
    const focused = this.list.contains(document.activeElement);
    while (this.list.children.length > this.rows.length) this.list.lastChild.remove();
    this.list.append(...this.rows.slice(this.list.children.length).map((row) => row.element));
    this.mark();
    if (focused && !this.rows[this.at]?.element.contains(document.activeElement)) this.focus();
  }

  /** Keep the current label current when another ranking is shown. */
  follow() {
    if (this.current) this.followed = keyOf(this.current.label);
  }

  /** Ignore clicks until the labels of another text are shown. */
  block() {
    this.list.classList.add("is-blocked");
    this.isBlocked = true;
  }

  unblock() {
    this.list.classList.remove("is-blocked");
    this.isBlocked = false;
  }

  newRow(i) {
    const row = {
      rank: h("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
      pick: h("button", { type: "button", class: "pick", dir: "auto" }),
      note: h("span", { class: "note" }),
      path: h("span", { class: "path", dir: "auto" }),
      bar: h("span", { class: "bar" }),
      score: h("span", { class: "figure" }),
      why: h("button", { type: "button", class: "row-why" }, "Why"),
      accept: h("button", { type: "button", class: "act accept", "aria-keyshortcuts": "a" }, "✓"),
      reject: h("button", { type: "button", class: "act reject", "aria-keyshortcuts": "r" }, "✕"),
    };
    row.element = h("li", { class: "row" }, row.rank,
      h("span", { class: "what" }, row.pick, row.path),
      h("span", { class: "track", "aria-hidden": "true" }, row.bar), row.score, row.note, row.why,
      h("span", { class: "acts" }, row.accept, row.reject));
    row.element.addEventListener("focusin", () => this.at !== i && this.select(i));
    row.pick.addEventListener("click", () => this.select(i));
    row.why.addEventListener("click", () => {
      this.select(i);
      this.onWhy();
    });
    row.accept.addEventListener("click", () => this.decide(i, "accept"));
    row.reject.addEventListener("click", () => this.decide(i, "reject"));
    return row;
  }

  fillRow(row, entry, most, decision, before) {
    const name = nameOf(entry);
    row.pick.textContent = name;
    row.pick.title = name; // a long one is shortened
    row.element.dataset.label = String(entry.label);
    row.path.textContent = pathOf(entry);
    row.path.hidden = !entry.path?.length;
    const isCalibrated = entry.probability !== undefined;
    const share = most > 0 ? Math.max(0, entry.score) / most : 0;
    row.bar.style.setProperty("--share", (isCalibrated ? entry.probability : share).toFixed(4));
    row.score.textContent = isCalibrated ? likely(entry.probability) : entry.score.toFixed(2);
    row.score.title = isCalibrated ? `probability ${entry.probability}, score ${entry.score}` : `score ${entry.score}`;
    const moved = before ? change(entry, before.get(keyOf(entry.label))) : null;
    const done = decision ? DONE[decision.kind] : null;
    const notes = [];
    if (entry.band) notes.push(h("span", { class: `band ${entry.band}` }, BAND[entry.band] ?? entry.band));
    if (entry.assigned) notes.push(h("span", { class: "band apply", title: "One of the labels to apply, by their probabilities" }, BAND.apply));
    if (moved) notes.push(h("span", { class: `moved ${moved.cls}` }, h("span", { "aria-hidden": "true" }, moved.mark), h("span", { class: "unseen" }, moved.spoken)));
    if (done) notes.push(h("span", { class: `done ${done}` }, done));
    fill(row.note, ...notes);
    row.element.classList.toggle("is-assigned", Boolean(entry.assigned) || entry.band === "apply");
    row.element.classList.toggle("is-accepted", decision?.kind === "accept" || decision?.kind === "add");
    row.element.classList.toggle("is-rejected", decision?.kind === "reject");
    row.accept.setAttribute("aria-label", `Accept ${name}`);
    row.reject.setAttribute("aria-label", `Reject ${name}`);
    row.why.setAttribute("aria-label", `Why ${name}`);
    row.accept.setAttribute("aria-pressed", String(decision?.kind === "accept" || decision?.kind === "add"));
    row.reject.setAttribute("aria-pressed", String(decision?.kind === "reject"));
    row.accept.title = `Accept ${name} (a${entry.rank <= 10 ? `, ${entry.rank % 10}` : ""})`;
    row.reject.title = `Reject ${name} (r)`;
    const worth = isCalibrated ? likely(entry.probability).replace("<", "less than ").replace(">", "more than ") : `score ${entry.score.toFixed(2)}`;
    const applied = entry.assigned || entry.band === "apply" ? ", a label to apply" : "";
    const below = entry.path?.length ? `, below ${entry.path.map(nameOf).join(", ")}` : "";
    row.pick.setAttribute("aria-description", `rank ${entry.rank}, ${worth}${applied}${below}`);
  }

  mark() {
    this.rows.forEach((row, i) => {
      const current = i === this.at;
      row.element.classList.toggle("is-current", current);
      if (current) row.pick.setAttribute("aria-current", "true");
      else row.pick.removeAttribute("aria-current");
      for (const button of [row.pick, row.why, row.accept, row.reject]) button.tabIndex = current ? 0 : -1;
    });
    this.onCurrent(this.current);
  }

  /** Make the first label current. */
  toStart() {
    this.at = 0;
    this.followed = undefined;
  }

  select(i) {
    if (!this.entries.length) return;
    this.at = Math.max(0, Math.min(this.entries.length - 1, i));
    this.mark();
  }

  move(step) {
    this.select(this.at + step);
    this.focus();
  }

  focus() {
    this.rows[this.at]?.pick.focus();
    if (this.rows[this.at]?.element.matches(":focus-within")) this.rows[this.at].element.scrollIntoView({ block: "nearest" });
  }

  decide(i, kind) {
    if (this.isBlocked) return;
    this.select(i);
    if (this.current) this.onDecide(this.current, kind);
  }

  onKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.move(step);
  }
}
