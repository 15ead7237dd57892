// Times as people read them, in the browser's time zone.
import { h } from "./dom.js";

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const minute = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The words for places on an axis of times: days; if all are on one day, that day once and times. None is repeated. */
export function axisOf(times) {
  const isOneDay = new Set(times.map((time) => day.format(new Date(time)))).size === 1;
  const words = times.map((time) => (isOneDay ? clock : short).format(new Date(time)));
  return words.map((word, i) => (i && word === words[i - 1] ? "" : isOneDay && !i ? minute.format(new Date(times[0])) : word));
}

export const dayOf = (time) => day.format(new Date(time));

/** An element with a date and a time, exact in its tooltip. */
export const timeOf = (time) => h("time", { datetime: time, title: time }, minute.format(new Date(time)));

/** The moment at which a day (2026-03-01) begins in this time zone, moved by a number of days; undefined without a day. */
export function startOf(date, moved = 0) {
  const [year, month, number] = String(date).split("-").map(Number);
  return number ? new Date(year, month - 1, number + moved).toISOString() : undefined;
}
