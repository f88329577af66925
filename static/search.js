/* The search page: asks the API and shows what it answers.
 *
 * Whatever comes from a document is only ever put into text nodes. Offsets are counted in Unicode
 * code points, as the API counts them, while JavaScript's strings count UTF-16 units.
 */

const API = document.documentElement.dataset.api;
const POLL_BUSY = 2_000; // milliseconds, while something is being indexed and somebody looks
const POLL_IDLE = 15_000;
const CONTEXT_WINDOW = 1; // neighbouring sources on each side

const SUGGESTIONS = {
  library: [
    "How was the lamp kept burning during the great storm?",
    "Why do petrels come ashore only at night?",
    "What to do when the light goes out",
    "How fast is the sea rising?",
    "Which panels of the lens are cracked?",
    "conger eel",
  ],
  "python-reference": [
    "What does yield from do?",
    "How are default argument values evaluated?",
    "the difference between is and ==",
    "__getattr__ and __getattribute__",
    "catch several exceptions at once",
  ],
};

// Words too common to be worth a highlight, unless a query has no others.
const COMMON = new Set(
  "a about an and are as at be been by can could did do does for from had has have he her his how i in into is it its me my not of on or our she should that the their there they this to us was we were what when where which who why will with you your".split(" "),
);

const $ = (id) => document.getElementById(id);
const form = $("search");
const results = $("results");
const indexCards = new Map(); // name -> its radio button, count, failures and progress bar
const indexes = new Map(); // name -> what the API said last
let running = null; // the AbortController of the search under way
let pollTimer = 0;
let isDenied = false; // the API last refused us
let isHoping = false; // nothing was found in an index that is still being filled

/** An element with properties, and children that are elements or text. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// --- The API ---------------------------------------------------------------------------------

class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function readKey() {
  return sessionStorage.getItem("key") ?? "";
}

/** A key in the address bar's fragment is taken into this tab and out of sight. */
function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key === null) return false;
  sessionStorage.setItem("key", key.trim());
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

async function ask(path, parameters = {}, signal = undefined) {
  const url = new URL(API + path, location.href);
  url.search = new URLSearchParams(parameters);
  const key = readKey();
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(url, { headers, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message)) {
      throw new ApiError(401, "This cannot be a key: it holds characters that no key has.");
    }
    throw new ApiError(0, "The service cannot be reached; it may be starting again.");
  }
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const said = [body?.detail, body?.fix].filter((part) => typeof part === "string");
  throw new ApiError(
    response.status,
    said.join(" ") || `The service answered with status ${response.status}.`,
  );
}

// --- The key ---------------------------------------------------------------------------------

function showKeyPanel(isShown) {
  $("key-panel").hidden = !isShown;
  $("key-toggle").setAttribute("aria-expanded", String(isShown));
  $("key-forget").hidden = !readKey();
}

/** Without a key (or an admin's session) there is nothing to ask; say so kindly, once. */
function deny(error) {
  isDenied = true;
  $("key-heading").textContent = readKey() ? "This key does not open it" : "A key opens this page";
  showError(readKey() ? error.message : "");
  showKeyPanel(true);
  form.hidden = true; // it could do nothing yet
  $("empty").hidden = true;
  $("key").focus({ preventScroll: true });
  $("status").textContent = "";
  results.replaceChildren();
}

function admit() {
  if (isDenied) {
    isDenied = false;
    form.hidden = false;
    showKeyPanel(false);
    $("q").focus({ preventScroll: true });
    showError("");
  }
  $("key-heading").textContent = readKey() ? "Your key" : "Signed in without a key";
  $("key-forget").hidden = !readKey();
}

$("key-toggle").addEventListener("click", () => {
  showKeyPanel($("key-panel").hidden);
  if (!$("key-panel").hidden) $("key").focus();
});

$("key-panel").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = $("key").value.trim();
  if (!key) return;
  sessionStorage.setItem("key", key);
  $("key").value = "";
  showKeyPanel(false);
  start();
});

$("key-forget").addEventListener("click", () => {
  sessionStorage.removeItem("key");
  start();
});

window.addEventListener("hashchange", () => {
  if (takeKeyFromAddress()) start();
});

// --- The indexes and how far they are -----------------------------------------------------------

const grouped = new Intl.NumberFormat("en");

function isBusy(index) {
  return index.nodes.pending + index.nodes.doomed + (index.artifacts_waiting ?? 0) > 0;
}

