/* The page of a document: its pages as pictures and as text, with the passage of a hit marked.
 *
 * The address says what is shown: `page`, counted from 1, or `source`, `start` and `end` of a hit.
 * The search page leaves the addresses of its hits in this tab, so that one can go through them.
 */

import { ApiError, getJson, request, send } from "../common/api.js";
import { $, element, numberFormat } from "../common/dom.js";
import { readHits } from "../common/hits.js";
import { markdownNodes } from "../common/markdown.js";
import { actionElement, attempt, countOf, describeProblem, describeState, formatTime, linkElement, onClick } from "../common/page.js";
import { clearSoftBreakCache, markedNodes, utf16Offset } from "../common/text.js";

const artifactPath = `artifacts/${$("title").dataset.artifact}/`;
const GONE = "The passage no longer exists: the document has changed. This is its first page.";
const MAX_CHANGES = 100; // the last ones
const CALLERS = { key: "the key", user: "the user", server: "a command", command: "a command", nobody: "someone" };
const DELETED = { text: "" }; // a summary that a person deleted
const UNCERTAIN = "Where the passage stands on this page is not certain, so it is marked in the text only.";

let artifact = null;
let artifactIndex = null; // its index, as the API describes it
let kinds = []; // of nodes in its index
let shown = null; // {index, passage: [start, end] in the page's text, or null}
let drawing = null; // the AbortController of the page that is being drawn

async function start() {
  artifact = await getJson(artifactPath).catch((error) => {
    for (const each of document.querySelectorAll("main > :not(#problem)")) each.hidden = true;
    throw error;
  });
  artifactIndex = await getJson(`indexes/${encodeURIComponent(artifact.index)}/`);
  ({ kinds } = artifactIndex);
  showArtifact();
  showHits();
  if (artifact.pages > 0) await showAddress();
}

addEventListener("popstate", () => attempt(showAddress));
document.addEventListener("document-changed", () => attempt(async () => { // by a part of an app
  artifact = await getJson(artifactPath);
  showArtifact();
}));

// --- The document ------------------------------------------------------------------------------------

function showArtifact() {
  document.dispatchEvent(new CustomEvent("document-shown", { detail: { artifact, index: artifactIndex } })); // for the parts of apps
  const { title, index, status, error, warnings, pages, media_type: mediaType, metadata } = artifact;
  document.title = `${title || "Untitled"} · Strata`;
  $("title").textContent = title || "Untitled";
  const state = status === "ready" ? "" : ` · ${describeState(artifact)}`;
  $("about").replaceChildren(linkElement(index, "documents/", { index }), ` · ${countOf(pages, "page")}${state}`);
  const problems = [...(error ? [error] : []), ...warnings];
  $("warnings").hidden = problems.length === 0;
  $("warnings").replaceChildren(...problems.map((each) => element("li", {}, describeProblem(each))));
  const facts = {
    File: artifact.file_name,
    Type: mediaType,
    Id: artifact.id,
    "External id": artifact.external_id,
    Address: artifact.url,
    ...metadata,
    Groups: artifact.groups,
    "Legal hold": artifact.is_held ? "It can be neither deleted nor replaced." : "",
  };
  const filled = Object.entries(facts).filter(([, value]) => value != null && [value].flat().join("") !== "");
  $("facts").replaceChildren(
    ...filled.flatMap(([name, value]) => [
      element("dt", {}, name),
      element("dd", { dir: "auto" }, [value].flat().join(", ")),
    ]),
  );
  attempt(showHistory);
  $("download").hidden = !artifact.file_name;
  $("count").textContent = `of ${numberFormat.format(pages)}`;
  $("number").max = pages;
  $("pages").hidden = pages < 2;
  const radios = [...document.querySelectorAll("#passage-kinds input")];
  for (const radio of radios) radio.parentElement.hidden = !kinds.includes(radio.value);
  const first = radios.find((radio) => kinds.includes(radio.value));
  if (first) first.checked = true;
}

