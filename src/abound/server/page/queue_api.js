// The server's queues: texts that several people share. A text is leased to one browser at a time.
import { newKey, request, wrote } from "./api.js";
import { toRequest } from "./fields.js";
import { read, write } from "./store.js";

const CHUNK = 500; // texts of one request
const CHUNK_LETTERS = 200000;

/** The name of this tab as the holder of a lease; it survives a reload. */
export function holder() {
  const known = read("holder", null, sessionStorage) ?? newKey();
  write("holder", known, sessionStorage);
  return known;
}

export const queues = () => request("GET", "v1/queues");
export const items = ({ name, state, search, offset, limit }) =>
  request("GET", "v1/queue", { query: { name, state: state || undefined, search: search || undefined, offset, limit } });
/** The next open text; with `item`, that text, whose lease is renewed. */
export const next = (name, more = {}) => request("POST", "v1/queue/next", { body: { name, holder: holder(), ...more } });
export const release = (name, item) => request("POST", "v1/queue/release", { body: { name, item, holder: holder() } });
/** Lease a text again that this tab has decided; its record stays until it is undone. */
export const reopen = (name, item) => request("POST", "v1/queue/reopen", { body: { name, item, holder: holder() } });
export const exported = (name, format) => request("GET", "v1/queue/export", { query: { name, format }, isText: true });
export const remove = (name) => request("DELETE", "v1/queues", { query: { name } });

/** Decide on a text once; `decision` is {accepted, rejected, added}, {none_fits, rejected} or {skip}. */
export async function decide(name, item, decision) {
  const answer = await request("POST", "v1/queue/decide", { body: { name, item, holder: holder(), ...decision } });
  wrote(answer?.sequence ?? 0);
  return answer;
}

function chunks(texts) {
  const found = [[]];
  let letters = 0;
  for (const one of texts) {
    letters += one.text.length + (one.source?.length ?? 0);
    if (found.at(-1).length >= CHUNK || (letters > CHUNK_LETTERS && found.at(-1).length)) {
      found.push([]);
      letters = one.text.length;
    }
    found.at(-1).push(one);
  }
  return found;
}

/** Create a queue of texts: [{text, id, source}]. With the same `key` it is created once. `onPart` is told how many texts are there. */
export async function create({ name, guidelines, reviews, texts, key }, onPart = () => {}) {
  let sent = 0;
  for (const [i, part] of chunks(texts).entries()) {
    const about = i === 0 ? { guidelines, reviews } : {};
    const body = { name, ...about, texts: part.map((one) => ({ ...one, text: toRequest(one.text) })) };
    await request("POST", "v1/queues", { body, key: `${key}-${i}` });
    sent += part.length;
    onPart(sent);
  }
}
