// Storage on this device. The page also works if the browser allows no storage.
// A server with several models has a page for each, below its own path.
const place = new URL(".", document.baseURI).pathname;
const NAME = place === "/" ? "abound" : `abound:${place}`;
const PREFIX = `${NAME}:`;

export function read(name, otherwise = null, place = localStorage) {
  try {
    const stored = place.getItem(PREFIX + name);
    return stored === null ? otherwise : JSON.parse(stored);
  } catch {
    return otherwise;
  }
}

export function write(name, value, place = localStorage) {
  try {
    place.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function forget(name, place = localStorage) {
  try {
    place.removeItem(PREFIX + name);
  } catch {
    // nothing was stored
  }
}

export function names(prefix, place = localStorage) {
  try {
    return Object.keys(place).filter((key) => key.startsWith(PREFIX + prefix)).map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}

// The rows of a file may be too large for localStorage.
const opened = new Promise((resolve) => {
  try {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => resolve(null);
  } catch {
    resolve(null);
  }
});

async function inStore(mode, act) {
  const database = await opened;
  if (!database) return undefined;
  return new Promise((resolve) => {
    const store = database.transaction("kept", mode).objectStore("kept");
    const asked = act(store);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => resolve(undefined);
  });
}

export const readLarge = (name) => inStore("readonly", (store) => store.get(name));
export const writeLarge = (name, value) => inStore("readwrite", (store) => store.put(value, name));
export const forgetLarge = (name) => inStore("readwrite", (store) => store.delete(name));
