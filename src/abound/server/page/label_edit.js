// Rename, merge or retire a label. The page first shows what would change and asks for confirmation.
import * as api from "./api.js";
import { askForKey } from "./access.js";
import { Completion } from "./completion.js";
import { bdi, fill, go, h, nameOf, plural } from "./dom.js";
import { CANCEL, question } from "./question.js";

export function labelEdit({ label, names, shown }) {
  const form = h("div", { class: "label-edit-form" });
  const problem = h("p", { class: "problem", role: "alert" });
  const button = (words, open, cls = "button") => h("button", { type: "button", class: cls, "aria-haspopup": open === retire ? "dialog" : null, onclick: open }, words);
  const card = h("section", { class: "card label-edit", "aria-labelledby": "label-edit-title" },
    h("h2", { id: "label-edit-title" }, "Edit this label"),
    h("p", { class: "hint" }, "Changes apply to all users. If the server has keys, they need the admin key."),
    h("div", { class: "acts-line" }, button("Rename", rename), button("Merge", merge), button("Retire", retire, "button warns")), form, problem);

  function rename() {
    const input = h("input", { type: "text", class: "input", id: "new-name", dir: "auto", maxlength: "300", autocomplete: "off" });
    input.value = shown;
    const act = h("form", { class: "line-form", onsubmit: (event) => {
      event.preventDefault();
      const to = input.value.trim();
      if (!to || to === shown) return fill(problem, "Enter a different name.");
      // A label with names keeps its number; the first of its names is displayed.
      const change = names.length ? { add: { label, names: [to, ...names.filter((name) => name !== to)] } } : { rename: { label, to } };
      return ask(change, { title: ["Rename ", bdi(shown), " to ", bdi(to), "?"], name: "Rename", then: names.length ? label : to });
    } }, h("label", { for: "new-name" }, "New name"), input, h("button", { class: "button primary" }, "Check"));
    fill(problem);
    fill(form, act);
    input.select();
  }

  function merge() {
    const into = new Completion({ label: "Merge into", placeholder: "Merge into which label?", onPick: (option) =>
      ask({ merge: { label, into: option.label } }, { title: ["Merge ", bdi(shown), " into ", bdi(nameOf(option)), "?"],
        effect: "Its texts will count for the other label, which is then also found by this name. ", name: "Merge", isDanger: true, then: option.label }) });
    fill(problem);
    fill(form, into.element);
    into.focus();
  }

  function retire() {
    fill(form);
    ask({ retire: { label } }, { title: ["Retire ", bdi(shown), "?"], effect: "It will not be suggested to anybody any more, until it is added again. ", name: "Retire", isDanger: true, then: null });
  }

  /** Ask whether to make a change, with what it affects; `then` is the label to show afterwards. */
  async function ask(change, { title, effect = "", name, isDanger, then }) {
    fill(problem);
    try {
      const { changes } = await api.changeLabel(change, true);
      const scope = `It was learned from ${plural(changes?.texts ?? 0, "text")}, and ${plural(changes?.words ?? 0, "word")} ${changes?.words === 1 ? "votes" : "vote"} for it.`;
      question({ title, words: h("p", { class: "hint" }, effect, scope), choices: [CANCEL, { name, kind: isDanger ? "danger" : "primary", act: () => make(change, then) }] });
    } catch (error) {
      fill(problem, error.message);
      if (error.needsKey) askForKey("Changing a label needs the admin key.");
    }
  }

  async function make(change, then) {
    await api.changeLabel(change);
    setTimeout(() => go(then === null ? "#/labels" : `#/label?name=${encodeURIComponent(then)}`)); // after the dialog has closed
  }

  return card;
}
