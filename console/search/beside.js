/* A second ranking of the same query beside the first: by another mode, or from another index. */

import { getJson } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { passageElement } from "../common/result_elements.js";

const MODES = { hybrid: "hybrid", dense: "dense (by meaning)", sparse: "sparse (by keywords)" };

/** Offer the modes, and the other indexes with passages. */
export function fillBeside(indexes) {
  const chosen = $("beside").value;
  const others = indexes.filter(({ kinds, nodes }) => kinds.includes("chunk") && nodes.synced > 0);
  const names = others.map(({ name }) => name).join(" ");
  if ($("beside").dataset.indexes === names) return; // a list that is open would close
  $("beside").dataset.indexes = names;
  $("beside").replaceChildren(
    new Option("nothing", ""),
    ...Object.entries(MODES).map(([mode, name]) => new Option(name, `mode=${mode}`)),
    ...others.map(({ name, title }) => new Option(`index ${title || name}`, `index=${name}`)),
  );
  $("beside").value = chosen;
}

/** Search once more, and show these hits in a second column; each list marks what only it has. */
export async function showBeside(asked, answer, words, signal) {
  const [name, value] = $("beside").value.split("=");
  const isSame = asked[name] === value;
  const other = isSame ? answer : await getJson("search/pages", { ...asked, [name]: value }, signal);
  const list = element("ol", { id: "beside-results", className: $("results").className }, ...other.hits.map((hit) => passageElement(hit, words)));
  list.setAttribute("aria-label", `Hits beside: ${$("beside").selectedOptions[0].text}`);
  markOnlyHere($("results"), answer.hits, other.hits);
  markOnlyHere(list, other.hits, answer.hits);
  clearBeside();
  $("results").after(list);
  document.querySelector("main").classList.add("two-columns");
}

export function clearBeside() {
  $("beside-results")?.remove();
  document.querySelector("main").classList.remove("two-columns");
}

function markOnlyHere(list, hits, others) {
  const known = new Set(others.map(placeOf));
  hits.forEach((hit, at) => {
    if (known.has(placeOf(hit))) return;
    list.children[at].querySelector(".place").append(element("span", { className: "verdict only" }, "only here"));
  });
}

/** Where a hit stands, also in an index whose chunks are cut otherwise. */
function placeOf({ artifact, page }) {
  return `${artifact.title} ${page?.index ?? ""}`;
}
