/* A document's text: which of its words were asked for, and where its lines may break.
 *
 * Offsets are counted in Unicode code points, as the API counts them, while JavaScript's strings
 * count UTF-16 units.
 */

import { element } from "./dom.js";

// Words too common to be worth a highlight, unless a query has no others.
const COMMON = new Set(
  "a about an and are as at be been by can could did do does for from had has have he her his how i in into is it its me my not of on or our she should that the their there they this to us was we were what when where which who why will with you your".split(" "),
);

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

/** The words of a text with where they start, in UTF-16 units; also in scripts without spaces. */
function* segmentWords(text) {
  if (segmenter) {
    for (const { segment, index, isWordLike } of segmenter.segment(text)) {
      if (isWordLike) yield { word: segment, at: index };
    }
  } else {
    for (const match of text.matchAll(/[\p{L}\p{M}\p{N}_]+/gu)) yield { word: match[0], at: match.index };
  }
}

function fold(word) {
  return word.normalize("NFC").toLowerCase();
}

export function wordsOf(query) {
  const all = [...segmentWords(query)].map(({ word }) => fold(word));
  const telling = all.filter((word) => !COMMON.has(word));
  return new Set(telling.length ? telling : all);
}

/** Whether a text's word is one of the query's, allowing for endings: crack, cracks, cracked. */
function isWanted(word, wanted) {
  const folded = fold(word);
  if (wanted.has(folded)) return true;
  for (const other of wanted) {
    const [short, long] = folded.length < other.length ? [folded, other] : [other, folded];
    if (short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short)) return true;
  }
  return false;
}

export function highlighted(text, wanted) {
  const nodes = [];
  let done = 0;
  for (const { word, at } of segmentWords(text)) {
    if (!isWanted(word, wanted)) continue;
    nodes.push(...flowing(text, done, at), element("mark", {}, word));
    done = at + word.length;
  }
  nodes.push(...flowing(text, done, text.length));
  return nodes;
}

// --- Line breaks --------------------------------------------------------------------------------------

const softBreaks = new Map(); // of the texts on the page

/** To be called where other texts take the place of those on the page. */
export function forgetTexts() {
  softBreaks.clear();
}

/** Where lines were broken only to fit the page they come from, so that ours may break anew. */
function softBreaksOf(text) {
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
export function flowing(text, start, end) {
  const nodes = [];
  const breaks = softBreaksOf(text);
  let done = start;
  for (let at = text.indexOf("\n", start); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) {
    if (!breaks.has(at)) continue;
    nodes.push(text.slice(done, at), element("span", { className: "soft" }, "\n"));
    done = at + 1;
  }
  if (done < end) nodes.push(text.slice(done, end));
  return nodes;
}

/** Where a count of code points falls in a string of UTF-16 units. */
export function unitsOf(text, codePoints) {
  let units = 0;
  for (const character of text) {
    if (codePoints-- <= 0) break;
    units += character.length;
  }
  return units;
}
