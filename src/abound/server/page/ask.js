// A question with buttons. The answer is the value of the button, or null if the dialog is closed.
import { h } from "./dom.js";
import { openDialog } from "./keys.js";

let asked = 0;

/** Ask a question; `choices` are {name, value, kind: "primary" | "danger"}. */
export function ask(title, words, choices) {
  return new Promise((resolve) => {
    const id = `ask-${(asked += 1)}`;
    const button = ({ name, value, kind = "" }) => h("button", { type: "button", class: `button ${kind}`, onclick: () => {
      resolve(value);
      dialog.close();
    } }, name);
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": id },
      h("h2", { id, dir: "auto" }, title), [words].flat().map((part) => h("p", {}, part)),
      h("div", { class: "dialog-acts" }, choices.map(button)));
    openDialog(dialog);
    dialog.addEventListener("close", () => resolve(null));
  });
}
