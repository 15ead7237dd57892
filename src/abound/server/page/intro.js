// What the page is for, shown while there is no text: one sentence, examples to try, the model, and how it works.
import { dayOf } from "./dates.js";
import { bdi, h, plural } from "./dom.js";

const HOW = [
  "Each word of the text votes for labels, with a strength that the model has learned from texts and their labels. The votes for a label sum to its score, and the labels are ranked by their scores.",
  "“83% likely” is the probability that the label is right, estimated from texts that the model had not learned. Labels marked “Apply” are those that the model would give the text. A model that has learned too few texts shows scores instead; only their order has a meaning.",
  "Accept the right labels, reject wrong ones, add those that are missing, then press Done. Your decisions on the text are one correction, which the model learns at once. You can undo it.",
];

const example = (text, onTry) => h("li", {}, h("button", { type: "button", class: "example", dir: "auto", onclick: () => onTry(text) }, text));

/** The introduction; `onTry` receives the text of an example. */
export function intro(info, onTry) {
  const { name, rows, labels, fitted, last_correction: last, examples = [] } = info;
  return h("div", { class: "intro" },
    h("p", {}, "Type or paste a text. The page suggests its labels, shows which words speak for them, and learns from your corrections."),
    examples.length > 0 && [h("h3", {}, "Try one of these"), h("ul", { class: "tries" }, examples.map((text) => example(text, onTry)))],
    rows !== undefined && [h("h3", {}, "The model"), h("p", {}, name && [bdi(name, "model-name"), ": "], `${plural(rows, "text")}, ${plural(labels, "label")}`,
      fitted && `, written on ${dayOf(fitted)}`, last && `, last correction on ${dayOf(last)}`, ".")],
    h("details", {}, h("summary", {}, "How it works"), HOW.map((words) => h("p", {}, words))));
}
