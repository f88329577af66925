/* The part of the page of a document that edits it. */

import { $ } from "../common/dom.js";
import { attempt } from "../common/page.js";
import { openEdit, readEdits } from "./edit.js";

let shown = null; // {artifact, index}, as the API describes them

document.addEventListener("document-shown", ({ detail }) => {
  if (!shown) attempt(async () => ($("edit-bar").hidden = (await readEdits(detail.index.name)) === null));
  shown = detail;
});
document.addEventListener("edit-done", () => document.dispatchEvent(new CustomEvent("document-changed")));

for (const [id, mode] of [["edit-document", "edit"], ["share-document", "groups"]]) {
  $(id).addEventListener("click", () => {
    const { artifact, index } = shown;
    openEdit({ mode, index, selection: { ids: [artifact.id] }, count: 1, document: artifact, knownGroups: artifact.groups });
  });
}
