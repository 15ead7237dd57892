// Write what was decided in the format of the file: a table stays a table, with the names of the labels beside their ids.
import { nameOf } from "./dom.js";
import { toRequest } from "./fields.js";
import { writeTable } from "./table.js";

const TYPES = { csv: "text/csv", tsv: "text/tab-separated-values", jsonl: "application/x-ndjson" };
const DECISION = { done: "decided", none: "none fits", skipped: "skipped", open: "" };
const BAR = "|"; // separates the labels of a cell, as `abound` reads it

const kinds = (items, ...wanted) => items.filter(({ kind }) => wanted.includes(kind));
const idsOf = (items) => items.map(({ label }) => label);
const namesOf = (items) => items.map(nameOf);

/** What was decided on one row, as columns. */
export function decidedColumns({ state, items }) {
  const right = kinds(items, "accept", "add");
  return {
    labels: idsOf(right), label_names: namesOf(right), accepted: idsOf(kinds(items, "accept")), added: idsOf(kinds(items, "add")),
    rejected: idsOf(kinds(items, "reject")), rejected_names: namesOf(kinds(items, "reject")), decision: DECISION[state],
  };
}

/** The row's own columns; one that an export also writes gets another name. */
function ownColumns(source, taken) {
  return Object.fromEntries(Object.entries(source ?? {}).map(([name, value]) => [taken.includes(name.toLowerCase()) ? `${name}_in_file` : name, value]));
}

function recordOf(model, i) {
  const { text, source, row } = model.file.rows[i];
  const decided = { ...decidedColumns(model.at(i)), row: row ?? i + 1 };
  const own = ownColumns(source, [...Object.keys(decided), ...(model.isEdited(i) ? ["text"] : [])]);
  const hasText = own.text !== undefined && own.text === text;
  return { ...own, ...(hasText ? {} : { text: model.textAt(i) }), ...decided };
}

/** An export: {name, type, content, separator of labels}. `all` includes the rows without a decision. */
export function exportOf(model, all = false) {
  const rows = model.file.rows.map((_, i) => i).filter((i) => all || ["done", "none"].includes(model.at(i).state));
  const records = rows.map((i) => recordOf(model, i));
  const format = model.file.format === "txt" ? "tsv" : model.file.format;
  const name = `${model.file.name.replace(/\.[^.]*$/, "")}-decided.${format}`;
  if (format === "jsonl") {
    return { name, type: TYPES.jsonl, content: records.map((record) => `${JSON.stringify({ ...record, text: toRequest(record.text) })}\n`).join("") };
  }
  const isUsed = (mark) => records.some(({ labels, rejected }) => [...labels, ...rejected].some((label) => String(label).includes(mark)));
  const bar = [BAR, ";", "¦"].find((mark) => !isUsed(mark)) ?? BAR;
  const cells = records.map((record) => Object.fromEntries(Object.entries(record).map(([column, value]) => [column, Array.isArray(value) ? value.join(bar) : value])));
  const columns = [...new Set(cells.flatMap(Object.keys))];
  const mark = format === "csv" ? "\ufeff" : ""; // a spreadsheet recognizes UTF-8 by it
  return { name, type: TYPES[format], content: mark + writeTable(columns, cells, model.file.separator ?? "\t"), bar };
}
