// Below the text: a button for a file, and a sentence about a text that is not what it seems.
import { h } from "./dom.js";
import { fileButton } from "./file_button.js";

const ADDRESS = /^\s*(?:https?:\/\/|www\.)\S+\s*$/i;
const IS_ADDRESS = "This is an address, and only its letters are ranked. The server never fetches an address: open it, save it as a file (PDF, Word or HTML), and choose that file.";

/** What a person should know about a text; "" if there is nothing. */
export const noteOn = (text) => (ADDRESS.test(text) ? IS_ADDRESS : "");

/** The tools below the text field of a work bench: {element, note, update}. */
export function documentTools(onFile) {
  const note = h("p", { class: "document-note", role: "status" });
  return {
    note,
    button: fileButton(onFile, { name: "Open a file", kind: "quiet" }),
    update(text) {
      const words = noteOn(text);
      if (note.textContent !== words) note.textContent = words;
    },
  };
}
