// One key each, while no field has the focus; they can be turned off.
import { byId, h, say } from "./dom.js";
import { read, write } from "./store.js";

let bound = new Map(); // key -> {act, stays}
let mustWait = () => false;
let pressed = []; // keys whose turn has not come: a quick hand is faster than the labels of the next text
const GROUPS = [
  ["Everywhere", [["t", "Tag"], ["q", "Queue"], ["l", "Labels"], ["g", "Progress"], ["?", "This help"]]],
  ["Labels of a text", [
    ["j", "Next label"], ["k", "Label before"], ["a", "Accept"], ["r", "Reject"], ["/", "Add a label"],
    ["u", "Undo the last decision"], ["s", "Send decisions now"], ["o", "Look inside the label"], ["e", "Edit the text"],
  ]],
  ["Queue", [["n", "Next text"], ["p", "Text before"], ["x", "Export decisions"]]],
  ["In a field", [["Esc", "Leave the field, to the labels"], ["↑ ↓", "Move in a list"], ["Enter", "Take the option"]]],
];

export const isOn = () => read("keys", true);

/** Bind the keys of a part; those of the last part go. Where a key must wait, those after it keep their turn. */
export function bind(keys, waits = () => false) {
  mustWait = waits;
  pressed = [];
  bound = new Map([...bound].filter(([, { stays }]) => stays));
  for (const [key, act] of Object.entries(keys)) bound.set(key, { act });
}

/** Bind keys that every part has. */
export function bindAlways(keys) {
  for (const [key, act] of Object.entries(keys)) bound.set(key, { act, stays: true });
}

/** Do what was pressed meanwhile, up to the next key that must wait. */
export function resume() {
  while (pressed.length && !mustWait(pressed[0])) bound.get(pressed.shift())?.act();
}

const types = (element) => element?.matches?.("input, textarea, select, [contenteditable]") ?? false;

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || types(event.target) || !isOn()) return;
  if (!bound.has(event.key)) return;
  event.preventDefault();
  pressed.push(event.key);
  resume();
});

export function showHelp() {
  const toggle = h("input", { type: "checkbox", id: "keys-on", checked: isOn(), onchange: () => write("keys", toggle.checked) });
  const close = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { class: "dialog help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("div", { class: "key-groups" }, GROUPS.map(([title, keys]) => h("section", {}, h("h3", {}, title),
      h("dl", { class: "keys" }, keys.map(([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does))))))),
    h("label", { class: "check" }, toggle, " Single keys are on"),
    h("p", { class: "hint" }, "A decision waits five seconds before it is sent. Until then it can be undone."),
    h("div", { class: "dialog-acts" }, close));
  openDialog(dialog);
}

/** Open a dialog; it leaves the page when it is closed, and the focus goes back. */
export function openDialog(dialog) {
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    before?.focus?.();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

export function setUpHelp() {
  byId("open-help").addEventListener("click", showHelp);
  bindAlways({ "?": showHelp });
  if (!isOn()) say("Single keys are off.");
}
