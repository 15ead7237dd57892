// Parse a file into rows of text, or tell that it is a document, whose text the server extracts.
import { fromRecord, isField } from "./fields.js";

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

const TEXT_FIELDS = ["text", "title", "body", "content", "document", "description", "abstract", "summary", "name"];

export async function readRows(file) {
  if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 50 MB. Split it into smaller files.`);
  const content = (await file.text()).replace(/^\ufeff/, "");
  const read = { jsonl: fromJsonLines, ndjson: fromJsonLines, csv: fromCsv, tsv: (text) => fromCsv(text, "\t"), txt: fromLines }[ending(file)];
  if (!read) throw new Error(`${file.name} is not a .txt, .csv, .tsv, .jsonl, .pdf, .docx or .html file.`);
  const rows = read(content).filter((row) => row.text.trim());
  if (!rows.length) throw new Error(`${file.name} contains no text.`);
  return { name: file.name, rows, content, isPlain: ending(file) === "txt" };
}

export const fromLines = (content) => content.split(/\r?\n/).map((text) => ({ text }));

export function fromJsonLines(content) {
  return content.split(/\r?\n/).flatMap((line, i) => {
    if (!line.trim()) return [];
    let parsed;
    try {
      parsed = JSON.parse(line);
    } catch {
      throw new Error(`Line ${i + 1} is not valid JSON.`);
    }
    if (typeof parsed === "string") return [{ text: parsed }];
    const own = parsed && typeof parsed === "object" ? fromRecord(typeof parsed.text === "object" && parsed.text ? parsed.text : parsed) : null;
    if (own !== null) return [{ text: own, source: parsed }];
    const field = parsed && typeof parsed === "object" ? textField(Object.keys(parsed), [parsed]) : null;
    if (!field) throw new Error(`Line ${i + 1} has no text. Each line needs a field "text".`);
    return [{ text: String(parsed[field]), source: parsed }];
  });
}

export function fromCsv(content, comma = null) {
  const separator = comma ?? guess(content);
  const [head, ...lines] = cells(content, separator);
  if (!head) return [];
  const known = head.map((name) => name.trim().toLowerCase());
  const hasHead = known.some((name) => TEXT_FIELDS.includes(name) || name === "labels" || name === "id" || isField(name));
  const names = hasHead ? known : head.map((_, i) => String(i));
  const records = (hasHead ? lines : [head, ...lines]).map((line) => Object.fromEntries(names.map((name, i) => [name, line[i] ?? ""])));
  if (records.some((source) => fromRecord(source) !== null)) {
    return records.map((source) => ({ text: fromRecord(source) ?? "", source }));
  }
  const field = textField(names, records);
  return field === null ? [] : records.map((source) => ({ text: source[field], ...(hasHead ? { source } : {}) }));
}

function guess(content) {
  const line = content.slice(0, content.indexOf("\n") >>> 0);
  return [",", ";", "\t"].sort((a, b) => line.split(b).length - line.split(a).length)[0];
}

/** The first known text field or, if there is none, the field with the longest texts. */
function textField(names, records) {
  const called = TEXT_FIELDS.find((name) => names.includes(name) && records.some((record) => typeof record[name] === "string"));
  if (called) return called;
  const length = (name) => records.slice(0, 100).reduce((sum, record) => sum + (typeof record[name] === "string" ? record[name].length : 0), 0);
  const best = [...names].sort((a, b) => length(b) - length(a))[0];
  return best !== undefined && length(best) > 0 ? best : null;
}

function cells(content, comma) {
  const rows = [];
  let row = [];
  let at = 0;
  const end = () => {
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  while (at < content.length) {
    let value = "";
    if (content[at] === '"') {
      at += 1;
      for (;;) {
        const quote = content.indexOf('"', at);
        if (quote < 0) throw new Error(`Row ${rows.length + 1} has a quotation mark that is not closed.`);
        value += content.slice(at, quote);
        at = quote + 1;
        if (content[at] !== '"') break;
        value += '"';
        at += 1;
      }
    }
    const stop = at;
    while (at < content.length && content[at] !== comma && content[at] !== "\n") at += 1;
    row.push(value + content.slice(stop, at).replace(/\r$/, ""));
    if (at >= content.length || content[at] === "\n") end();
    at += 1;
  }
  if (content.endsWith(comma)) row.push("");
  if (row.length) end();
  return rows;
}

export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
