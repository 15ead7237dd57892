// A text field with highlighted words. The highlights are in a copy of the text behind the field, so the browser
// handles the typing and nothing moves when the highlights change.
import { fill, h } from "./dom.js";
import { cut, follow, strongest } from "./highlight.js";

const LONG = 6000; // letters; the marks of a longer text would delay typing
const MOST_MARKS = 400;

export class Editor {
  constructor({ onInput, label, example = "" }) {
    this.words = [];
    this.text = "";
    this.marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.field = h("textarea", {
      id: "text", class: "field", spellcheck: "false", autocomplete: "off", rows: "4", dir: "auto", "aria-label": label,
      placeholder: `Type or paste a text, or drop a file here.${example && `\n\n${example}`}`,
    });
    this.field.addEventListener("input", (event) => {
      const before = this.text;
      this.words = follow(this.text, this.field.value, this.words);
      this.text = this.field.value;
      if (this.text.length > LONG) this.marks.replaceChildren(); // painted again when the person stops typing
      else this.paint();
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
    const pieces = strongest(cut(this.text, this.words), MOST_MARKS).map(({ start, stop, level }) => {
      const part = this.text.slice(start, stop);
      return level ? h("mark", { class: `${level > 0 ? "for" : "against"}-${Math.abs(level)}` }, part) : part;
    });
    // Exchanged in one step: the browser examines the direction of the text whenever a child is added.
    fill(this.marks, h("div", { dir: "auto" }, ...pieces, "\u200b")); // gives a last empty line its height
  }
}
