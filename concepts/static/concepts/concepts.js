/* The concepts page: draws the concepts near a query and their relationships (layout by dagre in
 * vendor/), or lists the sources near it, and shows the quotes of a chosen concept in their sources.
 */

import { arrowHeadMarker, pathThrough, svgElement } from "../common/svg.js";
import { getJson } from "../common/api.js";
import { contextElement, documentLink } from "../common/context.js";
import { $, element } from "../common/dom.js";
import { attempt, countOf, fillIndexes, onSubmit } from "../common/page.js";
import { showPairs } from "./pairs.js";
import { sourceElement } from "./sources.js";
import dagre from "../vendor/dagre-3.1.3.esm.js";

const COLOUR_COUNT = 6;
const HEIGHT = 44;
const CHARACTER_WIDTH = 7.6; // pixels, of a label
const SHOWN_LABEL_CHARS = 34; // characters of a label that are shown

const shortenLabel = (label) => (label.length > SHOWN_LABEL_CHARS ? `${label.slice(0, SHOWN_LABEL_CHARS - 1)}…` : label);
const boxWidth = (label) => Math.max(90, CHARACTER_WIDTH * shortenLabel(label).length + 24);
const categoryName = (type) => type.category || "no category";

// --- Drawing -----------------------------------------------------------------------------------------

/** The concepts found, and those at the other ends of their relationships. */
function listShownConcepts(concepts, relationships) {
  const found = concepts.map((concept) => [concept.id, concept]);
  const ends = relationships.flatMap(({ source, target }) => [source, target]).map((end) => [end.id, end]);
  return [...new Map([...ends, ...found]).values()];
}

function layOutConcepts(concepts, relationships) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 70, marginx: 4, marginy: 4 });
  for (const concept of listShownConcepts(concepts, relationships)) {
    graph.setNode(concept.id, { width: boxWidth(concept.label), height: HEIGHT, concept });
  }
  for (const { id, source, type, target } of relationships) {
    const size = { width: 7 * type.name.length, height: 14, labelpos: "c" };
    graph.setEdge(source.id, target.id, { type, ...size }, id);
  }
  dagre.layout(graph);
  return graph;
}

function drawEdge({ points, type, x, y }, colours) {
  const colour = colours.get(categoryName(type));
  return svgElement(
    "g",
    { class: `category-${colour}` },
    svgElement("path", { class: "edge", d: pathThrough(points), "marker-end": `url(#arrow-${colour})` }),
    svgElement("text", { class: "type", x, y: y + 4 }, type.name),
  );
}

function drawNode({ x, y, width, concept }, onChosen) {
  const isFound = concept.score !== undefined;
  const drawn = svgElement(
    "g",
    {
      class: isFound ? "found" : "related",
      role: "button",
      tabindex: 0,
      "aria-pressed": "false",
      "data-concept": concept.id,
    },
    svgElement("title", {}, concept.description || concept.label),
    svgElement("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: 9 }),
    svgElement("text", { x, y: y - 1 }, shortenLabel(concept.label)),
    svgElement("text", { class: "subtitle", x, y: y + 15 }, isFound ? concept.score.toFixed(2) : "related"),
  );
  drawn.setAttribute("aria-label", concept.label);
  const choose = () => onChosen(concept, drawn);
  drawn.addEventListener("click", choose);
  drawn.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  });
  return drawn;
}

function drawConcepts({ concepts, relationships }, colours, onChosen) {
  const graph = layOutConcepts(concepts, relationships);
  const { width, height } = graph.graph();
  const heads = [...new Set(colours.values())].map((colour) =>
    arrowHeadMarker(`arrow-${colour}`, { class: `category-${colour}` }),
  );
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Concepts and their relationships" },
    svgElement("defs", {}, ...heads),
    ...graph.edges().map((edge) => drawEdge(graph.edge(edge), colours)),
    ...graph.nodes().map((id) => drawNode(graph.node(id), onChosen)),
  );
}

// --- Evidence ----------------------------------------------------------------------------------------

function quoteElement(quote) {
  const hit = { ...quote, text: quote.quote };
  const links = quote.source === null ? [] : [documentLink(hit, "Open page"), contextElement(hit)];
  return element(
    "article",
    { className: "hit" },
    element("p", { className: "place" }, element("bdi", {}, quote.artifact.title), element("span", {}, quote.verdict)),
    element("blockquote", { dir: "auto" }, quote.quote),
    element("div", { className: "below" }, ...links),
  );
}

