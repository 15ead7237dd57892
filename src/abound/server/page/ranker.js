// Ask for the labels of a text: one request at a time, then the newest text.
import { rank } from "./api.js";
import { place } from "./fields.js";
import { isShort } from "./reasons.js";

const KEPT_TIMES = 1000;
const RETRY_MS = 2000;

/** Measure the time from each key press until its labels were painted. */
function measureLatency(pressed) {
  const end = performance.now();
  if (performance.getEntriesByName("abound:rank").length > KEPT_TIMES) performance.clearMeasures("abound:rank");
  for (const start of pressed) performance.measure("abound:rank", { start, end });
}

export class Ranker {
  /** `wanted()` returns {text, k, bands}; `onAnswer` receives a ranking or {text, problem}. */
  constructor({ wanted, onAnswer }) {
    this.wanted = wanted;
    this.onAnswer = onAnswer;
    this.pressed = []; // times of the key presses whose labels are not shown yet
  }

  close() {
    this.closed = true;
    this.asking?.abort();
  }

  /** Rank the text that is wanted now; return when it, or a newer one, was ranked. */
  ask() {
    this.again = true;
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  async run() {
    while (this.again && !this.closed) {
      this.again = false;
      await this.once();
    }
  }

  async once() {
    const { text, k, bands } = this.wanted();
    const pressed = this.pressed.splice(0);
    if (!text.trim()) {
      this.onAnswer({ text, k, labels: [], sequence: 0 });
      return;
    }
    this.asking = new AbortController();
    try {
      const answer = await rank(text, { k, bands, explained: isShort(text), signal: this.asking.signal });
      const labels = answer.labels.map((entry) => (entry.words ? { ...entry, isExplained: true, words: place(text, entry.words) } : entry));
      this.onAnswer({ text, k, labels, sequence: answer.sequence, note: answer.note, voters: answer.voters });
      requestAnimationFrame(() => setTimeout(() => measureLatency(pressed)));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.onAnswer({ text, k, labels: [], sequence: 0, problem: error });
      if (error.mayPass) setTimeout(() => !this.closed && this.wanted().text === text && this.ask(), Math.max(RETRY_MS, error.wait * 1000));
    }
  }
}
