// What a person decides is held for five seconds, can be undone until then, and is sent as one lesson a text.
//
// Everything held is kept on the device with its idempotency key: a page that is closed or reloaded in between sends
// it later, and the server learns it once.
import { feedback, learn } from "./api.js";
import { keyOf } from "./dom.js";
import { forget, names, read, write } from "./store.js";

export const HOLD = 5000;
const AGAIN = 3000; // until a server that is gone is tried again
const ABANDONED = 30000; // what a page has not sent so long after its time belongs to a page that is gone
const REMEMBERED = 300; // texts

const FIELD = { accept: "accepted", reject: "rejected", add: "added" };

const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** Say in which band a label belonged; nobody waits for it. */
const teachBand = ({ label, score, band, kind }) =>
  feedback({ label, score, shown: band, wanted: kind === "reject" ? "hide" : "apply" }).catch(() => {});

class Decisions extends EventTarget {
  constructor() {
    super();
    this.page = read("page", null, sessionStorage) ?? newId();
    write("page", this.page, sessionStorage);
    this.batches = []; // oldest first: {id, text, items: [{label, name, kind}], due, state: held | sending | waiting}
    this.learnt = new Map(read("learnt", [])); // text -> [{label, name, kind}]
    this.adopt();
    this.schedule();
    addEventListener("storage", ({ key }) => {
      if (key?.endsWith(":learnt")) this.learnt = new Map(read("learnt", []));
    });
  }

  adopt() {
    for (const name of names("held:")) {
      const kept = read(name, []);
      const own = name === `held:${this.page}`;
      if (!own && kept.some((batch) => batch.due > Date.now() - ABANDONED)) continue;
      if (!own) forget(name);
      this.batches.push(...kept.map((batch) => ({ ...batch, state: "held" })));
    }
    this.keep();
  }

  keep() {
    if (this.batches.length) write(`held:${this.page}`, this.batches);
    else forget(`held:${this.page}`);
  }

  changed() {
    this.keep();
    this.schedule();
    this.dispatchEvent(new Event("change"));
  }

  /** Decide on a label of a text; the same decision again takes it back. */
  decide(text, { label, name, band, score }, kind) {
    const key = keyOf(label);
    let batch = this.batches.find((held) => held.text === text && held.state === "held");
    const before = batch?.items.find((item) => keyOf(item.label) === key);
    if (batch) batch.items = batch.items.filter((item) => item !== before);
    if (before?.kind !== kind) {
      if (!batch) this.batches.push((batch = { id: newId(), text, items: [], state: "held" }));
      batch.items.push({ label, name, kind, band, score });
    } else {
      this.takenBack(text, [before]);
    }
    batch.due = Date.now() + HOLD;
    if (!batch.items.length) this.batches.splice(this.batches.indexOf(batch), 1);
    this.changed();
  }

  /** Take the last decision back that has not been sent; return it and its text. */
  undo() {
    const batch = this.batches.findLast((held) => held.state === "held" || held.state === "waiting");
    if (!batch) return null;
    const item = batch.items.pop();
    if (!batch.items.length) this.batches.splice(this.batches.indexOf(batch), 1);
    else batch.id = newId(); // it is another lesson now
    this.takenBack(batch.text, [item]);
    this.changed();
    return { ...item, text: batch.text };
  }

  takenBack(text, items) {
    this.dispatchEvent(new CustomEvent("takenback", { detail: { text, items } }));
  }

  /** What was decided on a text, by label: what is learnt already and what is held. */
  on(text) {
    const found = new Map();
    for (const item of this.learnt.get(text) ?? []) found.set(keyOf(item.label), { ...item, state: "learnt" });
    for (const batch of this.batches) {
      if (batch.text !== text) continue;
      for (const item of batch.items) found.set(keyOf(item.label), { ...item, state: batch.state });
    }
    return found;
  }

  get held() {
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
    const lesson = { id: batch.id, text: batch.text, accepted: [], rejected: [], added: [] };
    for (const { label, kind } of batch.items) lesson[FIELD[kind]].push(label);
    try {
      const answer = await learn(lesson);
      this.drop(batch);
      this.remember(batch);
      this.changed();
      this.dispatchEvent(new CustomEvent("learnt", { detail: { ...answer, batch } }));
      for (const item of batch.items) if (item.band) teachBand(item);
    } catch (error) {
      if (error.mayPass || error.needsKey) {
        batch.state = "waiting";
        batch.why = error.message;
        batch.due = Date.now() + (error.needsKey ? HOLD * 2 : Math.max(AGAIN, error.wait * 1000));
      } else {
        this.drop(batch);
        this.takenBack(batch.text, batch.items);
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
    const known = new Map((this.learnt.get(batch.text) ?? []).map((item) => [keyOf(item.label), item]));
    for (const item of batch.items) known.set(keyOf(item.label), item);
    this.learnt.delete(batch.text);
    this.learnt.set(batch.text, [...known.values()]);
    while (this.learnt.size > REMEMBERED) this.learnt.delete(this.learnt.keys().next().value);
    while (!write("learnt", [...this.learnt]) && this.learnt.size) this.learnt.delete(this.learnt.keys().next().value);
  }
}

export const decisions = new Decisions();
