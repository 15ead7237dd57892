// Look inside: what votes for a label, and what a word votes for.
import * as api from "./api.js";
import { bdi, count, fill, h, labelLink, nameOf, plural, wordLink } from "./dom.js";
import { bind } from "./keys.js";
import { surgery } from "./surgery.js";
import { voteRow } from "./why.js";

const DECISION = { accepted: "accepted", rejected: "rejected", added: "added" };

function votes(caption, rows) {
  const most = Math.max(0, ...rows.map(({ vote }) => Math.abs(vote)));
  return h("table", { class: "votes" }, h("caption", { class: "unseen" }, caption),
    h("tbody", {}, rows.map(({ name, vote }) => voteRow(name, vote, vote, most))));
}

const card = (title, hint, ...content) =>
  h("section", { class: "card" }, h("h2", {}, title), hint && h("p", { class: "hint" }, hint), ...content);

const nothing = (words) => h("p", { class: "empty" }, words);

const fact = (value, name) => h("div", { class: "fact" }, h("span", { class: "fact-value" }, value), h("span", { class: "fact-name" }, name));

async function asked(main, title, ask) {
  fill(main, h("div", { class: "page-head" }, h("h1", { dir: "auto" }, title)));
  try {
    return await ask();
  } catch (error) {
    main.append(nothing(error.status === 404 ? `${title} is not known.` : error.message));
    return null;
  }
}

export async function openLabel(main, info, query) {
  const name = query.get("name") ?? "";
  bind({});
  const found = await asked(main, name, () => api.label(name));
  if (!found) return () => {};
  const shown = found.names?.[0] ?? String(found.label);
  const others = [...(found.names ?? []).slice(1), ...(found.aliases ?? []).map(String)];
  fill(main,
    h("p", { class: "crumbs" }, h("a", { href: "#/labels" }, "Labels")),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, shown), String(found.label) !== shown && h("code", { class: "label-id" }, String(found.label))),
    others.length > 0 && h("p", { class: "hint" }, "Also ", others.flatMap((other, i) => [i ? ", " : "", bdi(other)])),
    h("div", { class: "facts" }, fact(count(found.count), "texts learnt"), fact(count(found.accepted), "times accepted"), fact(count(found.rejected), "times rejected")),
    h("div", { class: "two" },
      card("Words that vote for it", "The vote of each word in a text of that word alone.",
        found.words.length ? votes(`Words that vote for ${shown}`, found.words.map(({ word, vote }) => ({ name: wordLink(word), vote }))) : nothing("No word votes for it yet.")),
      h("div", { class: "column" },
        card("Fights with", "Labels that the same words vote for.",
          found.rivals.length ? h("ul", { class: "rivals" }, found.rivals.map((rival) => h("li", {}, labelLink(rival),
            h("span", { class: "rival-words" }, rival.words.flatMap((word, i) => [i ? " · " : "", wordLink(word)])))))
            : nothing("No other label shares its words.")),
        card("Learnt lately", null,
          found.examples.length ? h("ul", { class: "examples" }, found.examples.map((example) => h("li", {},
            h("span", { class: `done ${example.decision}` }, DECISION[example.decision] ?? ""), h("span", { dir: "auto", class: "example-text" }, example.text))))
            : nothing("The journal has no decision on it.")),
        surgery({ label: found.label, names: found.names ?? [], shown }))));
  document.title = `${shown} – abound`;
  return () => {};
}

export async function openWord(main, info, query) {
  const word = query.get("word") ?? "";
  bind({});
  const found = await asked(main, word, () => api.word(word));
  if (!found) return () => {};
  fill(main,
    h("p", { class: "crumbs" }, "Word"),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, found.word)),
    h("div", { class: "facts" }, fact(count(found.count), "texts with it"), fact(count(found.labels.length), "labels it votes for")),
    card("What it votes for", "Its votes in a text of this word alone.",
      found.labels.length ? votes(`Labels that ${found.word} votes for`, found.labels.map((entry) => ({ name: labelLink(entry), vote: entry.vote })))
        : nothing("It stands with so many labels that it votes for none, or it has not been learnt with a label yet.")));
  document.title = `${nameOf({ label: found.word })} – abound`;
  return () => {};
}
