// Type a text, see its labels and correct them. The text is kept for the next visit.
import { documentTools } from "./documents.js";
import { h } from "./dom.js";
import { read, write } from "./store.js";
import { importFile } from "./import_file.js";
import { intro } from "./intro.js";
import { Workbench } from "./workbench.js";

export function openTag(main, info) {
  const onFile = (file) => importFile(file, bench);
  const tools = documentTools(onFile);
  const onText = (text) => {
    write("draft", text);
    tools.update(text);
  };
  const onTry = (text) => {
    bench.setText(text);
    onText(text);
    bench.focusLabels();
  };
  const bench = new Workbench({ info, onText, onFile, whenEmpty: () => intro(info, onTry) });
  bench.textCard.append(tools.note);
  bench.textCard.querySelector(".under").append(tools.button);
  main.replaceChildren(h("h1", { class: "unseen" }, "Tag a text"), bench.element);
  bench.setText(read("draft", ""));
  tools.update(bench.text);
  bench.bindKeys();
  if (!matchMedia("(pointer: coarse)").matches) bench.editor.field.focus();
  return () => bench.close();
}