async function refreshIndexes() {
  clearTimeout(pollTimer);
  try {
    const answer = await ask("indexes/");
    admit();
    showIndexes(answer.results);
    if (isHoping) search();
    if ($("error").dataset.from === "indexes") showError("");
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      deny(error);
      return false; // nothing to poll for until there is another key
    }
    if (error.status === undefined) throw error;
    showError(error.message, "indexes");
  }
  const isWatched = document.visibilityState === "visible";
  const wait = isWatched && [...indexes.values()].some(isBusy) ? POLL_BUSY : POLL_IDLE;
  pollTimer = setTimeout(refreshIndexes, wait);
  return true;
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && !isDenied) refreshIndexes();
});

function showIndexes(listed) {
  const names = new Set(listed.map((index) => index.name));
  for (const [name, card] of indexCards) {
    if (names.has(name)) continue;
    card.label.remove();
    indexCards.delete(name);
    indexes.delete(name);
  }
  for (const index of listed) {
    if (!indexCards.has(index.name)) addIndexCard(index);
    indexes.set(index.name, index);
    updateIndexCard(index);
  }
  if (!chosenIndex()) chooseIndex(new URLSearchParams(location.search).get("index"));
  $("indexes").hidden = listed.length === 0;
  if (!$("empty").hidden) showEmpty();
}

function addIndexCard(index) {
  const radio = element("input", { type: "radio", name: "index", value: index.name });
  const title = element("span", { textContent: index.title || index.name, dir: "auto" });
  const count = element("span", { className: "count" });
  const failed = element("span", { className: "failed", hidden: true });
  const bar = element("progress", { hidden: true });
  bar.setAttribute("aria-label", `Indexing ${index.title || index.name}`);
  const label = element(
    "label",
    { className: "index", title: index.description ?? "" },
    radio,
    element("span", {}, title, count, failed, bar),
  );
  label.dataset.index = index.name;
  $("indexes").append(label);
  indexCards.set(index.name, { label, radio, count, failed, bar });
}

function updateIndexCard(index) {
  const { count, failed, bar } = indexCards.get(index.name);
  const { settled, pending, failed: failures } = index.nodes;
  const total = settled + pending + failures;
  const failedCount = failures + (index.artifacts_failed ?? 0);
  bar.hidden = !isBusy(index);
  if (isBusy(index)) {
    bar.max = Math.max(total, 1);
    bar.value = settled;
    count.textContent = `${grouped.format(settled)} of ${grouped.format(total)}`;
    count.title = `${grouped.format(pending)} passages wait to be indexed`;
  } else {
    count.textContent = total ? grouped.format(settled) : "empty";
    count.title = total ? "passages" : "";
  }
  failed.hidden = failedCount === 0;
  failed.textContent = `${grouped.format(failedCount)} failed`;
}

function chosenIndex() {
  return form.querySelector("input[name=index]:checked")?.value ?? "";
}

/** Choose an index by name; without one, the first that holds anything. */
function chooseIndex(name) {
  const listed = [...indexes.values()];
  const wanted =
    indexes.get(name) ??
    listed.find((index) => index.nodes.settled + index.nodes.pending > 0) ??
    listed.find((index) => isBusy(index)) ??
    listed[0];
  if (wanted) indexCards.get(wanted.name).radio.checked = true;
}

// --- What the address says -----------------------------------------------------------------------

function readForm() {
  return {
    index: chosenIndex(),
    q: $("q").value.trim(),
    mode: form.elements.mode.value,
    limit: $("limit").value,
    explain: $("explain").checked,
  };
}

function addressOf({ index, q, mode, limit, explain }) {
  const parameters = new URLSearchParams();
  if (index) parameters.set("index", index);
  if (q) parameters.set("q", q);
  if (mode !== "hybrid") parameters.set("mode", mode);
  if (limit !== "10") parameters.set("limit", limit);
  if (explain) parameters.set("explain", "true");
  return parameters.size ? `?${parameters}` : location.pathname;
}

function fillForm() {
  const parameters = new URLSearchParams(location.search);
  $("q").value = parameters.get("q") ?? "";
  const mode = parameters.get("mode");
  form.elements.mode.value = ["hybrid", "dense", "sparse"].includes(mode) ? mode : "hybrid";
  const limit = parameters.get("limit");
  $("limit").value = [...$("limit").options].some((o) => o.value === limit) ? limit : "10";
  $("explain").checked = parameters.get("explain") === "true";
  const index = parameters.get("index");
  chooseIndex(index);
  return index !== null && indexes.size > 0 && !indexes.has(index) ? index : null;
}

