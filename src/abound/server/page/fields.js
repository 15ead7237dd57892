// Texts with fields. On the page a text is one string: a line that begins with the name of a field and a colon begins
// that field, such as "title: Growing roses". A text that does not begin so is sent as a plain text.
import { toUnits } from "./highlight.js";
import { read, write } from "./store.js";

let fields = read("fields", []); // kept, because a pending decision may be sent before the model is known

export function setFields(names = []) {
  fields = names;
  write("fields", names);
}

/** An example of a text with fields, to show in an empty text field; "" if the model has no fields. */
export const example = () => fields.map((name) => `${name}: …`).join("\n");

const fieldOf = (name) => fields.find((field) => field.toLowerCase() === name.toLowerCase());
export const isField = (name) => fieldOf(name) !== undefined;

/** The fields of a text by name, each with its first position in the text; null for a plain text. */
export function parse(text) {
  if (!fields.length) return null;
  const escaped = fields.map((name) => name.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  const marks = [...text.matchAll(new RegExp(`^(${escaped.join("|")}):\\s*`, "gim"))]
    .map((match) => ({ name: fields.find((name) => name.toLowerCase() === match[1].toLowerCase()), at: match.index, start: match.index + match[0].length }))
    .filter(({ name }, i, all) => all.findIndex((other) => other.name === name) === i); // a field begins once
  if (!marks.length || text.slice(0, marks[0].at).trim()) return null;
  return new Map(marks.map(({ name, start }, i) => [name, { start, text: text.slice(start, marks[i + 1]?.at).trimEnd() }]));
}

/** A text as the server expects it: a string, or an object of fields. */
export function toRequest(text) {
  const parsed = parse(text);
  return parsed ? Object.fromEntries([...parsed].map(([name, field]) => [name, field.text])) : text;
}

/** The text of the page for a record of a file; null if the record has none of the fields. */
export function fromRecord(record) {
  const given = Object.entries(record).filter(([name, text]) => isField(name) && typeof text === "string");
  return given.length ? given.map(([name, text]) => `${fieldOf(name)}: ${text}`).join("\n") : null;
}

/** Convert the positions of words in a text, or in its fields, to positions in UTF-16 units of the text. */
export function place(text, words) {
  const parsed = parse(text);
  if (!parsed) return toUnits(text, words);
  return words.map((word) => {
    const spans = (word.spans ?? []).flatMap((span, i) => {
      const field = parsed.get(word.fields?.[i]);
      if (!field) return [];
      const [moved] = toUnits(field.text, [{ spans: [span] }]);
      return moved.spans.map(([start, stop]) => [start + field.start, stop + field.start]);
    });
    return { ...word, spans };
  });
}
