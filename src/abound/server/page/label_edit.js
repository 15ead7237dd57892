// Rename, merge or retire a label. The page first shows what would change and asks for confirmation.
import * as api from "./api.js";
import { askForKey } from "./access.js";
import { Completion } from "./completion.js";
import { bdi, fill, go, h, nameOf, plural } from "./dom.js";

export function labelEdit({ label, names, shown }) {
  const form = h("div", { class: "label-edit-form" });
  const button = (words, open) => h("button", { type: "button", class: "button", onclick: open }, words);
  const card = h("section", { class: "card label-edit", "aria-labelledby": "label-edit-title" },
    h("h2", { id: "label-edit-title" }, "Edit this label"),
    h("p", { class: "hint" }, "Changes apply to all users. If the server has keys, they need the admin key."),
    h("div", { class: "acts-line" }, button("Rename", rename), button("Merge", merge), button("Retire", retire)), form);

  function rename() {
    const input = h("input", { type: "text", class: "input", id: "new-name", dir: "auto", maxlength: "300", autocomplete: "off" });
    input.value = shown;
    const act = h("form", { class: "line-form", onsubmit: (event) => {
      event.preventDefault();
      const to = input.value.trim();
      if (!to || to === shown) return fill(form, act, h("p", { class: "problem" }, "Enter a different name."));
      // A label with names keeps its number; the first of its names is displayed.
      const change = names.length ? { add: { label, names: [to, ...names.filter((name) => name !== to)] } } : { rename: { label, to } };
      return ask(change, ["Rename ", bdi(shown), " to ", bdi(to)], names.length ? label : to);
    } }, h("label", { for: "new-name" }, "New name"), input, h("button", { class: "button primary" }, "Check"));
    fill(form, act);
    input.select();
  }

  function merge() {
    const into = new Completion({ label: "Merge into", placeholder: "Merge into which label?", onPick: (option) =>
      ask({ merge: { label, into: option.label } }, ["Merge ", bdi(shown), " into ", bdi(nameOf(option))], option.label) });
    fill(form, into.element);
    into.focus();
  }

  function retire() {
    ask({ retire: { label } }, ["Retire ", bdi(shown)], null);
  }

  async function ask(change, words, then) {
    try {
      const { changes } = await api.changeLabel(change, true);
      const confirm = h("button", { type: "button", class: "button primary", onclick: () => make(change, then) }, "Confirm");
      fill(form, h("p", {}, ...words, "?"),
        h("p", { class: "hint" }, `It was learned from ${plural(changes?.texts ?? 0, "text")}, and ${plural(changes?.words ?? 0, "word")} ${changes?.words === 1 ? "votes" : "vote"} for it.`),
        h("div", { class: "acts-line" }, confirm, h("button", { type: "button", class: "button", onclick: () => fill(form) }, "Cancel")));
      confirm.focus();
    } catch (error) {
      failed(error);
    }
  }

  async function make(change, then) {
    try {
      await api.changeLabel(change);
      go(then === null ? "#/labels" : `#/label?name=${encodeURIComponent(then)}`);
    } catch (error) {
      failed(error);
    }
  }

  function failed(error) {
    fill(form, h("p", { class: "problem", role: "alert" }, error.message));
    if (error.needsKey) askForKey("Changing a label needs the admin key.");
  }

  return card;
}