function showFromAddress() {
  const unknownIndex = fillForm();
  if (unknownIndex !== null) {
    showError(`There is no index named “${unknownIndex}”; choose another above.`);
    results.replaceChildren();
    $("status").textContent = "";
    return;
  }
  search();
}

/** Search with what the form says now, at an address of its own. */
function go() {
  const address = addressOf(readForm());
  if (address !== (location.search || location.pathname)) history.pushState(null, "", address);
  search();
}

window.addEventListener("popstate", () => {
  if (!isDenied) showFromAddress();
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  go();
});

form.addEventListener("change", (event) => {
  if (event.target === $("q")) return;
  go();
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  $("q").focus();
  $("q").select();
});

// --- Searching -------------------------------------------------------------------------------------

async function search() {
  running?.abort();
  isHoping = false;
  const { index, q, mode, limit, explain } = readForm();
  document.title = q ? `${q} – Strata` : "Strata";
  showError("");
  if (isDenied) {
    showKeyPanel(true);
    return;
  }
  if (!q || !index) {
    results.replaceChildren();
    results.removeAttribute("aria-busy");
    $("status").textContent = "";
    showEmpty();
    return;
  }
  const mine = (running = new AbortController());
  $("empty").hidden = true;
  results.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("search/pages", { index, q, mode, limit, explain }, mine.signal);
    if (mine !== running) return;
    showAnswer(answer, q);
  } catch (error) {
    if (mine !== running || error.name === "AbortError") return;
    results.replaceChildren();
    $("status").textContent = "";
    if (error.status === 401 || error.status === 403) deny(error);
    else if (error.status === undefined) throw error;
    else showError(error.message);
  } finally {
    if (mine === running) results.removeAttribute("aria-busy");
  }
}

function showError(message, from = "search") {
  $("error").textContent = message;
  $("error").hidden = !message;
  $("error").dataset.from = from;
}

function showEmpty() {
  const index = indexes.get(chosenIndex());
  const empty = $("empty");
  const suggested = SUGGESTIONS[index?.name];
  const isEmpty = index && index.nodes.settled + index.nodes.pending === 0 && !isBusy(index);
  const wanted = `${index?.name} ${isEmpty}`;
  if (empty.dataset.shows === wanted && !empty.hidden) return; // keeps the focus while polling
  empty.dataset.shows = wanted;
  if (!index) {
    empty.replaceChildren();
  } else if (isEmpty) {
    empty.replaceChildren(
      element("h2", {}, "This index is empty"),
      element("p", {}, "Give it files, folders or JSON Lines; they can be searched as soon as they are read."),
      element("pre", {}, `manage.py add PATH… --index ${index.name}`),
    );
  } else if (suggested) {
    const entries = suggested.map((query) => {
      const button = element("button", { type: "button" }, query);
      button.addEventListener("click", () => {
        $("q").value = query;
        go();
        $("q").focus();
      });
      return element("li", {}, button);
    });
    empty.replaceChildren(element("h2", {}, "Try"), element("ul", {}, ...entries));
  } else {
    empty.replaceChildren(
      element("p", {}, index.description || "Ask in your own words, or type the exact ones you look for."),
    );
  }
  empty.hidden = false;
}

function showAnswer(answer, query) {
  const words = wordsOf(query);
  softBreaks.clear();
  results.replaceChildren(...answer.hits.map((hit) => hitElement(hit, words)));
  const { embed, search: found, verify, total } = answer.took_ms;
  const count = answer.hits.length;
  if (count === 0) {
    const index = indexes.get(chosenIndex());
    isHoping = index !== undefined && isBusy(index);
    $("status").textContent = isHoping
      ? "Nothing found yet; this index is still being filled."
      : "Nothing found. Other words, or another index, may do.";
  } else {
    $("status").textContent = `${count} ${count === 1 ? "hit" : "hits"} in ${duration(total)}`;
  }
  $("status").title = `embed ${duration(embed)}, search ${duration(found)}, verify ${duration(verify)}`;
}

