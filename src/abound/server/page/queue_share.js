// Put the texts of a file on the server, so that several people can work on them.
import { newKey } from "./api.js";
import { count, fill, go, h, plural } from "./dom.js";
import { openDialog } from "./keys.js";
import { create } from "./queue_api.js";

const ID_LETTERS = 1000; // the server's limits
const SOURCE_LETTERS = 10000;

const idOf = (source, fallback) => {
  const name = Object.keys(source ?? {}).find((column) => column.toLowerCase() === "id");
  return name === undefined ? fallback : String(source[name]).slice(0, ID_LETTERS);
};

/** The other columns as one string, without those that make it too long for the server; `onLeftOut` is told their names. */
function sourceOf(columns, onLeftOut) {
  const fitting = {};
  for (const [name, value] of columns) {
    if (JSON.stringify({ ...fitting, [name]: value }).length <= SOURCE_LETTERS) fitting[name] = value;
    else onLeftOut(name);
  }
  return Object.keys(fitting).length ? JSON.stringify(fitting) : undefined;
}

/** The undecided texts of a file, as the server expects them, and how often each column is too long to go along with its text. */
export function sharedTexts(model) {
  const leftOut = new Map();
  const onLeftOut = (name) => leftOut.set(name, (leftOut.get(name) ?? 0) + 1);
  const texts = model.file.rows.flatMap(({ source, row }, i) => {
    if (model.at(i).state !== "open") return [];
    const others = Object.entries(source ?? {}).filter(([name]) => !model.file.used.includes(name) && name.toLowerCase() !== "id");
    return [{ text: model.textAt(i), id: idOf(source, String(row ?? i + 1)), source: sourceOf(others, onLeftOut) }];
  });
  return { texts, leftOut };
}

/** A sentence on the columns that do not go along, or null. */
function leftOutWords(leftOut) {
  if (!leftOut.size) return null;
  const columns = [...leftOut].map(([name, n]) => `${name} of ${plural(n, "text")}`).join(", ");
  return h("p", { class: "problem" }, `The other columns of a text may have ${count(SOURCE_LETTERS)} characters together. Left out: `, h("bdi", {}, columns), ".");
}

export function askToShare(model) {
  const { texts, leftOut } = sharedTexts(model);
  const key = newKey();
  const name = h("input", { class: "input", id: "share-name", required: true, maxlength: "200", autocomplete: "off" });
  name.value = model.file.name.replace(/\.[^.]*$/, "");
  const guidelines = h("textarea", { class: "input", id: "share-guidelines", rows: "5", placeholder: "Shown beside every text" });
  const reviews = h("input", { type: "checkbox" });
  const state = h("p", { class: "hint", role: "status" });
  const send = h("button", { class: "button primary" }, `Share ${plural(texts.length, "text")}`);
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      await create({ name: name.value.trim(), guidelines: guidelines.value.trim() || undefined, reviews: reviews.checked ? 1 : 0, texts, key },
        (sent) => fill(state, `${plural(sent, "text")} of ${plural(texts.length, "text")} sent`));
      dialog.close();
      go(`#/queue?name=${encodeURIComponent(name.value.trim())}`);
    } catch (error) {
      fill(state, `Not shared: ${error.message}`);
      send.disabled = false;
    }
  };
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "share-title" }, h("form", { onsubmit: submit },
    h("h2", { id: "share-title" }, "Share the undecided texts"),
    h("p", { class: "hint" }, "The texts are stored on the server. Whoever can use this page can work on them, and each text is given to one person at a time. A queue of the same name gets these texts in addition. The other columns go along."), leftOutWords(leftOut),
    h("label", { for: "share-name" }, "Name"), name, h("label", { for: "share-guidelines" }, "Guidelines"), guidelines,
    h("label", { class: "check" }, reviews, " A second person decides on each text, without seeing the first decision"), state,
    h("div", { class: "dialog-acts" }, h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"), send)));
  openDialog(dialog);
}
