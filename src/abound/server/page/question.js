// Ask before something is done that others will notice.
import { fill, h } from "./dom.js";
import { openDialog } from "./keys.js";

const SLOW_MS = 500; // after which the dialog says that the server is working

/**
 * Open a dialog with a title, an explanation and two buttons; `act` may fail, which the dialog then says.
 *
 * The focus is on the button that does nothing, so that Enter alone changes nothing.
 */
export function question({ title, words = [], name, act, isDanger = false }) {
  const problem = h("p", { class: "problem", role: "alert" });
  const working = h("p", { class: "hint", role: "status" });
  const cancel = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel");
  const go = h("button", { type: "button", class: isDanger ? "button danger" : "button primary", onclick: agree }, name);
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "question-title" },
    h("h2", { id: "question-title" }, title), words, working, problem, h("div", { class: "dialog-acts" }, cancel, go));

  async function agree() {
    go.disabled = true;
    fill(problem);
    const slow = setTimeout(() => fill(working, "The server is working on it. This may take a minute."), SLOW_MS);
    try {
      await act();
      dialog.close();
    } catch (error) {
      fill(problem, error.message);
      go.disabled = false;
    }
    clearTimeout(slow);
    fill(working);
  }

  openDialog(dialog);
  cancel.focus();
}
