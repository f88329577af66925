/* The quality of an index on its page: measures of its searches by the hits that people judged, over time. */

import { getAll, getJson, send } from "../common/api.js";
import { $, element, numberCell, numberFormat, rowElement, tableElement } from "../common/dom.js";
import { countOf, formatTime, keepShowing } from "../common/page.js";

const POLL_MS = 1_500; // while an evaluation runs and the page is visible
const SHOWN_RUNS = 5;

const name = new URLSearchParams(location.search).get("index");

/** Show the last evaluations of the index, and offer a new one. */
export const showQuality = keepShowing(async () => {
  if (name === null) return null;
  const { results } = await getJson("evaluations/", { index: name, limit: SHOWN_RUNS });
  $("runs").replaceChildren(...results.map(runElement));
  const isRunning = results.some(({ state }) => ["queued", "running"].includes(state));
  $("measure").disabled = isRunning;
  const [newest] = results;
  if (newest?.state === "done") $("runs").firstElementChild.append(...(await changeElements(newest)));
  return isRunning ? POLL_MS : null;
});

/** Measure the index by the judged hits of queries with a good one; without any, by its golden queries. */
export async function measure() {
  const judgements = await getAll("judgements/", { index: name });
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
  await send("POST", "evaluations/", { index: name, ...(queries.length ? judged : {}) });
  await showQuality();
}

function runElement({ state, build, queries, progress, results, error, measures, created_at: asked }) {
  const facts = [
    formatTime(asked),
    build === null ? "" : `build ${build}`,
    countOf(queries, "query", "queries"),
    state === "done" ? "" : `${state}: ${numberFormat.format(progress.done)} of ${numberFormat.format(progress.total)} searches`,
  ];
  return element(
    "li",
    {},
    element("p", {}, facts.filter(Boolean).join(" · ")),
    error ? element("p", { className: "bad" }, error.detail) : null,
    results.length ? resultsElement(results, measures) : null,
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
        const text = `${system}, ${each}: ${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(3)}`;
        return element("li", { className: change > 0 ? "good" : "bad" }, text);
      });
  });
  const since = `Since ${formatTime(before.finished_at)}, build ${before.build}, by the same queries:`;
  return changes.length
    ? [element("p", {}, since), element("ul", {}, ...changes)]
    : [element("p", {}, `${since} no difference.`)];
}

function resultsElement(results, measures) {
  const rows = results.map(({ system, measures: values, p50_ms: p50 }) =>
    rowElement(system, ...measures.map((each) => measureCell(values[each], element("meter", { value: values[each], min: 0, max: 1, ariaHidden: "true" }))), numberCell(`${p50.toFixed(1)} ms`)),
  );
  return tableElement(["search", ...measures, "p50"], rows);
}

export const measureCell = (value, ...children) => numberCell(value.toFixed(3), ...children);
