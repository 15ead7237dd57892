// The list of a queue's texts, with a filter and a search. Only as many rows as a person can read are drawn.
import { count, fill, h, plural } from "./dom.js";

const DRAWN = 100;
export const STATES = { open: "undecided", done: "decided", none: "none fits", skipped: "skipped" };

/** The words of a search, each of which a text must contain. */
const wordsOf = (search) => search.toLowerCase().split(/\s+/).filter(Boolean);

export class QueueList {
  /** `find({state, words, search, limit})` returns {total, rows: [{i, text, state, number, detail}]}, or a promise of it. */
  constructor({ find, onPick, filters = STATES }) {
    this.find = find;
    this.onPick = onPick;
    this.states = filters;
    this.current = -1;
    this.limit = DRAWN;
    this.search = h("input", { type: "search", class: "input", placeholder: "Search texts", "aria-label": "Search texts", oninput: () => this.changed() });
    this.filter = h("select", { class: "input", "aria-label": "Show texts", onchange: () => this.changed() },
      h("option", { value: "" }, "all texts"), Object.entries(filters).map(([value, name]) => h("option", { value }, name)));
    this.found = h("p", { class: "hint", role: "status" });
    this.list = h("ol", { class: "texts" });
    this.more = h("button", { type: "button", class: "quiet", onclick: () => {
      this.limit += DRAWN;
      this.draw();
    } }, "Show more");
    this.element = h("section", { class: "card texts-card", "aria-label": "Texts", hidden: true },
      h("div", { class: "texts-head" }, this.search, this.filter, this.found), this.list, this.more);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  toggle(open = !this.isOpen) {
    this.element.hidden = !open;
    if (open) {
      this.draw();
      this.search.focus();
    }
  }

  changed() {
    this.limit = DRAWN;
    this.draw();
  }

  async draw(current = this.current) {
    this.current = current;
    if (!this.isOpen) return;
    const turn = (this.turn = {});
    const { total, rows } = await this.find({ state: this.filter.value, words: wordsOf(this.search.value), search: this.search.value, limit: this.limit });
    if (turn !== this.turn) return; // a newer search was asked
    this.found.textContent = plural(total, "text");
    this.more.hidden = rows.length >= total;
    fill(this.list, rows.map((row) => h("li", {},
      h("button", { type: "button", class: "text-row", "aria-current": row.i === this.current ? "true" : null, onclick: () => this.onPick(row.i) },
        h("span", { class: "text-number" }, row.number ?? count(row.i + 1)),
        h("span", { class: "text-words", dir: "auto" }, row.text.slice(0, 200), row.detail ? h("span", { class: "text-detail" }, row.detail) : null),
        h("span", { class: `text-state is-${row.state}` }, this.states[row.state])))));
  }
}
