/* The search page: its form, its URL, and the progress of each index.
 *
 * common/result_elements.js renders the API's responses.
 */

import { artifactElement, passageElement, questionElement, summaryElement } from "../common/result_elements.js";
import { getJson } from "../common/api.js";
import { forgetKey, readKey, useKey } from "../common/key.js";
import { $, element, keyed, numberFormat, updateChildren } from "../common/dom.js";
import { clearSoftBreakCache, queryWords } from "../common/text.js";
import { attempt, countOf, firstIndex, keepIndex, keepShowing, NODE_NAMES, onSubmit, report } from "../common/page.js";
import { keepHits } from "../common/hits.js";
import { clearBeside, fillBeside, showBeside } from "./beside.js";
import { countFilters, drawFilters, nameFilters, readFilter, readFilterOfAddress, showFacets } from "./filters.js";
import { explainMissing, suggestDocuments } from "./missed.js";
import { loadJudgements } from "../common/judgements.js";

const BUSY_POLL_MS = 2_000; // while documents are being indexed and the page is visible
const IDLE_POLL_MS = 15_000;
const TYPING_MS = 300; // without a key pressed, after which the page searches
const MIN_TYPED_CHARS = 3;

const hasSummaries = (kinds) => kinds.includes("page_summary") || kinds.includes("artifact_summary");
const hasChunks = (kinds) => kinds.includes("chunk");
const hasQuestions = (kinds) => kinds.includes("question");
const showHits = (render) => ({ hits }, words) => hits.map((hit) => render(hit, words));

// By the last part of the endpoint's URL: which node kinds it needs, what one hit is called, and how to render them.
const SEARCHES = {
  pages: { isAvailable: hasChunks, names: ["hit", "hits"], show: showHits(passageElement) },
  hierarchical: {
    isAvailable: (kinds) => hasChunks(kinds) && hasSummaries(kinds),
    names: ["document", "documents"],
    show: ({ artifacts }, words) => artifacts.map((artifact) => artifactElement(artifact, words)),
  },
  summaries: { isAvailable: hasSummaries, names: ["summary", "summaries"], show: showHits(summaryElement) },
  questions: { isAvailable: hasQuestions, names: ["hit", "hits"], show: showHits(questionElement) },
};

const form = $("search");
// Those of apps have a script, which also runs them: `run`.
for (const { value, dataset } of form.querySelectorAll("[name=search][data-script]")) SEARCHES[value] = await import(dataset.script);
const results = $("results");
const isSignedIn = document.documentElement.dataset.user !== "";
keepHits(results);
let indexes = new Map(); // name -> the API's last response about it
let activeSearch = null; // the AbortController of the running search
let isUnreachable = false; // whether the indexes could not be read
let isDenied = false; // the API refused the last request
let areEmptyShown = false; // indexes without documents
let isRetryPending = false; // nothing was found in an index that is still being filled

// --- The key ---------------------------------------------------------------------------------

function showKeyPanel(isShown) {
  $("key-panel").hidden = !isShown;
  $("key-toggle").ariaExpanded = String(isShown);
  $("key-forget").hidden = !readKey();
}

/** Ask for a key: the API refused the request, and there is no admin session either. */
function showAccessDenied(error) {
  isDenied = true;
  $("key-heading").textContent = readKey() ? "This key was not accepted" : "Enter your API key";
  $("key-explanation").hidden = false;
  $("key-unneeded").hidden = true;
  // Users without rights get the API's message; others are only asked for a key.
  showError(readKey() || error.status === 403 ? error.message : "");
  showKeyPanel(true);
  form.hidden = true;
  $("empty").hidden = true;
  $("key").focus({ preventScroll: true });
  clearResults();
}

function showAccessGranted() {
  if (isDenied) {
    isDenied = false;
    form.hidden = false;
    showKeyPanel(false);
    $("q").focus({ preventScroll: true });
    showError("");
  }
  $("key-heading").textContent = readKey() ? "Your key" : isSignedIn ? "You need no key" : "Public indexes";
  $("key-explanation").hidden = true;
  $("key-unneeded").hidden = false;
  $("key-unneeded").textContent = readKey()
    ? "This tab uses a key until you close it."
    : isSignedIn
      ? "You are signed in. A key that you enter here is used in this tab instead, until you close it."
      : "You see the indexes that are public. A key shows those that it may read.";
  $("key-forget").hidden = !readKey();
}

$("key-toggle").addEventListener("click", () => {
  showKeyPanel($("key-panel").hidden);
  if (!$("key-panel").hidden) $("key").focus();
});

onSubmit($("key-panel"), () => {
  const key = $("key").value.trim();
  if (!key) return;
  useKey(key);
  $("key").value = "";
  showKeyPanel(false);
  initializePage();
});

