// A text field with marks behind its letters. The marks lie in a copy of the text of the same size, so typing stays
// the browser's own, and nothing moves when marks change.
import { fill, h } from "./dom.js";
import { cut, follow } from "./highlight.js";

export class Editor {
  constructor({ onInput, label }) {
    this.words = [];
    this.text = "";
    this.marks = h("div", { class: "marks", "aria-hidden": "true", dir: "auto" });
    this.field = h("textarea", {
      id: "text", class: "field", spellcheck: "false", autocomplete: "off", rows: "4", dir: "auto", "aria-label": label,
      placeholder: "Type or paste a text, or drop a file here.",
    });
    this.field.addEventListener("input", (event) => {
      this.words = follow(this.text, this.field.value, this.words);
      this.text = this.field.value;
      this.paint();
      onInput(event);
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

  /** Mark the words of the text that was ranked; the field may have moved on since. */
  mark(text, words) {
    this.words = text === this.text ? words : follow(text, this.text, words);
    this.paint();
  }

  paint() {
    const pieces = cut(this.text, this.words).map(({ start, stop, level }) => {
      const part = this.text.slice(start, stop);
      return level ? h("mark", { class: `${level > 0 ? "for" : "against"}-${Math.abs(level)}` }, part) : part;
    });
    fill(this.marks, ...pieces, "\u200b"); // so that a last empty line has its height
  }
}
