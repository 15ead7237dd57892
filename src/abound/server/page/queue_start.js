// The queue before there is one: choose a file, continue, or join a queue on the server.
import { bind } from "./keys.js";
import { fill, h, plural } from "./dom.js";
import { acceptDrops, fileButton } from "./file_button.js";
import { importFile } from "./import_file.js";
import { queues } from "./queue_api.js";
import { agreementWords } from "./queue_words.js";

const WHAT = "One text per line (.txt), a table (.csv, .tsv) or JSON Lines (.jsonl). The file stays in this browser; texts are sent only to be ranked and learned.";
const DOCUMENTS = "A document (.pdf, .docx, .html) is sent to the server, which extracts its text.";

function card(name, words, link, act) {
  return h("section", { class: "card start-card" }, h("h2", { dir: "auto" }, name), h("p", { class: "hint" }, words),
    h("a", { class: "button primary", href: link, "aria-label": `${act} ${name}` }, act));
}

function continued(model) {
  const { done, none } = model.counts;
  return card(model.file.name, `${plural(done + none, "text")} of ${plural(model.length, "text")} decided.`, "#/queue", "Continue");
}

function sharedCard(queue) {
  const { counts } = queue;
  const words = [`${plural(counts.done, "text")} of ${plural(counts.total, "text")} decided`, counts.leased ? `${plural(counts.leased, "text")} being decided` : "", agreementWords(queue)];
  return card(queue.name, `${words.filter(Boolean).join(", ")}.`, `#/queue?name=${encodeURIComponent(queue.name)}`, "Join");
}

/** Show the queues of the server in a place, once they are there. */
async function showShared(place) {
  try {
    const found = (await queues()).queues;
    if (found.length) fill(place, h("h2", {}, "Shared queues"), found.map(sharedCard));
  } catch (error) {
    fill(place, h("p", { class: "hint" }, `The shared queues cannot be shown: ${error.message}`));
  }
}

export function openStart(main, info, model) {
  bind({});
  const place = h("section", { class: "card drop" }, h("h2", {}, "Drop a file here"), h("p", {}, WHAT), h("p", {}, DOCUMENTS),
    fileButton((file) => importFile(file), { id: "file" }));
  acceptDrops(place, (file) => importFile(file));
  const shared = h("div", { class: "shared" });
  fill(main, h("h1", {}, "Queue"), model && continued(model), place, shared);
  showShared(shared);
  return () => model?.close();
}
