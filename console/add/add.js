/* The page that adds documents: it sends files and texts, and shows what becomes of each.
 *
 * A document that the service has received is safe: its id is kept in this tab, so that the list
 * survives a reload. Files that wait to be sent do not; leaving the page asks first.
 */

import { getJson, send } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { fieldElements, readFields, splitNames } from "../common/fields.js";
import { attempt, countOf, describeState, fillIndexes, keepShowing, linkElement, onSubmit, report } from "../common/page.js";

const SENT_AT_ONCE = 3;
const POLL_MS = 1_500;
const MAX_SHOWN = 500; // documents kept in the list after a reload
const UNSENT = { waiting: "waits to be sent", sending: "is sent …" };
const FINAL = ["ready", "failed"];

const documents = []; // {name, status, id, request, error, row}, and what else the service says of it
const index = $("index");
const fieldsByIndex = new Map(); // name -> the metadata fields that its spec declares

const loaded = attempt(async () => {
  const offered = await fillIndexes(index, { isPreferred: ({ name }) => name === "plain" });
  for (const { name, metadata } of offered) fieldsByIndex.set(name, metadata);
  showIndex();
  for (const { name, id } of readStored()) show({ name, id, status: "received" });
});

index.addEventListener("change", showIndex);

function showIndex() {
  const link = $("search-index");
  link.href = `${link.pathname}?${new URLSearchParams({ index: index.value })}`;
  $("about").hidden = false;
  $("fields").replaceChildren(...(fieldsByIndex.get(index.value) ?? []).flatMap(fieldElements));
}

// --- What is said about it ---------------------------------------------------------------------------

/** The metadata and the groups that were entered. */
function readAbout() {
  const metadata = readFields($("fields"));
  const groups = splitNames($("groups").value);
  return { ...(Object.keys(metadata).length && { metadata }), ...(groups.length && { groups }) };
}

// --- What is given -----------------------------------------------------------------------------------

$("choose-files").addEventListener("click", () => $("files").click());
$("choose-folder").addEventListener("click", () => $("folder").click());
for (const input of [$("files"), $("folder")]) {
  input.addEventListener("change", () => {
    for (const file of input.files) addFile(file, file.webkitRelativePath || file.name);
    input.value = "";
  });
}

for (const [type, isOver] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
  $("drop").addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("is-over", isOver);
  });
}
$("drop").addEventListener("drop", async (event) => {
  // All entries at once: the list is empty after the first pause.
  const files = [...event.dataTransfer.items].filter(({ kind }) => kind === "file");
  for (const entry of files.map((item) => item.webkitGetAsEntry() ?? item.getAsFile())) await addEntry(entry);
});

/** Add a dropped file, or all files below a dropped folder. */
async function addEntry(entry) {
  if (entry instanceof File) {
    addFile(entry, entry.name);
    return;
  }
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    addFile(file, entry.fullPath.slice(1));
    return;
  }
  const reader = entry.createReader();
  const readSome = () => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  for (let entries = await readSome(); entries.length; entries = await readSome()) {
    for (const child of entries) await addEntry(child);
  }
}

function addFile(file, path) {
  const about = readAbout();
  const form = () => {
    const made = new FormData();
    for (const [name, value] of Object.entries(about)) made.append(name, JSON.stringify(value));
    made.append("external_id", path); // so that a changed file replaces the one with its name
    made.append("file", file);
    return made;
  };
  give(path, form);
}

onSubmit($("text-form"), () => {
  const content = { title: $("title").value, text: $("text").value, ...readAbout() };
  give(content.title, () => content);
  $("text-form").reset();
});
// Only where the service fetches documents.
if ($("address-form")) {
  onSubmit($("address-form"), () => {
    const content = { url: $("address").value, ...readAbout() };
    give(content.url, () => content);
    $("address-form").reset();
  });
}

// --- What becomes of it ------------------------------------------------------------------------------

/** Send a document, which `makeContent` gives, to the chosen index, once the indexes are known. */
async function give(name, makeContent) {
  await loaded;
  if (!index.value) return; // the page shows why there is none
  const path = `indexes/${encodeURIComponent(index.value)}/artifacts/`;
  show({ name, request: () => send("POST", path, makeContent()), status: "waiting" });
  sendWaiting();
}

function show(added) {
  added.row = element("li");
  documents.unshift(added);
  $("documents").prepend(added.row);
  draw(added);
}

function sendWaiting() {
  const room = SENT_AT_ONCE - documents.filter(({ status }) => status === "sending").length;
  const waiting = documents.filter(({ status }) => status === "waiting").reverse();
  for (const next of waiting.slice(0, room)) sendOne(next);
}

async function sendOne(next) {
  update(next, { status: "sending", error: null });
  try {
    update(next, await next.request());
  } catch (error) {
    const mayWorkLater = [0, 408, 429].includes(error.status) || error.status >= 500;
    update(next, { status: "failed", error: { detail: error.message, mayWorkLater } });
  }
  store();
  sendWaiting();
}

const poll = keepShowing(async () => {
  for (const each of documents.filter(({ id, status }) => id && !FINAL.includes(status))) {
    try {
      update(each, await getJson(`artifacts/${each.id}/`));
    } catch (error) {
      if (error.status === 404) update(each, { status: "failed", error: { detail: "It has been deleted." } });
      else if (error.status === 0) break; // the service restarts
      else report(error);
    }
  }
  return POLL_MS;
});

function update(changed, values) {
  Object.assign(changed, values);
  draw(changed);
}

function draw(added) {
  const { row, name, status, error, warnings = [], pages, id } = added;
  const size = status === "ready" ? `, ${countOf(pages, "page")}` : "";
  const retry = () => {
    update(added, { status: "waiting" });
    sendWaiting();
  };
  const again = error?.mayWorkLater && element("button", { type: "button", onclick: retry }, "Try again");
  row.replaceChildren(
    element("span", { className: "name" }, id ? linkElement(name, `documents/${id}/`) : name),
    element("span", { className: `state ${status}` }, (UNSENT[status] ?? describeState(added)) + size),
    ...(error ? [element("p", { className: "note failed" }, error.detail, ...(again ? [again] : []))] : []),
    ...warnings.map(({ detail }) => element("p", { className: "note" }, detail)),
  );
  row.dataset.state = status;
  if (id) row.dataset.artifact = id;
  summarise();
}

function summarise() {
  const count = (...states) => documents.filter(({ status }) => states.includes(status)).length;
  const parts = [
    [count("waiting", "sending"), "to send"],
    [count("received", "parsing", "indexing"), "in work"],
    [count("ready"), "ready"],
    [count("failed"), "failed"],
  ];
  $("summary").textContent = parts.filter(([number]) => number).map(([number, what]) => `${number} ${what}`).join(" · ");
}

// --- Reloads -----------------------------------------------------------------------------------------

function store() {
  const kept = documents.filter(({ id }) => id).slice(0, MAX_SHOWN).map(({ name, id }) => ({ name, id }));
  sessionStorage.setItem("added", JSON.stringify(kept));
}

function readStored() {
  return JSON.parse(sessionStorage.getItem("added") ?? "[]").reverse();
}

addEventListener("beforeunload", (event) => {
  if (documents.some(({ status }) => status in UNSENT)) event.preventDefault();
});

poll();
