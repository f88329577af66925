/* The page of the indexes: what each holds, its builds, what a change of its spec would cost, and whether all agrees. */

import { getJson, pageAddress, sendJson, storeKeyFromAddress } from "../common/api.js";
import { $, element, keyed, numberFormat, updateChildren } from "../common/dom.js";
import { attempt, countOf, formatAge } from "../common/page.js";
import { diffLines } from "./diff.js";
import { measure, showQuality } from "./quality.js";

const POLL_MS = 2_000; // while something is in work and the page is visible
const ROUNDED = { minimumFractionDigits: 3, maximumFractionDigits: 3 };

const name = new URLSearchParams(location.search).get("index");
const path = `indexes/${encodeURIComponent(name)}/`;
let timer = 0;
let isUnreachable = false; // whether the last attempt failed, as during a restart
let liveBuild = null; // the build with which the spec was compared

async function show() {
  clearTimeout(timer);
  let isBusy = true;
  try {
    isBusy = name === null ? await showAll() : await showOne();
  } catch (error) {
    isBusy = isUnreachable = error.status === 0 || error.status >= 500;
    throw error;
  } finally {
    if (isBusy) timer = setTimeout(() => (document.hidden ? null : attempt(show)), POLL_MS);
  }
  if (isUnreachable) $("problem").hidden = true;
  isUnreachable = false;
}

// --- All indexes -------------------------------------------------------------------------------------

async function showAll() {
  const { results } = await getJson("indexes/", { limit: 100 });
  const used = results.filter(({ artifacts, problem }) => artifacts > 0 || problem);
  const unused = results.filter((index) => !used.includes(index));
  updateChildren($("rows"), used.map((index) => keyed(index.name, rowElement(index))));
  $("used").hidden = used.length === 0;
  $("unused").hidden = unused.length === 0;
  $("unused").open ||= used.length === 0;
  $("unused").querySelector("summary").textContent = `${countOf(unused.length, "index", "indexes")} without documents`;
  updateChildren($("unused").querySelector("ul"), unused.map((index) => keyed(index.name, unusedElement(index))));
  if ($("new-from").options.length === 0) {
    $("new-from").append(...results.map(({ name: each, title }) => element("option", { value: each }, title || each)));
    if (results.some((index) => index.name === "plain")) $("new-from").value = "plain";
  }
  $("all").hidden = false;
  return used.some(isInWork);
}

function rowElement(index) {
  const link = element("a", {}, index.title || index.name);
  link.href = pageAddress("indexes/", { index: index.name });
  return element(
    "tr",
    {},
    element("td", {}, link, element("p", { className: "soft" }, index.description)),
    element("td", {}, ...stateElements(index)),
    element("td", { className: "number" }, numberFormat.format(index.artifacts)),
    element("td", { className: "number" }, numberFormat.format(index.nodes.synced)),
  );
}

function unusedElement({ name: unused, title, description }) {
  const add = element("a", {}, "Add documents");
  add.href = pageAddress("add/", { index: unused });
  const link = element("a", {}, title || unused);
  link.href = pageAddress("indexes/", { index: unused });
  return element("li", {}, link, " · ", add, element("p", { className: "soft" }, description));
}

function isInWork({ artifacts_waiting: waiting, nodes }) {
  return waiting > 0 || nodes.pending > 0 || nodes.deleting > 0;
}

/** Whether searches show every change, and what is wrong. */
function stateElements(index) {
  const { artifacts_waiting: waiting, artifacts_failed: failed, nodes, oldest_pending_seconds: age, problem } = index;
  const inWork = [
    waiting ? `${countOf(waiting, "document")} in work` : "",
    nodes.pending ? `${countOf(nodes.pending, "node")} to write` : "",
    age === null ? "" : `the oldest change is ${formatAge(age)} old`,
  ].filter(Boolean);
  const failedLink = element("a", {}, `${countOf(failed, "document")} failed`);
  failedLink.href = pageAddress("documents/", { index: index.name, status: "failed" });
  return [
    isInWork(index) ? element("span", { className: "busy" }, inWork.join(", ") || "in work") : element("span", { className: "good" }, "up to date"),
    failed ? element("p", { className: "bad" }, failedLink) : null,
    nodes.failed ? element("p", { className: "bad" }, `${countOf(nodes.failed, "node")} failed: strata doctor says why. `, retryElement(index.name)) : null,
    problem ? element("p", { className: "bad" }, problem) : null,
  ].filter(Boolean);
}

