// Decode the bytes of a file. A file that is not valid UTF-8 was most likely written by a program on Windows.

/** The text of a file, and the encoding that it was decoded from. A byte order mark is removed. */
export function decode(bytes) {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return { content: new TextDecoder("utf-16le").decode(bytes), encoding: "UTF-16" };
  if (first === 0xfe && second === 0xff) return { content: new TextDecoder("utf-16be").decode(bytes), encoding: "UTF-16" };
  try {
    return { content: new TextDecoder("utf-8", { fatal: true }).decode(bytes), encoding: "UTF-8" };
  } catch {
    return { content: new TextDecoder("windows-1252").decode(bytes), encoding: "Windows-1252" };
  }
}

/** A sentence about an encoding that was guessed; "" if it was certain. */
export const encodingNote = (name, encoding) =>
  (encoding === "Windows-1252" ? `${name} is not UTF-8. It was read as Windows-1252 (Latin-1): check its accented letters. An export is UTF-8.` : "");