/** Who changed it, as the audit log says, and when searches found it. */
async function showHistory() {
  const { revision, status, indexed_revision: indexed, created_at: added, updated_at: changed, searchable_at: searchable } = artifact;
  const { results } = await getJson(`${artifactPath}changes/`, { limit: MAX_CHANGES });
  const isCurrent = indexed === revision && status === "ready";
  const old = indexed !== null && indexed !== revision ? `Searches still show revision ${numberFormat.format(indexed)}.` : "";
  // The row of the request that added it is written a moment later.
  const isFirst = ({ method, route, at }) => method === "POST" && !nameEdit(route) && new Date(at) - new Date(added) < 60_000;
  const events = [
    [results.some(isFirst) ? null : added, "Added."],
    [searchable, "First found by searches in the live build."],
    [results.some((change) => change.revision === revision) ? null : changed, "Last changed.", revision],
    ...results.map((change) => [change.at, `${isFirst(change) ? "Added" : nameChange(change)} by ${nameCaller(change)}.`, change.revision]),
  ].filter(([at]) => at);
  events.sort(([a], [b]) => new Date(a) - new Date(b));
  let before = 0; // the revision before an event, which need not have made another
  const items = events.map(([at, text, made = null]) => {
    const isNew = made > before;
    before = Math.max(made, before);
    const about = isNew ? ` Revision ${numberFormat.format(made)}. ${made === revision ? (isCurrent ? "Searches show it." : old) : ""}` : "";
    return element("li", {}, element("time", { dateTime: at }, formatTime(at)), " ", text, about);
  });
  $("history").replaceChildren(...items);
}

function nameChange({ method, route, status }) {
  const isNew = status === 202;
  const what = {
    POST: namePost(route, isNew),
    PUT: isNew ? "The content was replaced" : "The same content was sent",
    DELETE: "A summary was deleted",
    PATCH: route.endsWith("summary_candidate") ? "The summary was edited" : "Title, address, metadata, groups or hold were changed",
  };
  return what[method] ?? method;
}

function nameEdit(route) {
  if (route.endsWith("/undo")) return "A change of it was undone";
  return route.endsWith("/edits") ? "It was changed, alone or with others" : "";
}

function namePost(route, isNew) {
  if (nameEdit(route)) return nameEdit(route);
  return isNew ? "A new version was sent" : "It was sent again without a change, or changed in the admin";
}

function nameCaller({ caller, name }) {
  return [CALLERS[caller], name].filter(Boolean).join(" ");
}

onClick($("download"), async () => {
  const response = await request("GET", `${artifactPath}original`);
  const link = element("a", { download: artifact.file_name, href: URL.createObjectURL(await response.blob()) });
  link.click();
  URL.revokeObjectURL(link.href);
});

onClick($("delete"), async () => {
  if (!confirm(`Delete “${artifact.title}” for good?`)) return;
  $("receipt").textContent = "It is being deleted, which takes some seconds for a large document …";
  const { revision, detail } = await send("DELETE", artifactPath).catch((error) => {
    $("receipt").textContent = "";
    throw error;
  });
  $("receipt").textContent = detail ?? `Deleted with revision ${revision}; no search finds it any more.`;
  for (const each of document.querySelectorAll("main :is(nav, button)")) each.hidden = true;
});

// --- Its pages ---------------------------------------------------------------------------------------

/** Show what the address asks for. */
async function showAddress() {
  const address = new URLSearchParams(location.search);
  if (!address.has("source")) {
    await showPage(Math.max(1, Number.parseInt(address.get("page") ?? "1", 10) || 1) - 1);
    return;
  }
  const source = await getJson(`sources/${encodeURIComponent(address.get("source"))}/`).catch(async (error) => {
    if (error.status === 404) await showPage(0);
    throw error.status === 404 ? new ApiError(404, GONE) : error;
  });
  const [start, end] = ["start", "end"].map((name) => source.start + Number(address.get(name)));
  await showPage(source.page.index, [start, end]);
}

async function showPage(index, passage = null) {
  drawing?.abort();
  const { signal } = (drawing = new AbortController());
  $("problem").hidden = true;
  const path = `${artifactPath}pages/${index}/`;
  const page = await getJson(path, {}, signal);
  shown = { index, id: page.id };
  $("number").value = index + 1;
  $("previous").disabled = index === 0;
  $("next").disabled = index + 1 >= artifact.pages;
  $("place").textContent = page.label;
  $("ocr").hidden = page.ocr_confidence === null;
  $("ocr").textContent = `Read by OCR, which is ${Math.floor(100 * page.ocr_confidence)}% sure. Whole lines are marked.`;
  showMissing(page);
  showText(page.text, passage);
  await Promise.all([showPicture(path, index, passage, signal), showSummaries(signal), showPassages(signal)]);
}

