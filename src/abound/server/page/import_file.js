// Import a file. A table becomes a queue; a plain text file may be one text or many; a document is one text.
import * as api from "./api.js";
import { go, h, plural } from "./dom.js";
import { documentType, readRows } from "./files.js";
import { openDialog } from "./keys.js";
import { notice } from "./notice.js";
import { write, writeLarge } from "./store.js";

/** Show a file's texts as a queue, or a single text in the workbench if there is one. */
export async function importFile(file, bench = null) {
  try {
    const type = documentType(file);
    if (type) {
      await openDocument(file, type, bench);
      return;
    }
    const parsed = await readRows(file);
    if (parsed.isPlain && bench && (parsed.rows.length === 1 || await isOneText(parsed))) {
      bench.setText(parsed.content);
      bench.onText(parsed.content);
    } else {
      await startQueue(parsed);
      go("#/queue");
    }
  } catch (error) {
    notice(error.message);
  }
}

async function openDocument(file, type, bench) {
  notice(`Reading ${file.name} …`, { kind: "hint" });
  const { text, is_cut: isCut, note } = await api.textOf(file, type);
  notice(note ? `${file.name}: ${note}` : isCut ? `${file.name} is long; only its beginning is shown and ranked.` : "");
  if (bench && !bench.closed) {
    bench.setText(text);
    bench.onText(text);
  } else {
    write("draft", text);
    go("#/tag");
  }
}

async function startQueue({ name, rows }) {
  await writeLarge("queue", { name, rows });
  write("queue-at", 0);
  write("queue-decided", {});
}

function isOneText({ name, rows }) {
  return new Promise((resolve) => {
    const choose = (value) => () => {
      resolve(value);
      dialog.close();
    };
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "file-title" },
      h("h2", { id: "file-title" }, h("bdi", {}, name)),
      h("p", {}, "Is this file one text, or one text per line?"),
      h("div", { class: "dialog-acts" },
        h("button", { type: "button", class: "button", onclick: choose(true) }, "One text"),
        h("button", { type: "button", class: "button primary", onclick: choose(false) }, `${plural(rows.length, "text")}, one per line`)));
    openDialog(dialog);
  });
}
