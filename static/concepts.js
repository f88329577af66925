/* The page of concepts: those near a query and what joins them, drawn by dagre (static/vendor), and
 * the passages that bear one, marked in their sources.
 */

import { arrowHead, line, shape } from "./drawing.js";
import { ask, takeKeyFromAddress } from "./search/api.js";
import { toggleContext } from "./search/context.js";
import { $, element } from "./search/dom.js";
import dagre from "./vendor/dagre-3.1.3.esm.js";

const COLOURS = 6;
const HEIGHT = 44;
const CHARACTER = 7.6; // pixels, of a label
const LONGEST = 34; // characters of a label that are shown

const shorten = (label) => (label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label);
const widthOf = (label) => Math.max(90, CHARACTER * shorten(label).length + 24);
const nameCategory = (type) => type.category || "without a category";

// --- Drawing -----------------------------------------------------------------------------------------

function arrange(concepts, relationships) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 70, marginx: 4, marginy: 4 });
  for (const concept of concepts) {
    graph.setNode(concept.id, { width: widthOf(concept.label), height: HEIGHT, concept });
  }
  for (const { id, source, type, target } of relationships) {
    const size = { width: 7 * type.name.length, height: 14, labelpos: "c" };
    graph.setEdge(source.id, target.id, { type, ...size }, id);
  }
  dagre.layout(graph);
  return graph;
}

function drawEdge({ points, type, x, y }, colours) {
  const colour = colours.get(nameCategory(type));
  return shape(
    "g",
    { class: `category-${colour}` },
    shape("path", { class: "edge", d: line(points), "marker-end": `url(#arrow-${colour})` }),
    shape("text", { class: "type", x, y: y + 4 }, type.name),
  );
}

function drawNode({ x, y, width, concept }, onChosen) {
  const drawn = shape(
    "g",
    { role: "button", tabindex: 0, "aria-pressed": "false", "data-concept": concept.id },
    shape("title", {}, concept.description || concept.label),
    shape("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: 9 }),
    shape("text", { x, y: y - 1 }, shorten(concept.label)),
    shape("text", { class: "near", x, y: y + 15 }, concept.score.toFixed(2)),
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

function draw({ concepts, relationships }, colours, onChosen) {
  const graph = arrange(concepts, relationships);
  const { width, height } = graph.graph();
  const heads = [...new Set(colours.values())].map((colour) =>
    arrowHead(`arrow-${colour}`, { class: `category-${colour}` }),
  );
  return shape(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Concepts and their relationships" },
    shape("defs", {}, ...heads),
    ...graph.edges().map((edge) => drawEdge(graph.edge(edge), colours)),
    ...graph.nodes().map((id) => drawNode(graph.node(id), onChosen)),
  );
}

// --- Evidence ----------------------------------------------------------------------------------------

function quoteElement(quote) {
  const hit = { ...quote, text: quote.quote };
  const context = element("div", { className: "context", hidden: true });
  const below = element("div", { className: "below" });
  if (quote.source !== null) {
    const toggle = element("button", { type: "button", textContent: "Show in context" });
    toggle.setAttribute("aria-expanded", "false");
    toggle.addEventListener("click", () => toggleContext(hit, toggle, context));
    below.append(toggle);
  }
  return element(
    "article",
    { className: "hit" },
    element("p", { className: "place" }, element("bdi", {}, quote.artifact.title), element("span", {}, quote.verdict)),
    element("blockquote", { dir: "auto" }, quote.quote),
    below,
    context,
  );
}

async function showEvidence(concept, drawn, query) {
  for (const other of $("drawing").querySelectorAll("[aria-pressed]")) {
    other.setAttribute("aria-pressed", String(other === drawn));
  }
  const answer = await attempt(() => ask(`concepts/${concept.id}/evidence`, { query }));
  if (answer === null) return;
  const said = answer.hits.length ? concept.description : `${concept.description} No passage bears it.`;
  $("evidence").replaceChildren(
    element("h2", {}, concept.label),
    element("p", { className: "soft" }, said.trim()),
    ...answer.hits.map(quoteElement),
  );
}

// --- The page ----------------------------------------------------------------------------------------

/** What came of it; null where it failed, which is then said. */
async function attempt(work) {
  $("problem").hidden = true;
  try {
    return await work();
  } catch (error) {
    if (error.status === undefined) throw error;
    const said = error.status === 401 || error.status === 403 ? "Give a key on the search page, or sign in to the admin." : "";
    $("problem").textContent = [error.message, said].join(" ").trim();
    $("problem").hidden = false;
    return null;
  }
}

async function show() {
  const query = $("q").value.trim();
  const asked = { index: $("index").value, query, min_similarity: $("nearness").value };
  const graph = await attempt(() => ask("search/subgraph", asked));
  if (graph === null) return;
  const { concepts, relationships } = graph;
  const categories = [...new Set(relationships.map(({ type }) => nameCategory(type)))].sort();
  const colours = new Map(categories.map((name, at) => [name, at % COLOURS]));
  $("evidence").replaceChildren();
  $("said").textContent = concepts.length
    ? `${concepts.length} concepts, ${relationships.length} relationships. Choose a concept to read what bears it.`
    : "No concept lies so near. Move “Nearer than” to the left, or ask in other words.";
  $("drawing").hidden = $("list").hidden = !concepts.length;
  $("drawing").replaceChildren(
    ...(concepts.length ? [draw(graph, colours, (concept, drawn) => showEvidence(concept, drawn, query))] : []),
  );
  $("legend").replaceChildren(
    ...categories.map((name) => element("li", { className: `category-${colours.get(name)}` }, name)),
  );
  $("list").querySelector("ul").replaceChildren(
    ...concepts.map(({ label, score }) => element("li", {}, `${label} (${score.toFixed(2)})`)),
    ...relationships.map(({ source, type, target }) => element("li", {}, `${source.label} → ${type.name} → ${target.label}`)),
  );
}

async function begin() {
  takeKeyFromAddress();
  const answer = await attempt(() => ask("indexes/"));
  if (answer === null) return;
  const holding = answer.results.filter(({ kinds }) => kinds.includes("concept"));
  $("index").replaceChildren(
    ...holding.map(({ name, title }) => element("option", { value: name }, title || name)),
  );
  if (!holding.length) $("said").textContent = "No index holds concepts. Write concepts: true into a spec.";
}

const begun = begin();

$("nearness").addEventListener("input", () => {
  document.querySelector("output").textContent = Number($("nearness").value).toFixed(2);
});
$("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  await begun; // whoever is faster than the list of indexes would ask none
  show();
});
$("evidence").addEventListener("problem", (event) => {
  $("problem").textContent = event.detail;
  $("problem").hidden = false;
});
