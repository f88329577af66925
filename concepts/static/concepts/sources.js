/* Sources near a query, each with its best passage and the concepts that it mentions. */

import { contextElement, documentLink } from "../common/context.js";
import { element } from "../common/dom.js";

/** A source. `onChosen` is called with a concept of it. */
export function sourceElement({ artifact, heading, page, similarity, concepts, chunks: [chunk] }, onChosen) {
  const place = [heading, page && `page ${page.index + 1}`].filter(Boolean);
  const title = artifact.title || "Untitled";
  return element(
    "li",
    { className: "hit" },
    element(
      "header",
      {},
      element("h2", { dir: "auto" }, documentLink(chunk, title)),
      element("span", { className: "score" }, `similarity ${similarity.toFixed(2)}`),
    ),
    element("p", { className: "place" }, ...place.map((part) => element("span", { dir: "auto" }, part))),
    element("p", { className: "text", dir: "auto" }, chunk.text),
    concepts.length ? element("dl", {}, ...concepts.map((concept) => conceptElement(concept, onChosen))) : null,
    element("div", { className: "below" }, documentLink(chunk, "Open page"), contextElement(chunk)),
  );
}

function conceptElement({ id, label, evidence }, onChosen) {
  const choose = element("button", { type: "button", title: "Show its quotes" }, label);
  choose.addEventListener("click", () => onChosen({ id, label }));
  return element("div", {}, element("dt", {}, choose), element("dd", { dir: "auto" }, `“${evidence.quote}”`));
}