function duration(value) {
  if (value >= 1_000) return `${(value / 1_000).toFixed(1)} s`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

// --- A hit -----------------------------------------------------------------------------------------

function hitElement(hit, words) {
  const place = element("p", { className: "place" });
  if (hit.page?.index != null) place.append(element("span", {}, `page ${hit.page.index + 1}`));
  if (hit.source?.ordinal != null) {
    const ordinal = element("span", {}, `source ${hit.source.ordinal + 1}`);
    ordinal.title = `Ordinal ${hit.source.ordinal} within its document`;
    place.append(ordinal);
  }
  if (hit.verdict) place.append(verdictElement(hit.verdict));

  const context = element("div", { className: "context", hidden: true });
  const toggle = element("button", { type: "button" }, "Show in context");
  toggle.setAttribute("aria-expanded", "false");
  toggle.addEventListener("click", () => toggleContext(hit, toggle, context));
  const below = element("div", { className: "below" }, toggle);
  for (const [name, value] of Object.entries(hit.metadata ?? {})) {
    const shown = Array.isArray(value) ? value.join(", ") : String(value);
    below.append(element("span", { className: "tag", dir: "auto" }, `${name}: ${shown}`));
  }

  const text = element("p", { className: "text", dir: "auto" });
  text.append(...highlighted(hit.text, words));

  const item = element(
    "li",
    { className: "hit" },
    element(
      "header",
      {},
      element("h3", { dir: "auto" }, hit.artifact?.title || "Untitled"),
      element("span", { className: "score", title: "Score, and what kind it is" }, `${score(hit.score)} ${hit.score_kind}`),
    ),
    place,
    text,
    below,
    hit.explain ? explainElement(hit.explain) : null,
    context,
  );
  item.dataset.nodeId = hit.node_id;
  return item;
}

function verdictElement(verdict) {
  const titles = {
    exact: "It stands at its offsets in the document as that is now",
    stale: "The document has changed since this was indexed",
  };
  return element("span", { className: `verdict ${verdict}`, title: titles[verdict] ?? "" }, verdict);
}

function score(value) {
  return Math.abs(value) < 1 ? value.toFixed(4) : value.toFixed(2);
}

function explainElement({ dense, sparse }) {
  const row = (name, share) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, share ? `#${share.rank}` : "not found"),
      element("td", {}, share ? score(share.score) : "–"),
      element("td", {}, share ? score(share.contribution) : "–"),
    );
  const heads = ["Ranking", "Rank", "Score", "Adds"].map((name) => element("th", { scope: "col" }, name));
  return element(
    "table",
    { className: "explain" },
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, row("Dense", dense), row("Sparse", sparse)),
  );
}

// --- Highlights --------------------------------------------------------------------------------------

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

/** The words of a text with where they start, in UTF-16 units; also in scripts without spaces. */
function* segmentWords(text) {
  if (segmenter) {
    for (const { segment, index, isWordLike } of segmenter.segment(text)) {
      if (isWordLike) yield { word: segment, at: index };
    }
  } else {
    for (const match of text.matchAll(/[\p{L}\p{M}\p{N}_]+/gu)) yield { word: match[0], at: match.index };
  }
}

function fold(word) {
  return word.normalize("NFC").toLowerCase();
}

function wordsOf(query) {
  const all = [...segmentWords(query)].map(({ word }) => fold(word));
  const telling = all.filter((word) => !COMMON.has(word));
  return new Set(telling.length ? telling : all);
}

/** Whether a text's word is one of the query's, allowing for endings: crack, cracks, cracked. */
function isWanted(word, wanted) {
  const folded = fold(word);
  if (wanted.has(folded)) return true;
  for (const other of wanted) {
    const [short, long] = folded.length < other.length ? [folded, other] : [other, folded];
    if (short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short)) return true;
  }
  return false;
}

function highlighted(text, wanted) {
  const nodes = [];
  let done = 0;
  for (const { word, at } of segmentWords(text)) {
    if (!isWanted(word, wanted)) continue;
    nodes.push(...flowing(text, done, at), element("mark", {}, word));
    done = at + word.length;
  }
  nodes.push(...flowing(text, done, text.length));
  return nodes;
}

// --- Line breaks --------------------------------------------------------------------------------------

const softBreaks = new Map(); // of the texts on the page; emptied with each answer

