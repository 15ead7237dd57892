// What is shown after the last text: what was decided, and what can be done with it.
import { count, h, plural } from "./dom.js";

const fact = (value, name) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, count(value)), h("span", { class: "fact-name" }, name));

/** The end of a queue. `acts` are {name, act, kind}; an act of null is left out. */
export function endScreen({ counts, acts }) {
  const rest = counts.open + counts.skipped;
  const title = h("h2", { tabindex: "-1" }, rest ? "The end of the queue" : "All texts are decided");
  const words = rest ? `${plural(counts.open, "text")} undecided, ${count(counts.skipped)} skipped.` : "Nothing is left to do in this queue.";
  return h("section", { class: "card end", "aria-label": "End of the queue" }, title, h("p", { class: "hint" }, words),
    h("div", { class: "facts" }, fact(counts.done, "decided"), fact(counts.none, "none fits"), fact(counts.skipped, "skipped"), fact(counts.open, "undecided")),
    h("div", { class: "acts-line" }, acts.filter(({ act }) => act).map(({ name, act, kind = "" }) => h("button", { type: "button", class: `button ${kind}`, onclick: act }, name))));
}
