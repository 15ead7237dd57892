// A button that chooses a file, and a place where one can be dropped.
import { h } from "./dom.js";
import { ACCEPTED } from "./files.js";

let made = 0;

/** A button for a file; `id` is that of its input. */
export function fileButton(onFile, { name = "Choose a file", kind = "button primary", id = `file-${(made += 1)}` } = {}) {
  const input = h("input", { type: "file", id, class: "unseen", accept: ACCEPTED, onchange: () => {
    const [file] = input.files;
    input.value = ""; // the same file may be chosen again
    if (file) onFile(file);
  } });
  return h("span", { class: "chooser" }, input, h("label", { for: id, class: kind }, name));
}

export function acceptDrops(place, onFile) {
  const over = (isOver) => place.classList.toggle("is-over", isOver);
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    over(true);
  });
  place.addEventListener("dragleave", () => over(false));
  place.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer.files;
    over(false);
    if (!file) return; // dropped text: a field handles it
    event.preventDefault();
    onFile(file);
  });
}
