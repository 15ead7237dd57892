// Which parts of a text vote for a label, and how strongly.
const LEVELS = 4;

const LONGEST_SEGMENTED = 20_000; // characters; segmenting a longer text would delay typing

/** Return the number of words of a text, also in scripts without spaces. */
export function countWords(text) {
  const hasWords = /^[\p{ASCII}\p{Script=Latin}]*$/u.test(text) || text.length > LONGEST_SEGMENTED || !Intl.Segmenter;
  if (hasWords) return text.match(/\S+/g)?.length ?? 0;
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].filter((part) => part.isWordLike).length;
}

/** Convert spans in code points to spans in UTF-16 units. */
export function toUnits(text, words) {
  if (!/[\ud800-\udfff]/.test(text)) return words;
  const units = [0];
  for (const letter of text) units.push(units[units.length - 1] + letter.length);
  const at = (place) => units[Math.min(place, units.length - 1)];
  return words.map((word) => ({ ...word, spans: (word.spans ?? []).map(([start, stop]) => [at(start), at(stop)]) }));
}

/** Split a text into pieces, each with the sum of the votes that cover it. */
export function cut(text, words) {
  const steps = new Map();
  const add = (place, vote) => steps.set(place, (steps.get(place) ?? 0) + vote);
  for (const { vote, spans } of words) {
    for (const [start, stop] of spans ?? []) {
      if (start >= stop || stop > text.length) continue;
      add(start, vote);
      add(stop, -vote);
    }
  }
  const places = [...steps.keys()].sort((a, b) => a - b);
  const pieces = [];
  let at = 0;
  let sum = 0;
  for (const place of places) {
    if (place > at) pieces.push({ start: at, stop: place, sum });
    sum += steps.get(place);
    at = place;
  }
  if (at < text.length) pieces.push({ start: at, stop: text.length, sum: 0 });
  const most = Math.max(0, ...pieces.map((piece) => Math.abs(piece.sum)));
  for (const piece of pieces) {
    const share = most > 0 ? Math.abs(piece.sum) / most : 0;
    piece.level = share < 1e-9 ? 0 : Math.ceil(share * LEVELS) * Math.sign(piece.sum);
  }
  return pieces;
}

/** Join the pieces with weak votes to their neighbours, so that at most `most` pieces are marked. */
export function strongest(pieces, most) {
  const sums = pieces.filter(({ level }) => level).map(({ sum }) => Math.abs(sum)).sort((a, b) => b - a);
  if (sums.length <= most) return pieces;
  const joined = [];
  for (const piece of pieces) {
    const level = Math.abs(piece.sum) > sums[most] ? piece.level : 0;
    const last = joined.at(-1);
    if (level === 0 && last?.level === 0) last.stop = piece.stop;
    else joined.push({ ...piece, level });
  }
  return joined;
}

/** The lengths of the beginning and of the end that two texts share. */
function shared(before, after) {
  let same = 0;
  const shorter = Math.min(before.length, after.length);
  while (same < shorter && before[same] === after[same]) same += 1;
  let tail = 0;
  while (tail < shorter - same && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { same, tail };
}

/** Whether a text is an edit of another one: they share at least half of the longer one. */
export function isEditOf(before, after) {
  const { same, tail } = shared(before, after);
  return 2 * (same + tail) >= Math.max(before.length, after.length);
}

/** Shift spans after an edit; spans that the edit touches are dropped until the next ranking. */
export function follow(before, after, words) {
  const { same, tail } = shared(before, after);
  const moved = after.length - before.length;
  const kept = (spans) => spans.flatMap(([start, stop]) => {
    if (stop <= same) return [[start, stop]];
    return start >= before.length - tail ? [[start + moved, stop + moved]] : [];
  });
  return words.map((word) => ({ ...word, spans: kept(word.spans ?? []) }));
}

/** Round votes so that the displayed votes add up to the displayed score. */
export function rounded(votes, score, digits) {
  const scale = 10 ** digits;
  const down = votes.map((vote) => Math.floor(vote * scale));
  let missing = Math.round(score * scale) - down.reduce((sum, part) => sum + part, 0);
  const order = votes.map((vote, i) => [vote * scale - down[i], i]).sort((a, b) => b[0] - a[0]);
  for (const [, i] of order) {
    if (missing <= 0) break;
    down[i] += 1;
    missing -= 1;
  }
  return down.map((part) => part / scale);
}
