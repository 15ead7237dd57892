// Create elements from plain values. Strings become text nodes, never markup.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, given] of Object.entries(value)) element.style.setProperty(key, given);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (typeof value === "string") element.setAttribute(name, value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  fill(element, ...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...children.flat(Infinity));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A name that may be left-to-right or right-to-left, isolated from the sentence around it. */
export const bdi = (text, cls) => h("bdi", { class: cls }, String(text));

export const labelLink = (entry, props = {}) =>
  h("a", { href: `#/label?name=${encodeURIComponent(entry.label)}`, dir: "auto", ...props }, nameOf(entry));

export const wordLink = (word, props = {}) =>
  h("a", { href: `#/word?word=${encodeURIComponent(word)}`, dir: "auto", ...props }, word);

/** The displayed name of a label. */
export const nameOf = (entry) => String(entry.name ?? entry.label);

/** A map key for a label, which may be a string or a number. */
export const keyOf = (label) => JSON.stringify(label);

const whole = new Intl.NumberFormat("en");
export const count = (n) => (n === null || n === undefined ? "–" : whole.format(n));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

const SHORT_LETTERS = 40;

/** The beginning of a long text. */
export const short = (text) => (text.length > SHORT_LETTERS ? `${text.slice(0, SHORT_LETTERS).trimEnd()}…` : text);

/** Announce something to screen readers; use it sparingly. */
export function say(words) {
  const spoken = byId("spoken");
  spoken.textContent = spoken.textContent === words ? `${words}\u00a0` : words;
}

/** Open a section, or reload it if it is already open. */
export function go(hash) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}