/** Where lines were broken only to fit the page they come from, so that ours may break anew. */
function softBreaksOf(text) {
  let found = softBreaks.get(text);
  if (found) return found;
  found = new Set();
  softBreaks.set(text, found);
  const lines = text.split("\n");
  const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
  if (longest < 35 || longest > 140) return found;
  let end = -1;
  for (let at = 0; at + 1 < lines.length; at++) {
    end += lines[at].length + 1;
    // A hit may begin in the middle of a line, which is then short though it was full.
    const isCut = at === 0 && /^\p{Ll}/u.test(lines[1]) && lines[1].length > 0.72 * longest;
    const isFull = isCut || (lines[at].length > 0.72 * longest && /^[^\s#>|]/.test(lines[at]));
    const goesOn = /^(?![-*+•–] |\d+[.)] )[^\s#>|]/.test(lines[at + 1]);
    if (isFull && goesOn && !lines[at].includes(" | ")) found.add(end);
  }
  return found;
}

/** Text nodes of a stretch of text; soft breaks stay in the text and look like spaces. */
function flowing(text, start, end) {
  const nodes = [];
  const breaks = softBreaksOf(text);
  let done = start;
  for (let at = text.indexOf("\n", start); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) {
    if (!breaks.has(at)) continue;
    nodes.push(text.slice(done, at), element("span", { className: "soft" }, "\n"));
    done = at + 1;
  }
  if (done < end) nodes.push(text.slice(done, end));
  return nodes;
}

// --- Context -------------------------------------------------------------------------------------------

/** Where a count of code points falls in a string of UTF-16 units. */
function unitsOf(text, codePoints) {
  let units = 0;
  for (const character of text) {
    if (codePoints-- <= 0) break;
    units += character.length;
  }
  return units;
}

async function toggleContext(hit, toggle, context) {
  const isShown = toggle.getAttribute("aria-expanded") === "true";
  toggle.setAttribute("aria-expanded", String(!isShown));
  toggle.textContent = isShown ? "Show in context" : "Hide context";
  context.hidden = isShown;
  if (isShown || context.childElementCount) return;
  try {
    const source = await ask(`sources/${encodeURIComponent(hit.source.id)}/`, { window: CONTEXT_WINDOW });
    showContext(hit, source, context);
  } catch (error) {
    if (error.status === undefined) throw error;
    context.hidden = true;
    toggle.setAttribute("aria-expanded", "false");
    toggle.textContent = "Show in context";
    showError(
      error.status === 404 ? "This passage is gone: its document has changed or was deleted." : error.message,
    );
    $("error").scrollIntoView({ block: "nearest" });
  }
}

function showContext(hit, source, context) {
  const start = unitsOf(source.text, hit.start_offset);
  const end = unitsOf(source.text, hit.end_offset);
  const slice = source.text.slice(start, end);
  const stands = slice === hit.text;

  const passage = element("p", { className: "text", dir: "auto" });
  const mark = element("mark", {}, ...flowing(source.text, start, end));
  const whole = source.text.length;
  if (stands) passage.append(...flowing(source.text, 0, start), mark, ...flowing(source.text, end, whole));
  else passage.append(...flowing(source.text, 0, whole));

  const pages = element("div", { className: "pages", tabIndex: 0 });
  pages.setAttribute("role", "group");
  pages.setAttribute("aria-label", "The passage with what surrounds it");
  const sources = [source, ...source.neighbours].sort((a, b) => a.ordinal - b.ordinal);
  let lastPage = null;
  sources.forEach((each, at) => {
    if (at > 0) {
      const isSamePage = each.page.index === lastPage;
      pages.append(element("div", { className: "divider" }, isSamePage ? "continued" : `page ${each.page.index + 1}`));
    }
    lastPage = each.page.index;
    pages.append(
      each === source ? passage : element("p", { className: "text neighbour", dir: "auto" }, ...flowing(each.text, 0, each.text.length)),
    );
  });

  const where = source.page.label || source.heading;
  context.replaceChildren(
    element(
      "h4",
      {},
      element("bdi", {}, where || source.artifact.title),
      element("span", {}, `page ${source.page.index + 1}, characters ${grouped.format(hit.start_offset)} to ${grouped.format(hit.end_offset)}`),
    ),
  );
  if (!stands) {
    context.append(
      element("p", { className: "notice" }, "The document has changed since this was indexed. This is its text now; the hit no longer stands at its place."),
    );
  }
  context.append(pages);
  if (stands) pages.scrollTop = mark.getBoundingClientRect().top - pages.getBoundingClientRect().top - pages.clientHeight / 3;
}

// --- Start -----------------------------------------------------------------------------------------------

async function start() {
  const isAdmitted = await refreshIndexes();
  if (isAdmitted) showFromAddress();
  else fillForm();
}

takeKeyFromAddress();
fillForm();
if (!matchMedia("(pointer: coarse)").matches) $("q").focus({ preventScroll: true });
start();
