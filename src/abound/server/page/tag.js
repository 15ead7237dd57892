// Type a text, see its labels and correct them. The text is kept for the next visit.
import { h } from "./dom.js";
import { read, write } from "./store.js";
import { importFile } from "./import_file.js";
import { Workbench } from "./workbench.js";

export function openTag(main, info) {
  const bench = new Workbench({ info, onText: (text) => write("draft", text), onFile: (file) => importFile(file, bench) });
  main.replaceChildren(h("h1", { class: "unseen" }, "Tag a text"), bench.element);
  bench.setText(read("draft", ""));
  bench.bindKeys();
  if (!matchMedia("(pointer: coarse)").matches) bench.editor.field.focus();
  return () => bench.close();
}
