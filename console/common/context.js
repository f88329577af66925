/* Shows a passage in its source and the neighbouring sources, highlighted by its offsets, and leads
 * to the page it stands on.
 */

import { ApiError, getJson, pageAddress } from "./api.js";
import { element, numberFormat } from "./dom.js";
import { markdownNodes } from "./markdown.js";
import { attempt } from "./page.js";
import { markedNodes, utf16Offset } from "./text.js";

const CONTEXT_WINDOW = 1; // neighbouring sources on each side
const GONE = "This passage no longer exists: its document has changed or was deleted.";

/** The source that holds a hit's passage; in question hits, `source` is the file name instead. */
export function sourceOf(hit) {
  return hit.passage ?? hit.source;
}

/** A link to the document, open at the hit's passage. */
export function documentLink(hit, text = hit.artifact?.title || "Untitled") {
  const source = sourceOf(hit);
  const place = source?.id
    ? { source: source.id, start: hit.start_offset, end: hit.end_offset }
    : { page: (hit.page?.index ?? 0) + 1 };
  const link = element("a", { className: "open" }, text);
  link.href = pageAddress(`documents/${hit.artifact.id}/`, place);
  return link;
}

/** What shows a passage within its source and the neighbouring ones, once it is opened. */
export function contextElement(hit) {
  const context = element("details", { className: "context" }, element("summary", {}, "Show more text"));
  context.addEventListener("toggle", () => {
    context.firstChild.textContent = context.open ? "Show less text" : "Show more text";
    if (context.open && context.childElementCount === 1) attempt(() => fillContext(hit, context));
  });
  return context;
}

async function fillContext(hit, context) {
  try {
    renderContext(hit, await getJson(`sources/${encodeURIComponent(sourceOf(hit).id)}/`, { window: CONTEXT_WINDOW }), context);
  } catch (error) {
    context.open = false;
    throw error.status === 404 ? new ApiError(404, GONE) : error;
  }
}

function renderContext(hit, source, context) {
  const start = utf16Offset(source.text, hit.start_offset);
  const end = utf16Offset(source.text, hit.end_offset);
  const slice = source.text.slice(start, end);
  const isExact = slice === hit.text;

  const textElement = (text, marked, className) =>
    element("div", { className, dir: "auto" }, ...markdownNodes(text, (from, to) => markedNodes(text, marked, from, to)));
  const passage = textElement(source.text, isExact ? [start, end] : [0, 0], "text");

  const pages = element("div", { className: "pages", tabIndex: 0, role: "group", ariaLabel: "The passage in its context" });
  const sources = [source, ...source.neighbours].sort((a, b) => a.ordinal - b.ordinal);
  let lastPage = null;
  sources.forEach((each, at) => {
    if (at > 0) {
      const isSamePage = each.page.index === lastPage;
      pages.append(element("div", { className: "divider" }, isSamePage ? "continued" : `page ${each.page.index + 1}`));
    }
    lastPage = each.page.index;
    pages.append(each === source ? passage : textElement(each.text, [0, 0], "text neighbour"));
  });

  const where = source.page.label || source.heading;
  context.append(
    element(
      "h3",
      {},
      element("bdi", {}, where || source.artifact.title),
      element("span", {}, `page ${source.page.index + 1}, characters ${numberFormat.format(hit.start_offset)} to ${numberFormat.format(hit.end_offset)}`),
    ),
  );
  if (!isExact) {
    context.append(
      element("p", { className: "notice" }, "The document has changed since this was indexed. This is its current text; the hit is no longer at these offsets."),
    );
  }
  context.append(pages);
  const mark = passage.querySelector("mark");
  if (mark) pages.scrollTop = mark.getBoundingClientRect().top - pages.getBoundingClientRect().top - pages.clientHeight / 3;
}
