/* Draws each query pipeline as SVG; dagre (static/vendor) computes the layout. */

import { arrowHeadMarker, pathThrough, svgElement } from "../common/svg.js";
import dagre from "../vendor/dagre-3.1.3.esm.js";

const WIDTH = 190;
const HEIGHT = 48;

/** Merge the connections between each pair of components; their labels list the outputs. */
function groupConnections(connections) {
  const outputsByPair = new Map();
  for (const { sender, receiver } of connections) {
    const [from, output] = sender.split(".");
    const [to] = receiver.split(".");
    const pair = `${from} ${to}`;
    outputsByPair.set(pair, [...(outputsByPair.get(pair) ?? []), output]);
  }
  return [...outputsByPair].map(([pair, outputs]) => [...pair.split(" "), outputs.join(", ")]);
}

function layOutPipeline({ components, connections }) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 34, marginx: 4, marginy: 4 });
  for (const { name, type } of components) {
    graph.setNode(name, { width: WIDTH, height: HEIGHT, type });
  }
  for (const [from, to, label] of groupConnections(connections)) {
    graph.setEdge(from, to, { label, width: 7 * label.length, height: 14, labelpos: "c" });
  }
  dagre.layout(graph);
  return graph;
}

function drawEdge({ points, label, x, y }, arrow) {
  return [
    svgElement("path", { d: pathThrough(points), "marker-end": `url(#${arrow})` }),
    svgElement("text", { class: "carries", x, y: y + 4 }, label),
  ];
}

function drawNode(name, { x, y, type }) {
  return svgElement(
    "g",
    {},
    svgElement("rect", { x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 9 }),
    svgElement("text", { x, y: y - 3 }, name),
    svgElement("text", { x, y: y + 14, class: "type" }, type),
  );
}

function drawPipeline(pipeline) {
  const graph = layOutPipeline(pipeline);
  const { width, height } = graph.graph();
  const arrow = `${pipeline.name}-arrow`;
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `The pipeline ${pipeline.name}` },
    svgElement("defs", {}, arrowHeadMarker(arrow)),
    ...graph.edges().flatMap((edge) => drawEdge(graph.edge(edge), arrow)),
    ...graph.nodes().map((name) => drawNode(name, graph.node(name))),
  );
}

const pipelines = JSON.parse(document.getElementById("pipelines").textContent);
for (const pipeline of pipelines) {
  document.querySelector(`[data-pipeline="${pipeline.name}"]`).append(drawPipeline(pipeline));
}
