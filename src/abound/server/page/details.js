// The pages of a label and of a word: what votes for the label, and what the word votes for.
import * as api from "./api.js";
import { bdi, count, fill, h, labelLink, wordLink } from "./dom.js";
import { bind } from "./keys.js";
import { labelEdit } from "./label_edit.js";
import { drawWhenAnswered } from "./loading.js";
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

/** The page of a label or a word; `draw` returns its content. */
async function openDetails(main, title, request, draw) {
  const place = h("div", {});
  const body = h("div", {});
  fill(place, h("div", { class: "page-head" }, h("h1", { dir: "auto" }, title)), body);
  fill(main, place);
  bind({});
  const retired = (error) => (/ is retired$/.test(error.message) ? `${title} is retired.` : `${title} is not known.`);
  await drawWhenAnswered(body, request, (details) => {
    const { shown, content } = draw(details);
    fill(place, content);
    document.title = `${shown} – abound`;
  }, (error) => (error.status === 404 ? retired(error) : error.message));
  return () => {};
}

export function openLabel(main, info, query) {
  const name = query.get("name") ?? "";
  return openDetails(main, name, () => api.label(name), (details) => {
    const shown = details.names?.[0] ?? String(details.label);
    return { shown, content: labelContent(details, shown) };
  });
}

function labelContent(details, shown) {
  const others = (details.names ?? []).slice(1);
  const former = details.former ?? (details.aliases ?? []).map(String);
  const listed = (words, names) => names.length > 0 && h("p", { class: "hint" }, words, names.flatMap((other, i) => [i ? ", " : "", bdi(other)]));
  const corrections = h("a", { href: `#/history?label=${encodeURIComponent(details.label)}` }, "All corrections of this label");
  return [
    h("p", { class: "crumbs" }, h("a", { href: "#/labels" }, "Labels"), details.path.flatMap((above) => [" › ", labelLink(above)])),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, shown), String(details.label) !== shown && h("code", { class: "label-id" }, String(details.label))),
    listed("Also called ", others), listed("Found as well by its former and merged names ", former),
    h("div", { class: "facts" }, fact(count(details.count), "texts learned"), fact(count(details.accepted), "times accepted"), fact(count(details.rejected), "times rejected")),
    h("div", { class: "two" },
      card("Words that vote for it", "The vote of each word if it is the only word of a text.",
        details.words.length ? votes(`Words that vote for ${shown}`, details.words.map(({ word, vote }) => ({ name: wordLink(word), vote }))) : nothing("No word votes for it yet.")),
      h("div", { class: "column" },
        card("Similar labels", "Labels that share some of these words.",
          details.rivals.length ? h("ul", { class: "rivals" }, details.rivals.map((rival) => h("li", {}, labelLink(rival),
            h("span", { class: "rival-words" }, rival.words.flatMap((word, i) => [i ? " · " : "", wordLink(word)])))))
            : nothing("No other label shares these words.")),
        card("Recent decisions", corrections,
          details.examples.length ? h("ul", { class: "examples" }, details.examples.map((example) => h("li", {},
            h("span", { class: `done ${example.decision}` }, DECISION[example.decision] ?? ""), h("span", { dir: "auto", class: "example-text" }, example.text))))
            : nothing("There is no recent decision on this label.")),
        labelEdit({ label: details.label, names: details.names ?? [], shown }))),
  ];
}

const LISTED = 20; // the server returns at most this number of labels

export function openWord(main, info, query) {
  const word = query.get("word") ?? "";
  return openDetails(main, word, () => api.word(word), (details) => ({ shown: details.word, content: wordContent(details) }));
}

function wordContent({ word, count: texts, labels }) {
  const which = labels.length < LISTED ? "Its votes" : `Its ${count(LISTED)} strongest votes`;
  return [
    h("p", { class: "crumbs" }, "Word"),
    h("div", { class: "page-head" }, h("h1", { dir: "auto" }, word)),
    h("div", { class: "facts" }, fact(count(texts), texts === 1 ? "text with this word" : "texts with this word")),
    card("What it votes for", labels.length > 0 && `${which}, as if it were the only word of a text.`,
      labels.length ? votes(`Labels that ${word} votes for`, labels.map((entry) => ({ name: labelLink(entry), vote: entry.vote })))
        : nothing("It occurs with so many labels that it votes for none, or it has not been learned with a label yet.")),
  ];
}
