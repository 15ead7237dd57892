// Records as a file: JSON lines as the server gives them, with names, or a table.
import { writeTable } from "./table.js";

const COLUMNS = ["entry", "time", "who", "from", "kind", "status", "text", "accepted", "added", "rejected", "details"];
const OWN = new Set(["sequence", "time", "who", "source", "kind", "status", "text", "accepted", "added", "rejected", "key"]);

/** The records, each with the names of its labels. */
export function exportLines(records, names) {
  const lines = records.map((record) => {
    const labels = ["accepted", "added", "rejected"].flatMap((field) => record[field] ?? []).concat(record.label ?? [], record.into ?? []);
    const known = labels.filter((label) => Object.hasOwn(names, String(label)));
    return JSON.stringify({ ...record, names: Object.fromEntries(known.map((label) => [String(label), names[String(label)]])) });
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** One line per record; several labels in a cell are separated by "; ". */
export function exportTable(records, names) {
  const shown = (labels) => (labels ?? []).map((label) => names[String(label)] ?? String(label)).join("; ");
  const rows = records.map((record) => ({
    ...record, entry: record.sequence, from: record.source, accepted: shown(record.accepted), added: shown(record.added),
    rejected: shown(record.rejected), details: details(record),
  }));
  return writeTable(COLUMNS, rows, ",");
}

function details(record) {
  const rest = Object.entries(record).filter(([field]) => !OWN.has(field));
  return rest.length ? JSON.stringify(Object.fromEntries(rest)) : "";
}
