/* The dialog in which one document or many are edited, and the progress of an edit. */

import { getJson, send } from "../common/api.js";
import { $, element, numberFormat } from "../common/dom.js";
import { fieldElements, readFields, splitNames } from "../common/fields.js";
import { actionElement, attempt, countOf, onSubmit } from "../common/page.js";

const POLL_MS = 700; // while an edit is carried out
const RUNNING = ["waiting", "undoing"];
const NAMES = { title: "title", metadata: "", groups: "seen by" };
const EVERYBODY = "everybody who may read the index";

const dialog = $("edit");
const form = dialog.querySelector("form");
let opened = null; // {mode, index, selection, count, document}
let preview = null; // of what the form says now

/** Whether the person may change documents of an index: the first of its edits, else null. */
export async function readEdits(index) {
  try {
    return (await getJson(`indexes/${encodeURIComponent(index)}/edits/`, { limit: 10 })).results;
  } catch (error) {
    if (error.status === 401 || error.status === 403) return null;
    throw error;
  }
}

/**
 * Open the dialog. `mode`: edit, groups or delete; `index`: as the API describes it; `selection`: {ids} or {match};
 * `count`: how many documents that are; `document`: the only one, or null; `knownGroups`: names to offer.
 */
export function openEdit({ mode, index, selection, count, document = null, knownGroups = [] }) {
  opened = { mode, index: index.name, selection, count, document };
  const what = document ? `“${document.title || "Untitled"}”` : countOf(count, "document");
  $("edit-heading").textContent = { edit: `Edit ${what}`, groups: `Who may see ${what}`, delete: `Delete ${what}` }[mode];
  $("edit-values").hidden = mode !== "edit";
  $("edit-groups").hidden = mode !== "groups";
  $("edit-removal").hidden = mode !== "delete";
  fillValues(index, document);
  fillGroups(document, knownGroups);
  form.querySelector(".error").hidden = true;
  forgetPreview();
  dialog.showModal();
  if (mode === "delete") attempt(showPreview);
}

function fillValues({ metadata: declared }, document) {
  for (const id of ["edit-title", "edit-name", "edit-value", "edit-unset"]) $(id).value = "";
  $("edit-title").value = document?.title ?? "";
  for (const each of [$("edit-title"), $("edit-title").previousElementSibling]) each.hidden = !document;
  $("edit-unset-row").hidden = Boolean(document);
  const names = declared.map(({ name }) => name);
  const others = Object.entries(document?.metadata ?? {}).filter(([name, value]) => !names.includes(name) && isPlain(value));
  const fields = [...declared, ...others.map(([name, value]) => ({ name, type: typeOf(value), many: Array.isArray(value), values: [] }))];
  $("edit-fields").replaceChildren(...fields.flatMap(fieldElements));
  for (const control of controls()) {
    const value = document?.metadata[control.dataset.field];
    control.value = value == null ? "" : [value].flat().join(", ");
    control.dataset.was = control.value;
  }
}

const controls = () => [...$("edit-fields").querySelectorAll("input, select")];
const isPlain = (value) => [value].flat().every((each) => ["string", "number", "boolean"].includes(typeof each));

function typeOf(value) {
  const type = typeof [value].flat()[0];
  return type === "boolean" ? "bool" : type === "number" ? "float" : "keyword";
}

function fillGroups(document, knownGroups) {
  for (const each of form.querySelectorAll(".many")) each.hidden = Boolean(document);
  const groups = document?.groups ?? [];
  form.elements.who.value = document && !groups.length ? "all" : "groups";
  $("edit-group-input").value = groups.join(", ");
  const buttons = knownGroups.map((name) => {
    const button = element("button", { type: "button", dir: "auto" }, name);
    button.addEventListener("click", () => addGroup(name));
    return button;
  });
  $("edit-known").replaceChildren(...(buttons.length ? ["In use: ", ...buttons] : []));
  showGroupNames();
}

function addGroup(name) {
  const names = splitNames($("edit-group-input").value);
  $("edit-group-input").value = [...new Set([...names, name])].join(", ");
  forgetPreview();
}

function showGroupNames() {
  $("edit-group-names").hidden = form.elements.who.value === "all";
}

// --- What is asked for -------------------------------------------------------------------------------

