// Take a file in: a table becomes a queue, a plain text may be one text or many.
import { go, h, plural } from "./dom.js";
import { readRows } from "./files.js";
import { openDialog } from "./keys.js";
import { notice } from "./notice.js";
import { write, writeLarge } from "./store.js";

/** Show a file's texts as a queue, or as the one text of a workbench, if there is one and it is one text. */
export async function takeFile(file, bench = null) {
  try {
    const found = await readRows(file);
    if (found.isPlain && bench && (found.rows.length === 1 || await isOneText(found))) {
      bench.setText(found.content);
      bench.onText(found.content);
    } else {
      await startQueue(found);
      go("#/queue");
    }
  } catch (error) {
    notice(error.message);
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
      h("p", {}, "Is this file one text, or a text a line?"),
      h("div", { class: "dialog-acts" },
        h("button", { type: "button", class: "button", onclick: choose(true) }, "One text"),
        h("button", { type: "button", class: "button primary", onclick: choose(false) }, `${plural(rows.length, "text")}, one a line`)));
    openDialog(dialog);
  });
}
