// Words for a queue that people share.
import { count, nameOf, plural } from "./dom.js";
import { fromRecord } from "./fields.js";

export const STATES = { open: "undecided", leased: "being decided", review: "waits for a second opinion", done: "decided", skipped: "skipped", differs: "opinions differ" };

const percent = (share) => `${Math.round(share * 100)}%`;

/** How well two people agree, in words; "" while no text has a second opinion. */
export function agreementWords({ agreement }) {
  if (!agreement) return "";
  return `agreement ${percent(agreement.mean)}, ${percent(agreement.equal)} of ${plural(agreement.texts, "text")} identical`;
}

/** A text as the page shows it: one string, also if it has fields. */
export const shownText = (text) => (typeof text === "string" ? text : fromRecord(text) ?? Object.values(text).join("\n"));

/** How far a queue is. */
export const decidedOf = ({ done, total }) => `${count(done)} of ${plural(total, "text")} decided`;

/** What was decided on a text, by whom; "" while it is not shown. */
export const decidedWords = ({ decisions = [] }) => decisions.map(({ labels = [], who, none_fits: noneFits, review }) =>
  `${review ? "second opinion: " : ""}${noneFits ? "none fits" : labels.map(nameOf).join(", ") || "no label"}${who ? ` (${who})` : ""}`).join("; ");

/** The columns that a shared text brought along: those of a file, or one that says where it is from. */
export function columnsOf({ id, source }) {
  const given = id === undefined || id === null ? {} : { id };
  if (!source) return given;
  try {
    const columns = JSON.parse(source);
    if (columns && typeof columns === "object" && !Array.isArray(columns)) return { ...given, ...columns };
  } catch {
    // not the columns of a file
  }
  return { ...given, source };
}
