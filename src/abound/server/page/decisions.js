// A decision is pending for five seconds and can be undone until then. All decisions on a text are sent as one correction.
//
// Pending decisions are stored on the device with their idempotency key: a page that is closed or reloaded in between
// sends them later, and the server learns them once.
import { learn } from "./api.js";
import { keyOf } from "./dom.js";
import { forget, names, read, write } from "./store.js";

export const UNDO_MS = 5000;
const RETRY_MS = 3000; // until the next attempt if the server does not answer
const ABANDONED_MS = 30000; // a batch that is overdue by this time belongs to a page that was closed
const REMEMBERED = 300; // texts

const FIELD = { accept: "accepted", reject: "rejected", add: "added" };

const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

class Decisions extends EventTarget {
  constructor() {
    super();
    this.page = read("page", null, sessionStorage) ?? newId();
    write("page", this.page, sessionStorage);
    this.batches = []; // oldest first: {id, text, items: [{label, name, kind}], due, state: pending | sending | waiting}
    this.learned = new Map(read("learned", [])); // text -> [{label, name, kind}]
    this.adopt();
    this.schedule();
    addEventListener("storage", ({ key }) => {
      if (key?.endsWith(":learned")) this.learned = new Map(read("learned", []));
    });
  }

  adopt() {
    for (const name of names("pending:")) {
      const kept = read(name, []);
      const own = name === `pending:${this.page}`;
      if (!own && kept.some((batch) => batch.due > Date.now() - ABANDONED_MS)) continue;
      if (!own) forget(name);
      this.batches.push(...kept.map((batch) => ({ ...batch, state: "pending" })));
    }
    this.keep();
  }

  keep() {
    if (this.batches.length) write(`pending:${this.page}`, this.batches);
    else forget(`pending:${this.page}`);
  }

  changed() {
    this.keep();
    this.schedule();
    this.dispatchEvent(new Event("change"));
  }

  /** Decide on a label of a text; the same decision again undoes it. */
  decide(text, { label, name }, kind) {
    const key = keyOf(label);
    let batch = this.batches.find((other) => other.text === text && other.state === "pending");
    const before = batch?.items.find((item) => keyOf(item.label) === key);
    if (batch) batch.items = batch.items.filter((item) => item !== before);
    if (before?.kind !== kind) {
      if (!batch) this.batches.push((batch = { id: newId(), text, items: [], state: "pending" }));
      batch.items.push({ label, name, kind });
    } else {
      this.undone(text, [before]);
    }
    batch.due = Date.now() + UNDO_MS;
    if (!batch.items.length) this.batches.splice(this.batches.indexOf(batch), 1);
    this.changed();
  }

  /** Undo the last decision that has not been sent; return it and its text. */
  undo() {
    const batch = this.batches.findLast((other) => other.state === "pending" || other.state === "waiting");
    if (!batch) return null;
    const item = batch.items.pop();
    if (!batch.items.length) this.batches.splice(this.batches.indexOf(batch), 1);
    else batch.id = newId(); // it is another correction now
    this.undone(batch.text, [item]);
    this.changed();
    return { ...item, text: batch.text };
  }

  undone(text, items) {
    this.dispatchEvent(new CustomEvent("undone", { detail: { text, items } }));
  }

  /** The decisions on a text by label, both learned and pending. */
  on(text) {
    const byLabel = new Map();
    for (const item of this.learned.get(text) ?? []) byLabel.set(keyOf(item.label), { ...item, state: "learned" });
    for (const batch of this.batches) {
      if (batch.text !== text) continue;
      for (const item of batch.items) byLabel.set(keyOf(item.label), { ...item, state: batch.state });
    }
    return byLabel;
  }

  get pending() {
    return this.batches.filter((batch) => batch.items.length);
  }

  schedule() {
    clearTimeout(this.timer);
    const due = this.batches.filter((batch) => batch.state !== "sending").map((batch) => batch.due);
    if (due.length) this.timer = setTimeout(() => this.sendDue(), Math.max(0, Math.min(...due) - Date.now()));
  }

  sendDue() {
    for (const batch of this.batches) {
      if (batch.state !== "sending" && batch.due <= Date.now()) this.send(batch);
    }
    this.schedule();
  }

  sendNow() {
    for (const batch of this.batches) if (batch.state !== "sending") batch.due = 0;
    this.sendDue();
  }

  async send(batch) {
    batch.state = "sending";
    this.dispatchEvent(new Event("change"));
    const correction = { id: batch.id, text: batch.text, accepted: [], rejected: [], added: [] };
    for (const { label, kind } of batch.items) correction[FIELD[kind]].push(label);
    try {
      const answer = await learn(correction);
      this.drop(batch);
      this.remember(batch);
      this.changed();
      this.dispatchEvent(new CustomEvent("learned", { detail: { ...answer, batch } }));
    } catch (error) {
      if (error.mayPass || error.needsKey) {
        batch.state = "waiting";
        batch.why = error.message;
        batch.due = Date.now() + (error.needsKey ? UNDO_MS * 2 : Math.max(RETRY_MS, error.wait * 1000));
      } else {
        this.drop(batch);
        this.undone(batch.text, batch.items);
      }
      this.changed();
      this.dispatchEvent(new CustomEvent("refused", { detail: { error, batch, kept: batch.state === "waiting" } }));
    }
  }

  drop(batch) {
    const at = this.batches.indexOf(batch);
    if (at >= 0) this.batches.splice(at, 1);
  }

  remember(batch) {
    const known = new Map((this.learned.get(batch.text) ?? []).map((item) => [keyOf(item.label), item]));
    for (const item of batch.items) known.set(keyOf(item.label), item);
    this.learned.delete(batch.text);
    this.learned.set(batch.text, [...known.values()]);
    while (this.learned.size > REMEMBERED) this.learned.delete(this.learned.keys().next().value);
    while (!write("learned", [...this.learned]) && this.learned.size) this.learned.delete(this.learned.keys().next().value);
  }
}

export const decisions = new Decisions();