function readChange() {
  if (opened.mode === "delete") return { delete: true };
  if (opened.mode === "groups") {
    const who = form.elements.who.value;
    return who === "all" ? { groups: [] } : { [who]: splitNames($("edit-group-input").value) };
  }
  const changed = new Set(controls().filter(({ value, dataset }) => value !== dataset.was).map(({ dataset }) => dataset.field));
  const set = Object.fromEntries(Object.entries(readFields($("edit-fields"))).filter(([name]) => changed.has(name)));
  if ($("edit-name").value.trim()) set[$("edit-name").value.trim()] = $("edit-value").value.trim();
  const unset = [...splitNames($("edit-unset").value), ...[...changed].filter((name) => !(name in set))];
  const title = $("edit-title").value.trim();
  return {
    ...(opened.document && title !== opened.document.title && { title }),
    ...(Object.keys(set).length && { set }),
    ...(unset.length && { unset }),
  };
}

/** Say what is missing, as the service would in its own words. */
function findGap(change) {
  if (opened.mode === "groups" && !("groups" in change && form.elements.who.value === "all") && !Object.values(change)[0].length) {
    return "Name at least one group of people.";
  }
  return Object.keys(change).length ? "" : "Nothing is changed yet.";
}

async function showPreview() {
  const change = readChange();
  const gap = findGap(change);
  const problem = form.querySelector(".error");
  problem.textContent = gap;
  problem.hidden = !gap;
  if (gap) return;
  const asked = opened;
  const answer = await send("POST", `indexes/${encodeURIComponent(asked.index)}/edits/preview`, { ...asked.selection, ...change });
  if (asked !== opened || JSON.stringify(change) !== JSON.stringify(readChange())) return; // the form was changed meanwhile
  preview = answer;
  const { changed, unchanged, refused, sample, refusals } = preview;
  const verb = change.delete ? ["is deleted", "are deleted"] : ["changes", "change"];
  const parts = [
    changed ? `${countOf(changed, "document")} ${verb[changed === 1 ? 0 : 1]}` : "No document changes",
    unchanged ? `${numberFormat.format(unchanged)} as wanted already` : "",
    refused ? `${numberFormat.format(refused)} cannot be changed` : "",
  ];
  $("edit-preview-heading").textContent = `${parts.filter(Boolean).join(", ")}.`;
  $("edit-sample").replaceChildren(...sample.map(sampleElement));
  $("edit-sample").parentElement.tHead.hidden = Boolean(change.delete);
  if (changed > sample.length) {
    const more = element("td", { colSpan: 3, className: "soft" }, `and ${countOf(changed - sample.length, "other document")}`);
    $("edit-sample").append(element("tr", {}, more));
  }
  const why = refusals.map(({ id, title, error }) => element("li", { dir: "auto" }, `${title || id}: ${error.detail}`));
  $("edit-refusals").replaceChildren(...why);
  $("edit-preview").hidden = false;
  $("edit-apply").textContent = change.delete ? `Delete ${countOf(changed, "document")} for good` : `Change ${countOf(changed, "document")}`;
  $("edit-apply").classList.toggle("danger", Boolean(change.delete));
  $("edit-apply").disabled = !changed;
  $("edit-preview-heading").focus();
}

function sampleElement({ title, id, external_id: externalId, file_name: fileName, before, after }) {
  const place = externalId || fileName;
  const name = element("td", { dir: "auto" }, title || id, place && place !== title ? element("p", { className: "soft" }, place) : null);
  return element("tr", {}, name, ...(opened.mode === "delete" ? [] : [valuesElement(before), valuesElement(after)]));
}

function valuesElement(values) {
  const lines = Object.entries(values).flatMap(([name, value]) => {
    if (name === "metadata") return Object.entries(value).map(([field, each]) => `${field}: ${[each].flat().join(", ")}`);
    if (name === "groups") return [value.length ? `${NAMES.groups} ${value.join(", ")}` : EVERYBODY];
    return [value];
  });
  return element("td", { dir: "auto" }, ...(lines.length ? lines : ["–"]).map((line) => element("div", {}, line)));
}

/** What the form says is no longer what was previewed. */
function forgetPreview() {
  preview = null;
  $("edit-preview").hidden = true;
  $("edit-apply").disabled = false;
  $("edit-apply").classList.remove("danger");
  $("edit-apply").textContent = "Show what changes";
}

