/* Shows the headings and tables of a text that is written in Markdown.
 *
 * Nothing of the text is left out: its marks are hidden elements, so that text copied from a page
 * and offsets in it stay true.
 */

import { element } from "./dom.js";

const HEADING = /^#{1,6} /;
const ROW = /^\|.*\|$/;
const SEPARATOR = /^\|(?: *:?-+:? *\|)+$/;
const CELL_END = /(?<!\\)\|/g;

const hidden = (text) => element("span", { className: "markup" }, text);

/** Nodes for a text; `render(start, end)` makes those of a part of it that has no marks. */
export function markdownNodes(text, render) {
  const nodes = [];
  let table = null;
  let plain = 0; // start of the lines that have no marks
  let at = 0;
  const flush = (end) => {
    if (plain < end) nodes.push(...render(plain, end));
  };
  for (const line of text.split("\n")) {
    const end = Math.min(at + line.length + 1, text.length); // with its line break
    const [marks] = line.match(HEADING) ?? [""];
    if (ROW.test(line)) {
      if (table === null) {
        flush(at);
        table = element("tbody");
        nodes.push(element("div", { className: "table" }, element("table", {}, table)));
      }
      table.append(rowElement(text, at, line, end, table, render));
      plain = end;
    } else {
      table = null;
      if (marks) {
        flush(at);
        nodes.push(element("span", { className: "heading" }, hidden(marks), ...render(at + marks.length, at + line.length)));
        plain = at + line.length;
      }
    }
    at = end;
  }
  flush(text.length);
  return nodes;
}

function rowElement(text, at, line, end, table, render) {
  if (SEPARATOR.test(line)) {
    table.firstElementChild?.classList.add("head");
    return element("tr", { className: "markup" }, element("td", {}, text.slice(at, end)));
  }
  const row = element("tr");
  let start = at + 1; // after the bar before the cell
  for (const { index } of line.slice(1).matchAll(CELL_END)) {
    const bar = at + 1 + index;
    const isLast = bar === at + line.length - 1;
    row.append(element("td", { dir: "auto" }, hidden("|"), ...render(start, bar), hidden(isLast ? text.slice(bar, end) : "")));
    start = bar + 1;
  }
  return row;
}
