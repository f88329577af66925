/* Renders search results as elements: passages, documents, summaries, questions. */

import { contextElement, documentLink } from "./context.js";
import { element, rowElement, tableElement } from "./dom.js";
import { markdownNodes } from "./markdown.js";
import { countOf } from "./page.js";
import { highlightWords } from "./text.js";
import { judgementButtonsElement } from "./judgements.js";

const PAGES_SHOWN = 5; // of a document; the others are collapsed

// --- Passages --------------------------------------------------------------------------------------

export function passageElement(hit, words) {
  return hitElement(
    hit,
    headElement([documentLink(hit)], scoreElement(hit)),
    locationElement(hit),
    ...bodyElements(hit, words, metadataTagElements(hit.metadata)),
  );
}

function hitElement(hit, ...children) {
  const item = element("li", { className: "hit" }, ...children);
  item.dataset.nodeId = hit.node_id;
  return item;
}

function headElement(heading, score) {
  return element("header", {}, element("h2", { dir: "auto" }, ...heading), score);
}

function scoreElement(hit) {
  return element("span", { className: "score", title: "Score and its kind" }, `${formatScore(hit.score)} ${hit.score_kind}`);
}

/** A passage's page, and whether its document still contains it. */
function locationElement(hit, ...before) {
  const place = element("p", { className: "place" }, ...before);
  if (hit.page?.index != null) place.append(element("span", {}, formatPageNumber(hit.page.index)));
  if (hit.verdict) place.append(hitCheckElement(hit.verdict));
  place.append(...(hit.warnings ?? []).map(warningElement));
  return place;
}

function formatPageNumber(index) {
  return `page ${index + 1}`;
}

/** A passage's text with its context button, tags, judgement buttons and explanation. */
function bodyElements(hit, words, tags) {
  return [
    textElement(hit.text, words),
    element("div", { className: "below" }, documentLink(hit, "Open page"), contextElement(hit), ...tags, judgementButtonsElement(hit)),
    hit.folded ? foldedElement(hit.folded) : null,
    hit.explain ? explainElement(hit.explain) : null,
  ];
}

/** The versions and copies that a passage stands for. */
function foldedElement({ versions, copies, passages }) {
  const counts = [versions && countOf(versions, "earlier version"), copies && countOf(copies, "copy", "copies")];
  const items = passages.map((each) =>
    element("li", {}, documentLink(each), each.text ? element("p", { className: "soft", dir: "auto" }, each.text) : null),
  );
  return element("details", { className: "more" }, element("summary", {}, counts.filter(Boolean).join(", ")), element("ol", { className: "found" }, ...items));
}

function textElement(text, words, className = "text") {
  const render = (start, end) => highlightWords(text, words, start, end);
  return element("div", { className, dir: "auto" }, ...markdownNodes(text, render));
}

function metadataTagElements(metadata) {
  return Object.entries(metadata ?? {}).map(([name, value]) => {
    const shown = Array.isArray(value) ? value.join(", ") : String(value);
    return element("span", { className: "tag", dir: "auto" }, `${name}: ${shown}`);
  });
}

function hitCheckElement(verdict) {
  const [text, title] = {
    exact: ["verified", "Verdict “exact”: the document contains this text at this place"],
    stale: ["outdated", "Verdict “stale”: the document has changed since this was indexed"],
  }[verdict] ?? [verdict, ""];
  return element("span", { className: `verdict ${verdict}`, title }, text);
}

/** What a document's warnings say of a passage's page. */
function warningElement(code) {
  const [text, title] = {
    hidden_text: ["page hides text", "The file holds text of this page that cannot be seen on it"],
    unreadable_text: ["letters left out", "Letters of this page are left out: the file does not say which they are"],
    unseen_passage: ["not seen on the page", "This passage is in the file, and cannot be seen on the page"],
  }[code] ?? [code.replaceAll("_", " "), "A warning of the document about this page"];
  return element("span", { className: "verdict warned", title }, text);
}

function formatScore(value) {
  return Math.abs(value) < 1 ? value.toFixed(4) : value.toFixed(2);
}

function explainElement({ dense, sparse, second_passage: second = 0 }) {
  const whole = (dense?.contribution ?? 0) + (sparse?.contribution ?? 0) + second;
  const row = (name, ...cells) => rowElement(element("th", { scope: "row" }, name), ...cells);
  const contributed = (part) => [formatScore(part), element("meter", { value: whole > 0 ? part / whole : 0, ariaHidden: "true" })];
  const ranking = (name, share) =>
    row(name, ...(share ? [`#${share.rank}`, formatScore(share.score), ...contributed(share.contribution)] : ["not found", "–", "–", ""]));
  const rows = [ranking("Dense", dense), ranking("Sparse", sparse)];
  if (second) rows.push(row("Second passage", "–", "–", ...contributed(second)));
  const table = tableElement(["Ranking", "Rank", "Score", "Contribution", "Share"], rows);
  table.className = "explain";
  return table;
}

