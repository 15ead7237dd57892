// The dialog for the server's key.
import { getKey, setKey } from "./api.js";
import { byId, h } from "./dom.js";
import { openDialog } from "./keys.js";
import { read } from "./store.js";

export function askForKey(words = "A key determines whether you may rank texts, correct labels or edit the label set.") {
  if (document.querySelector("dialog[open]")) return;
  const input = h("input", { type: "password", class: "input", id: "key", autocomplete: "off", spellcheck: "false" });
  input.value = getKey();
  const remember = h("input", { type: "checkbox", id: "remember", checked: Boolean(read("key", "")) });
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "key-title" },
    h("form", { method: "dialog", onsubmit: () => {
      setKey(input.value.trim(), remember.checked);
      dispatchEvent(new Event("abound:key"));
    } },
    h("h2", { id: "key-title" }, "Key"), h("p", { class: "hint" }, words),
    h("label", { for: "key" }, "Key"), input,
    h("label", { class: "check" }, remember, " Remember it on this device"),
    h("div", { class: "dialog-acts" },
      h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"),
      h("button", { class: "button primary" }, "Use it"))));
  openDialog(dialog);
  input.focus();
}

export function setUpAccess() {
  byId("open-key").addEventListener("click", () => askForKey());
}
