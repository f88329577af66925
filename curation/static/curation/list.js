/* The part of the page *Documents* that selects documents, edits them and lists what was changed. */

import { $, element } from "../common/dom.js";
import { attempt, countOf, formatTime } from "../common/page.js";
import { describeChange, follow, openEdit, readEdits, undoElements } from "./edit.js";

const chosen = new Map(); // id -> what the API says of the document
let matching = null; // {match, count}: all that match are chosen; null: those in `chosen`
let shown = { results: [], count: 0, match: {} };
let index = null; // as the API describes it
let canEdit = false;

document.addEventListener("documents-made", ({ detail }) => {
  if (index?.name !== detail.index.name || !isSame(shown.match, detail.match)) clearSelection();
  index = detail.index;
  shown = detail;
  for (const each of detail.results) if (chosen.has(each.id)) chosen.set(each.id, each);
  if (canEdit) addBoxes(detail);
  showSelection();
});

document.addEventListener("index-shown", ({ detail }) => {
  if ($("recent").dataset.index !== detail) attempt(() => showEdits(detail));
});

const isSame = (left, right) => JSON.stringify(left) === JSON.stringify(right);

/** The last changes; without the right to make any, nothing is offered. */
async function showEdits(name) {
  $("recent").dataset.index = name;
  const edits = await readEdits(name);
  const wasOffered = canEdit;
  canEdit = edits !== null;
  document.querySelector("th.select")?.remove();
  if (canEdit) addHead();
  if (canEdit !== wasOffered) document.dispatchEvent(new CustomEvent("documents-changed"));
  $("recent").hidden = !edits?.length;
  if (!canEdit) return;
  const running = edits.find(({ state }) => state === "waiting" || state === "undoing");
  if (running && $("progress").hidden) attempt(() => follow(running));
  $("recent").querySelector("ol").replaceChildren(...edits.map(editElement));
}

function editElement(edit) {
  const state = { undone: edit.change.delete ? " · stopped" : " · undone", undoing: " · is undone", failed: ` · failed: ${edit.error}`, waiting: " · in work", done: "" }[edit.state];
  return element(
    "li",
    {},
    element("time", { dateTime: edit.created_at }, formatTime(edit.created_at)),
    element("span", { dir: "auto" }, `${countOf(edit.count, "document")}: ${describeChange(edit.change)}${state}`),
    ...undoElements(edit),
  );
}

document.addEventListener("edit-begun", clearSelection);
document.addEventListener("edit-followed", showSelection);
document.addEventListener("edit-done", () => {
  document.dispatchEvent(new CustomEvent("documents-changed"));
  attempt(() => showEdits($("index").value));
});

// --- The selection -----------------------------------------------------------------------------------

function addHead() {
  const box = element("input", { type: "checkbox", id: "select-shown", ariaLabel: "Select the documents of this page" });
  box.addEventListener("change", () => {
    matching = null;
    for (const each of shown.results) if (box.checked) chosen.set(each.id, each); else chosen.delete(each.id);
    showSelection();
  });
  document.querySelector("#documents thead tr").prepend(element("th", { scope: "col", className: "select" }, box));
}

function addBoxes({ rows, results }) {
  rows.forEach((row, at) => {
    const box = element("input", { type: "checkbox", ariaLabel: `Select ${results[at].title || "Untitled"}` });
    row.prepend(element("td", { className: "select" }, box));
  });
}

$("rows").addEventListener("change", ({ target }) => {
  const row = target.closest("tr");
  const made = shown.results.find(({ id }) => id === row?.dataset.key);
  if (!made) return;
  if (matching) for (const each of shown.results) chosen.set(each.id, each); // all but this one, of those shown
  matching = null;
  if (target.checked) chosen.set(made.id, made);
  else chosen.delete(made.id);
  showSelection();
});

function clearSelection() {
  matching = null;
  chosen.clear();
  showSelection();
}

function showSelection() {
  const count = matching?.count ?? chosen.size;
  const isWholePage = shown.results.length > 0 && shown.results.every(({ id }) => chosen.has(id));
  $("selection").hidden = count === 0;
  $("change-bar").hidden = count === 0 && $("progress").hidden;
  $("selected").textContent = `${countOf(count, "document")} selected`;
  $("select-match").hidden = Boolean(matching) || !isWholePage || shown.count <= chosen.size;
  $("select-match").textContent = `Select all ${countOf(shown.count, "document")}${Object.keys(shown.match).length ? " that match" : " of this index"}`;
  const head = $("select-shown");
  if (head) {
    head.checked = isWholePage || Boolean(matching);
    head.indeterminate = !head.checked && shown.results.some(({ id }) => chosen.has(id));
  }
  // After the rows that were made have taken their places.
  queueMicrotask(() => {
    for (const row of $("rows").children) {
      const box = row.querySelector(".select input");
      if (box) box.checked = Boolean(matching) || chosen.has(row.dataset.key);
    }
  });
}

$("select-match").addEventListener("click", () => {
  matching = { match: shown.match, count: shown.count };
  showSelection();
  $("selected").focus();
});
$("select-none").addEventListener("click", () => {
  clearSelection();
  $("select-shown").focus();
});

for (const [id, mode] of [["edit-selected", "edit"], ["share-selected", "groups"], ["delete-selected", "delete"]]) {
  $(id).addEventListener("click", () => {
    const documents = [...chosen.values()];
    openEdit({
      mode,
      index,
      selection: matching ? { match: matching.match } : { ids: documents.map((each) => each.id) },
      count: matching?.count ?? documents.length,
      document: !matching && documents.length === 1 ? documents[0] : null,
      knownGroups: [...new Set([...documents, ...shown.results].flatMap(({ groups }) => groups))].sort(),
    });
  });
}
