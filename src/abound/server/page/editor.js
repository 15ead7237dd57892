// A text field with highlighted words. The highlights are in a copy of the text behind the field, so the browser
// handles the typing and nothing moves when the highlights change.
import { fill, h } from "./dom.js";
import { cut, follow } from "./highlight.js";

export class Editor {
  constructor({ onInput, label, example = "" }) {
    this.words = [];
    this.text = "";
    this.marks = h("div", { class: "marks", "aria-hidden": "true", dir: "auto" });
    this.field = h("textarea", {
      id: "text", class: "field", spellcheck: "false", autocomplete: "off", rows: "4", dir: "auto", "aria-label": label,
      placeholder: `Type or paste a text, or drop a file here.${example && `\n\n${example}`}`,
    });
    this.field.addEventListener("input", (event) => {
      const before = this.text;
      this.words = follow(this.text, this.field.value, this.words);
      this.text = this.field.value;
      this.paint();
      onInput(event, before);
    });
    this.element = h("div", { class: "editor" }, this.marks, this.field);
  }

  get value() {
    return this.field.value;
  }

  set(text) {
    this.field.value = text;
    this.text = this.field.value;
    this.words = [];
    this.paint();
  }

  /** Highlight the words of the ranked text; the field may have changed since. */
  mark(text, words) {
    this.words = text === this.text ? words : follow(text, this.text, words);
    this.paint();
  }

  paint() {
    const pieces = cut(this.text, this.words).map(({ start, stop, level }) => {
      const part = this.text.slice(start, stop);
      return level ? h("mark", { class: `${level > 0 ? "for" : "against"}-${Math.abs(level)}` }, part) : part;
    });
    fill(this.marks, ...pieces, "\u200b"); // gives a last empty line its height
  }
}