/** Say what of the page's text cannot be seen or read. */
function showMissing({ unseen, unseen_start: start, unreadable_count: unreadable }) {
  const counts = unseen.map(({ detail, char_count: count }) => `${countOf(count, "character")} ${detail}`);
  const found = start === null ? "It is not searched." : "It is searched, and stands at the end of the text below.";
  $("unseen").hidden = unseen.length === 0;
  $("unseen-note").textContent = `The file holds text of this page that cannot be seen on it: ${counts.join("; ")}. ${found}`;
  $("show-unseen").hidden = false;
  $("unseen-texts").hidden = true;
  $("unreadable").hidden = unreadable === 0;
  $("unreadable").textContent = `${countOf(unreadable, "character")} of this page ${unreadable === 1 ? "is" : "are"} left out: the file does not say which letters are drawn.`;
}

onClick($("show-unseen"), async () => {
  const { results } = await getJson(`${artifactPath}pages/${shown.index}/unseen`);
  $("unseen-texts").replaceChildren(
    ...results.flatMap(({ reason, text }) => [element("dt", {}, reason), element("dd", { dir: "auto" }, text)]),
  );
  $("unseen-texts").hidden = false;
  $("show-unseen").hidden = true;
});

function showText(text, passage) {
  clearSoftBreakCache();
  const marked = (passage ?? [0, 0]).map((at) => utf16Offset(text, at));
  $("text").replaceChildren(...markdownNodes(text, (start, end) => markedNodes(text, marked, start, end)));
  const mark = $("text").querySelector("mark");
  const box = $("text").getBoundingClientRect();
  $("text").scrollTop = mark ? mark.getBoundingClientRect().top - box.top - box.height / 4 : 0;
}

/** Draw the page, if its format has pictures of pages, and mark the passage on it. */
async function showPicture(path, index, passage, signal) {
  $("marks").replaceChildren();
  if (!/^(application\/pdf|image\/.*)$/.test(artifact.media_type)) return;
  $("picture").hidden = false; // with the room of the page before, or of an A4 page
  const response = await request("GET", `${path}picture`, { signal });
  const bitmap = await createImageBitmap(await response.blob());
  const canvas = $("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  canvas.setAttribute("aria-label", `Picture of page ${index + 1}`);
  if (passage === null) return;
  const { boxes } = await getJson(`${path}boxes`, { start: passage[0], end: passage[1] }, signal);
  $("marks").replaceChildren(...boxes.map(markElement));
  if (boxes.length === 0) $("place").textContent = UNCERTAIN;
  $("marks").firstElementChild?.scrollIntoView({ block: "center" });
}

function markElement({ left, top, right, bottom }) {
  const mark = element("div", { className: "mark" });
  const sides = { left, top, width: right - left, height: bottom - top };
  for (const [side, share] of Object.entries(sides)) mark.style[side] = `${100 * share}%`;
  return mark;
}

function goToPage(number) {
  if (!(number >= 1 && number <= artifact.pages)) return;
  history.pushState(null, "", `?${new URLSearchParams({ page: number })}`);
  attempt(showAddress);
}

$("previous").addEventListener("click", () => goToPage(shown.index));
$("next").addEventListener("click", () => goToPage(shown.index + 2));
$("number").addEventListener("change", () => goToPage($("number").valueAsNumber));
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "ArrowLeft") $("previous").click();
  if (event.key === "ArrowRight") $("next").click();
});

// --- The hits of the search --------------------------------------------------------------------------

function showHits() {
  const { results, hits } = readHits();
  const at = hits.indexOf(location.href);
  if (at === -1) return;
  $("back").href = results;
  $("back").textContent = `Back to the results for “${new URL(results).searchParams.get("q") ?? ""}”`;
  $("results-link").hidden = false;
  $("hits").hidden = hits.length < 2;
  $("hit-number").textContent = `Hit ${at + 1} of ${hits.length}`;
  for (const [id, to] of [["previous-hit", hits[at - 1]], ["next-hit", hits[at + 1]]]) {
    $(id).disabled = to === undefined;
    $(id).addEventListener("click", () => location.assign(to));
  }
}

// --- Summaries ---------------------------------------------------------------------------------------

