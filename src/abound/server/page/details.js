// The pages of a label and of a word: what votes for the label, and what the word votes for.
import * as api from "./api.js";
import { bdi, count, fill, h, labelLink, nameOf, plural, wordLink } from "./dom.js";
import { bind } from "./keys.js";
import { labelEdit } from "./label_edit.js";
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

async function fetchDetails(main, title, request) {
  fill(main, h("div", { class: "page-head" }, h("h1", { dir: "auto" }, title)));
  try {
    return await request();
  } catch (error) {
    main.append(nothing(error.status === 404 ? `${title} is not known.` : error.message));
    return null;
  }
}

export async function openLabel(main, info, query) {
  const name = query.get("name") ?? "";
  bind({});
  const details = await fetchDetails(main, name, () => api.label(name));
  if (!details) return () => {};
  const shown = details.names?.[0] ?? String(details.label);
  const others = [...(details.names ?? []).slice(1), ...(details.aliases ?? []).map(String)];
  fill(main,
    h("p", { class: "crumbs" }, h("a", { href: "#/labels" }, "Labels"), details.path.flatMap((above) => [" › ", labelLink(above)])),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, shown), String(details.label) !== shown && h("code", { class: "label-id" }, String(details.label))),
    others.length > 0 && h("p", { class: "hint" }, "Also called ", others.flatMap((other, i) => [i ? ", " : "", bdi(other)])),
    h("div", { class: "facts" }, fact(count(details.count), "texts learned"), fact(count(details.accepted), "times accepted"), fact(count(details.rejected), "times rejected")),
    h("div", { class: "two" },
      card("Words that vote for it", "The vote of each word if it is the only word of a text.",
        details.words.length ? votes(`Words that vote for ${shown}`, details.words.map(({ word, vote }) => ({ name: wordLink(word), vote }))) : nothing("No word votes for it yet.")),
      h("div", { class: "column" },
        card("Similar labels", "Labels that share some of these words.",
          details.rivals.length ? h("ul", { class: "rivals" }, details.rivals.map((rival) => h("li", {}, labelLink(rival),
            h("span", { class: "rival-words" }, rival.words.flatMap((word, i) => [i ? " · " : "", wordLink(word)])))))
            : nothing("No other label shares these words.")),
        card("Recent decisions", null,
          details.examples.length ? h("ul", { class: "examples" }, details.examples.map((example) => h("li", {},
            h("span", { class: `done ${example.decision}` }, DECISION[example.decision] ?? ""), h("span", { dir: "auto", class: "example-text" }, example.text))))
            : nothing("There is no recent decision on this label.")),
        labelEdit({ label: details.label, names: details.names ?? [], shown }))));
  document.title = `${shown} – abound`;
  return () => {};
}

export async function openWord(main, info, query) {
  const word = query.get("word") ?? "";
  bind({});
  const details = await fetchDetails(main, word, () => api.word(word));
  if (!details) return () => {};
  fill(main,
    h("p", { class: "crumbs" }, "Word"),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, details.word)),
    h("div", { class: "facts" }, fact(count(details.count), "texts with this word"), fact(count(details.labels.length), "labels it votes for")),
    card("What it votes for", "Its votes if it is the only word of a text.",
      details.labels.length ? votes(`Labels that ${details.word} votes for`, details.labels.map((entry) => ({ name: labelLink(entry), vote: entry.vote })))
        : nothing("It occurs with so many labels that it votes for none, or it has not been learned with a label yet.")));
  document.title = `${nameOf({ label: details.word })} – abound`;
  return () => {};
}
