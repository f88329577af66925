/* Says why a document that someone misses is not among the hits. */

import { getJson } from "../common/api.js";
import { $, element } from "../common/dom.js";

const LOOKED_AT = 100; // hits among which its rank is looked for
const STATES = {
  received: "It has not been read yet; searches show it as soon as it is indexed.",
  parsing: "It is being read; searches show it as soon as it is indexed.",
  indexing: "It is being indexed; searches show it as soon as that is done.",
  failed: "It could not be read:",
};

/** Offer the documents of the index whose title has these words. */
export async function suggestDocuments(index, words) {
  const { results } = await getJson(`indexes/${encodeURIComponent(index)}/artifacts/`, { title: words, ordering: "title", limit: 10 });
  $("missed-titles").replaceChildren(...results.map(({ title }) => element("option", { value: title })));
  return results;
}

/** A sentence for the first document with this title: where it ranks, and what its best passage lacks. */
export async function explainMissing(asked, title) {
  const [document] = await suggestDocuments(asked.index, title);
  if (!document) return "No document of this index has such a title.";
  if (document.status !== "ready") return [STATES[document.status], document.error?.detail].filter(Boolean).join(" ");
  const all = { ...asked, limit: LOOKED_AT };
  const { hits } = await getJson("search/pages", all);
  const at = hits.findIndex(({ artifact }) => artifact.id === document.id);
  if (at >= 0) return `“${document.title}” is hit ${at + 1}.`;
  const own = { artifact_id: document.id };
  const without = await findBest({ ...asked, filter: JSON.stringify(own) });
  if (without === null) return `No passage of “${document.title}” is similar to the query or has a word of it.`;
  if (asked.filter) {
    const filter = JSON.stringify({ all_of: [JSON.parse(asked.filter), own] });
    if ((await findBest({ ...asked, filter })) === null) return `The filter leaves “${document.title}” out.`;
  }
  const parts = await Promise.all(["dense", "sparse"].map((mode) => describe(asked, own, mode)));
  return `“${document.title}” is not among the first ${LOOKED_AT} hits. ${parts.join(" ")}`;
}

async function findBest(asked) {
  const { hits } = await getJson("search/pages", { ...asked, limit: 1 });
  return hits[0] ?? null;
}

/** How its best passage compares with the last of the first hits, in one ranking. */
async function describe(asked, own, mode) {
  const ranking = { ...asked, mode };
  const [best, { hits }] = await Promise.all([
    findBest({ ...ranking, filter: JSON.stringify(own) }),
    getJson("search/pages", ranking),
  ]);
  const what = mode === "dense" ? "By meaning" : "By words";
  if (best === null) return `${what}, nothing of it is found.`;
  const last = hits.at(-1);
  const bar = last ? `; hit ${hits.length} has ${last.score.toFixed(2)}` : "";
  return `${what}, its best passage scores ${best.score.toFixed(2)}${bar}.`;
}
