/* The page that adds documents: it sends files and texts, and shows what becomes of each.
 *
 * A document that the service has received is safe: its id is kept in this tab, so that the list
 * survives a reload. Files that wait to be sent do not; leaving the page asks first.
 */

import { getJson, send } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { fieldElements, readFields, splitNames } from "../common/fields.js";
import { attempt, countOf, describeState, fillIndexes, formatTime, keepShowing, linkElement, onSubmit, report } from "../common/page.js";

const SENT_AT_ONCE = 3;
const POLL_MS = 1_500;
const MAX_SHOWN = 500; // documents kept in the list after a reload
const UNSENT = { waiting: "waits to be sent", sending: "is sent …", exists: "not added yet" };
const FINAL = ["ready", "failed"];
const NAME_EXISTS = ["document_exists", "several_documents_exist"]; // codes of errors

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
  const form = ({ ifExists = "refuse" }) => {
    const made = new FormData();
    for (const [name, value] of Object.entries(about)) made.append(name, JSON.stringify(value));
    // A file of a folder is known by its path; of a file alone, only its name is known.
    if (path.includes("/") && ifExists !== "keep") made.append("external_id", path);
    made.append("if_exists", ifExists);
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
  show({ name, request: (added) => send("POST", path, makeContent(added)), status: "waiting" });
  sendWaiting();
}

/** Send documents whose names others have, once somebody has chosen what becomes of these. */
function choose(chosen, ifExists) {
  for (const each of chosen) update(each, { ifExists, status: "waiting", error: null });
  sendWaiting();
}

const findQuestions = () => documents.filter(({ status }) => status === "exists");
$("replace-all").addEventListener("click", () => choose(findQuestions().filter(({ error }) => error.isOne), "replace"));
$("keep-all").addEventListener("click", () => choose(findQuestions(), "keep"));

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
    update(next, await next.request(next));
  } catch (error) {
    const isQuestion = NAME_EXISTS.includes(error.code);
    const mayWorkLater = [0, 408, 429].includes(error.status) || error.status >= 500;
    const said = isQuestion
      ? { detail: error.detail, isOne: error.code === NAME_EXISTS[0] }
      : { detail: error.message, mayWorkLater };
    update(next, { status: isQuestion ? "exists" : "failed", error: said });
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
  const { row, name, status, error, warnings = [], pages, id, replaced } = added;
  const size = status === "ready" ? `, ${countOf(pages, "page")}` : "";
  const button = (label, onclick) => element("button", { type: "button", onclick }, label);
  const buttons = [];
  if (status === "exists") {
    if (error.isOne) buttons.push(button("Replace it", () => choose([added], "replace")));
    buttons.push(button("Keep both", () => choose([added], "keep")));
  } else if (error?.mayWorkLater) buttons.push(button("Try again", () => choose([added], added.ifExists)));
  row.replaceChildren(
    element("span", { className: "name" }, id ? linkElement(name, `documents/${id}/`) : name),
    element("span", { className: `state ${status}` }, (UNSENT[status] ?? describeState(added)) + size),
    ...(error ? [element("p", { className: `note ${status}` }, error.detail, ...buttons)] : []),
    ...(replaced ? [element("p", { className: "note replaced" }, describeReplaced(replaced))] : []),
    ...warnings.map(({ detail }) => element("p", { className: "note" }, detail)),
  );
  row.dataset.state = status;
  if (id) row.dataset.artifact = id;
  summarise();
}

/** `replaced`: what the service says of the content that a document had before. */
function describeReplaced({ file_name, title, updated_at }) {
  return `It replaces ${file_name || title}, as it was on ${formatTime(updated_at)}.`;
}

function summarise() {
  const count = (...states) => documents.filter(({ status }) => states.includes(status)).length;
  const parts = [
    [count("waiting", "sending"), "to send"],
    [count("received", "parsing", "indexing"), "in work"],
    [count("ready"), "ready"],
    [count("exists"), count("exists") === 1 ? "has the name of another document" : "have names of other documents"],
    [count("failed"), "failed"],
  ];
  $("summary").textContent = parts.filter(([number]) => number).map(([number, what]) => `${number} ${what}`).join(" · ");
  $("questions").hidden = count("exists") < 2;
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
