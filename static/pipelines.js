/* Draws each query pipeline: dagre (static/vendor) says where things lie, SVG shows them. */

import { arrowHead, line, shape } from "./drawing.js";
import dagre from "./vendor/dagre-3.1.3.esm.js";

const WIDTH = 190;
const HEIGHT = 48;
/** What goes from one component to another: the names of the outputs, once each pair. */
function groupConnections(connections) {
  const carried = new Map();
  for (const { sender, receiver } of connections) {
    const [from, output] = sender.split(".");
    const [to] = receiver.split(".");
    const pair = `${from} ${to}`;
    carried.set(pair, [...(carried.get(pair) ?? []), output]);
  }
  return [...carried].map(([pair, outputs]) => [...pair.split(" "), outputs.join(", ")]);
}

function arrange({ components, connections }) {
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
    shape("path", { d: line(points), "marker-end": `url(#${arrow})` }),
    shape("text", { class: "carries", x, y: y + 4 }, label),
  ];
}

function drawNode(name, { x, y, type }) {
  return shape(
    "g",
    {},
    shape("rect", { x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 9 }),
    shape("text", { x, y: y - 3 }, name),
    shape("text", { x, y: y + 14, class: "type" }, type),
  );
}

function draw(pipeline) {
  const graph = arrange(pipeline);
  const { width, height } = graph.graph();
  const arrow = `${pipeline.name}-arrow`;
  return shape(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `The pipeline ${pipeline.name}` },
    shape("defs", {}, arrowHead(arrow)),
    ...graph.edges().flatMap((edge) => drawEdge(graph.edge(edge), arrow)),
    ...graph.nodes().map((name) => drawNode(name, graph.node(name))),
  );
}

const pipelines = JSON.parse(document.getElementById("pipelines").textContent);
for (const pipeline of pipelines) {
  document.querySelector(`[data-pipeline="${pipeline.name}"]`).append(draw(pipeline));
}
