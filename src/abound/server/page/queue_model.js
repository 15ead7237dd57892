// The texts of a file, and what was decided on each. Every row has its own key in the browser's storage, so two tabs
// that work on different rows never overwrite each other.
import { newKey } from "./api.js";
import { forget, forgetLarge, names, read, readLarge, write, writeLarge } from "./store.js";

const OPEN = { state: "open", items: [] };

export class QueueModel extends EventTarget {
  /** A stored file; an entry of a row is {state: open | done | none | skipped, items, text if it was edited}. */
  constructor(file) {
    super();
    this.file = file;
    this.prefix = `queue:${file.id}:`;
    this.entries = new Map(names(this.prefix).map((name) => [Number(name.slice(this.prefix.length)), read(name, OPEN)]));
    this.listen = ({ key, newValue }) => this.changedElsewhere(key, newValue);
    addEventListener("storage", this.listen);
  }

  close() {
    removeEventListener("storage", this.listen);
  }

  get length() {
    return this.file.rows.length;
  }

  at(i) {
    return this.entries.get(i) ?? OPEN;
  }

  textAt(i) {
    return this.at(i).text ?? this.file.rows[i].text;
  }

  isEdited(i) {
    return this.at(i).text !== undefined;
  }

  /** Change the entry of a row. Return false if the browser has no room for it. */
  set(i, change) {
    const entry = { ...this.at(i), ...change };
    if (entry.text === undefined || entry.text === this.file.rows[i].text) delete entry.text;
    const isEmpty = entry.state === "open" && !entry.items.length && entry.text === undefined;
    if (isEmpty) this.entries.delete(i);
    else this.entries.set(i, entry);
    const kept = isEmpty ? (forget(this.prefix + i), true) : write(this.prefix + i, entry);
    this.dispatchEvent(new CustomEvent("change", { detail: { row: i } }));
    return kept;
  }

  changedElsewhere(key, value) {
    const at = key?.indexOf(this.prefix) ?? -1;
    if (at >= 0) {
      const row = Number(key.slice(at + this.prefix.length));
      if (value === null) this.entries.delete(row);
      else this.entries.set(row, JSON.parse(value));
      this.dispatchEvent(new CustomEvent("change", { detail: { row, isElsewhere: true } }));
    } else if (key?.endsWith(":queue-file")) {
      this.dispatchEvent(new Event("replaced"));
    }
  }

  /** The rows with a text, by what was decided on them. */
  rowsOf(state) {
    return [...this.entries].filter(([, entry]) => entry.state === state).map(([row]) => row).sort((a, b) => a - b);
  }

  get counts() {
    const counts = { open: 0, done: 0, none: 0, skipped: 0 };
    for (const { state } of this.entries.values()) counts[state] += 1;
    counts.open = this.length - counts.done - counts.none - counts.skipped;
    return counts;
  }

  /** Whether something would be lost if the file were closed. */
  get hasWork() {
    return this.entries.size > 0;
  }

  /** The next row in a state, searched from a row on and then from the start; -1 if there is none. */
  next(from, state = "open") {
    for (let step = 0; step < this.length; step += 1) {
      const i = (from + step) % this.length;
      if (this.at(i).state === state) return i;
    }
    return -1;
  }

  forgetEntries() {
    this.close();
    for (const name of names(this.prefix)) forget(name);
  }

  async forget() {
    this.forgetEntries();
    await forgetLarge("queue");
    write("queue-file", null);
  }
}

/** Keep a file as the queue of this browser. */
export async function storeFile(file) {
  const kept = { ...file, id: newKey() };
  await writeLarge("queue", kept);
  write("queue-file", kept.id);
  return kept;
}

/** The queue of this browser, or null. */
export async function readModel() {
  const file = await readLarge("queue");
  if (!file) return null;
  if (file.id) return new QueueModel(file);
  const model = new QueueModel(await storeFile({ format: "jsonl", columns: [], used: [], ...file })); // of an earlier version
  for (const [row, { text, items }] of Object.entries(read("queue-decided", {}))) model.set(Number(row), { state: "done", items, text });
  forget("queue-decided");
  return model;
}
