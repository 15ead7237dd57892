// The columns of a row that are not its text, and the choice of those that are.
import { fill, h } from "./dom.js";
import { openDialog } from "./keys.js";

const shown = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** The other columns of the shown row, as a list of names and values. */
export class RowColumns {
  constructor() {
    this.list = h("dl", { class: "columns" });
    this.element = h("section", { class: "card columns-card", "aria-label": "Other columns of this row", tabindex: "0" }, this.list); // it scrolls
  }

  show(source, used) {
    const others = Object.entries(source ?? {}).filter(([name, value]) => !used.includes(name) && shown(value) !== "");
    this.element.hidden = !others.length;
    fill(this.list, others.map(([name, value]) => h("div", {}, h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, shown(value)))));
  }
}

/** Ask which columns are the text; resolves to their names, or null. */
export function askColumns(columns, used) {
  return new Promise((resolve) => {
    const boxes = columns.map((name) => h("input", { type: "checkbox", value: name, checked: used.includes(name) }));
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "columns-title" }, h("form", { method: "dialog", onsubmit: () => {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      resolve(chosen.length ? chosen : null);
    } },
    h("h2", { id: "columns-title" }, "Which columns are the text?"),
    h("p", { class: "hint" }, "They are joined in this order. The others are shown beside the text and are kept in an export."),
    h("div", { class: "column-boxes" }, boxes.map((box) => h("label", { class: "check" }, box, h("bdi", {}, ` ${box.value}`)))),
    h("div", { class: "dialog-acts" }, h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"),
      h("button", { class: "button primary" }, "Use them"))));
    openDialog(dialog);
    dialog.addEventListener("close", () => resolve(null));
  });
}
