// Decisions on texts. They are collected in this browser until the person is done with the text; then they are sent as
// one correction. Nothing is sent by a timer.
//
// A correction is stored with its idempotency key before it is sent: if the page is closed or the server does not answer, it
// is sent again, and the server learns it once. If a text is decided on again, its former correction is undone first, also
// if one of the two decisions was made in a shared queue.
import { journal, learn, newKey, undo } from "./api.js";
import { keyOf } from "./dom.js";
import { Kept } from "./kept.js";

const RETRY_MS = 3000; // until the next attempt if the server does not answer
const RETRY_KEY_MS = 10000; // if the key is wrong; entering another one tries at once
const FIELD = { accept: "accepted", reject: "rejected", add: "added" };

const asSet = (items) => items.map(({ label, kind }) => keyOf([label, kind])).sort().join();
const isSame = (some, others) => asSet(some) === asSet(others);
/** What the server has learnt or is being taught. */
const base = (entry) => entry.sent?.items ?? entry.learned ?? [];
const isOpen = (entry) => !isSame(entry.items, base(entry));

/** Decisions as they are stored. */
export const plainItems = (items) => items.map(({ label, name, kind }) => ({ label, name, kind }));

/** Undo a record; null if somebody else has undone it, or if it is no longer kept. */
export async function undoKept(record, reason, key) {
  try {
    return await undo([record], reason, key);
  } catch (error) {
    if (error.status !== 422) throw error;
    return null;
  }
}

class Decisions extends EventTarget {
  constructor() {
    super();
    this.last = null; // the last correction that this page has taught: {text, items}
    this.running = new Map(); // text -> {why} of the corrections that this tab sends; why: the problem of the last attempt
    this.kept = new Kept(() => this.dispatchEvent(new Event("change")));
    addEventListener("abound:key", () => this.resume());
    this.resume();
  }

  /** Send what an earlier page has not sent, and what waits. */
  resume() {
    for (const entry of this.kept.all()) if (entry.sent || entry.again) this.send(entry.text);
  }

  store(entry) {
    entry.isOpen = isOpen(entry) && !entry.again;
    const isDurable = this.kept.put(entry);
    this.dispatchEvent(new Event("change"));
    return isDurable;
  }

  tellUndone(text, items) {
    if (items.length) this.dispatchEvent(new CustomEvent("undone", { detail: { text, items } }));
  }

  /** Decide on a label of a text; the same decision again takes it back. Return the decision, or null. */
  decide(text, { label, name }, kind) {
    const entry = this.kept.fresh(text);
    const before = entry.items.find((item) => keyOf(item.label) === keyOf(label));
    const isBack = before?.kind === kind || (kind === "accept" && before?.kind === "add");
    entry.past.push(entry.items);
    entry.items = entry.items.filter((item) => item !== before);
    const item = isBack ? null : { label, name, kind };
    if (item) entry.items.push(item);
    entry.again = false;
    this.store(entry);
    if (isBack) this.tellUndone(text, [before]);
    return item;
  }

  /** Undo the last decision that is not sent, on a text or on any; return it and its text, or null. */
  undo(text = this.drafts.at(-1)?.text) {
    const entry = text === undefined ? null : this.kept.fresh(text);
    if (!entry?.past.length || !isOpen(entry)) return null;
    const now = entry.items;
    entry.items = entry.past.pop();
    this.store(entry);
    const lacks = (items) => ({ label, kind }) => !items.some((item) => keyOf(item.label) === keyOf(label) && item.kind === kind);
    const gone = now.filter(lacks(entry.items));
    this.tellUndone(text, gone);
    return { ...(gone[0] ?? entry.items.find(lacks(now))), isBack: !gone.length, text };
  }

  /** The decisions on a text by label: pending, sending, waiting or learned. */
  on(text) {
    const entry = this.kept.get(text);
    const byLabel = new Map();
    for (const item of entry?.items ?? []) {
      const isIn = (items) => items?.some((other) => keyOf(other.label) === keyOf(item.label) && other.kind === item.kind);
      const state = isIn(entry.sent?.items) ? this.stateOf(text) : !entry.sent && isIn(entry.learned) ? "learned" : "pending";
      byLabel.set(keyOf(item.label), { ...item, state });
    }
    return byLabel;
  }

  stateOf(text) {
    return this.running.get(text)?.why ? "waiting" : "sending";
  }

  /** Whether a text has decisions, or changes to its correction, that the person is not done with. */
  isOpen(text) {
    return Boolean(this.kept.get(text)?.isOpen);
  }

  /** Whether the server has learnt a correction on a text. */
  isLearned(text) {
    return Boolean(this.kept.get(text)?.learned);
  }

  /** Whether a correction of a text is on its way. */
  isSending(text) {
    const entry = this.kept.get(text);
    return Boolean(entry?.sent || entry?.again);
  }

  /** Texts with decisions that the person is not done with, the last one at the end. */
  get drafts() {
    return this.kept.all().filter((entry) => entry.isOpen);
  }

  /** Drafts and corrections that are not learnt yet: [{text, items, state, why}]. */
  get pending() {
    return this.kept.all().filter((entry) => entry.isOpen || entry.sent || entry.again).map((entry) => ({
      text: entry.text, items: entry.items, state: entry.isOpen ? "pending" : this.stateOf(entry.text), why: this.running.get(entry.text)?.why,
    }));
  }

