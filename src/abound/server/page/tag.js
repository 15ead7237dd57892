// Type a text, see its labels, correct them. What was typed is still there the next time.
import { readRows } from "./files.js";
import { go, h, plural } from "./dom.js";
import { openDialog } from "./keys.js";
import { notice } from "./notice.js";
import { startQueue } from "./queue.js";
import { read, write } from "./store.js";
import { Workbench } from "./workbench.js";

export function openTag(main, info) {
  const bench = new Workbench({ info, onText: (text) => write("draft", text), onFile: (file) => takeFile(file, bench) });
  main.replaceChildren(h("h1", { class: "unseen" }, "Tag a text"), bench.element);
  bench.setText(read("draft", ""));
  bench.bindKeys();
  if (!matchMedia("(pointer: coarse)").matches) bench.editor.field.focus();
  return () => bench.close();
}

/** A table becomes a queue; a plain text may be one text or many. */
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
