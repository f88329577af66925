/* The page that lists the documents of an index, with what became of each. */

import { getJson, pageAddress, send } from "../common/api.js";
import { $, element, keyed, numberFormat, rowElement, updateChildren } from "../common/dom.js";
import { attempt, countOf, describeProblem, describeState, fillIndexes, formatTime, keepShowing, linkElement, onClick, onSubmit } from "../common/page.js";

const PAGE_SIZE = 50;
const POLL_MS = 3_000; // while documents are being read or indexed and the page is visible

let asked = null; // the AbortController of the last request

async function start() {
  await fillIndexes($("index"));
  const address = new URLSearchParams(location.search);
  $("status").value = address.get("status") ?? "";
  $("read").value = address.get("is_partial") ?? "";
  $("title").value = address.get("title") ?? "";
  await list();
}

const offsetOfAddress = () => Number(new URLSearchParams(location.search).get("offset"));

/** List the documents from this one on, and keep what is asked for in the address. */
const list = keepShowing(async (offset = offsetOfAddress()) => {
  const name = $("index").value;
  if (!name) return null; // the indexes are not known yet
  asked?.abort();
  const { signal } = (asked = new AbortController());
  $("problem").hidden = true;
  const wanted = { status: $("status").value, is_partial: $("read").value, title: $("title").value.trim(), offset: offset || "" };
  const filled = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ""));
  history.replaceState(null, "", `?${new URLSearchParams({ index: name, ...filled })}`);
  const path = `indexes/${encodeURIComponent(name)}/`;
  const ordering = wanted.title ? "title" : "-created_at";
  const [index, page] = await Promise.all([
    getJson(path, {}, signal),
    getJson(`${path}artifacts/`, { ...filled, ordering, limit: PAGE_SIZE }, signal),
  ]);
  showIndex(index);
  document.dispatchEvent(new CustomEvent("index-shown", { detail: name })); // for the parts of apps
  showDocuments(page, offset);
  return index.artifacts_waiting > 0 || index.nodes.pending > 0 ? POLL_MS : null;
});

function showIndex({ artifacts, artifacts_waiting: waiting, artifacts_failed: failed, artifacts_partial: partial, problem }) {
  const parts = [
    countOf(artifacts, "document"),
    waiting ? `${numberFormat.format(waiting)} in work` : "",
    failed ? `${numberFormat.format(failed)} failed` : "",
  ];
  $("summary").textContent = parts.filter(Boolean).join(" · ");
  $("index-problem").textContent = problem ?? "";
  $("index-problem").hidden = !problem;
  $("retry").hidden = !failed;
  $("partial").hidden = !partial || $("read").value === "true";
  $("partial").textContent = `${numberFormat.format(partial)} read in part`;
  $("partial").href = pageAddress("documents/", { index: $("index").value, is_partial: true });
  $("add").href = pageAddress("add/", { index: $("index").value });
}

function showDocuments({ results, count }, offset) {
  $("documents").hidden = results.length === 0;
  updateChildren($("rows"), results.map((each) => keyed(each.id, documentElement(each))));
  const isFiltered = $("status").value || $("read").value || $("title").value.trim();
  $("empty").hidden = results.length > 0;
  $("empty-text").textContent = isFiltered ? "No document is like that." : "This index has no documents yet.";
  const last = offset + results.length;
  $("range").textContent = results.length
    ? `${numberFormat.format(offset + 1)} to ${numberFormat.format(last)} of ${numberFormat.format(count)}`
    : "";
  $("previous").disabled = offset === 0;
  $("next").disabled = last >= count;
  $("previous").onclick = () => attempt(() => list(Math.max(0, offset - PAGE_SIZE)));
  $("next").onclick = () => attempt(() => list(last));
  $("paging").hidden = count <= PAGE_SIZE && offset === 0;
}

function documentElement(artifact) {
  const { id, title, file_name: fileName, status, error, warnings, pages, updated_at: changed, near_duplicates: copies } = artifact;
  const link = linkElement(title || "Untitled", `documents/${id}/`);
  link.dir = "auto";
  const notes = [...(error ? [error] : []), ...warnings].map((each) =>
    element("p", { className: `note ${status}` }, describeProblem(each)),
  );
  return rowElement(
    [
      link,
      fileName && fileName !== title ? element("p", { className: "file" }, fileName) : null,
      ...notes,
      copies ? element("p", { className: "file" }, `${countOf(copies, "other document")} ${copies === 1 ? "is a near copy" : "are near copies"} of it.`) : null,
    ],
    element("td", { className: `state ${status}` }, describeState(artifact)),
    pages,
    element("td", { className: "date" }, formatTime(changed)),
  );
}

onClick($("retry"), () => send("POST", `indexes/${encodeURIComponent($("index").value)}/retry/`).then(() => list(0)));
for (const id of ["index", "status", "read"]) $(id).addEventListener("change", () => attempt(() => list(0)));
onSubmit($("find"), () => list(0));

attempt(start);