$("key-forget").addEventListener("click", () => {
  for (const { forget } of Object.values(SEARCHES)) forget?.();
  forgetKey();
  indexes = new Map(); // those of the key: no choice of them is kept
  initializePage();
});

// --- The indexes and their progress ------------------------------------------------------------

function isBusy(index) {
  return index.nodes.pending + index.nodes.deleting + index.artifacts_waiting > 0;
}

function isEmpty(index) {
  const { synced, pending, failed } = index.nodes;
  return synced + pending + failed + index.artifacts === 0 && !isBusy(index);
}

const refreshIndexes = keepShowing(async () => {
  try {
    const answer = await getJson("indexes/");
    showAccessGranted();
    showIndexes(answer.results);
    if (isRetryPending) search();
    if (isUnreachable) showError("");
    isUnreachable = false;
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      showAccessDenied(error);
      return null; // nothing to poll for until there is another key
    }
    report(error);
    isUnreachable = true;
  }
  return [...indexes.values()].some(isBusy) ? BUSY_POLL_MS : IDLE_POLL_MS;
});

function showIndexes(listed) {
  indexes = new Map(listed.map((index) => [index.name, index]));
  drawIndexes();
  fillBeside(listed);
  if (!chosenIndex()) chooseIndex();
  updateSearchChoices();
  $("indexes").hidden = listed.length === 0;
  if (!$("empty").hidden) showEmptyState();
}

/** A button for each index. Those without documents are shown only on demand, where there are others. */
function drawIndexes() {
  const empty = [...indexes.values()].filter((index) => isEmpty(index) && index.name !== chosenIndex());
  const isFolded = !areEmptyShown && empty.length > 1 && empty.length < indexes.size;
  const cards = [...indexes.values()].map((index) => indexElement(index, isFolded && empty.includes(index)));
  updateChildren($("cards"), cards);
  $("more-indexes").hidden = !isFolded;
  $("more-indexes").textContent = `${empty.length} empty`;
}

function indexElement(index, hidden) {
  const { synced, pending, failed } = index.nodes;
  const total = synced + pending + failed;
  const name = index.title || index.name;
  const nodes = `${numberFormat.format(synced)} ${countedNodeNames(index)}`;
  const [count, title] = isBusy(index)
    ? [`${numberFormat.format(synced)} of ${numberFormat.format(total)}`, `${numberFormat.format(pending)} ${countedNodeNames(index)} are waiting to be indexed`]
    : [total ? (index.artifacts ? countOf(index.artifacts, "document") : nodes) : "empty", total ? nodes : ""];
  const failures = failed + index.artifacts_failed;
  const label = element(
    "label",
    { className: "index", title: index.description, hidden },
    element("input", { type: "radio", name: "index", value: index.name }),
    element(
      "span",
      {},
      element("span", { dir: "auto" }, name),
      element("span", { className: "count", title }, count),
      failures ? element("span", { className: "failed" }, `${numberFormat.format(failures)} failed`) : null,
      isBusy(index) ? element("progress", { max: Math.max(total, 1), value: synced, ariaLabel: `Indexing ${name}` }) : null,
    ),
  );
  label.dataset.index = index.name;
  return keyed(index.name, label);
}

$("more-indexes").addEventListener("click", () => {
  areEmptyShown = true;
  drawIndexes();
  form.querySelector("input[name=index]:checked").focus();
});

function countedNodeNames(index) {
  return [...new Set(index.kinds.map((kind) => NODE_NAMES[kind]))].join(" and ");
}

function chosenIndex() {
  return form.querySelector("input[name=index]:checked")?.value ?? "";
}

/** Choose the index of the address, or the first that holds anything. */
function chooseIndex() {
  const wanted = firstIndex([...indexes.values()], (index) => index.nodes.synced > 0 || isBusy(index));
  if (wanted) form.querySelector(`input[name=index][value="${wanted.name}"]`).checked = true;
  drawIndexes();
}

// --- What is searched -----------------------------------------------------------------------------

/** The kinds of search an index can answer; the first is its default. */
function availableSearches(index) {
  if (!index) return [];
  return Object.keys(SEARCHES).filter((search) => SEARCHES[search].isAvailable(index.kinds));
}

/** Enable the kinds of search the chosen index can answer; fall back to its default. */
function updateSearchChoices() {
  const offered = availableSearches(indexes.get(chosenIndex()));
  if (offered.length === 0) return; // nothing is known yet
  for (const radio of form.elements.search) radio.disabled = !offered.includes(radio.value); // and hidden by the style
  if (!offered.includes(form.elements.search.value)) form.elements.search.value = offered[0];
}

// --- The address ---------------------------------------------------------------------------------