async function showSummaries(signal) {
  const paths = [];
  if (kinds.includes("artifact_summary")) paths.push(`${artifactPath}summary_candidate`);
  if (kinds.includes("page_summary")) paths.push(`pages/${shown.id}/summary_candidate`);
  const found = await Promise.all(paths.map((path) => readSummary(path, signal)));
  const sections = found.map((summary, at) => summary && summaryElement(summary, paths[at])).filter(Boolean);
  $("summaries").replaceChildren($("summaries-heading"), ...sections);
  $("summaries").hidden = sections.length === 0;
}

async function readSummary(path, signal) {
  try {
    return await getJson(path, {}, signal);
  } catch (error) {
    if (error.code === "summary_deleted") return DELETED;
    if (error.status === 404) return null; // none is written yet
    throw error;
  }
}

function summaryElement(summary, path) {
  const subject = path.startsWith("pages/") ? "page" : "document";
  const name = subject === "page" ? "Page" : "Document";
  const isDeleted = summary === DELETED;
  const state = isDeleted ? "deleted" : summary.state === "due" ? "being written" : `written by ${summary.model_name}`;
  const text = element("div", { className: "text", dir: "auto" }, summary.text);
  const writer = element("p", { className: "place" }, `${name}, ${state}`);
  const item = element("div", { className: "summary" }, writer, text);
  const show = (changed) => item.replaceWith(summaryElement(changed, path));
  const save = async (edited) => show(await send("PATCH", path, { text: edited }));
  const open = () => edit(item, writer, { value: summary.text, rows: 5, ariaLabel: "Summary" }, save);
  const remove = async () => {
    await send("DELETE", path);
    show(DELETED);
  };
  const about = { subject: `the summary of the ${subject}` };
  const question = `Delete the summary of this ${subject}? It is not written again until someone asks for it.`;
  item.append(
    actionElement(isDeleted ? "Write" : "Edit", open, about),
    " ",
    isDeleted ? actionElement("Have it written", () => save(null), about) : actionElement("Delete", remove, { ...about, question }),
  );
  return item;
}

/** Edit a text in place of what an element holds; `save` takes it. */
function edit(item, about, properties, save) {
  const input = element("textarea", properties);
  const button = actionElement("Save", () => save(input.value));
  button.className = "primary";
  item.replaceChildren(about, input, button);
  input.focus();
}

// --- What was made of a page -------------------------------------------------------------------------

const chosenKind = () => document.querySelector("#passage-kinds input:checked").value;

/** List the passages, questions or quotes of the shown page, from this one on. */
async function showPassages(signal = undefined, offset = 0) {
  if (!kinds.includes(chosenKind())) return; // an index of images
  const { results, count } = await getJson(`pages/${shown.id}/passages`, { kind: chosenKind(), offset }, signal);
  const list = $("passage-list");
  const items = results.map(passageElement);
  if (offset) list.append(...items);
  else list.replaceChildren(...items);
  $("no-passages").hidden = count > 0;
  $("more-passages").hidden = offset + results.length >= count;
  $("passages").hidden = false;
}

function passageElement({ chunk_id: chunkId, text, source_id: source, start_offset: start, end_offset: end, verdict, concept }) {
  const link = element("a", { dir: "auto" }, concept ? concept.label : text);
  link.href = `?${new URLSearchParams({ source, start, end })}`;
  return element(
    "li",
    {},
    link,
    concept ? element("p", { className: "soft", dir: "auto" }, text) : null,
    verdict === "stale" ? element("p", { className: "busy" }, "The document has changed since; this is made anew.") : null,
    chunkId ? questionsElement(chunkId) : null,
  );
}

/** A button that opens the questions of a chunk for editing. */
function questionsElement(chunkId) {
  const path = `chunks/${chunkId}/questions`;
  const item = element("div");
  const open = actionElement("Edit the questions of its passage", async () => {
    const { questions, model_name: writer } = await getJson(path);
    const place = element("p", { className: "place" }, `One question in each line; written by ${writer}.`);
    edit(item, place, { value: questions.join("\n"), rows: 4, ariaLabel: "Questions, one in each line" }, async (edited) => {
      await send("PATCH", path, { questions: edited.split("\n").map((line) => line.trim()).filter(Boolean) });
      item.replaceChildren(open);
    });
  });
  item.append(open);
  return item;
}

$("passage-kinds").addEventListener("change", () => attempt(showPassages));
$("more-passages").addEventListener("click", () =>
  attempt(() => showPassages(undefined, $("passage-list").childElementCount)),
);
$("passage-list").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  attempt(showAddress);
});

attempt(start);
