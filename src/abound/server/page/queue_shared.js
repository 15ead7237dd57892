// Work on a queue that several people share. The server leases each text to one browser, and teaches each decision once.
import { newKey } from "./api.js";
import { decisions, plainItems, undoKept } from "./decisions.js";
import { fill, go, h, say, short } from "./dom.js";
import { download } from "./download.js";
import { notice } from "./notice.js";
import { attach } from "./pending.js";
import * as queueApi from "./queue_api.js";
import { RowColumns } from "./queue_columns.js";
import { endScreen } from "./queue_end.js";
import { QueueList } from "./queue_list.js";
import { agreementWords, columnsOf, decidedOf, decidedWords, shownText, STATES } from "./queue_words.js";
import { forget, read, write } from "./store.js";
import { Workbench } from "./workbench.js";

const RENEW_MS = 5 * 60 * 1000; // a lease lasts longer
const RETRY_MS = 3000;
const NOTHING = "No label is decided. Accept or add one, press z if none fits, or s to skip this text.";

class SharedQueue {
  constructor(main, info, name) {
    this.main = main;
    this.name = name;
    this.item = null;
    this.past = []; // texts that this tab has decided: {item, record}
    this.bench = new Workbench({
      info, doneName: "Done, next", needsDecision: false, submit: () => ({ isNew: false, isDurable: true }),
      onDone: ({ items }) => this.finish(items), onFile: () => this.bench.say("Files cannot be dropped on a shared queue."),
    });
    this.bench.editor.field.readOnly = true;
    this.bench.editor.field.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => key.length === 1 && !ctrlKey && !metaKey && this.tellFixed());
    this.bench.clearButton.remove();
    this.fixed = h("p", { class: "hint", role: "status" });
    this.bench.textCard.append(this.fixed);
    this.columns = new RowColumns();
    this.list = new QueueList({ find: (asked) => this.find(asked), onPick: (item) => this.take({ item }), filters: STATES });
    this.end = h("div", { hidden: true });
    this.done = h("span", { class: "hint" });
    this.agreement = h("span", { class: "hint agreement" });
    this.state = h("p", { class: "queue-state", role: "status", hidden: true });
    this.guidelines = h("div", { class: "guidelines-text", dir: "auto", role: "group", "aria-label": "Guidelines", tabindex: "0" });
    this.guide = h("details", { class: "card guidelines", open: true, hidden: true }, h("summary", {}, "Guidelines"), this.guidelines);
    this.setUpBar();
  }

  button(name, act, { kind = "button", key } = {}) {
    return h("button", { type: "button", class: kind, onclick: act, "aria-keyshortcuts": key }, name, key ? [" ", h("kbd", {}, key)] : null);
  }

  setUpBar() {
    this.listButton = this.button("Texts", () => this.toggleList(), { key: "v" });
    this.listButton.setAttribute("aria-expanded", "false");
    this.backButton = this.button("← My last text", () => this.back(), { key: "p" });
    this.skipButton = this.button("Skip", () => this.skip(), { key: "s" });
    this.noneButton = this.button("None fits", () => this.noneFits(), { key: "z" });
    this.bar = h("div", { class: "queue-bar card" },
      h("div", { class: "queue-line" }, h("span", { class: "file-name", dir: "auto" }, this.name), this.done, this.agreement, h("span", { class: "spacer" }),
        this.listButton, this.button("Export", () => this.save("csv"), { kind: "quiet", key: "x" }), this.button("Leave", () => this.leave(), { kind: "quiet" })),
      h("div", { class: "queue-line" }, this.backButton, h("span", { class: "spacer" }), this.skipButton, this.noneButton));
  }

  async open() {
    fill(this.main, h("h1", { class: "unseen" }, "Shared queue"), this.bar, this.list.element, this.state, this.guide, this.columns.element, this.bench.element, this.end);
    this.bench.bindKeys({ e: () => this.tellFixed(), p: () => this.back(), s: () => this.skip(), z: () => this.noneFits(), v: () => this.toggleList(), x: () => this.save("csv") });
    this.renewing = setInterval(() => this.renew(), RENEW_MS);
    const kept = read("shared-item", null, sessionStorage);
    await this.take(kept?.name === this.name ? kept : {});
    this.bench.focusLabels();
    return () => this.close();
  }

  close() {
    this.isClosed = true;
    clearInterval(this.renewing);
    clearTimeout(this.waiting);
    this.bench.close();
  }

  tell(words) {
    this.state.textContent = words;
    this.state.hidden = !words;
  }

  /** Say why the text does not change. */
  tellFixed() {
    this.fixed.textContent = "A text of a shared queue cannot be edited, because others may decide on it, too.";
  }

  /** Ask the server again until it answers; null if the page was closed or the request was refused. */
  async insist(ask, onRefused) {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (this.isClosed) return null;
        if (!error.mayPass) {
          onRefused(error);
          return null;
        }
        this.tell(`${error.message} The page tries again.`);
        await new Promise((resolve) => { this.waiting = setTimeout(resolve, RETRY_MS); });
        if (this.isClosed) return null;
      }
    }
  }

  // -- the texts ----------------------------------------------------------------------------------------------------

  /** Ask how far the queue is, and for its guidelines. */
  async count() {
    const answer = await this.insist(() => queueApi.queues(), (error) => notice(error.message));
    const found = answer?.queues.find(({ name }) => name === this.name);
    if (!found) {
      if (answer) this.tell("There is no queue of this name on the server.");
      return;
    }
    this.agreement.textContent = agreementWords(found);
    this.guide.hidden = !found.guidelines;
    this.guidelines.textContent = found.guidelines ?? "";
    this.drawCounts(found.counts);
  }

  drawCounts(counts) {
    this.counts = counts;
    this.done.textContent = decidedOf(counts);
  }

  /** Lease and show a text: the next open one, or one of the list. */
  async take(which = {}) {
    const asked = which.item === undefined ? {} : { item: which.item };
    const answer = await this.insist(() => queueApi.next(this.name, asked), (error) => this.refused(error, which));
    if (!answer || this.isClosed) return;
    if (!answer.item || !this.counts || answer.item.review) await this.count();
    else this.drawCounts(answer.counts);
    this.show(answer.item ? { ...answer.item, shown: shownText(answer.item.text) } : null);
  }

  refused(error, which) {
    if (which.item !== undefined && error.status === 409) {
      notice(`${error.message}.`, { kind: "hint" });
      if (which.text) decisions.discard(which.text); // the decision was sent before the page was closed, or somebody else has the text
      if (!this.item) this.take();
    } else {
      this.isBusy = false;
      this.tell(error.message);
    }
  }

  show(item) {
    this.item = item;
    this.isBusy = false;
    this.fixed.textContent = "";
    this.bench.element.hidden = !item;
    this.end.hidden = Boolean(item);
    this.backButton.disabled = !this.past.length;
    attach(item ? this.bench : null);
    for (const button of [this.skipButton, this.noneButton]) button.disabled = !item;
    if (item) {
      write("shared-item", { name: this.name, item: item.item, text: item.shown }, sessionStorage);
      this.tell(item.review ? "Second opinion: another person has decided on this text. What they chose is not shown." : "");
      this.bench.setText(item.shown);
      this.columns.show(columnsOf(item), []);
    } else {
      forget("shared-item", sessionStorage);
      this.columns.element.hidden = true;
      this.drawEnd();
    }
    this.list.draw(item?.item);
  }

  drawEnd() {
    const { done = 0, leased = 0, review = 0, skipped = 0 } = this.counts ?? {};
    const facts = { decided: done, "being decided": leased, "wait for a second opinion": review, skipped };
    const rest = [leased && "are with other people", review && "wait for another person", skipped && "were skipped"].filter(Boolean);
    const words = rest.length ? `The other texts ${rest.join(" or ")}.` : "Nothing is left to do in this queue.";
    fill(this.end, endScreen({ title: "No text is left for you", words, facts, acts: [
      { name: "Look again", act: () => this.take(), kind: "primary" },
      { name: "Export CSV", act: () => this.save("csv") }, { name: "Export JSON lines", act: () => this.save("jsonl") },
      { name: "Leave", act: () => this.leave() },
    ] }));
    this.end.querySelector("h2").focus();
  }

  async renew() {
    const { item } = this;
    if (!item || this.isBusy) return;
    await queueApi.next(this.name, { item: item.item }).catch((error) => {
      if (error.status === 409 && this.item === item) this.lost();
    });
  }

  /** Decide on the last text again: its record is undone. */
  async back() {
    const last = this.past.at(-1);
    if (!last || this.isBusy) return;
    this.isBusy = true;
    this.bench.hold();
    const { item } = this;
    const answer = await this.insist(() => queueApi.reopen(this.name, last.item), (error) => this.keep(error));
    if (!answer) return;
    this.past.pop();
    this.bench.say("What was learned from it is being undone…");
    const text = shownText(answer.item.text);
    const key = newKey();
    if (decisions.isLearned(text)) await decisions.undoCorrection(text); // this record, or that of another decision since
    else if (last.record) await this.insist(() => undoKept(last.record, "decided again in a shared queue", key), (error) => notice(error.message));
    if (item) await queueApi.release(this.name, item.item).catch(() => {}); // the lease ends by itself
    this.drawCounts(answer.counts);
    this.show({ ...answer.item, shown: text });
  }

  /** The lease has passed to somebody else. */
  lost() {
    decisions.discard(this.item.shown);
    notice(`The text “${short(this.item.shown)}” passed to somebody else. Your decisions on it were not kept.`);
    this.take();
  }

  // -- decisions ----------------------------------------------------------------------------------------------------

  finish(items) {
    const of = (kind) => items.filter((item) => item.kind === kind).map(({ label }) => label);
    if (!items.length) this.bench.say(NOTHING);
    else this.send({ accepted: of("accept"), rejected: of("reject"), added: of("add") });
  }

  skip() {
    this.send({ skip: true });
  }

  noneFits() {
    const items = this.bench.decisionsOf(this.bench.text);
    if (items.some(({ kind }) => kind !== "reject")) this.bench.say("A label of this text is accepted. Undo that first (u), or press Enter for done.");
    else this.send({ none_fits: true, rejected: items.map(({ label }) => label) });
  }

  /** Send a decision, then show the next text. Keys wait until it is there. */
  async send(decision) {
    const { item } = this;
    if (!item || this.isBusy) return;
    const items = plainItems(this.bench.decisionsOf(item.shown));
    this.isBusy = true;
    this.bench.hold();
    const refused = (error) => (error.status === 409 ? this.lost() : this.keep(error));
    if (!decision.skip && !await this.withdraw(item, refused)) return;
    const answer = await this.insist(() => queueApi.decide(this.name, item.item, decision), refused);
    if (answer && decision.skip) decisions.discard(item.shown);
    else if (answer) decisions.adopt(item.shown, items, answer.record);
    if (!answer || this.isClosed) return;
    this.past.push({ item: item.item, record: answer.record });
    say("Done.");
    await this.take();
  }

  /** Undo what this browser has taught for a text outside of the queue, if the text is still leased; return whether the text can be decided. */
  async withdraw(item, refused) {
    if (!decisions.isLearned(item.shown) && !decisions.isSending(item.shown)) return true;
    if (!await this.insist(() => queueApi.next(this.name, { item: item.item }), refused)) return false;
    this.bench.say("You have decided this text before. That correction is being undone…");
    const isUndone = await decisions.withdraw(item.shown);
    if (!isUndone) this.keep(new Error("your former correction of this text cannot be undone"));
    return isUndone && !this.isClosed;
  }

  /** The server refused the decision: the text stays. */
  keep(error) {
    this.isBusy = false;
    this.bench.hold(false);
    this.bench.say(`Not done: ${error.message}`);
  }

  // -- the list, the export -----------------------------------------------------------------------------------------

  toggleList() {
    this.list.toggle();
    this.listButton.setAttribute("aria-expanded", String(this.list.isOpen));
    if (!this.list.isOpen) this.bench.focusLabels();
  }

  async find({ state, search, limit }) {
    const answer = await this.insist(() => queueApi.items({ name: this.name, state, search, offset: 0, limit }), (error) => this.tell(error.message));
    return { total: answer?.total ?? 0, rows: (answer?.items ?? []).map((one) => ({ ...one, i: one.item, text: shownText(one.text), detail: decidedWords(one), number: (one.id ?? String(one.item)).slice(0, 12) })) };
  }

  async save(format) {
    const content = await this.insist(() => queueApi.exported(this.name, format), (error) => notice(error.message));
    if (content !== null) download(`${this.name}.${format}`, content, format === "csv" ? "text/csv" : undefined);
  }

  async leave() {
    if (this.item) {
      await queueApi.release(this.name, this.item.item).catch(() => {}); // the lease ends by itself
      decisions.discard(this.item.shown);
    }
    forget("shared-item", sessionStorage);
    go("#/queue?start");
  }
}

export const openSharedQueue = (main, info, name) => new SharedQueue(main, info, name).open();
