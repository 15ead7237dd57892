// Import a file. A table becomes a queue; a plain text file may be one text or many; a document is one text.
import * as api from "./api.js";
import { go, plural } from "./dom.js";
import { download } from "./download.js";
import { encodingNote } from "./encoding.js";
import { documentType, readRows } from "./files.js";
import { notice } from "./notice.js";
import { question } from "./question.js";
import { exportOf } from "./queue_export.js";
import { readModel, storeFile } from "./queue_model.js";
import { closingQuestion } from "./queue_question.js";
import { write } from "./store.js";

/** Show a file's texts as a queue, or a single text in the workbench if there is one. */
export async function importFile(file, bench = null) {
  try {
    const type = documentType(file);
    if (type) {
      await openDocument(file, type, bench);
      return;
    }
    const parsed = await readRows(file);
    const isOne = parsed.isPlain && bench !== null && (parsed.rows.length === 1 || await isOneText(parsed));
    if (isOne === null) return; // the question was closed
    if (isOne) {
      bench.setText(parsed.content);
      bench.onText(parsed.content);
    } else if (!await startQueue(parsed)) {
      return;
    }
    tellOf(parsed);
  } catch (error) {
    notice(error.message);
  }
}

/** Say what a person may not expect of a file that was read. */
function tellOf({ name, encoding, nEmpty }) {
  const empty = nEmpty ? ` ${plural(nEmpty, "row")} without a text ${nEmpty === 1 ? "is" : "are"} left out.` : "";
  notice(`${encodingNote(name, encoding)}${empty}`.trim(), { kind: "hint" });
}

async function openDocument(file, type, bench) {
  notice(`Reading ${file.name} …`, { kind: "hint" });
  const { text, is_cut: isCut, note } = await api.textOf(file, type);
  notice(note ? `${file.name}: ${note}` : isCut ? `${file.name} is long; only its beginning is shown and ranked.` : "");
  if (bench?.element.isConnected) {
    bench.setText(text);
    bench.onText(text);
  } else {
    write("draft", text);
    go("#/tag");
  }
}

/** Make a file the queue; return false if the person keeps the file that is there. */
async function startQueue(parsed) {
  const before = await readModel();
  before?.close();
  const answer = await closingQuestion(before, "Replace");
  if (!answer) return false;
  if (answer === "export") {
    const { name, content, type } = exportOf(before);
    download(name, content, type);
  }
  before?.forgetEntries();
  const { name, rows, columns, used, format, separator, encoding } = parsed;
  await storeFile({ name, rows, columns, used, format, separator, encoding });
  go("#/queue");
  return true;
}

function isOneText({ name, rows }) {
  return question({ title: name, words: "Is this file one text, or one text per line?", choices: [
    { name: "One text", value: true }, { name: `${plural(rows.length, "text")}, one per line`, value: false, kind: "primary" },
  ] });
}