async function showQuotes(concept, drawn, query) {
  for (const other of $("drawing").querySelectorAll("[aria-pressed]")) {
    other.setAttribute("aria-pressed", String(other === drawn));
  }
  const answer = await getJson(`concepts/${concept.id}/evidence`, { query });
  const description = concept.description ?? "";
  const text = answer.hits.length ? description : `${description} No passage supports it.`;
  $("evidence").replaceChildren(
    element("h2", {}, concept.label),
    element("p", { className: "soft" }, text.trim()),
    ...answer.hits.map(quoteElement),
  );
  if (!drawn) $("evidence").scrollIntoView({ block: "nearest" });
}

// --- The page ----------------------------------------------------------------------------------------

const isFindingSources = () => document.querySelector("[name=find]:checked").value === "sources";

const readParameters = () => ({
  index: $("index").value,
  query: $("q").value.trim(),
  min_similarity: $("min-similarity").value,
  limit: $("limit").value,
});

function clearResults() {
  $("drawing").hidden = $("list").hidden = $("sources").hidden = true;
  for (const results of [$("drawing"), $("sources"), $("legend"), $("evidence")]) results.replaceChildren();
}

async function showSources() {
  const parameters = readParameters();
  const { hits } = await getJson("search/sources", { ...parameters, mode: "dense", include_concepts: true });
  const concepts = new Set(hits.flatMap((hit) => hit.concepts.map(({ id }) => id)));
  clearResults();
  $("status").textContent = hits.length
    ? `${countOf(hits.length, "source")}, ${countOf(concepts.size, "concept")}.`
    : "No source is similar enough. Lower the minimum similarity, or use other words.";
  $("sources").hidden = !hits.length;
  const onChosen = (concept) => attempt(() => showQuotes(concept, null, parameters.query));
  $("sources").replaceChildren(...hits.map((hit) => sourceElement(hit, onChosen)));
}

async function showConcepts() {
  const parameters = readParameters();
  const { query } = parameters;
  const graph = await getJson("search/subgraph", parameters);
  const { concepts, relationships, relationship_count: count } = graph;
  const shown = count > relationships.length ? ` (${relationships.length} shown)` : "";
  const categories = [...new Set(relationships.map(({ type }) => categoryName(type)))].sort();
  const colours = new Map(categories.map((name, at) => [name, at % COLOUR_COUNT]));
  clearResults();
  $("status").textContent = concepts.length
    ? `${countOf(concepts.length, "concept")}, ${countOf(count, "relationship")}${shown}. Choose a concept to read its quotes.`
    : "No concept is similar enough. Lower the minimum similarity, or use other words.";
  $("drawing").hidden = $("list").hidden = !concepts.length;
  $("drawing").replaceChildren(
    ...(concepts.length ? [drawConcepts(graph, colours, (concept, drawn) => attempt(() => showQuotes(concept, drawn, query)))] : []),
  );
  $("legend").replaceChildren(
    ...categories.map((name) => element("li", { className: `category-${colours.get(name)}` }, name)),
  );
  $("list").querySelector("ul").replaceChildren(
    ...concepts.map(({ label, score }) => element("li", {}, `${label} (${score.toFixed(2)})`)),
    ...relationships.map(({ source, type, target }) => element("li", {}, `${source.label} → ${type.name} → ${target.label}`)),
  );
}

/** What there is before a search: pairs to review, or how to add the first concept. */
async function showIndex() {
  const index = $("index").value;
  clearResults();
  const { count } = await getJson(`indexes/${encodeURIComponent(index)}/concepts/`, { limit: 1 });
  $("status").textContent = count ? "" : `This index has no concepts yet. Import them with “strata import_concepts FILE --index ${index}”, or set a language model that extracts them from documents.`;
  await showPairs(index);
}

async function loadIndexes() {
  const holding = await fillIndexes($("index"), { isOffered: ({ kinds }) => kinds.includes("concept") });
  if (holding.length) await showIndex();
  else $("status").textContent = "No index has concepts. Add “concepts: true” to a spec.";
}

const indexesLoaded = attempt(loadIndexes);

$("min-similarity").addEventListener("input", () => {
  document.querySelector("output").textContent = Number($("min-similarity").value).toFixed(2);
});
for (const choice of document.querySelectorAll("[name=find]")) {
  choice.addEventListener("change", () => {
    $("find").textContent = isFindingSources() ? "Search" : "Draw";
  });
}
$("index").addEventListener("change", () => attempt(showIndex));
onSubmit($("ask"), async () => {
  await indexesLoaded; // until then, no index is selected
  await (isFindingSources() ? showSources() : showConcepts());
});
