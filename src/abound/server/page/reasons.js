// Explanations of labels. Those of a short text come with its ranking; those of a longer one are asked for label by label,
// when a person stops typing, because they take longer than the ranking itself. So are similar texts that have the label.
import { explain } from "./api.js";
import { place } from "./fields.js";

const EXPLAINED_LETTERS = 800; // texts up to this length are ranked and explained in one request
const QUIET_MS = 250;
export const LIMIT = 64 * 1024; // bytes; the server does not explain longer texts

export const isShort = (text) => text.length <= EXPLAINED_LETTERS;
export const mayBeExplained = (text, limit = LIMIT) => text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit;

export class Reasons {
  /** `onFound` receives the label whose words are known now. */
  constructor(onFound) {
    this.onFound = onFound;
  }

  close() {
    clearTimeout(this.timer);
    this.asking?.abort();
  }

  /** Find the words that voted for a label of a text and, if the model has them, similar texts, unless they are known. */
  want(text, entry, limit, hasSimilar = false) {
    this.close();
    if ((entry.words && (entry.similar || !hasSimilar)) || entry.isExplained === false) return;
    if (mayBeExplained(text, limit)) this.timer = setTimeout(() => this.find(text, entry), QUIET_MS);
    else entry.isExplained = false;
  }

  async find(text, entry) {
    this.asking = new AbortController();
    try {
      const answer = await explain(text, entry.label, this.asking.signal);
      Object.assign(entry, { words: entry.words ?? place(text, answer.words), prior: entry.prior ?? answer.prior, similar: answer.similar ?? [], isExplained: true });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (entry.words) entry.similar = []; // the words are enough
      else if (error.status === 413) entry.isExplained = false; // it has too many known words
      else entry.why = error.message;
    }
    this.onFound(entry);
  }
}