// --- Documents -------------------------------------------------------------------------------------

export function artifactElement(artifact, words) {
  const { pages } = artifact;
  const [anyHit] = pages.flatMap((page) => page.supporting_chunks);
  const tags = metadataTagElements(anyHit?.metadata);
  const best = pages.find((page) => page.supporting_chunks.length);
  const shown = pages.map((page) => pageElement(page, words, page === best));
  const more = shown.splice(PAGES_SHOWN);
  const item = element(
    "li",
    { className: "artifact" },
    element(
      "details",
      { open: true },
      element(
        "summary",
        {},
        element("h2", { dir: "auto" }, artifact.artifact_title || "Untitled"),
        bestScoreElement(artifact),
      ),
      artifact.summary_snippet ? textElement(artifact.summary_snippet, words, "gist") : null,
      tags.length ? element("div", { className: "below" }, ...tags) : null,
      element("ol", { className: "found" }, ...shown),
      more.length
        ? element("details", { className: "more" }, element("summary", {}, countOf(more.length, "more page")), element("ol", { className: "found" }, ...more))
        : null,
    ),
  );
  item.dataset.artifactId = artifact.artifact_id;
  return item;
}

function bestScoreElement(group) {
  return element("span", { className: "score", title: "The score of its best hit" }, formatScore(group.score));
}

function pageElement(page, words, isOpen) {
  const chunks = page.supporting_chunks;
  const number = page.page_index == null ? "Page" : `Page ${page.page_index + 1}`;
  const passages = element("summary", {}, countOf(chunks.length, "passage"));
  passages.setAttribute("aria-label", `${passages.textContent} of ${number.toLowerCase()}`);
  const item = element(
    "li",
    { className: "page" },
    element("h3", {}, number, bestScoreElement(page)),
    page.summary_snippet ? textElement(page.summary_snippet, words, "gist") : null,
    chunks.length
      ? element(
          "details",
          { className: "chunks", open: isOpen },
          passages,
          element("ol", {}, ...chunks.map((hit) => chunkElement(hit, words))),
        )
      : null,
  );
  item.dataset.pageId = page.page_id;
  return item;
}

/** A passage below its page, without repeating title and page. */
function chunkElement(hit, words) {
  const place = locationElement({ ...hit, page: null });
  place.append(scoreElement(hit));
  return hitElement(hit, place, ...bodyElements(hit, words, []));
}

// --- Summaries -------------------------------------------------------------------------------------

export function summaryElement(hit, words) {
  const isOfPage = hit.type === "page_summary";
  const place = element(
    "p",
    { className: "place" },
    element("span", {}, isOfPage ? "Page summary" : "Document summary"),
    isOfPage && hit.page_index != null ? element("span", {}, formatPageNumber(hit.page_index)) : null,
    !isOfPage && hit.page_count != null ? element("span", {}, countOf(hit.page_count, "page")) : null,
    element("span", { className: "writer", title: "Written by", dir: "auto" }, hit.model_name),
    hit.verdict ? hitCheckElement(hit.verdict) : null,
  );
  return hitElement(
    hit,
    headElement([documentLink(hit)], scoreElement(hit)),
    place,
    textElement(hit.text, words),
    element("div", { className: "below" }, ...metadataTagElements(hit.metadata), judgementButtonsElement(hit)),
    hit.explain ? explainElement(hit.explain) : null,
  );
}

// --- Questions -------------------------------------------------------------------------------------

export function questionElement(hit, words) {
  const [text, ...below] = bodyElements(hit, words, []);
  return hitElement(
    hit,
    // A passage without questions is found by its own words.
    headElement(highlightWords(hit.question ?? hit.summary ?? "", words), scoreElement(hit)),
    locationElement(hit, element("span", { className: "title", dir: "auto" }, documentLink(hit))),
    hit.summary && hit.question ? textElement(hit.summary, words, "gist") : null,
    text,
    fieldsElement(Object.entries(hit.metadata)),
    ...below,
  );
}

function fieldsElement(fields) {
  const groups = fields.map(([name, value]) => [name, [value].flat().filter((each) => each != null)]);
  const filled = groups.filter(([, values]) => values.length);
  if (filled.length === 0) return null;
  const rows = filled.map(([name, values]) =>
    element(
      "div",
      {},
      element("dt", {}, name),
      ...values.map((value) => element("dd", { dir: "auto" }, String(value))),
    ),
  );
  return element("dl", { className: "fields" }, ...rows);
}
