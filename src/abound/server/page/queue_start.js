// The queue before there is one: choose a file, or continue.
import { bind } from "./keys.js";
import { fill, h, plural } from "./dom.js";
import { acceptDrops, fileButton } from "./file_button.js";
import { importFile } from "./import_file.js";

const WHAT = "One text per line (.txt), a table (.csv, .tsv) or JSON Lines (.jsonl). The file stays in this browser; texts are sent only to be ranked and learned.";
const DOCUMENTS = "A document (.pdf, .docx, .html) is sent to the server, which extracts its text.";

function continued(model) {
  const { done, none } = model.counts;
  return h("section", { class: "card start-card" }, h("h2", { dir: "auto" }, model.file.name),
    h("p", { class: "hint" }, `${plural(done + none, "text")} of ${plural(model.length, "text")} decided.`),
    h("a", { class: "button primary", href: "#/queue" }, "Continue"));
}

export function openStart(main, info, model) {
  bind({});
  const place = h("section", { class: "card drop" }, h("h2", {}, "Drop a file here"), h("p", {}, WHAT), h("p", {}, DOCUMENTS),
    fileButton((file) => importFile(file), { id: "file" }));
  acceptDrops(place, (file) => importFile(file));
  fill(main, h("h1", {}, "Queue"), model && continued(model), place);
  return () => model?.close();
}
