// The bar that says what waits to be sent, and takes it back.
import { decisions } from "./decisions.js";
import { bdi, byId, fill, h, nameOf, plural, say } from "./dom.js";
import { bindAlways } from "./keys.js";
import { notice } from "./notice.js";

const VERB = { accept: "Accepted", reject: "Rejected", add: "Added" };

export function undo() {
  const taken = decisions.undo();
  say(taken ? `Undone: ${nameOf(taken)}.` : "Nothing to undo.");
}

export function setUpHeld() {
  const bar = byId("held");
  const what = h("span", { class: "held-what" });
  const when = h("span", { class: "held-when" });
  const back = h("button", { type: "button", class: "button", "aria-keyshortcuts": "u", onclick: undo }, "Undo ", h("kbd", {}, "u"));
  const now = h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "s", onclick: () => decisions.sendNow() }, "Send now");
  fill(bar, what, when, back, now);
  let ticking = null;

  function draw() {
    const { held } = decisions;
    bar.hidden = !held.length;
    document.body.classList.toggle("has-held", held.length > 0);
    clearInterval(ticking);
    if (!held.length) return;
    ticking = setInterval(tick, 250);
    const items = held.flatMap((batch) => batch.items);
    const last = items.at(-1);
    fill(what, `${VERB[last.kind]} `, bdi(nameOf(last)), items.length > 1 ? ` and ${plural(items.length - 1, "more decision")}` : "");
    tick();
  }

  function tick() {
    const waiting = decisions.held.filter((batch) => batch.state !== "sending");
    back.disabled = !waiting.length;
    now.disabled = !waiting.length;
    const stuck = waiting.find((batch) => batch.state === "waiting");
    const left = Math.max(0, Math.ceil((Math.min(...waiting.map((batch) => batch.due)) - Date.now()) / 1000));
    const words = !waiting.length ? "sending" : stuck ? `not sent yet: ${stuck.why}` : `sent in ${left} s`;
    if (when.textContent !== words) when.textContent = words;
  }

  decisions.addEventListener("change", draw);
  decisions.addEventListener("refused", ({ detail }) => {
    if (!detail.kept) notice(`Not learnt: ${detail.error.message}`);
  });
  bindAlways({ u: undo, s: () => decisions.sendNow() });
  draw();
}
