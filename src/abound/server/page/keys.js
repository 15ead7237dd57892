// Single-key shortcuts, active while no field has the focus. They can be turned off.
import { byId, h, say } from "./dom.js";
import { read, write } from "./store.js";

let bound = new Map(); // key -> {act, stays}
let mustWait = () => false;
let pressed = []; // keys that wait until the labels of the next text are there
const GROUPS = [
  ["Everywhere", [["t", "Tag"], ["q", "Queue"], ["l", "Labels"], ["g", "Progress"], ["h", "History"], ["?", "This help"]]],
  ["Queue", [
    ["n", "Next text"], ["p", "Previous text"], ["f", "Next undecided text"], ["s", "Skip the text"], ["z", "None of the labels fits"],
    ["v", "List of texts"], ["x", "Export decisions"],
  ]],
  ["Labels of a text", [
    ["1 – 9, 0", "Accept one of the first ten labels"], ["j", "Next label"], ["k", "Previous label"], ["a", "Accept"], ["r", "Reject"],
    ["/", "Add a label"], ["m", "More labels"], ["w", "Why this label"], ["u", "Undo the last decision or the last correction"],
    ["o", "Details of the label"], ["e", "Edit the text"], ["Enter", "Done: send the decisions as one correction"],
  ]],
  ["In a field", [
    ["Esc", "Leave the field and go to the labels"], ["↑ ↓", "Move in a list"], ["Enter", "Choose the option; in an empty field: Done"],
    ["Shift Enter", "Make a new label"], ["Ctrl Enter", "In the text: Done"],
  ]],
];

export const isOn = () => read("keys", true);

/** Bind the keys of a section and unbind those of the last one. Keys after one that must wait are handled in order. */
export function bind(keys, waits = () => false) {
  mustWait = waits;
  pressed = [];
  bound = new Map([...bound].filter(([, { stays }]) => stays));
  for (const [key, act] of Object.entries(keys)) bound.set(key, { act });
}

/** Bind keys that work in every section. */
export function bindAlways(keys) {
  for (const [key, act] of Object.entries(keys)) bound.set(key, { act, stays: true });
}

/** Handle the waiting keys, up to the next one that must still wait. */
export function resume() {
  while (pressed.length && !mustWait(pressed[0])) bound.get(pressed.shift())?.act();
}

const types = (element) => element?.matches?.("input, textarea, select, [contenteditable]") ?? false;

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || types(event.target) || !isOn()) return;
  if (!bound.has(event.key)) return;
  if (event.key === "Enter" && event.target.closest?.("button:not(.pick), a, summary, [role=button]")) return; // it presses the button
  event.preventDefault();
  pressed.push(event.key);
  resume();
});

export function showHelp() {
  const toggle = h("input", { type: "checkbox", id: "keys-on", checked: isOn(), onchange: () => write("keys", toggle.checked) });
  const close = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { class: "dialog help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title", tabindex: "-1", autofocus: true }, "Keyboard shortcuts"),
    h("div", { class: "key-groups" }, GROUPS.map(([title, keys]) => h("section", {}, h("h3", {}, title),
      h("dl", { class: "keys" }, keys.map(([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does))))))),
    h("label", { class: "check" }, toggle, " Use single-key shortcuts"),
    h("p", { class: "hint" }, "An accepted label can be clicked again to undo the decision. Nothing is sent before you are done with the text, and a correction can be undone."),
    h("div", { class: "dialog-acts" }, close));
  openDialog(dialog);
}

/** Open a dialog; when it is closed, remove it and restore the focus. */
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
  if (!isOn()) say("Single-key shortcuts are off.");
}
