// A client of the server's public HTTP API.
import { toRequest } from "./fields.js";
import { forget, read, write } from "./store.js";

export class ApiError extends Error {
  constructor(status, detail, wait = 0) {
    super(detail);
    this.status = status; // 0: no answer
    this.wait = wait; // seconds
  }

  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  get needsKey() {
    return this.status === 401 || this.status === 403;
  }
}

let seen = 0; // the last record that this page has written; answers must not be older
let newest = 0;
let current = ""; // the journal that these records belong to
const listeners = new Set();
const onOtherJournal = new Set();

export const onConnection = (listener) => listeners.add(listener);
export const onJournalChange = (listener) => onOtherJournal.add(listener);
export const sequence = () => newest;
export const journal = () => current;
const tell = (error) => listeners.forEach((listener) => listener(error));

export const getKey = () => read("key", "") || read("key", "", sessionStorage);

export function setKey(key, remember) {
  forget("key");
  forget("key", sessionStorage);
  if (key) write("key", key, remember ? localStorage : sessionStorage);
}

/** Ask the server; with `isText` the answer is a text instead of JSON. */
export async function request(method, path, { query, body, file, type = "application/json", key, signal, isText = false } = {}) {
  const address = new URL(path, document.baseURI);
  address.hash = "";
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) address.searchParams.set(name, value);
  }
  const headers = { Accept: "application/json", "X-Abound-Source": "page" };
  if (body !== undefined || file) headers["Content-Type"] = type;
  if (key) headers["Idempotency-Key"] = key;
  if (seen) headers["X-Abound-Sequence"] = String(seen);
  if (seen && current) headers["X-Abound-Journal"] = current;
  if (getKey()) headers.Authorization = `Bearer ${getKey()}`;
  let answer;
  try {
    answer = await fetch(address, {
      method, headers, signal, body: body === undefined ? file : JSON.stringify(body),
      cache: "no-store", credentials: "same-origin", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const gone = new ApiError(0, "The server does not answer.");
    tell(gone);
    throw gone;
  }
  const content = await (isText && answer.ok ? answer.text() : answer.json()).catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  const found = answer.headers.get("X-Abound-Journal");
  if (found && found !== current) {
    if (current) forgetSequences();
    current = found;
  }
  if (!answer.ok) {
    if (answer.status === 412 && seen) { // an earlier state of the same journal
      forgetSequences();
      return request(method, path, { query, body, file, type, key, signal, isText });
    }
    const wait = Number(answer.headers.get("Retry-After")) || 0;
    const failed = new ApiError(answer.status, messageFor(answer.status, content), wait);
    tell(failed);
    throw failed;
  }
  newest = Math.max(newest, Number(answer.headers.get("X-Abound-Sequence")) || content?.sequence || 0);
  tell(null);
  return content;
}

/** The server has another journal now: forget the positions in the old one. */
function forgetSequences() {
  seen = 0;
  newest = 0;
  onOtherJournal.forEach((listener) => listener());
}

function messageFor(status, problem) {
  const detail = typeof problem?.detail === "string" ? problem.detail : problem?.title;
  if (status === 401) return getKey() ? "The server does not know this key. Enter another one." : "The server requires a key.";
  if (status === 403) return "This key does not allow this action.";
  if (status === 413) return `This text is too long for the server.${detail ? ` Its answer: ${detail}.` : ""}`;
  if (status === 429) return "Too many requests. The page waits and tries again.";
  return detail ? String(detail) : `The server answered with ${status}.`;
}

/** Replace lone surrogates, which JSON cannot carry. */
const wellFormed = (text) => (text.toWellFormed ? text.toWellFormed() : text);
const asSent = (text) => toRequest(wellFormed(text));

export const rank = (text, { k = 10, bands = false, explained = false, signal } = {}) =>
  request("POST", "v1/rank", { body: { text: asSent(text), k, explain: explained, paths: true, ...(bands ? { bands } : { assign: true }) }, signal });

/** The text of a file, which the server extracts: { text, is_cut, note }. */
export const textOf = (file, type) => request("POST", "v1/text", { file, type });

/** This page has written a record; later answers must include it. */
export function wrote(sequence) {
  seen = Math.max(seen, sequence);
}

export const explain = (text, label, signal) => request("POST", "v1/explain", { body: { text: asSent(text), label }, signal });

export async function learn(batch) {
  const { text, accepted, rejected, added } = batch;
  const answer = await request("POST", "v1/learn", {
    body: { text: asSent(text), accepted, rejected, added }, key: batch.id,
  });
  seen = Math.max(seen, answer.sequence);
  return answer;
}

export const labels = (prefix, limit = 20, signal, worstFirst = false) =>
  request("GET", "v1/labels", { query: { prefix, limit, ...(worstFirst ? { worst_first: true } : {}) }, signal });

/** Labels by words of their names, those that fit a text best first. */
export const complete = (text, query, limit = 8, signal) => request("POST", "v1/labels", { body: { text: asSent(text), query, limit }, signal });

/** A page of the table of labels: { labels, total, rated }. */
export const labelTable = (asked, signal) => request("GET", "v1/labels", { query: asked, signal });

export async function changeLabel(change, dryRun = false) {
  const answer = await request("PATCH", "v1/labels", { body: { ...change, dry_run: dryRun } });
  if (!dryRun) seen = Math.max(seen, answer.sequence ?? 0);
  return answer;
}

/** A key with which a request can be repeated and is done once. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** What was taught: records between `after` and `before` that match the filters, and `next` if there are more. */
export const records = (filters, signal) => request("GET", "v1/records", { query: filters, signal });

const UNDO_TRIES = 20; // the server answers within 25 seconds, also if it is not done yet

/** Undo records; the server may need several requests for it. */
export async function undo(numbers, reason = "", key = newKey()) {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await request("POST", "v1/undo", { body: { records: numbers, reason }, key });
      seen = Math.max(seen, answer.sequence);
      return answer;
    } catch (error) {
      if (error.status !== 503 || tries >= UNDO_TRIES) throw error;
      await new Promise((resolve) => { setTimeout(resolve, Math.max(1, error.wait) * 1000); });
    }
  }
}

export const label = (name) => request("GET", "v1/label", { query: { name } });
export const word = (term) => request("GET", "v1/word", { query: { word: term } });
export const progress = () => request("GET", "v1/progress");
export const model = () => request("GET", "v1/model");
