// A question with buttons.
import { fill, h } from "./dom.js";
import { openDialog } from "./keys.js";

const SLOW_MS = 500; // after which the dialog says that the server is working
let asked = 0;

export const CANCEL = { name: "Cancel", value: null };

/**
 * Ask a question; resolves to the value of the pressed button, or to null if the dialog is closed.
 *
 * `words` are paragraphs or elements. `choices` are {name, value, kind: "primary" | "danger", act}. An `act` may fail: the
 * dialog then says why and stays. The focus is on the first button, which should do nothing, so that Enter alone changes nothing.
 */
export function question({ title, words = [], choices }) {
  return new Promise((resolve) => {
    const id = `question-${(asked += 1)}`;
    const problem = h("p", { class: "problem", role: "alert" });
    const working = h("p", { class: "hint", role: "status" });
    const finish = (value) => {
      resolve(value);
      dialog.close();
    };
    const agree = async (button, { act, value }) => {
      button.disabled = true;
      fill(problem);
      const slow = setTimeout(() => fill(working, "The server is working on it. This may take a minute."), SLOW_MS);
      try {
        await act();
        finish(value);
      } catch (error) {
        fill(problem, error.message);
        button.disabled = false;
      }
      clearTimeout(slow);
      fill(working);
    };
    const buttons = choices.map((choice) => {
      const button = h("button", { type: "button", class: `button ${choice.kind ?? ""}`, onclick: () => (choice.act ? agree(button, choice) : finish(choice.value)) }, choice.name);
      return button;
    });
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": id },
      h("h2", { id, dir: "auto" }, title), [words].flat().map((part) => (typeof part === "string" ? h("p", {}, part) : part)),
      working, problem, h("div", { class: "dialog-acts" }, buttons));
    openDialog(dialog);
    dialog.addEventListener("close", () => resolve(null));
    buttons[0].focus();
  });
}
