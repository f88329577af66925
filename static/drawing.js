/* Pictures of graphs: SVG elements, made the same way on each page that draws. */

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes, and children that are elements or text. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The path through these points. */
export function line([first, ...rest]) {
  return `M${first.x},${first.y}${rest.map((point) => `L${point.x},${point.y}`).join("")}`;
}

/** The head of an arrow, to be named by `marker-end`. */
export function arrowHead(id, attributes = {}) {
  return shape(
    "marker",
    { id, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", ...attributes },
    shape("path", { d: "M0,0L8,4L0,8z" }),
  );
}
