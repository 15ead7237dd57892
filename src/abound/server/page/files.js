// A dropped file as rows of text.
const MOST = 50 * 1024 * 1024;
const TEXT_FIELDS = ["text", "title", "body", "content", "document", "description", "abstract", "summary", "name"];

export async function readRows(file) {
  if (file.size > MOST) throw new Error(`${file.name} has more than 50 MB. Cut it into smaller files.`);
  const content = (await file.text()).replace(/^\ufeff/, "");
  const ending = file.name.toLowerCase().match(/\.([a-z]+)$/)?.[1] ?? "";
  const read = { jsonl: fromJsonLines, ndjson: fromJsonLines, csv: fromCsv, tsv: (text) => fromCsv(text, "\t"), txt: fromLines }[ending];
  if (!read) throw new Error(`${file.name} is no .txt, .csv, .tsv or .jsonl file.`);
  const rows = read(content).filter((row) => row.text.trim());
  if (!rows.length) throw new Error(`${file.name} has no text in it.`);
  return { name: file.name, rows, content, isPlain: ending === "txt" };
}

export const fromLines = (content) => content.split(/\r?\n/).map((text) => ({ text }));

export function fromJsonLines(content) {
  return content.split(/\r?\n/).flatMap((line, i) => {
    if (!line.trim()) return [];
    let found;
    try {
      found = JSON.parse(line);
    } catch {
      throw new Error(`Line ${i + 1} is no JSON.`);
    }
    if (typeof found === "string") return [{ text: found }];
    const field = found && typeof found === "object" ? textField(Object.keys(found), [found]) : null;
    if (!field) throw new Error(`Line ${i + 1} has no text. Give each line a field "text".`);
    return [{ text: String(found[field]), source: found }];
  });
}

export function fromCsv(content, comma = null) {
  const separator = comma ?? guess(content);
  const [head, ...lines] = cells(content, separator);
  if (!head) return [];
  const known = head.map((name) => name.trim().toLowerCase());
  const hasHead = known.some((name) => TEXT_FIELDS.includes(name) || name === "labels" || name === "id");
  const names = hasHead ? known : head.map((_, i) => String(i));
  const records = (hasHead ? lines : [head, ...lines]).map((line) => Object.fromEntries(names.map((name, i) => [name, line[i] ?? ""])));
  const field = textField(names, records);
  return field === null ? [] : records.map((source) => ({ text: source[field], ...(hasHead ? { source } : {}) }));
}

function guess(content) {
  const line = content.slice(0, content.indexOf("\n") >>> 0);
  return [",", ";", "\t"].sort((a, b) => line.split(b).length - line.split(a).length)[0];
}

/** The field that is called so, or else the one with the longest texts. */
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
