/* Shows a passage in its source and the neighbouring sources, highlighted by its offsets, and leads
 * to the page it stands on.
 */

import { getJson, pageAddress } from "./api.js";
import { element, numberFormat } from "./dom.js";
import { markdownNodes } from "./markdown.js";
import { markedNodes, utf16Offset } from "./text.js";

const CONTEXT_WINDOW = 1; // neighbouring sources on each side

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

/** Show a passage within its source and the neighbouring ones, or hide it again. */
export async function toggleContext(hit, toggle, context) {
  const isShown = toggle.getAttribute("aria-expanded") === "true";
  toggle.setAttribute("aria-expanded", String(!isShown));
  toggle.textContent = isShown ? "Show more text" : "Show less text";
  context.hidden = isShown;
  if (isShown || context.childElementCount) return;
  try {
    const source = await getJson(`sources/${encodeURIComponent(sourceOf(hit).id)}/`, { window: CONTEXT_WINDOW });
    renderContext(hit, source, context);
  } catch (error) {
    if (error.status === undefined) throw error;
    context.hidden = true;
    toggle.setAttribute("aria-expanded", "false");
    toggle.textContent = "Show more text";
    const detail =
      error.status === 404 ? "This passage no longer exists: its document has changed or was deleted." : error.message;
    toggle.dispatchEvent(new CustomEvent("problem", { bubbles: true, detail }));
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

  const pages = element("div", { className: "pages", tabIndex: 0 });
  pages.setAttribute("role", "group");
  pages.setAttribute("aria-label", "The passage in its context");
  const sources = [source, ...source.neighbours].sort((a, b) => a.ordinal - b.ordinal);
  let lastPage = null;
  sources.forEach((each, at) => {
    if (at > 0) {
      const isSamePage = each.page.index === lastPage;
      pages.append(element("div", { className: "divider" }, isSamePage ? "continued" : `page ${each.page.index + 1}`));
    }
    lastPage = each.page.index;
    pages.append(
      each === source ? passage : textElement(each.text, [0, 0], "text neighbour"),
    );
  });

  const where = source.page.label || source.heading;
  context.replaceChildren(
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