function retryElement(index) {
  return actionElement("Try again", () => sendJson("POST", `indexes/${encodeURIComponent(index)}/retry/`));
}

// --- One index ---------------------------------------------------------------------------------------

async function showOne() {
  const [index, builds] = await Promise.all([getJson(path), getJson(`${path}builds/`)]);
  $("heading").textContent = index.title || name;
  $("description").textContent = index.description;
  const links = [["", "Search"], ["documents/", "Documents"], ["add/", "Add documents"]].map(([page, text]) =>
    Object.assign(element("a", {}, text), { href: pageAddress(page, { index: name }) }),
  );
  updateChildren($("links"), [...links, ...stateElements(index)].map((each, at) => keyed(at, each)));
  const built = builds.results.map((build) => keyed(build.number, buildElement(build, builds.results)));
  updateChildren($("builds"), built.reverse());
  $("one").hidden = false;
  if (index.build !== liveBuild) {
    liveBuild = index.build;
    attempt(showPlan);
  }
  return isInWork(index) || builds.results.some(({ state }) => state === "building");
}

function buildElement(build, all) {
  const { number, state, nodes, problem, pause_reason: pauseReason, paused_at: pausedAt, comparison } = build;
  const total = nodes.pending + nodes.synced + nodes.failed;
  const facts = [
    `${countOf(nodes.synced, "node")} of ${numberFormat.format(total)} written`,
    build.copied ? `${countOf(build.copied, "vector")} copied` : "",
    build.artifacts_missing ? `${countOf(build.artifacts_missing, "document")} missing` : "",
    nodes.failed ? `${numberFormat.format(nodes.failed)} failed` : "",
    `made ${new Date(build.created_at).toLocaleString()}`,
  ];
  const isBuilding = state === "building";
  return element(
    "li",
    { className: state },
    element("h3", {}, `Build ${number}: ${pausedAt ? "paused" : state}`),
    element("p", {}, facts.filter(Boolean).join(" · ")),
    isBuilding ? element("progress", { max: total || 1, value: nodes.synced, ariaLabel: `Progress of build ${number}` }) : null,
    pauseReason ? element("p", {}, pauseReason) : null,
    problem ? element("p", { className: "bad" }, problem) : null,
    ...comparisonElements(comparison),
    element("p", { className: "row" }, ...actionElements(build, all)),
  );
}

function comparisonElements(comparison) {
  if (!comparison) return [];
  const rows = Object.entries(comparison.measures ?? {}).map(([measure, { live, new: built, difference, low, high }]) =>
    element(
      "tr",
      {},
      element("td", {}, measure),
      ...[live, built, difference].map((value) => element("td", { className: "number" }, value.toLocaleString("en", ROUNDED))),
      element("td", {}, `${low.toLocaleString("en", ROUNDED)} to ${high.toLocaleString("en", ROUNDED)}`),
    ),
  );
  const headings = ["measure", "live", "this", "difference", "95% interval"].map((text) => element("th", { scope: "col" }, text));
  return [
    comparison.verdict ? element("p", {}, `When it was complete: ${comparison.verdict}`) : null,
    rows.length ? element("table", {}, element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows)) : null,
  ].filter(Boolean);
}

/** What may be done with a build in its state. */
function actionElements({ number, state, paused_at: pausedAt, artifacts_missing: missing }, all) {
  const build = `${path}builds/${number}/`;
  const actions = [];
  if (state === "building") {
    actions.push(["Promote when complete", `${build}promote/`, {}]);
    actions.push(pausedAt ? ["Resume", `${build}resume/`] : ["Pause", `${build}pause/`]);
    actions.push(["Cancel", `${build}cancel/`, undefined, `Give up build ${number}?`]);
    if (missing === 0) actions.push(["Promote even if worse", `${build}promote/`, { force: true }, `Make build ${number} live without a comparison?`]);
  }
  if (state === "standby") {
    const live = all.find((each) => each.state === "live");
    actions.push(["Roll back to this", `${path}rollback/`, undefined, `Replace build ${live?.number} by build ${number}?`]);
    actions.push(["Remove", `${path}prune/`, undefined, `Remove build ${number}? There is then nothing to roll back to.`]);
  }
  return actions.map(([text, address, body, question]) => actionElement(text, () => sendJson("POST", address, body), question));
}

