// A one-line message above the page. It goes after a while, unless it tells of a condition that lasts.
import { byId, fill, h } from "./dom.js";

const SHOWN_MS = 20000;
let current = "";
let timer = null;

function goLater(bar) {
  timer = setTimeout(() => {
    if (bar.matches(":hover, :focus-within")) goLater(bar);
    else notice("");
  }, SHOWN_MS);
}

export function notice(words, { act, name, kind = "problem", stays = false } = {}) {
  const bar = byId("notice");
  if (words === current && !bar.hidden) return;
  current = words;
  clearTimeout(timer);
  if (words && !stays) goLater(bar);
  bar.hidden = !words;
  bar.className = `notice ${kind}`;
  if (!words) return;
  fill(bar, h("span", { dir: "auto" }, words),
    act && h("button", { type: "button", class: "quiet", onclick: act }, name),
    h("button", { type: "button", class: "quiet", onclick: () => notice("") }, "Dismiss"));
  giveWay();
}

/** Let the notice change its side if it lies over what has the focus. */
function giveWay() {
  const bar = byId("notice");
  const { left, top, width, height } = document.activeElement.getBoundingClientRect();
  if (!bar.hidden && document.elementFromPoint(left + width / 2, top + height / 2)?.closest(".notice:not(:focus-within)")) bar.classList.toggle("is-below");
}

document.addEventListener("focusin", giveWay);

export const noticeIs = (words) => current === words && !byId("notice").hidden;
