/* The page that lists the documents of an index, with what became of each. */

import { getJson, pageAddress, send } from "../common/api.js";
import { $, element, keyed, numberCell, numberFormat, rowElement, updateChildren } from "../common/dom.js";
import { attempt, countOf, describeProblem, describeState, fillIndexes, formatTime, keepShowing, linkElement, onClick, onSubmit } from "../common/page.js";

const PAGE_SIZE = 50;
const POLL_MS = 3_000; // while documents are being read or indexed and the page is visible

let asked = null; // the AbortController of the last request

async function start() {
  const address = new URLSearchParams(location.search); // first: people may type before the indexes are known
  $("status").value = address.get("status") ?? "";
  $("read").value = address.get("is_partial") ?? "";
  $("words").value = address.get("words") ?? address.get("title") ?? "";
  $("ordering").value = address.get("ordering") ?? "-created_at";
  await fillIndexes($("index"));
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
  const wanted = { status: $("status").value, is_partial: $("read").value, words: $("words").value.trim() };
  const match = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ""));
  const ordering = $("ordering").value;
  const shown = { ...(ordering !== "-created_at" && { ordering }), ...(offset && { offset }) };
  history.replaceState(null, "", `?${new URLSearchParams({ index: name, ...match, ...shown })}`);
  const path = `indexes/${encodeURIComponent(name)}/`;
  const [index, page] = await Promise.all([
    getJson(path, {}, signal),
    getJson(`${path}artifacts/`, { ...match, ordering, offset, limit: PAGE_SIZE }, signal),
  ]);
  showIndex(index, Object.keys(match).length > 0, page.count);
  document.dispatchEvent(new CustomEvent("index-shown", { detail: name })); // for the parts of apps
  showDocuments(page, offset, { index, match });
  return index.artifacts_waiting > 0 || index.nodes.pending > 0 ? POLL_MS : null;
});

function showIndex({ artifacts, artifacts_waiting: waiting, artifacts_failed: failed, artifacts_partial: partial, problem }, isFiltered, count) {
  const parts = [
    `${isFiltered ? `${numberFormat.format(count)} of ` : ""}${countOf(artifacts, "document")}`,
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

function showDocuments({ results, count }, offset, { index, match }) {
  $("documents").hidden = results.length === 0;
  $("date").textContent = isSortedByChange() ? "Changed" : "Added";
  const rows = results.map((each) => keyed(each.id, documentElement(each)));
  // Parts of apps may add cells.
  document.dispatchEvent(new CustomEvent("documents-made", { detail: { index, match, rows, results, count } }));
  updateChildren($("rows"), rows);
  const isFiltered = Object.keys(match).length > 0;
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
  const { id, title, file_name: fileName, external_id: externalId, status, error, warnings, pages, byte_count: bytes, groups, near_duplicates: copies } = artifact;
  const link = linkElement(title || "Untitled", `documents/${id}/`);
  link.dir = "auto";
  const place = externalId?.includes("/") ? externalId : fileName || externalId; // the folder tells documents of one name apart
  const notes = [...(error ? [error] : []), ...warnings].map((each) =>
    element("p", { className: `note ${status}` }, describeProblem(each)),
  );
  return rowElement(
    [
      link,
      place && place !== title ? element("p", { className: "file", dir: "auto" }, place) : null,
      groups.length ? element("p", { className: "file", dir: "auto" }, `Seen by ${groups.join(", ")}`) : null,
      ...notes,
      copies ? element("p", { className: "file" }, `${countOf(copies, "other document")} ${copies === 1 ? "is a near copy" : "are near copies"} of it.`) : null,
    ],
    element("td", { className: `state ${status}` }, describeState(artifact)),
    pages,
    numberCell(formatSize(bytes)),
    element("td", { className: "date" }, formatTime(isSortedByChange() ? artifact.updated_at : artifact.created_at)),
  );
}

onClick($("retry"), () => send("POST", `indexes/${encodeURIComponent($("index").value)}/retry/`).then(() => list(0)));
const isSortedByChange = () => $("ordering").value.endsWith("updated_at");

/** A size in bytes, as people read it. */
function formatSize(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const at = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const style = { style: "unit", unit: units[at], unitDisplay: at ? "short" : "long", maximumSignificantDigits: 2 };
  return new Intl.NumberFormat("en", style).format(bytes / 1_000 ** at);
}

document.addEventListener("documents-changed", () => attempt(list)); // by a part of an app
for (const id of ["index", "status", "read", "ordering"]) $(id).addEventListener("change", () => attempt(() => list(0)));
onSubmit($("find"), () => list(0));

attempt(start);
