// The words that voted for a label, each vote, and similar texts: beside the list or, on a narrow screen, in a sheet above it.
import { bdi, fill, h, labelLink, nameOf, wordLink } from "./dom.js";
import { rounded } from "./highlight.js";
import { openDialog } from "./keys.js";
import { likely } from "./ranking.js";

const DIGITS = 3;
const narrow = matchMedia("(max-width: 46rem)");
const figure = (value) => (value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(DIGITS);

/** The fields in which a word occurs, each once; nothing for a plain text. */
const fieldsNote = (fields) => (fields.length ? h("span", { class: "in-field" }, ` in ${[...new Set(fields)].join(", ")}`) : null);

/** One row of a table of votes. */
export function voteRow(name, vote, shown, most) {
  const share = most > 0 ? Math.abs(vote) / most : 0;
  return h("tr", { class: vote < 0 ? "against" : "for", data: { vote: String(vote) } },
    h("th", { scope: "row" }, name),
    h("td", { class: "bar-cell", "aria-hidden": "true" }, h("span", { class: "bar", vars: { "--share": share.toFixed(4) } })),
    h("td", { class: "figure", title: String(vote) }, figure(shown)));
}

/** Learned texts that are similar to the text and have the label; nothing if there are none. */
function precedents(found) {
  if (!found?.length) return [];
  return [h("section", { class: "precedents", "aria-labelledby": "similar-title" },
    h("h3", { id: "similar-title" }, "Similar texts that have this label"),
    h("ol", {}, found.map(({ text, labels, similarity }) => h("li", {},
      h("p", { class: "precedent", dir: "auto" }, text),
      h("p", { class: "hint" }, `${Math.round(similarity * 100)}% similar: `,
        labels.flatMap((label, i) => [i ? ", " : "", labelLink(label)]))))))];
}

export class Why {
  constructor() {
    this.title = h("h2", { id: "why-title" }, "Why");
    this.body = h("div", { class: "why-body", tabindex: "0", role: "group", "aria-label": "Votes" });
    this.similar = h("div"); // below the votes, which scroll if there are many
    this.link = h("span", { class: "why-link" });
    this.element = h("section", { class: "why card", "aria-labelledby": "why-title" },
      h("div", { class: "card-head" }, this.title, this.link), this.body, this.similar);
  }

  /** Show the reasons: on a narrow screen in a sheet, otherwise put the focus on them. */
  open() {
    if (!narrow.matches) {
      this.body.focus();
      return;
    }
    const home = this.element.parentNode;
    const close = () => this.sheet?.close();
    this.sheet = h("dialog", { class: "sheet", "aria-labelledby": "why-title" }, this.element,
      h("div", { class: "dialog-acts" }, h("button", { type: "button", class: "button", onclick: close }, "Close")));
    this.sheet.addEventListener("close", () => {
      home.append(this.element);
      narrow.removeEventListener("change", close);
      this.sheet = null;
    });
    narrow.addEventListener("change", close);
    openDialog(this.sheet);
  }

  close() {
    this.sheet?.close();
  }

  clear(words = "Each label’s score is the sum of the votes of the text’s words. The votes appear here.") {
    fill(this.title, "Why");
    fill(this.link);
    fill(this.similar);
    fill(this.body, h("p", { class: "empty" }, words));
  }

  show(entry) {
    fill(this.title, "Why ", bdi(nameOf(entry), "why-name"));
    fill(this.link, labelLink(entry, { class: "more", "aria-label": `Details of ${nameOf(entry)}` }));
    this.link.firstChild.textContent = "Details";
    fill(this.similar, ...precedents(entry.similar));
    if (entry.isExplained === false) {
      fill(this.body, h("p", { class: "empty" }, "This text is too long for an explanation. Texts of up to 64 KB are explained."));
      return;
    }
    if (!entry.words) {
      fill(this.body, h("p", { class: "empty" }, entry.why ?? "The votes are being read…"));
      return;
    }
    const { words } = entry;
    const votes = words.map((word) => word.vote);
    const rest = entry.prior ?? 0;
    const sum = votes.reduce((total, vote) => total + vote, rest);
    // A blend with a second opinion has another score than the words alone.
    const isBlended = Math.abs(entry.score - sum) > 1e-6 * Math.max(1, Math.abs(sum));
    const score = isBlended ? sum : entry.score;
    const named = words.map(({ word, vote, fields = [] }) => ({ name: [wordLink(word), fieldsNote(fields)], vote }));
    if (Math.abs(rest) > 1e-9 * Math.max(1, Math.abs(score))) named.push({ name: "bias, the same for every text", vote: rest });
    const shown = rounded(named.map(({ vote }) => vote), score, DIGITS);
    const rows = named.map((row, i) => ({ ...row, shown: shown[i] })).sort((a, b) => Math.abs(b.vote) - Math.abs(a.vote));
    const most = Math.max(0, ...rows.map(({ vote }) => Math.abs(vote)));
    const note = entry.probability === undefined ? [] : [h("p", { class: "hint" }, `${likely(entry.probability)} to be right.`)];
    if (isBlended) note.push(h("p", { class: "hint" }, "Not only words vote here. These are their votes:"));
    fill(this.body, ...note, h("table", { class: "votes" },
      h("caption", { class: "unseen" }, `Votes for ${nameOf(entry)}`),
      h("thead", { class: "unseen" }, h("tr", {}, h("th", { scope: "col" }, "Word"), h("td", {}), h("th", { scope: "col" }, "Vote"))),
      h("tbody", {}, rows.map(({ name, vote, shown: value }) => voteRow(name, vote, value, most))),
      h("tfoot", {}, h("tr", { data: { score: String(score) } },
        h("th", { scope: "row", colspan: "2" }, isBlended ? "Sum" : "Score (sum)"),
        h("td", { class: "figure", title: String(score) }, figure(Math.round(score * 10 ** DIGITS) / 10 ** DIGITS))))));
  }
}