function actionElement(text, act, question = "") {
  const button = element("button", { type: "button" }, text);
  button.dataset.question = question;
  button.addEventListener("click", () => {
    if (question && !confirm(question)) return;
    $("problem").hidden = true;
    button.disabled = true;
    attempt(act)
      .then(() => attempt(show))
      .finally(() => (button.disabled = false));
  });
  return button;
}

// --- The spec ---------------------------------------------------------------------------------------

let specText = null; // as the file was when it was read

async function showSpec() {
  const spec = await getJson(`${path}spec/`).catch((error) => {
    if (error.status !== 403) throw error; // those who may not manage the index see no spec
  });
  if (!spec) return;
  fillSpec(spec);
  $("spec-text").value = spec.text;
}

function fillSpec({ text, is_editable: isEditable, problem }) {
  specText = text;
  $("spec-name").textContent = `specs/${name}.yaml`;
  $("spec-actions").hidden = !isEditable;
  $("spec-locked").hidden = isEditable;
  showSpecProblem(problem ?? "");
  $("spec").hidden = false;
}

/** Show what is wrong with the spec, and mark its line, which the message names last. */
function showSpecProblem(problem) {
  $("spec-problem").textContent = problem;
  const line = Number([...problem.matchAll(/\bline (\d+)/g)].at(-1)?.[1] ?? 0);
  $("spec-text").setAttribute("aria-invalid", String(problem !== ""));
  $("spec-text").classList.toggle("has-wrong-line", line > 0);
  $("spec-text").style.setProperty("--wrong-line", line);
  return line;
}

function goToLine(line) {
  const lines = $("spec-text").value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  $("spec-text").focus();
  $("spec-text").setSelectionRange(start, start);
  $("spec-text").scrollTop = ((line - 4) / lines.length) * $("spec-text").scrollHeight;
}

$("spec-text").addEventListener("input", () => {
  $("spec-text").classList.remove("has-wrong-line"); // it may be another line now
  const isChanged = $("spec-text").value !== specText;
  $("spec-change").hidden = !isChanged;
  if (isChanged && !$("spec-locked").hidden) $("spec-change").textContent = diffLines(specText, $("spec-text").value).join("\n");
});

async function saveSpec() {
  try {
    fillSpec(await sendJson("PUT", `${path}spec/`, { text: $("spec-text").value, replaces: specText }));
  } catch (error) {
    if (![409, 422].includes(error.status)) throw error;
    const line = showSpecProblem(error.message);
    if (line) goToLine(line);
    return;
  }
  await Promise.all([show(), showPlan()]);
}

async function makeIndex() {
  const { text } = await getJson(`indexes/${encodeURIComponent($("new-from").value)}/spec/`);
  const made = $("new-name").value.trim();
  const copy = text.replace(/^title:.*$/m, `title: ${JSON.stringify(made[0].toUpperCase() + made.slice(1))}`);
  await sendJson("PUT", `indexes/${encodeURIComponent(made)}/spec/`, { text: copy });
  location.assign(pageAddress("indexes/", { index: made }));
}

$("spec").addEventListener("submit", (event) => {
  event.preventDefault();
  $("problem").hidden = true;
  attempt(saveSpec);
});
$("spec-again").addEventListener("click", () => attempt(() => Promise.all([showSpec(), showPlan()])));
$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  $("problem").hidden = true;
  attempt(makeIndex);
});

// --- The plan ----------------------------------------------------------------------------------------

async function showPlan() {
  $("plan").replaceChildren(element("p", { className: "soft" }, "The spec is compared with the live build …"));
  const plan = await getJson(`${path}plan/`).catch((error) => {
    $("plan").replaceChildren(element("p", { className: error.status === 403 ? "soft" : "bad" }, error.message));
  });
  if (plan) $("plan").replaceChildren(...planElements(plan));
}

