// Parse a file into rows of text, or tell that it is a document, whose text the server extracts.
import { chooseColumns, isTextColumn, textOf } from "./columns.js";
import { decode } from "./encoding.js";
import { fromRecord, isField } from "./fields.js";
import { distinct, guessSeparator, parseCells, unguarded } from "./table.js";

export { download } from "./download.js";

const MAX_BYTES = 50 * 1024 * 1024;
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024; // the server's limit
const DOCUMENT_TYPES = {
  pdf: "application/pdf", html: "text/html", htm: "text/html", xhtml: "application/xhtml+xml", md: "text/markdown",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
};
export const ACCEPTED = [".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ...Object.keys(DOCUMENT_TYPES).map((name) => `.${name}`)].join(",");
const ending = (file) => file.name.toLowerCase().match(/\.([a-z]+)$/)?.[1] ?? "";

/** The media type of a document, or undefined if the file has rows. */
export function documentType(file) {
  const type = Object.hasOwn(DOCUMENT_TYPES, ending(file)) ? DOCUMENT_TYPES[ending(file)] : undefined;
  if (type && file.size > MAX_DOCUMENT_BYTES) throw new Error(`${file.name} is larger than 16 MB, the limit for a document.`);
  return type;
}

const READERS = { jsonl: fromJsonLines, ndjson: fromJsonLines, csv: fromCsv, tsv: (text) => fromCsv(text, "\t"), txt: fromLines };

/** The rows of a file: {name, rows: [{text, row, source}], columns, used, format, encoding, nEmpty}. */
export async function readRows(file) {
  if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 50 MB. Split it into smaller files.`);
  const read = READERS[ending(file)];
  if (!read) throw new Error(`${file.name} is not a .txt, .csv, .tsv, .jsonl, .pdf, .docx or .html file.`);
  const { content, encoding } = decode(new Uint8Array(await file.arrayBuffer()));
  const parsed = read(content);
  const rows = parsed.rows.filter((row) => row.text.trim());
  if (!rows.length) throw new Error(`${file.name} contains no text.`);
  const nEmpty = ending(file) === "txt" ? 0 : parsed.rows.length - rows.length;
  return { ...parsed, name: file.name, rows, nEmpty, encoding, content, isPlain: ending(file) === "txt" };
}

export function fromLines(content) {
  return { format: "txt", columns: [], used: [], rows: content.split(/\r?\n/).map((text, i) => ({ text, row: i + 1 })) };
}

/** Records as rows. A record has the name of its columns as they are in the file. */
function fromRecords(records, columns, used, format) {
  return { format, columns, used, rows: records.map((source, i) => ({ text: textOf(source, used), row: i + 1, source })) };
}

export function fromJsonLines(content) {
  const lines = content.split(/\r?\n/).flatMap((line, i) => (line.trim() ? [{ number: i + 1, value: parseLine(line, i + 1) }] : []));
  const records = lines.map(({ value }) => (typeof value === "object" ? value : { text: value }));
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const used = chooseColumns(columns, records);
  const found = fromRecords(records, columns, used, "jsonl");
  found.rows.forEach((row, i) => {
    const inner = row.source.text && typeof row.source.text === "object" ? fromRecord(row.source.text) : null;
    if (inner !== null) row.text = inner;
    row.row = lines[i].number;
    if (!row.text.trim() && !columns.some((name) => typeof row.source[name] === "string")) {
      throw new Error(`Line ${row.row} has no text. Each line needs a field "text".`);
    }
  });
  return found;
}

function parseLine(line, number) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`Line ${number} is not valid JSON.`);
  }
  const isRecord = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isRecord && typeof value !== "string") throw new Error(`Line ${number} has no text. Each line needs a field "text".`);
  return value;
}

export function fromCsv(content, given = null) {
  const separator = given ?? guessSeparator(content);
  const format = separator === "\t" ? "tsv" : "csv";
  const [head, ...lines] = parseCells(content, separator).map((row) => row.map(unguarded));
  if (!head) return { format, separator, columns: [], used: [], rows: [] };
  const known = head.map((name) => name.trim().toLowerCase());
  const hasHead = known.some((name) => isTextColumn(name) || name === "labels" || name === "id" || isField(name));
  const columns = distinct(hasHead ? head : head.map(() => ""));
  const records = (hasHead ? lines : [head, ...lines]).map((line) => Object.fromEntries(columns.map((name, i) => [name, line[i] ?? ""])));
  return { ...fromRecords(records, columns, chooseColumns(columns, records), format), separator };
}
