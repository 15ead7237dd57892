// Type a text, see its labels, correct them. What was typed is still there the next time.
import { h } from "./dom.js";
import { read, write } from "./store.js";
import { takeFile } from "./taking.js";
import { Workbench } from "./workbench.js";

export function openTag(main, info) {
  const bench = new Workbench({ info, onText: (text) => write("draft", text), onFile: (file) => takeFile(file, bench) });
  main.replaceChildren(h("h1", { class: "unseen" }, "Tag a text"), bench.element);
  bench.setText(read("draft", ""));
  bench.bindKeys();
  if (!matchMedia("(pointer: coarse)").matches) bench.editor.field.focus();
  return () => bench.close();
}
