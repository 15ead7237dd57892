// A one-line message at the top of the page.
import { byId, fill, h } from "./dom.js";

let current = "";

export function notice(words, { act, name, kind = "problem" } = {}) {
  const bar = byId("notice");
  if (words === current && !bar.hidden) return;
  current = words;
  bar.hidden = !words;
  bar.className = `notice ${kind}`;
  if (!words) return;
  fill(bar, h("span", { dir: "auto" }, words),
    act && h("button", { type: "button", class: "quiet", onclick: act }, name),
    h("button", { type: "button", class: "quiet", onclick: () => notice("") }, "Dismiss"));
}

export const noticeIs = (words) => current === words && !byId("notice").hidden;