function planElements(plan) {
  if (plan.is_free && !plan.search_changes.length && !plan.store_changes.length) {
    return [element("p", { className: "good" }, "The live build is what the spec asks for.")];
  }
  const apply = actionElement("Build it, and promote it when complete", () => sendJson("POST", `${path}builds/`, { promote: true }).then(showPlan));
  const beside = actionElement("Build it beside the live build", () => sendJson("POST", `${path}builds/`, { promote: false }).then(showPlan));
  const free = actionElement("Apply", () => sendJson("POST", `${path}builds/`, { promote: true }).then(showPlan));
  return [
    element("p", {}, "The spec differs from the live build:"),
    listElement("", plan.changes),
    listElement("Search settings, applied at once:", plan.search_changes),
    listElement("Settings of the collections, applied without a new build:", plan.store_changes),
    plan.is_free ? null : costElement(plan),
    element("p", { className: "row" }, ...(plan.is_free ? [free] : [apply, beside])),
  ].filter(Boolean);
}

function listElement(title, changes) {
  if (changes.length === 0) return null;
  return element("div", {}, title, element("ul", {}, ...changes.map((change) => element("li", {}, element("code", {}, change)))));
}

function costElement({ kinds, embedding_minutes: embedding, writing_minutes: writing, disk_bytes: disk, is_estimate: isEstimate }) {
  const columns = ["kept", "reembedded", "rebuilt", "removed", "calls"];
  const headings = ["kind", ...columns].map((text, number) => element("th", { scope: "col", className: number ? "number" : "" }, text));
  const rows = Object.entries(kinds).map(([kind, counts]) =>
    element("tr", {}, element("td", {}, kind), ...columns.map((column) => element("td", { className: "number" }, numberFormat.format(counts[column])))),
  );
  const minutes = (value) => (value === null ? "not measured yet" : `${Math.ceil(value)} min`);
  return element(
    "div",
    {},
    element("table", {}, element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows)),
    element("p", { className: "soft" },
      `Embedding: ${minutes(embedding)}. Language model: ${minutes(writing)}. Disk: about ${Math.ceil(disk / 2 ** 20)} MiB.`,
      isEstimate ? " Estimated from a sample of the documents." : ""),
  );
}

// --- Agreement ---------------------------------------------------------------------------------------

async function verify(body) {
  $("report").replaceChildren("Documents, rows and vectors are compared …");
  const report = await sendJson("POST", `${path}verify/`, body).catch((error) => {
    $("report").replaceChildren();
    throw error;
  });
  $("report").replaceChildren(...reportElements(report));
}

function reportElements({ is_sound: isSound, artifact_count: artifacts, node_count: nodes, point_count: points, findings, remedies, repaired_count: repaired }) {
  const counts = `${countOf(artifacts, "document")}, ${countOf(nodes, "row")}, ${countOf(points, "vector")}.`;
  if (isSound) return [element("p", { className: "good" }, `All agree: ${counts}`)];
  const found = Object.entries(findings).map(([kind, count]) => element("li", {}, `${numberFormat.format(count)} ${kind}. ${remedies[kind] ?? ""}`));
  return [
    element("p", { className: "bad" }, `They do not agree: ${counts}`),
    element("ul", {}, ...found),
    repaired ? element("p", {}, `${countOf(repaired, "finding")} repaired. Verify again when the nodes are written.`) : actionElement("Repair", () => verify({ repair: true })),
  ];
}

$("verify").addEventListener("click", () => {
  $("problem").hidden = true;
  $("verify").disabled = true;
  attempt(() => verify({ repair: false })).finally(() => ($("verify").disabled = false));
});
$("measure").addEventListener("click", () => {
  $("problem").hidden = true;
  attempt(() => measure(name));
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  attempt(show);
  if (name !== null) attempt(() => showQuality(name));
});

storeKeyFromAddress();
attempt(show);
if (name !== null) {
  attempt(showSpec);
  attempt(() => showQuality(name));
}
