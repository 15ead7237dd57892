// The queue before there is one: choose a file, continue, or join a queue on the server.
import { fill, h, plural } from "./dom.js";
import { acceptDrops, fileButton } from "./file_button.js";
import { importFile } from "./import_file.js";
import { bind } from "./keys.js";
import { notice } from "./notice.js";
import { CANCEL, question } from "./question.js";
import { queues, remove } from "./queue_api.js";
import { agreementWords, decidedOf } from "./queue_words.js";

const WHAT = "One text per line (.txt), a table (.csv, .tsv) or JSON Lines (.jsonl). The file stays in this browser; texts are sent only to be ranked and learned.";
const DOCUMENTS = "A document (.pdf, .docx, .html) is sent to the server, which extracts its text.";

function card(name, words, link, act, more = null) {
  return h("section", { class: "card start-card" }, h("h2", { dir: "auto" }, name), h("p", { class: "hint" }, words), h("span", { class: "spacer" }), more,
    h("a", { class: "button primary", href: link, "aria-label": `${act} ${name}` }, act));
}

function continued(model) {
  const { done, none } = model.counts;
  return card(model.file.name, `${decidedOf({ done: done + none, total: model.length })}.`, "#/queue", "Continue");
}

async function removeQueue(queue, redraw) {
  const words = `Its ${plural(queue.counts.total, "text")} and the record of who decided what are removed from the server for everybody. What was learned stays learned.`;
  const answer = await question({ title: `Remove ${queue.name}?`, words, choices: [CANCEL, { name: "Remove", value: true, kind: "danger" }] });
  if (!answer) return;
  await remove(queue.name).catch((error) => notice(error.message));
  redraw();
}

function sharedCard(queue, redraw) {
  const { counts } = queue;
  const words = [decidedOf(counts), counts.leased ? `${plural(counts.leased, "text")} being decided` : "", agreementWords(queue)];
  return card(queue.name, `${words.filter(Boolean).join(", ")}.`, `#/queue?name=${encodeURIComponent(queue.name)}`, "Join",
    h("button", { type: "button", class: "quiet", "aria-label": `Remove ${queue.name}`, onclick: () => removeQueue(queue, redraw) }, "Remove"));
}

/** Show the queues of the server in a place, once they are there. */
async function showShared(place) {
  try {
    const found = (await queues()).queues;
    fill(place, found.length > 0 && h("h2", {}, "Shared queues"), found.map((queue) => sharedCard(queue, () => showShared(place))));
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
