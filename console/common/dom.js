/* Creates DOM elements. Text from documents is only put into text nodes, never parsed as HTML. */

export const $ = (id) => document.getElementById(id);
export const numberFormat = new Intl.NumberFormat("en");

/** An element with properties, and children that are elements or text. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** What a template of the page holds. */
export const fromTemplate = (id) => $(id).content.firstElementChild.cloneNode(true);

/** A table row of cells that hold elements, texts or numbers; a cell may be given itself. */
export function rowElement(...cells) {
  return element("tr", {}, ...cells.map(cellElement));
}

function cellElement(cell) {
  if (cell instanceof HTMLTableCellElement) return cell;
  return typeof cell === "number" ? numberCell(numberFormat.format(cell)) : element("td", {}, ...[cell].flat());
}

export const numberCell = (...children) => element("td", { className: "number" }, ...children);

/** A table of rows with a heading for each of their columns. */
export function tableElement(headings, rows) {
  const heads = headings.map((text, at) => element("th", { scope: "col", className: rows[0].cells[at].className }, text));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

/**
 * Give an element these children, each with its own `data-key`. What looks the same already stays, so that the focus on
 * it, or a click that has begun, is not lost. What is done on a click must depend only on the key and on attributes.
 */
export function updateChildren(parent, children) {
  const present = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  children.forEach((child, at) => {
    const kept = present.get(child.dataset.key);
    present.delete(child.dataset.key);
    if (kept) update(kept, child);
    const placed = kept?.parentNode === parent ? kept : child;
    if (parent.children[at] !== placed) parent.insertBefore(placed, parent.children[at] ?? null);
  });
  for (const gone of present.values()) gone.remove();
}

/** Make an element look like another one, by replacing only the parts that differ. */
function update(old, wanted) {
  if (old.isEqualNode(wanted)) return;
  const isSameShell = old instanceof Element && wanted instanceof Element && old.cloneNode().isEqualNode(wanted.cloneNode());
  if (!isSameShell) {
    old.replaceWith(wanted);
    return;
  }
  const before = [...old.childNodes];
  const after = [...wanted.childNodes];
  after.forEach((child, at) => (before[at] ? update(before[at], child) : old.append(child)));
  for (const gone of before.slice(after.length)) gone.remove();
}

/** Name the thing that an element shows, for `updateChildren`. */
export function keyed(key, made) {
  made.dataset.key = key;
  return made;
}
