// Times as people read them, in the browser's time zone.
import { h } from "./dom.js";

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const minute = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The words for places on an axis of times: days; times where a day repeats, with seconds where a minute repeats. */
export function axisOf(times) {
  const moments = times.map((time) => new Date(time));
  const [days, minutes] = [day, minute].map((format) => moments.map((moment) => format.format(moment)));
  const exact = moments.map((moment, i) => `${days[i]} ${seconds.format(moment)}`);
  const date = new Set(days).size === 1 || new Set(moments.map((moment) => moment.getFullYear())).size > 1 ? day : short;
  const hour = minutes.some((word, i) => word === minutes[i - 1]) ? seconds : clock;
  return moments.map((moment, i) => {
    if (exact[i] === exact[i - 1]) return "";
    if (days[i] === days[i - 1]) return hour.format(moment);
    return days[i] === days[i + 1] ? `${date.format(moment)}, ${hour.format(moment)}` : date.format(moment);
  });
}

export const dayOf = (time) => day.format(new Date(time));

/** An element with a date and a time, exact in its tooltip. */
export const timeOf = (time) => h("time", { datetime: time, title: time }, minute.format(new Date(time)));

/** The moment at which a day (2026-03-01) begins in this time zone, moved by a number of days; undefined without a day. */
export function startOf(date, moved = 0) {
  const [year, month, number] = String(date).split("-").map(Number);
  return number ? new Date(year, month - 1, number + moved).toISOString() : undefined;
}
