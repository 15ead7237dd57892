// The decisions on a text in one line, which never grows, so that nothing below it moves.
import { fill, h, nameOf } from "./dom.js";

const MARK = { accept: "✓", reject: "✕", add: "+" };
const SPOKEN = { accept: "accepted", reject: "rejected", add: "added" };
const STATE = { learned: "learned", pending: "not sent yet", sending: "sending", waiting: "retrying" };

export class Chips {
  /** `onRemove` receives the decision that is undone. */
  constructor(onRemove) {
    this.onRemove = onRemove;
    this.element = h("div", { class: "chips", role: "group", "aria-label": "Decisions on this text" });
  }

  show(items) {
    const focused = [...this.element.children].indexOf(document.activeElement);
    fill(this.element, items.map((item) => h("button", {
      type: "button", class: `chip ${item.kind} ${item.state}`, onclick: () => this.onRemove(item),
      "aria-label": `Undo: ${SPOKEN[item.kind]} ${nameOf(item)}, ${STATE[item.state]}`, title: "Undo this decision",
    }, h("span", { class: "chip-kind" }, MARK[item.kind]), h("bdi", {}, nameOf(item)), item.state !== "pending" && [" ", h("span", { class: "chip-state" }, STATE[item.state])])));
    if (focused >= 0) (this.element.children[Math.min(focused, items.length - 1)] ?? null)?.focus();
  }
}
