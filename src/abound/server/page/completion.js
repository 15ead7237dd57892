// Find a label by words of its name in any order, those that fit the text best first, or create one.
import { complete, labels } from "./api.js";
import { count, fill, h, nameOf } from "./dom.js";

const SHOWN = 8;
const ASKED = 30; // some of them may be known
let made = 0;

export class Completion {
  /**
   * onPick receives {label, name, isNew}. If `mayCreate()` is true, the typed text may become a new label. `text()` is the
   * text that the label is for, onEmpty is called on Enter in an empty field, and onLeave on Escape. Labels that are known, such as those in the list,
   * come last.
   */
  constructor({ label, placeholder, onPick, onLeave = () => {}, onEmpty = () => {}, mayCreate = () => false, text = () => "", isKnown = () => false }) {
    Object.assign(this, { onPick, onLeave, onEmpty, mayCreate, text, isKnown });
    this.options = [];
    this.at = -1;
    const id = `options-${(made += 1)}`;
    this.input = h("input", {
      type: "text", class: "input", role: "combobox", autocomplete: "off", spellcheck: "false", dir: "auto", placeholder,
      "aria-label": label, "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list", maxlength: "300",
    });
    this.list = h("ul", { class: "options", role: "listbox", id, "aria-label": "Labels", hidden: true });
    this.element = h("div", { class: "completion" }, this.input, this.list);
    this.input.addEventListener("input", (event) => this.ask(event.timeStamp));
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("blur", () => this.close());
  }

  focus() {
    this.input.focus();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  async ask(since) {
    const typed = this.input.value.trim();
    this.asking?.abort();
    this.wanted = this.wantsEnd = false;
    if (!typed) return this.show([], typed);
    this.asking = new AbortController();
    try {
      const text = this.text();
      const answer = await (text.trim() ? complete(text, typed, ASKED, this.asking.signal) : labels(typed, ASKED, this.asking.signal));
      if (typed !== this.input.value.trim()) return undefined;
      this.show(this.inOrder(answer.labels, typed), typed);
      performance.measure("abound:complete", { start: since, end: performance.now() });
    } catch (error) {
      if (error.name !== "AbortError") this.show([], typed, error.message);
    }
    return undefined;
  }

  /** The label that has the typed name first, then those that are not known yet. */
  inOrder(matches, typed) {
    const place = (entry) => (nameOf(entry) === typed ? 0 : this.isKnown(entry) ? 2 : 1);
    return [...matches].sort((a, b) => place(a) - place(b)).slice(0, SHOWN);
  }

  show(matches, typed, problem = "") {
    const exact = matches.some((entry) => [nameOf(entry), String(entry.label)].includes(typed));
    this.options = matches.map((entry) => ({ label: entry.label, name: nameOf(entry), count: entry.count }));
    if (typed && !exact && !problem && this.mayCreate()) this.options.push({ label: typed, name: typed, isNew: true });
    const items = this.options.map((option, i) => h("li", { role: "option", class: option.isNew ? "is-new" : null, id: `${this.list.id}-${i}`, "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); this.pick(i); } },
      option.isNew ? [h("span", {}, "New label "), h("bdi", { class: "option-name" }, option.name), h("kbd", {}, "⇧⏎")]
        : [h("bdi", { class: "option-name" }, option.name), h("span", { class: "option-count" }, count(option.count))]));
    const none = typed && !items.length ? [h("li", { class: "empty", role: "option", "aria-disabled": "true", "aria-selected": "false" }, problem || "No label name has a word that begins like this.")] : [];
    fill(this.list, ...items, ...none);
    const open = items.length + none.length > 0;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    this.shown = this.input.dataset.shown = typed;
    this.move(0, true);
    if (!this.wanted) return;
    const { wantsEnd } = this;
    this.pick(this.at);
    if (wantsEnd) this.onEmpty();
  }

  move(step, toStart = false) {
    if (!this.options.length) {
      this.at = -1;
      return;
    }
    this.at = toStart ? 0 : (this.at + step + this.options.length) % this.options.length;
    [...this.list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === this.at)));
    this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    this.list.children[this.at].scrollIntoView({ block: "nearest" });
  }

  pick(i) {
    const option = this.options[i];
    this.wanted = this.wantsEnd = this.input.readOnly = false;
    if (option) this.choose(option);
  }

  choose(option) {
    this.input.value = "";
    this.show([], "");
    this.onPick(option);
  }

  /** Pick the typed name as a new label, or the label that has this name. */
  create(typed) {
    this.asking?.abort();
    const found = this.shown === typed && this.options.find(({ name, label }) => [name, String(label)].includes(typed));
    this.choose(found || { label: typed, name: typed, isNew: true });
  }

  onKey(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.input.value.trim()) return this.onEmpty();
      if (event.shiftKey && this.mayCreate()) return this.create(this.input.value.trim());
      // If the answer to the current input has not arrived, wait for it: the options shown belong to older input.
      if (this.shown === this.input.value.trim()) this.pick(this.at);
      else if (this.wanted) this.wantsEnd = true; // Enter again: done, after the label that is awaited
      else this.wanted = this.input.readOnly = true;
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (!this.list.hidden) this.close();
      else this.onLeave();
    }
    return undefined;
  }
}