function readForm() {
  return {
    index: chosenIndex(),
    search: form.elements.search.value,
    q: $("q").value.trim(),
    mode: form.elements.mode.value,
    limit: $("limit").value,
    ...(form.elements.search.value === "pages" && $("group").value && { group_by: $("group").value }),
    ...(countFilters() && { filter: JSON.stringify(readFilter()) }),
    explain: $("explain").checked,
  };
}

function fieldsOfChosenIndex() {
  return indexes.get(chosenIndex())?.metadata;
}

function buildAddress(asked) {
  const defaults = { index: "", search: availableSearches(indexes.get(asked.index))[0], q: "", mode: "hybrid", limit: "10", explain: false };
  const parameters = new URLSearchParams(Object.entries(asked).filter(([name, value]) => value !== defaults[name]));
  return parameters.size ? `?${parameters}` : location.pathname;
}

function fillForm() {
  const parameters = new URLSearchParams(location.search);
  $("q").value = parameters.get("q") ?? "";
  form.elements.mode.value = "hybrid";
  if (parameters.has("mode")) form.elements.mode.value = parameters.get("mode"); // likewise
  for (const [id, name, standard] of [["limit", "limit", "10"], ["group", "group_by", ""]]) {
    const value = parameters.get(name);
    $(id).value = [...$(id).options].some((option) => option.value === value) ? value : standard;
  }
  $("explain").checked = parameters.get("explain") === "true";
  $("options").open ||= ["mode", "limit", "group_by", "explain"].some((name) => parameters.has(name));
  const index = parameters.get("index");
  chooseIndex();
  form.elements.search.value = availableSearches(indexes.get(chosenIndex()))[0] ?? "pages";
  if (parameters.has("search")) form.elements.search.value = parameters.get("search"); // one that there is
  updateSearchChoices();
  drawFilters(fieldsOfChosenIndex(), readFilterOfAddress() ?? {});
  return index !== null && indexes.size > 0 && !indexes.has(index) ? index : null;
}

function searchFromAddress() {
  const unknownIndex = fillForm();
  const problem =
    unknownIndex !== null
      ? `There is no index named “${unknownIndex}”; choose another above.`
      : readFilterOfAddress() === null
        ? "The filter in the address is not a JSON object. Correct it, or search without it."
        : "";
  if (problem) {
    showError(problem);
    clearResults();
    return;
  }
  search();
}

/** Search with the values of the form, and put them into the address. */
function searchFromForm() {
  isTyped = false;
  const address = buildAddress(readForm());
  if (address !== (location.search || location.pathname)) history.pushState(null, "", address);
  search();
}

window.addEventListener("popstate", () => {
  if (!isDenied) searchFromAddress();
});

onSubmit(form, searchFromForm);

let typingTimer = 0;
let isTyped = false; // the address in the history is that of a query which is still being typed
$("q").addEventListener("input", () => {
  clearTimeout(typingTimer);
  if (SEARCHES[form.elements.search.value].run || $("q").value.trim().length < MIN_TYPED_CHARS) return;
  typingTimer = setTimeout(() => {
    const address = buildAddress(readForm());
    if (address === location.search) return; // it was searched by a click
    history[isTyped ? "replaceState" : "pushState"](null, "", address);
    isTyped = true;
    search();
  }, TYPING_MS);
});

form.addEventListener("change", (event) => {
  if (event.target === $("q")) return;
  if (["index", "search"].includes(event.target.name)) updateSearchChoices();
  if (event.target.name === "index") {
    keepIndex(chosenIndex());
    drawFilters(fieldsOfChosenIndex());
  }
  nameFilters();
  searchFromForm();
});

const countValues = () => attempt(() => showFacets(chosenIndex(), searchFromForm));

$("filters").addEventListener("toggle", countValues);

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  $("q").focus();
  $("q").select();
});

// --- Searching -------------------------------------------------------------------------------------

