/* Creates DOM elements. Text from documents is only put into text nodes, never parsed as HTML. */

export const $ = (id) => document.getElementById(id);
export const numberFormat = new Intl.NumberFormat("en");

/** An element with properties, and children that are elements or text. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}
