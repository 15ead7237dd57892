// What is shown after the last text: what was decided, and what can be done with it.
import { count, h } from "./dom.js";

const fact = ([name, value]) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, count(value)), h("span", { class: "fact-name" }, name));

/** The end of a queue. `facts` are numbers by name; `acts` are {name, act, kind}, and one without an act is left out. */
export function endScreen({ title, words, facts, acts }) {
  return h("section", { class: "card end", "aria-label": "End of the queue" }, h("h2", { tabindex: "-1" }, title), h("p", { class: "hint" }, words),
    h("div", { class: "facts" }, Object.entries(facts).map(fact)),
    h("div", { class: "acts-line" }, acts.filter(({ act }) => act).map(({ name, act, kind = "" }) => h("button", { type: "button", class: `button ${kind}`, onclick: act }, name))));
}
