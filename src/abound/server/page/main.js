// The sections of the page, chosen by the part of the address after the #.
import * as api from "./api.js";
import { askForKey, setUpAccess } from "./access.js";
import { dayOf } from "./dates.js";
import { bdi, byId, count, fill, h, plural } from "./dom.js";
import { setUpPending } from "./pending.js";
import { openLabel, openWord } from "./details.js";
import { bindAlways, setUpHelp } from "./keys.js";
import { openLabels } from "./labels.js";
import { notice, noticeIs } from "./notice.js";
import { openLog } from "./log.js";
import { openProgress } from "./progress.js";
import { openQueue } from "./queue.js";
import { openTag } from "./tag.js";

const PARTS = {
  tag: [openTag, "Tag"], queue: [openQueue, "Queue"], labels: [openLabels, "Labels"], label: [openLabel, "Label"],
  word: [openWord, "Word"], progress: [openProgress, "Progress"], history: [openLog, "History"],
};
const TAB = { label: "labels", word: "labels" };

const main = byId("main");
const info = {};
let close = () => {};
let turn = 0;

async function open() {
  const address = location.hash.startsWith("#/") ? location.hash.slice(2) : "tag";
  const [asked, query = ""] = address.split("?");
  const part = Object.hasOwn(PARTS, asked) ? asked : "tag";
  const [show, title] = PARTS[part];
  const mine = (turn += 1);
  close();
  close = () => {};
  document.title = `${title} – abound`;
  for (const tab of document.querySelectorAll("[data-part]")) {
    if (tab.dataset.part === (TAB[part] ?? part)) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const closing = await show(main, info, new URLSearchParams(query));
  if (mine === turn) close = closing;
  else closing();
  scrollTo(0, 0);
  if (part !== "tag" && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
}

async function about() {
  try {
    Object.assign(info, await api.model());
  } catch {
    return; // the notice shows the error
  }
  drawFoot();
}

const FRESH_MS = 1000;
let refreshing = null;

/** Read the counts again soon if the model has learned since they were read. */
function refresh() {
  if (refreshing !== null || (info.sequence ?? -1) >= api.sequence()) return;
  refreshing = setTimeout(() => {
    refreshing = null;
    about();
  }, FRESH_MS);
}

function drawFoot() {
  if (info.rows === undefined) return;
  fill(byId("foot"), info.name && h("span", {}, bdi(info.name), info.fitted && ` of ${dayOf(info.fitted)}`), h("span", {}, `${plural(info.rows, "text")} · ${plural(info.labels, "label")} · ${plural(info.features, "word and pair", "words and pairs")}`),
    h("span", {}, `revision ${count(Math.max(api.sequence(), info.sequence ?? 0))}`), h("span", {}, `abound ${info.version ?? ""}`), h("a", { href: "docs" }, "HTTP API"));
}

let trouble = "";
api.onConnection((error) => {
  if (!error) {
    if (trouble && noticeIs(trouble)) notice("");
    trouble = "";
    drawFoot();
    refresh();
  } else if (error.needsKey) {
    trouble = error.message;
    notice(trouble, { act: () => askForKey(trouble), name: "Enter a key", stays: true });
  } else if (error.mayPass) {
    trouble = error.status === 0 ? "The server does not answer. Your decisions are stored in this browser and sent when it is back." : error.message;
    notice(trouble, { stays: true });
  }
});

api.onJournalChange(() => {
  notice("The server now has another model, or an earlier state of this one. The page continues with it.");
  about();
});

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
const to = (part) => () => {
  location.hash = `#/${part}`;
};
bindAlways({ t: to("tag"), q: to("queue"), l: to("labels"), g: to("progress"), h: to("history") });
setUpAccess();
setUpHelp();
setUpPending();
addEventListener("hashchange", open);
addEventListener("abound:key", () => about().then(open));
await about();
open();
