// Read and write tables of separated values, quoted as in RFC 4180.

const SEPARATORS = [",", ";", "\t", "|"];

/** The separator that is most frequent in the first line. */
export function guessSeparator(content) {
  const line = content.slice(0, content.indexOf("\n") >>> 0);
  return [...SEPARATORS].sort((a, b) => line.split(b).length - line.split(a).length)[0];
}

export function parseCells(content, separator) {
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
    while (at < content.length && content[at] !== separator && content[at] !== "\n") at += 1;
    row.push(value + content.slice(stop, at).replace(/\r$/, ""));
    if (at >= content.length || content[at] === "\n") end();
    at += 1;
  }
  if (content.endsWith(separator)) row.push("");
  if (row.length) end();
  return rows;
}

/** Names of columns that differ from each other: the second "note" becomes "note (2)". */
export function distinct(names) {
  const seen = new Map();
  return names.map((given, i) => {
    const name = given.trim() || `Column ${i + 1}`;
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name} (${times})`;
  });
}

const FORMULA = /^'*[=+\-@\t\r\n]/; // a spreadsheet would compute such a cell
const NUMBER = /^[+-]\d+([.,]\d+)?$/;
const guarded = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

/** A cell without the single quote that an export has put before a formula. */
export const unguarded = (text) => (/^'+[=+\-@\t\r\n]/.test(text) ? text.slice(1) : text);

/** Records as a table with a header. */
export function writeTable(columns, records, separator) {
  const quoted = (value) => {
    const text = guarded(value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
    return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...records.map((record) => columns.map((name) => record[name]))]
    .map((row) => `${row.map(quoted).join(separator)}\n`).join("");
}
