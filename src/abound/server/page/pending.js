// The bar at the bottom: what was decided on the shown text, Done, undo, and corrections that are not learnt yet.
import { decisions } from "./decisions.js";
import { bdi, byId, fill, go, h, nameOf, plural, say, short } from "./dom.js";
import { bindAlways } from "./keys.js";
import { notice } from "./notice.js";
import { write } from "./store.js";

const VERB = { accept: "Accepted", reject: "Rejected", add: "Added" };

let bench = null; // the work bench that is open
let asking = null; // the text whose correction may be undone
let draw = () => {};

/** Show the bar of a work bench, or only what is not learnt yet if there is none. */
export function attach(opened) {
  bench = opened;
  asking = null;
  draw();
}

const correction = () => (bench && decisions.isLearned(bench.text) ? bench.text : decisions.last?.text);

/** Undo the last decision; if there is none, ask whether to undo the last correction. */
export function undo() {
  if (asking !== null) {
    undoCorrection();
    return;
  }
  const undone = decisions.undo(bench && decisions.isOpen(bench.text) ? bench.text : undefined);
  if (undone) {
    say(`${undone.isBack ? "Restored" : "Undone"}: ${nameOf(undone)}.`);
    return;
  }
  const text = correction();
  if (text === undefined) {
    say("Nothing to undo.");
    return;
  }
  asking = text;
  say(`Undo the correction of ${short(text)}? Press u again to undo it, Escape to keep it.`);
  draw();
}

async function undoCorrection() {
  const text = asking;
  asking = null;
  say("The correction is being undone.");
  if (await decisions.undoCorrection(text)) say("The correction was undone.");
}

function keep() {
  if (asking === null) return;
  asking = null;
  say("The correction is kept.");
  draw();
}

const button = (name, act, { key, cls = "button" } = {}) =>
  h("button", { type: "button", class: cls, "aria-keyshortcuts": key, onclick: act }, name, key && " ", key && h("kbd", {}, { Enter: "⏎", Escape: "Esc" }[key] ?? key));

/** What the bar says and offers; the first that applies. */
function content() {
  const { pending } = decisions;
  const text = bench?.text;
  const own = pending.find((one) => one.text === text);
  if (asking !== null) {
    return [["Undo the correction of ", bdi(short(asking)), "?"], [button("Keep", keep, { key: "Escape" }), button("Undo it", undoCorrection, { key: "u" })]];
  }
  if (own?.state === "pending") return [decided(own), [undoButton()]];
  const stuck = pending.find((one) => one.why);
  if (stuck) return [`Not sent yet: ${stuck.why}`, [undoButton(stuck.text)]];
  const sending = pending.find((one) => one.state === "sending");
  if (sending) return [sending.items.length ? "Sending the correction…" : "Undoing the correction…", []];
  const other = pending.findLast((one) => one.state === "pending");
  if (other) {
    return [[`${plural(other.items.length, "decision")} on another text, not sent: `, bdi(short(other.text))],
      [button("Show", () => show(other.text)), button("Send", () => decisions.submit(other.text))]];
  }
  if (correction() !== undefined) return [bench && decisions.isLearned(text) ? "Learned." : "The last correction was learned.", [undoButton()]];
  return [bench?.text.trim() ? "No decisions yet." : "", []];
}

function decided({ text, items }) {
  const last = items.at(-1);
  if (!last) return "All decisions removed; not sent yet.";
  const before = decisions.isLearned(text) ? " Changes the correction." : "";
  return [`${VERB[last.kind]} `, bdi(nameOf(last)), items.length > 1 ? ` and ${plural(items.length - 1, "more label")}.` : ".", before];
}

const undoButton = (text) => button("Undo", text === undefined ? undo : () => { asking = text; draw(); }, { key: "u" });

function show(text) {
  write("draft", text);
  go("#/tag");
}

export function setUpPending() {
  const bar = byId("pending");
  const what = h("span", { class: "pending-what" });
  const acts = h("span", { class: "pending-acts" });
  const done = h("span", { class: "pending-done" });
  fill(bar, what, acts, done);

  draw = () => {
    const { pending } = decisions;
    document.body.classList.toggle("has-pending", pending.length > 0);
    const [words, buttons] = bench?.message ? [bench.message, []] : content();
    bar.hidden = bench ? !words && !bench.text.trim() : !pending.length && asking === null;
    document.body.classList.toggle("has-bar", !bar.hidden);
    if (bar.hidden) return;
    const focused = acts.contains(document.activeElement);
    fill(what, words);
    fill(acts, ...buttons);
    if (focused) (acts.querySelector("button") ?? done.querySelector("button"))?.focus();
    if (!bench) fill(done);
    else if (bench.doneButton.parentNode !== done) fill(done, bench.doneButton);
    if (bench) bench.doneButton.disabled = !bench.mayBeDone;
  };

  decisions.addEventListener("change", () => draw());
  decisions.addEventListener("refused", ({ detail }) => {
    if (!detail.kept) notice(`Not learned: ${detail.error.message}`);
  });
  addEventListener("keydown", (event) => event.key === "Escape" && keep());
  bindAlways({ u: undo });
  draw();
}

/** Show what has changed on the work bench. */
export const redraw = () => draw();