async function search() {
  clearTimeout(typingTimer);
  activeSearch?.abort();
  isRetryPending = false;
  clearAnswer();
  clearBeside();
  $("missed").hidden = true;
  $("missed-why").textContent = "";
  const { search: chosen, explain, ...asked } = readForm();
  const { index, q } = asked;
  document.title = q ? `${q} – Strata` : "Strata";
  showError("");
  if (isDenied) {
    showKeyPanel(true);
    return;
  }
  countValues();
  if (!q || !index) {
    clearResults();
    results.removeAttribute("aria-busy");
    showEmptyState();
    return;
  }
  const mine = (activeSearch = new AbortController());
  $("empty").hidden = true;
  results.setAttribute("aria-busy", "true");
  try {
    if (SEARCHES[chosen].run) {
      await SEARCHES[chosen].run(asked, {
        signal: mine.signal,
        isWanted: () => mine === activeSearch,
        stop: () => mine.abort(),
        showAnswer: (answer) => showAnswer(answer, chosen, q),
        showAbove: (panel) => results.before(panel),
        showError,
        focusHit,
        searchFor,
      });
      return;
    }
    results.classList.toggle("explained", explain);
    const answer = await getJson(`search/${chosen}`, { ...asked, explain }, mine.signal);
    if (mine !== activeSearch) return;
    showAnswer(answer, chosen, q);
    if (chosen === "pages" && $("beside").value) {
      await showBeside({ ...asked, explain }, answer, queryWords(q), mine.signal);
    }
    $("missed").hidden = chosen !== "pages";
  } catch (error) {
    if (mine !== activeSearch || error.name === "AbortError") return;
    clearResults();
    if (error.status === 401 || error.status === 403) showAccessDenied(error);
    else report(error);
  } finally {
    if (mine === activeSearch) results.removeAttribute("aria-busy");
  }
}

function searchFor(query) {
  $("q").value = query;
  searchFromForm();
}

function focusHit(number) {
  const hit = results.children[number];
  hit.tabIndex = -1;
  hit.focus({ preventScroll: true });
  hit.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function clearResults() {
  results.replaceChildren();
  $("notes").replaceChildren();
  $("status").textContent = "";
}

function clearAnswer() {
  document.querySelector("main > .answer")?.remove();
}

function showError(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
}

/** The first steps in an empty index, else queries to try, else what the index is about. */
function showEmptyState() {
  const index = indexes.get(chosenIndex());
  $("empty").hidden = !index;
  if (!index) return;
  const suggestions = [...$("empty").querySelectorAll("[data-suggests]")];
  const shown = isEmpty(index) ? $("first-steps") : suggestions.find(({ dataset }) => dataset.suggests === index.name) ?? $("about-index");
  for (const each of $("empty").children) each.hidden = each !== shown;
  $("about-index").textContent = index.description || "Ask a question in your own words, or type exact keywords.";
  $("first-steps").querySelector("h2").textContent = [...indexes.values()].every(isEmpty) ? "Three steps to your first answer" : "This index is empty";
  $("first-steps").querySelector("pre").textContent = `strata add PATH… --index ${index.name}`;
  for (const link of $("first-steps").querySelectorAll("a")) link.search = new URLSearchParams({ index: index.name });
}

$("empty").addEventListener("click", ({ target }) => {
  if (!target.matches("button")) return;
  searchFor(target.textContent);
  $("q").focus();
});

function showAnswer(answer, search, query) {
  const { names, show } = SEARCHES[search];
  clearSoftBreakCache();
  loadJudgements(answer.index, query);
  const shown = show(answer, queryWords(query));
  results.replaceChildren(...shown);
  const { total, ...stages } = answer.took_ms;
  const count = shown.length;
  if (count === 0) {
    const index = indexes.get(chosenIndex());
    isRetryPending = index !== undefined && isBusy(index);
    $("status").textContent = [
      countFilters() ? "Nothing found within the filter. Its values must be written as in the documents, with the same upper and lower case." : "",
      isRetryPending ? "Nothing found yet; documents are still being indexed." : "",
    ].filter(Boolean).join(" ") || "Nothing found. Try other words or another index.";
  } else {
    $("status").textContent = `${count} ${names[count === 1 ? 0 : 1]} in ${formatDuration(total)}`;
  }
  $("notes").replaceChildren(...answer.notes.map((note) => element("p", { className: "note", dir: "auto" }, note)));
  $("status").title = Object.entries(stages)
    .map(([stage, took]) => `${stage} ${formatDuration(took)}`)
    .join(", ");
}

function formatDuration(value) {
  if (value >= 1_000) return `${(value / 1_000).toFixed(1)} s`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

$("missed-title").addEventListener("input", () => {
  const words = $("missed-title").value.trim();
  if (words) attempt(() => suggestDocuments(chosenIndex(), words));
});
onSubmit($("missed"), async () => {
  const { search: _, explain: __, ...asked } = readForm();
  $("missed-why").textContent = await explainMissing(asked, $("missed-title").value.trim());
});

// --- Start -----------------------------------------------------------------------------------------------

async function initializePage() {
  const before = new URLSearchParams(location.search).get("q") ?? "";
  await refreshIndexes();
  const typed = $("q").value;
  if (isDenied) fillForm();
  else searchFromAddress();
  if (typed === before) return;
  $("q").value = typed; // typed while the page was loaded
  $("q").dispatchEvent(new Event("input"));
}

const typedEarly = $("q").value; // before this script ran
fillForm();
if (typedEarly) $("q").value = typedEarly;
if (!matchMedia("(pointer: coarse)").matches) $("q").focus({ preventScroll: true });
initializePage();
