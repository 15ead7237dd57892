// The bar with the decisions that are not sent yet, and the button that undoes them.
import { decisions } from "./decisions.js";
import { bdi, byId, fill, h, nameOf, plural, say } from "./dom.js";
import { bindAlways } from "./keys.js";
import { notice } from "./notice.js";

const VERB = { accept: "Accepted", reject: "Rejected", add: "Added" };

export function undo() {
  const undone = decisions.undo();
  say(undone ? `Undone: ${nameOf(undone)}.` : "Nothing to undo.");
}

export function setUpPending() {
  const bar = byId("pending");
  const what = h("span", { class: "pending-what" });
  const when = h("span", { class: "pending-when" });
  const back = h("button", { type: "button", class: "button", "aria-keyshortcuts": "u", onclick: undo }, "Undo ", h("kbd", {}, "u"));
  const now = h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "s", onclick: () => decisions.sendNow() }, "Send now");
  fill(bar, what, when, back, now);
  let ticking = null;

  function draw() {
    const { pending } = decisions;
    bar.hidden = !pending.length;
    document.body.classList.toggle("has-pending", pending.length > 0);
    clearInterval(ticking);
    if (!pending.length) return;
    ticking = setInterval(tick, 250);
    const items = pending.flatMap((batch) => batch.items);
    const last = items.at(-1);
    fill(what, `${VERB[last.kind]} `, bdi(nameOf(last)), items.length > 1 ? ` and ${plural(items.length - 1, "more decision")}` : "");
    tick();
  }

  function tick() {
    const waiting = decisions.pending.filter((batch) => batch.state !== "sending");
    back.disabled = !waiting.length;
    now.disabled = !waiting.length;
    const stuck = waiting.find((batch) => batch.state === "waiting");
    const left = Math.max(0, Math.ceil((Math.min(...waiting.map((batch) => batch.due)) - Date.now()) / 1000));
    const state = !waiting.length ? "sending" : stuck ? `not sent yet: ${stuck.why}` : `will be sent in ${left} s`;
    if (when.textContent !== state) when.textContent = state;
  }

  decisions.addEventListener("change", draw);
  decisions.addEventListener("refused", ({ detail }) => {
    if (!detail.kept) notice(`Not learned: ${detail.error.message}`);
  });
  bindAlways({ u: undo, s: () => decisions.sendNow() });
  draw();
}
