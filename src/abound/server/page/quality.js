// How well a label is assigned, in plain words, as it was measured on texts that the model had not learned.
import { bdi, count, h, plural } from "./dom.js";

export const percent = (share) => `${Math.round(share * 100)}%`;

export function qualityLine(quality) {
  if (!quality) return null;
  const { support, assigned, precision, recall, confused_with: other, confused_name: name, confused_rows: rows } = quality;
  const right = precision === undefined ? "never assigned" : `right: ${percent(precision)} of ${count(assigned)}`;
  const found = recall === undefined ? "no text has it" : `found: ${percent(recall)} of ${count(support)}`;
  const title = [
    precision === undefined ? "It was never assigned." : `It was assigned to ${plural(assigned, "text")}; ${percent(precision)} of them have it.`,
    recall === undefined ? "No text has it." : `${plural(support, "text")} ${support === 1 ? "has" : "have"} it; it was assigned to ${percent(recall)} of them.`,
  ].join(" ");
  return h("p", { class: "hint quality", title }, `${right} · ${found}`,
    other !== undefined && [" · confused with ", bdi(name ?? other), ` (${count(rows)})`]);
}
