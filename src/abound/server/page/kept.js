// What was decided on each text, kept in this browser: one entry for each text, shared by all tabs.
//
// An entry is {text, items, past, sent, again, learned, sequence, changed}. `items` are the decisions as shown, `past` the
// states before them, `sent` the correction on its way {id, items}, `again` whether the person is done with newer items, and
// `learned` the items of the correction that the server has learnt as the record `sequence` of `journal`.
import { forget, names, read, write } from "./store.js";

const PREFIX = "decided:";
const REMEMBERED = 1000; // texts whose corrections are learnt
const LONGEST_PAST = 50;

let named = ["", ""]; // the last text and its name

/** A short name of a text: its length and 53 bits of a hash (cyrb53). */
export function nameOfText(text) {
  if (named[0] !== text) named = [text, hash(text)];
  return named[1];
}

function hash(text) {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return `${text.length}-${(4294967296 * (2097151 & b) + (a >>> 0)).toString(36)}`;
}

const isIdle = (entry) => entry && !entry.sent && !entry.again && !entry.isOpen;

export class Kept {
  constructor(onOther) {
    this.entries = new Map(names(PREFIX).map((name) => [name.slice(PREFIX.length), read(name)]).filter(([, entry]) => entry));
    addEventListener("storage", ({ key }) => {
      const at = key?.indexOf(PREFIX) ?? -1;
      if (at < 0) return;
      this.reload(key.slice(at + PREFIX.length));
      onOther();
    });
  }

  /** Read an entry again, which another tab may have written. */
  reload(name) {
    const stored = read(PREFIX + name);
    if (stored) this.entries.set(name, stored);
    else this.entries.delete(name);
  }

  get(text) {
    return this.entries.get(nameOfText(text));
  }

  /** The entry of a text as all tabs know it, to be changed and put back. */
  fresh(text) {
    const name = nameOfText(text);
    const stored = read(PREFIX + name);
    const entry = stored ?? this.entries.get(name) ?? { items: [], past: [], sent: null, again: false, learned: null, sequence: 0 };
    return { ...entry, text };
  }

  /** Store an entry; return whether it survives a closed page. */
  put(entry) {
    const name = nameOfText(entry.text);
    const stored = { ...entry, past: entry.past.slice(-LONGEST_PAST), changed: Date.now() };
    if (isIdle(stored) && !stored.learned) {
      this.drop(entry.text);
      return true;
    }
    if (isIdle(stored)) delete stored.text; // only its name is needed from now on
    this.entries.delete(name);
    this.entries.set(name, stored);
    this.clean();
    while (!write(PREFIX + name, stored)) if (!this.dropOldest(name)) return false;
    return true;
  }

  drop(text) {
    this.remove(nameOfText(text));
  }

  remove(name) {
    this.entries.delete(name);
    forget(PREFIX + name);
  }

  clean() {
    if (this.entries.size > REMEMBERED) this.dropOldest();
  }

  /** Forget the correction that was learnt first; return whether there was one. */
  dropOldest(except = "") {
    let oldest = null;
    for (const [name, entry] of this.entries) {
      if (name !== except && isIdle(entry) && (!oldest || entry.changed < oldest[1].changed)) oldest = [name, entry];
    }
    if (!oldest) return false;
    this.remove(oldest[0]);
    return true;
  }

  /** All entries, the one that changed last at the end. */
  all() {
    return [...this.entries.values()].sort((a, b) => a.changed - b.changed);
  }
}
