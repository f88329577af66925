/* Creates the SVG elements that graph drawings use. */

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes, and children that are elements or text. */
export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The path through these points. */
export function pathThrough([first, ...rest]) {
  return `M${first.x},${first.y}${rest.map((point) => `L${point.x},${point.y}`).join("")}`;
}

/** A marker with an arrow head; edges refer to it by `marker-end`. */
export function arrowHeadMarker(id, attributes = {}) {
  return svgElement(
    "marker",
    { id, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", ...attributes },
    svgElement("path", { d: "M0,0L8,4L0,8z" }),
  );
}
