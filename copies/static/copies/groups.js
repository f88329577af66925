/* The part of the page *Documents* that lists groups of near copies. */

import { getJson } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { attempt, countOf, formatTime, linkElement, onClick } from "../common/page.js";

const PAGE_SIZE = 20;
const part = $("near-copies");
const [summary, list, more] = part.children;

async function show(index, offset = 0) {
  const path = `indexes/${encodeURIComponent(index)}/duplicates/`;
  const { results, count } = await getJson(path, { limit: PAGE_SIZE, offset });
  part.hidden = count === 0;
  summary.textContent = `${countOf(count, "group")} of near copies`;
  const shown = results.map(groupElement);
  if (offset) list.append(...shown);
  else list.replaceChildren(...shown);
  more.hidden = list.children.length >= count;
  part.dataset.index = index;
}

function groupElement({ count, documents }) {
  const rows = documents.map(({ id, title, updated_at: changed }) =>
    element("li", {}, linkElement(title || "Untitled", `documents/${id}/`), ` ${formatTime(changed)}`),
  );
  const others = count - documents.length;
  if (others) rows.push(element("li", {}, `${countOf(others, "other document")}`));
  return element("li", {}, countOf(count, "document"), element("ul", {}, ...rows));
}

document.addEventListener("index-shown", ({ detail }) => {
  if (list.children.length <= PAGE_SIZE || part.dataset.index !== detail) attempt(() => show(detail));
});
onClick(more, () => show(part.dataset.index, list.children.length));