  /** The text stays the same work after a small edit: its decisions move along, unless a correction was made of them. */
  move(from, to) {
    const entry = this.kept.fresh(from);
    if (!entry.isOpen || entry.sent || entry.learned || this.kept.get(to)) return;
    this.kept.drop(from);
    this.store({ ...entry, text: to });
  }

  /** The person is done with a text: store its correction, then send it. Return {isNew, isDurable}. */
  submit(text) {
    const entry = this.kept.fresh(text);
    if (!isOpen(entry)) return { isNew: false, isDurable: true };
    entry.again = true;
    const isDurable = this.store(entry);
    this.send(text);
    return { isNew: true, isDurable };
  }

  /** Forget the decisions on a text that this browser has not sent: they were taught in another way, or nobody needs them. */
  discard(text) {
    const entry = this.kept.fresh(text);
    if (entry.sent || entry.again) return;
    this.store(Object.assign(entry, { items: entry.learned ?? [], past: [] }));
  }

  /** Undo the correction of a text on the server. Its decisions are dropped. */
  undoCorrection(text) {
    const entry = this.kept.fresh(text);
    const gone = entry.items;
    if (!entry.sent && !entry.learned) return Promise.resolve(false);
    Object.assign(entry, { items: [], past: [], again: true });
    this.store(entry);
    this.tellUndone(text, gone);
    return this.send(text);
  }

  /** Before a text is taught in another way: undo its correction. Its decisions stay, as a draft. Return whether it was undone. */
  async withdraw(text) {
    if (!this.isLearned(text) && !this.isSending(text)) return true;
    const { items } = this.kept.fresh(text);
    this.store(Object.assign(this.kept.fresh(text), { items: [], again: true }));
    const isUndone = await this.send(text);
    this.store(Object.assign(this.kept.fresh(text), { items }));
    return isUndone;
  }

  /** A text was taught in another way: by a record, or by none. */
  adopt(text, items, sequence) {
    const taught = sequence ? { items, learned: items, sequence } : { items: [], learned: null, sequence: 0 };
    this.store(Object.assign(this.kept.fresh(text), { past: [], again: false, journal: journal(), ...taught }));
  }

  // -- sending ----------------------------------------------------------------------------------------------------

  /** Send the correction of a text and newer ones, one after another; return whether all were learnt. */
  send(text) {
    const running = this.running.get(text);
    if (running) {
      running.retry?.();
      return running.isLearned;
    }
    const run = {};
    this.running.set(text, run);
    run.isLearned = this.sendAll(text, run);
    return run.isLearned;
  }

  async sendAll(text, run) {
    try {
      while (this.kept.get(text)?.sent || this.kept.get(text)?.again) {
        if (!(await this.attempt(text, run))) return false;
      }
      return true;
    } finally {
      this.running.delete(text);
      this.dispatchEvent(new Event("change"));
    }
  }

  /** Make one attempt; return false if the server refused the correction. */
  async attempt(text, run) {
    const entry = this.kept.fresh(text);
    if (!entry.sent) this.store(Object.assign(entry, { sent: { id: newKey(), items: entry.items }, again: false }));
    const { sent } = entry;
    try {
      const answer = await this.teach(text, entry);
      run.why = "";
      this.finish(text, sent, answer);
      return true;
    } catch (error) {
      const kept = Boolean(error.mayPass || error.needsKey);
      run.why = error.message;
      if (!kept) this.store(Object.assign(this.kept.fresh(text), { sent: null, again: false })); // decisions again, not a correction
      this.dispatchEvent(new Event("change"));
      this.dispatchEvent(new CustomEvent("refused", { detail: { error, batch: { text, items: sent.items }, kept } }));
      if (!kept) return false;
      await this.pause(run, error.needsKey ? RETRY_KEY_MS : Math.max(RETRY_MS, error.wait * 1000));
      return true;
    }
  }

  /** Undo the former correction of the text, if there is one, and teach the new one, if it has decisions. */
  async teach(text, { sent, sequence, journal: written }) {
    let answer = { sequence: 0 };
    if (sequence && written === journal()) {
      answer = (await undoKept(sequence, "decided again on the page", `${sent.id}-back`)) ?? answer;
      this.store(Object.assign(this.kept.fresh(text), { learned: null, sequence: 0 }));
    }
    if (!sent.items.length) return { ...answer, isUndo: true };
    const correction = { id: sent.id, text, accepted: [], rejected: [], added: [] };
    for (const { label, kind } of sent.items) correction[FIELD[kind]].push(label);
    return learn(correction);
  }

  finish(text, sent, answer) {
    const entry = this.kept.fresh(text);
    const { isUndo = false, sequence } = answer;
    if (entry.sent?.id === sent.id) { // not if another tab sent it too, and went on
      if (isSame(entry.items, sent.items)) entry.past = [];
      Object.assign(entry, { sent: null, learned: isUndo ? null : sent.items, sequence: isUndo ? 0 : sequence, journal: journal() });
      this.store(entry);
    }
    this.last = isUndo ? null : { text, items: sent.items };
    this.dispatchEvent(new CustomEvent("learned", { detail: { ...answer, isUndo, batch: { text, items: sent.items } } }));
  }

  pause(run, milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      run.retry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export const decisions = new Decisions();
