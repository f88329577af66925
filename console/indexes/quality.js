/* The quality of an index on its page: measures of its searches by the hits that people judged, over time. */

import { getJson, sendJson } from "../common/api.js";
import { $, element, numberFormat } from "../common/dom.js";
import { attempt, countOf } from "../common/page.js";

const POLL_MS = 1_500; // while an evaluation runs and the page is visible
const SHOWN_RUNS = 5;
const JUDGEMENTS_PER_REQUEST = 100;
const ROUNDED = { minimumFractionDigits: 3, maximumFractionDigits: 3 };

let timer = 0;

/** Show the last evaluations of the index, and offer a new one. */
export async function showQuality(name) {
  clearTimeout(timer);
  const { results } = await getJson("evaluations/", { index: name, limit: SHOWN_RUNS });
  $("runs").replaceChildren(...results.map(runElement));
  const isRunning = results.some(({ state }) => ["queued", "running"].includes(state));
  $("measure").disabled = isRunning;
  const [newest] = results;
  if (newest?.state === "done") $("runs").firstElementChild.append(...(await changeElements(newest)));
  if (isRunning) timer = setTimeout(() => (document.hidden ? null : attempt(() => showQuality(name))), POLL_MS);
}

/** Measure the index by the judged hits of queries with a good one; without any, by its golden queries. */
export async function measure(name) {
  const judgements = await readJudgements(name);
  const queries = [...new Set(judgements.filter(({ verdict }) => verdict === "good").map(({ query }) => query))];
  const judged = { queries: {}, qrels: {} };
  queries.forEach((query, number) => {
    judged.queries[number] = query;
    judged.qrels[number] = Object.fromEntries(
      judgements
        .filter((each) => each.query === query)
        .map(({ artifact_id: id, page_index: page, verdict }) => [page === null ? id : `${id}#page=${page + 1}`, verdict === "good" ? 1 : 0]),
    );
  });
  await sendJson("POST", "evaluations/", { index: name, ...(queries.length ? judged : {}) });
  await showQuality(name);
}

async function readJudgements(name) {
  const all = [];
  for (;;) {
    const { results, count } = await getJson("judgements/", { index: name, limit: JUDGEMENTS_PER_REQUEST, offset: all.length });
    all.push(...results);
    if (results.length === 0 || all.length >= count) return all;
  }
}

function runElement({ state, build, queries, progress, results, error, measures, created_at: asked }) {
  const facts = [
    new Date(asked).toLocaleString(),
    build === null ? "" : `build ${build}`,
    countOf(queries, "query", "queries"),
    state === "done" ? "" : `${state}: ${numberFormat.format(progress.done)} of ${numberFormat.format(progress.total)} searches`,
  ];
  return element(
    "li",
    {},
    element("p", {}, facts.filter(Boolean).join(" · ")),
    error ? element("p", { className: "bad" }, error.detail) : null,
    results.length ? tableElement(results, measures) : null,
  );
}

/** What has changed since the last run of the same queries, such as by another build. */
async function changeElements({ id, results, measures }) {
  const before = (await getJson(`evaluations/${id}/`)).earlier.at(-1);
  if (!before) return [];
  const changes = results.flatMap(({ system, measures: values }) => {
    const earlier = before.results.find((each) => each.system === system)?.measures ?? {};
    return measures
      .filter((each) => earlier[each] !== undefined && earlier[each].toFixed(3) !== values[each].toFixed(3))
      .map((each) => {
        const change = values[each] - earlier[each];
        const text = `${system}, ${each}: ${change > 0 ? "+" : "−"}${Math.abs(change).toLocaleString("en", ROUNDED)}`;
        return element("li", { className: change > 0 ? "good" : "bad" }, text);
      });
  });
  const since = `Since ${new Date(before.finished_at).toLocaleString()}, build ${before.build}, by the same queries:`;
  return changes.length
    ? [element("p", {}, since), element("ul", {}, ...changes)]
    : [element("p", {}, `${since} no difference.`)];
}

function tableElement(results, measures) {
  const headings = ["search", ...measures, "p50"].map((text, number) => element("th", { scope: "col", className: number ? "number" : "" }, text));
  const rows = results.map(({ system, measures: values, p50_ms: p50 }) =>
    element(
      "tr",
      {},
      element("td", {}, system),
      ...measures.map((each) => barElement(values[each])),
      element("td", { className: "number" }, `${p50.toFixed(1)} ms`),
    ),
  );
  return element("table", {}, element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows));
}

/** A measure from 0 to 1, as a number and a bar. */
function barElement(value) {
  const bar = element("meter", { value, min: 0, max: 1, ariaHidden: "true" });
  return element("td", { className: "number" }, value.toLocaleString("en", ROUNDED), bar);
}
