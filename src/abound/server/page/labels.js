// All labels, the most frequent or the worst first, with a search by words of their names.
import * as api from "./api.js";
import { count, fill, h, labelLink, plural } from "./dom.js";
import { qualityLine } from "./quality.js";
import { bind } from "./keys.js";

const SHOWN = 60;

export async function openLabels(main) {
  const input = h("input", { type: "search", class: "input", "aria-label": "Find a label", placeholder: "Find a label", dir: "auto", autocomplete: "off", maxlength: "300" });
  const total = h("p", { class: "hint" });
  const list = h("ul", { class: "label-grid" });
  let worstFirst = false;
  const order = h("button", { type: "button", class: "button", hidden: true, "aria-pressed": "false", onclick: () => {
    worstFirst = !worstFirst;
    order.setAttribute("aria-pressed", String(worstFirst));
    return ask();
  } }, "Worst first");
  fill(main, h("div", { class: "page-head" }, h("h1", {}, "Labels"), input, order), total, list);
  bind({ "/": () => input.focus() });
  let asking = null;
  async function ask() {
    asking?.abort();
    asking = new AbortController();
    try {
      const typed = input.value.trim();
      const matches = await api.labels(typed, SHOWN, asking.signal, worstFirst);
      order.hidden = !matches.rated;
      const all = matches.total ?? matches.labels.length;
      total.textContent = matches.labels.length < all ? `The ${count(matches.labels.length)} ${worstFirst ? "worst" : "most frequent"} of ${plural(all, "label")}` : plural(all, "label");
      fill(list, matches.labels.map((entry) => h("li", {}, h("div", {}, labelLink(entry), qualityLine(entry.quality)), h("span", { class: "figure", title: plural(entry.count, "text") }, count(entry.count)))));
      if (!matches.labels.length) total.textContent = typed ? "No label name has a word that begins like this." : "There are no labels yet. Add one to a text.";
    } catch (error) {
      if (error.name !== "AbortError") total.textContent = error.message;
    }
  }
  input.addEventListener("input", ask);
  await ask();
  input.focus({ preventScroll: true });
  return () => asking?.abort();
}