form.addEventListener("input", () => {
  showGroupNames();
  forgetPreview();
});
$("edit-cancel").addEventListener("click", () => dialog.close());

onSubmit(form, async () => {
  if (preview === null) return showPreview();
  const body = { ...opened.selection, ...readChange(), expected: preview.changed };
  $("edit-apply").disabled = true; // a second press would begin a second edit
  const edit = await send("POST", `indexes/${encodeURIComponent(opened.index)}/edits/`, body)
    .finally(() => ($("edit-apply").disabled = false))
    .catch((error) => {
      if (error.code === "selection_changed") forgetPreview();
      throw error;
    });
  dialog.close();
  document.dispatchEvent(new CustomEvent("edit-begun"));
  await follow(edit);
});

// --- What becomes of it ------------------------------------------------------------------------------

let followed = ""; // the id of the edit that is shown

/** Show how far an edit is until it is done, with the button that undoes it. */
export async function follow(edit) {
  followed = edit.id;
  $("progress").hidden = false;
  document.dispatchEvent(new CustomEvent("edit-followed"));
  while (followed === edit.id) {
    showProgress(edit);
    if (!RUNNING.includes(edit.state)) break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    edit = await getJson(`edits/${edit.id}/`);
  }
  document.dispatchEvent(new CustomEvent("edit-done"));
}

function showProgress(edit) {
  const isRunning = RUNNING.includes(edit.state);
  $("progress-bar").hidden = !isRunning || edit.count < 2;
  $("progress-bar").max = edit.count || 1;
  $("progress-bar").value = edit.state === "undoing" ? edit.undone + edit.refused : edit.count - edit.waiting;
  $("progress-text").textContent = describeProgress(edit);
  $("progress-actions").replaceChildren(...undoElements(edit), ...(isRunning ? [] : [actionElement("Hide", hideProgress)]));
}

async function hideProgress() {
  followed = "";
  $("progress").hidden = true;
  document.dispatchEvent(new CustomEvent("edit-followed"));
}

function describeProgress({ state, change, count, changed, refused, undone, waiting, error, refusals = [] }) {
  const verb = change.delete ? "deleted" : "changed";
  if (state === "waiting") return `${numberFormat.format(count - waiting)} of ${countOf(count, "document")} ${verb} …${error ? ` ${error}` : ""}`;
  if (state === "undoing") return `${numberFormat.format(undone)} of ${countOf(count, "document")} changed back …`;
  if (state === "failed") return `${countOf(changed, "document")} ${verb}; the others could not be: ${error}`;
  const why = refused ? ` ${numberFormat.format(refused)} stayed as they are: ${refusals.map((each) => `${each.title || each.id}: ${each.error.detail}`).slice(0, 3).join(" ")}` : "";
  if (state === "undone" && change.delete) return `${countOf(changed, "document")} deleted, ${numberFormat.format(undone)} kept.${why}`;
  if (state === "undone") return `${countOf(undone, "document")} changed back.${why}`;
  return `${countOf(changed, "document")} ${verb}.${why}`;
}

/** The button that undoes an edit, while that is possible. */
export function undoElements(edit) {
  const isWaiting = edit.state === "waiting";
  const isPossible = edit.undo_until ? new Date(edit.undo_until) >= new Date() : isWaiting;
  if (!isPossible || ["undoing", "undone"].includes(edit.state)) return [];
  const text = isWaiting ? (edit.change.delete ? "Stop" : "Stop and undo") : "Undo";
  const undo = async () => follow(await send("POST", `edits/${edit.id}/undo`));
  return [actionElement(text, undo, { subject: `the change of ${countOf(edit.count, "document")}: ${describeChange(edit.change)}` })];
}

/** What an edit was asked to do, in words. */
export function describeChange({ title, set = {}, unset = [], groups, add_groups: added, remove_groups: removed, delete: isDeleted }) {
  const parts = [
    isDeleted ? "deleted" : "",
    title === undefined ? "" : `title “${title}”`,
    ...Object.entries(set).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`),
    unset.length ? `emptied ${unset.join(", ")}` : "",
    groups ? `seen by ${groups.join(", ") || EVERYBODY}` : "",
    added ? `also seen by ${added.join(", ")}` : "",
    removed ? `no longer seen by ${removed.join(", ")}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}
