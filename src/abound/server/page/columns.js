// Which columns of a record are its text. A title and an abstract are joined; the person can choose others.
import { fromRecord } from "./fields.js";

const HEADINGS = ["title", "heading", "headline"];
const SHORT = ["abstract", "summary", "description"];
const LONG = ["text", "body", "content", "document"];
const KNOWN = [...HEADINGS, ...SHORT, ...LONG, "name"];
const INSPECTED = 100; // records

export const isTextColumn = (name) => KNOWN.includes(name.toLowerCase());

/** The columns that are probably the text: a heading, then a summary and the text itself, or the longest column. */
export function chooseColumns(names, records) {
  const length = (name) => records.slice(0, INSPECTED).reduce((sum, record) => sum + (typeof record[name] === "string" ? record[name].trim().length : 0), 0);
  const find = (...wanted) => wanted.flatMap((one) => names.filter((name) => name.toLowerCase() === one && length(name) > 0));
  const found = [...find(...HEADINGS).slice(0, 1), ...find(...SHORT).slice(0, 1), ...find(...LONG).slice(0, 1)];
  if (!found.length) found.push(...find("name").slice(0, 1));
  if (found.length) return found;
  const best = [...names].sort((a, b) => length(b) - length(a))[0];
  return best !== undefined && length(best) > 0 ? [best] : [];
}

/** The text of a record: its fields if the model has fields, otherwise its chosen columns, one below the other. */
export function textOf(source, columns) {
  const fields = fromRecord(source);
  if (fields !== null) return fields;
  return columns.map((name) => source[name]).filter((value) => typeof value === "string" && value.trim()).join("\n");
}
