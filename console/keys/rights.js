/* What the pages of keys and of settings show of rights and days. */

import { element } from "../common/dom.js";

/** What a key or a group may do, in which indexes, and with which documents: texts and cells of a row. */
export function rightsOf({ scope, indexes, groups }) {
  return [
    scope,
    indexes === null ? "all" : indexes.join(", ") || "none",
    element("td", { dir: "auto" }, groups === null ? "all" : groups.join(", ") || "documents without groups"),
  ];
}

export function formatDate(time) {
  return new Date(time).toLocaleDateString("en", { dateStyle: "medium" });
}
