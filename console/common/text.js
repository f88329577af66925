/* Renders document text: highlights query words and reflows soft line breaks.
 *
 * Offsets are counted in Unicode code points, as the API counts them, while JavaScript's strings
 * count UTF-16 units.
 */

import { element } from "./dom.js";

// Words too common to be worth a highlight, unless a query has no others.
const STOP_WORDS = new Set(
  "a about an and are as at be been by can could did do does for from had has have he her his how i in into is it its me my not of on or our she should that the their there they this to us was we were what when where which who why will with you your".split(" "),
);

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The words of a text with where they start, in UTF-16 units; also in scripts without spaces. */
const segmentWords = (text) => [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike);

function normalizeWord(word) {
  return word.normalize("NFC").toLowerCase();
}

export function queryWords(query) {
  const all = segmentWords(query).map(({ segment }) => normalizeWord(segment));
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  return new Set(telling.length ? telling : all);
}

/** Whether a text's word is one of the query's, allowing for endings: crack, cracks, cracked. */
function matchesQueryWord(word, wanted) {
  const folded = normalizeWord(word);
  if (wanted.has(folded)) return true;
  for (const other of wanted) {
    const [short, long] = folded.length < other.length ? [folded, other] : [other, folded];
    if (short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short)) return true;
  }
  return false;
}

/** Nodes of a stretch of text with these words marked. */
export function highlightWords(text, wanted, start = 0, end = text.length) {
  const nodes = [];
  let done = start;
  for (const { segment: word, index: at } of segmentWords(text.slice(start, end))) {
    if (!matchesQueryWord(word, wanted)) continue;
    nodes.push(...reflowedNodes(text, done, start + at), element("mark", {}, word));
    done = start + at + word.length;
  }
  nodes.push(...reflowedNodes(text, done, end));
  return nodes;
}

/** Nodes of a stretch of text in which what lies in `marked`, a pair of offsets, is marked, without outer white space. */
export function markedNodes(text, marked, start, end) {
  let [first, last] = marked.map((at) => Math.min(Math.max(at, start), end));
  const passage = text.slice(first, last);
  last = first + passage.trimEnd().length;
  first = Math.min(first + passage.length - passage.trimStart().length, last);
  return [
    ...reflowedNodes(text, start, first),
    ...(first < last ? [element("mark", {}, ...reflowedNodes(text, first, last))] : []),
    ...reflowedNodes(text, last, end),
  ];
}

// --- Line breaks --------------------------------------------------------------------------------------

const softBreaks = new Map(); // of the texts on the page

/** Clear the cache; call it when other results replace those on the page. */
export function clearSoftBreakCache() {
  softBreaks.clear();
}

/** Offsets of line breaks that were made only to fit the original page. */
function findSoftBreaks(text) {
  let found = softBreaks.get(text);
  if (found) return found;
  found = new Set();
  softBreaks.set(text, found);
  const lines = text.split("\n");
  const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
  if (longest < 35 || longest > 140) return found;
  let end = -1;
  for (let at = 0; at + 1 < lines.length; at++) {
    end += lines[at].length + 1;
    // A hit may begin in the middle of a line, which is then short though it was full.
    const isCut = at === 0 && /^\p{Ll}/u.test(lines[1]) && lines[1].length > 0.72 * longest;
    const isFull = isCut || (lines[at].length > 0.72 * longest && /^[^\s#>|]/.test(lines[at]));
    const goesOn = /^(?![-*+•–] |\d+[.)] )[^\s#>|]/.test(lines[at + 1]);
    if (isFull && goesOn && !lines[at].includes(" | ")) found.add(end);
  }
  return found;
}

/** Text nodes of a stretch of text; soft breaks stay in the text and look like spaces. */
export function reflowedNodes(text, start, end) {
  const nodes = [];
  const breaks = findSoftBreaks(text);
  let done = start;
  for (let at = text.indexOf("\n", start); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) {
    if (!breaks.has(at)) continue;
    nodes.push(text.slice(done, at), element("span", { className: "soft" }, "\n"));
    done = at + 1;
  }
  if (done < end) nodes.push(text.slice(done, end));
  return nodes;
}

/** Convert an offset in code points to an offset in UTF-16 units. */
export const utf16Offset = (text, codePoints) => [...text].slice(0, codePoints).join("").length;
