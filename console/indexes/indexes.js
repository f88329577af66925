/* The page of the indexes: what each holds, its builds, what a change of its spec would cost, and whether all agrees. */

import { getJson, pageAddress, send } from "../common/api.js";
import { $, element, keyed, numberFormat, rowElement, tableElement, updateChildren } from "../common/dom.js";
import { actionElement, attempt, countOf, formatAge, formatTime, keepIndex, keepShowing, linkElement, onClick, onSubmit, report } from "../common/page.js";
import { diffLines } from "./diff.js";
import { measure, measureCell, showQuality } from "./quality.js";

const POLL_MS = 2_000; // while something is in work and the page is visible

const name = new URLSearchParams(location.search).get("index");
const path = `indexes/${encodeURIComponent(name)}/`;
let isUnreachable = false; // whether the last attempt failed, as during a restart
let plannedFor = ""; // the live build and the one in progress when the spec was compared

const show = keepShowing(async () => {
  try {
    const isBusy = await (name === null ? showAll() : showOne());
    if (isUnreachable) $("problem").hidden = true;
    isUnreachable = false;
    return isBusy ? POLL_MS : null;
  } catch (error) {
    isUnreachable = error.status === 0 || error.status >= 500;
    report(error);
    return isUnreachable ? POLL_MS : null;
  }
});

// --- All indexes -------------------------------------------------------------------------------------

async function showAll() {
  const { results } = await getJson("indexes/", { limit: 100 });
  const used = results.filter(({ artifacts, problem }) => artifacts > 0 || problem);
  const unused = results.filter((index) => !used.includes(index));
  updateChildren($("rows"), used.map((index) => keyed(index.name, usedElement(index))));
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

function usedElement(index) {
  const link = linkElement(index.title || index.name, "indexes/", { index: index.name });
  return rowElement([link, element("p", { className: "soft" }, index.description)], stateElements(index), index.artifacts, index.nodes.synced);
}

function unusedElement({ name: index, title, description }) {
  const link = linkElement(title || index, "indexes/", { index });
  return element("li", {}, link, " · ", linkElement("Add documents", "add/", { index }), element("p", { className: "soft" }, description));
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
  const failedLink = linkElement(`${countOf(failed, "document")} failed`, "documents/", { index: index.name, status: "failed" });
  return [
    isInWork(index) ? element("span", { className: "busy" }, inWork.join(", ") || "in work") : element("span", { className: "good" }, "up to date"),
    failed ? element("p", { className: "bad" }, failedLink) : null,
    nodes.failed ? element("p", { className: "bad" }, `${countOf(nodes.failed, "node")} failed: strata doctor says why. `, retryElement(index.name)) : null,
    problem ? element("p", { className: "bad" }, problem) : null,
  ].filter(Boolean);
}

function retryElement(index) {
  return act("Try again", () => send("POST", `indexes/${encodeURIComponent(index)}/retry/`));
}

/** A button after whose action everything is shown again. */
function act(text, action, question = "") {
  return actionElement(text, () => action().finally(show), { question });
}

// --- One index ---------------------------------------------------------------------------------------

async function showOne() {
  const [index, builds] = await Promise.all([getJson(path), getJson(`${path}builds/`)]);
  $("heading").textContent = index.title || name;
  $("description").textContent = index.description;
  const links = [["", "Search"], ["documents/", "Documents"], ["add/", "Add documents"]].map(([page, text]) => linkElement(text, page, { index: name }));
  updateChildren($("links"), [...links, ...stateElements(index)].map((each, at) => keyed(at, each)));
  const built = builds.results.map((build) => keyed(build.number, buildElement(build, builds.results)));
  updateChildren($("builds"), built.reverse());
  $("one").hidden = false;
  const building = builds.results.find(({ state }) => state === "building");
  const shown = `${index.build} ${building?.number}`;
  if (plannedFor !== shown) attempt(showPlan);
  plannedFor = shown;
  return isInWork(index) || building !== undefined;
}

function buildElement(build, all) {
  const { number, state, promotion, nodes, problem, pause_reason: pauseReason, paused_at: pausedAt, comparison } = build;
  const total = nodes.pending + nodes.synced + nodes.failed;
  const facts = [
    `${countOf(nodes.synced, "node")} of ${numberFormat.format(total)} written`,
    build.copied ? `${countOf(build.copied, "vector")} copied` : "",
    build.artifacts_unread ? `${countOf(build.artifacts_unread, "document")} to read anew` : "",
    build.artifacts_not_reread ? `${countOf(build.artifacts_not_reread, "document")} not read anew` : "",
    build.artifacts_missing ? `${countOf(build.artifacts_missing, "document")} to come` : "",
    nodes.failed ? `${numberFormat.format(nodes.failed)} failed` : "",
    `made ${formatTime(build.created_at)}`,
  ];
  const isBuilding = state === "building";
  return element(
    "li",
    { className: state },
    element("h3", {}, `Build ${number}: ${pausedAt ? "paused" : state}`),
    element("p", {}, facts.filter(Boolean).join(" · ")),
    isBuilding && promotion !== "manual" ? element("p", {}, "It will be promoted when it is complete.") : null,
    isBuilding ? element("progress", { max: total || 1, value: nodes.synced, ariaLabel: `Progress of build ${number}` }) : null,
    pauseReason ? element("p", {}, pauseReason) : null,
    problem ? element("p", { className: "bad" }, problem) : null,
    ...comparisonElements(comparison),
    element("p", { className: "row" }, ...actionElements(build, all)),
  );
}

function comparisonElements(comparison) {
  if (!comparison) return [];
  const rows = Object.entries(comparison.measures ?? {}).map(([measured, { live, new: built, difference, low, high }]) =>
    rowElement(measured, ...[live, built, difference].map((value) => measureCell(value)), `${low.toFixed(3)} to ${high.toFixed(3)}`),
  );
  return [
    comparison.verdict ? element("p", {}, `Compared when it was complete; ${comparison.verdict}`) : null,
    rows.length ? tableElement(["measure", "live", "this", "difference", "95% interval"], rows) : null,
  ].filter(Boolean);
}

/** What may be done with a build in its state. */
function actionElements({ number, state, promotion, paused_at: pausedAt, artifacts_missing: missing }, all) {
  const build = `${path}builds/${number}/`;
  const actions = [];
  if (state === "building") {
    if (promotion === "manual") actions.push(["Promote when complete", `${build}promote/`, {}]);
    actions.push(pausedAt ? ["Resume", `${build}resume/`] : ["Pause", `${build}pause/`]);
    actions.push(["Cancel", `${build}cancel/`, undefined, `Give up build ${number}?`]);
    if (missing === 0) actions.push(["Promote even if worse", `${build}promote/`, { force: true }, `Make build ${number} live without a comparison?`]);
  }
  if (state === "standby") {
    const live = all.find((each) => each.state === "live");
    actions.push([number < live?.number ? "Roll back to this" : "Make this live again", `${path}rollback/`, undefined, `Replace build ${live?.number} by build ${number}?`]);
    actions.push(["Remove", `${path}prune/`, undefined, `Remove build ${number}? There is then nothing to roll back to.`]);
  }
  return actions.map(([text, address, body, question]) => act(text, () => send("POST", address, body), question));
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
    fillSpec(await send("PUT", `${path}spec/`, { text: $("spec-text").value, replaces: specText }));
  } catch (error) {
    if (![409, 422].includes(error.status)) throw error;
    const line = showSpecProblem(error.message);
    if (line) goToLine(line);
    return;
  }
  plannedFor = "";
  await show();
}

async function makeIndex() {
  const { text } = await getJson(`indexes/${encodeURIComponent($("new-from").value)}/spec/`);
  const made = $("new-name").value.trim();
  const copy = text.replace(/^title:.*$/m, `title: ${JSON.stringify(made[0].toUpperCase() + made.slice(1))}`);
  await send("PUT", `indexes/${encodeURIComponent(made)}/spec/`, { text: copy });
  location.assign(pageAddress("indexes/", { index: made }));
}

onSubmit($("spec"), saveSpec);
onSubmit($("new"), makeIndex);
onClick($("spec-again"), () => Promise.all([showSpec(), showPlan()]));

// --- The plan ----------------------------------------------------------------------------------------

async function showPlan() {
  $("plan").replaceChildren(element("p", { className: "soft" }, "The spec is compared with the live build …"));
  const plan = await getJson(`${path}plan/`).catch((error) => {
    $("plan").replaceChildren(element("p", { className: error.status === 403 ? "soft" : "bad" }, error.message));
  });
  if (plan) $("plan").replaceChildren(...planElements(plan));
}

function planElements(plan) {
  const apply = (text, promote, reread = false) =>
    act(text, () => send("POST", `${path}builds/`, { promote, reread }).then(() => (plannedFor = "")));
  const actions = (...buttons) =>
    plan.open_build
      ? element("p", {}, `Build ${plan.open_build} is being built from this spec: see its progress above.`)
      : element("p", { className: "row" }, ...buttons);
  const outdated = plan.outdated_count
    ? [element("p", {}, `Read by other readers than now, so that a new build reads them anew: ${countOf(plan.outdated_count, "document")}.`)]
    : [];
  if (plan.is_free && !plan.search_changes.length && !plan.store_changes.length) {
    const readAnew = apply("Read them anew in a new build, and promote it when complete", true, true);
    return [
      element("p", { className: "good" }, "The live build is what the spec asks for."),
      ...outdated,
      ...(outdated.length ? [actions(readAnew)] : []),
    ];
  }
  const builds = [apply("Build it, and promote it when complete", true), apply("Build it beside the live build", false)];
  return [
    element("p", {}, "The spec differs from the live build:"),
    listElement("", plan.changes),
    listElement("Search settings, applied at once:", plan.search_changes),
    listElement("Settings of the collections, applied without a new build:", plan.store_changes),
    ...outdated,
    plan.is_free ? null : costElement(plan),
    plan.is_free ? element("p", { className: "row" }, apply("Apply", true)) : actions(...builds),
  ].filter(Boolean);
}

function listElement(title, changes) {
  if (changes.length === 0) return null;
  return element("div", {}, title, element("ul", {}, ...changes.map((change) => element("li", {}, element("code", {}, change)))));
}

function costElement({ kinds, embedding_minutes: embedding, writing_minutes: writing, disk_bytes: disk, is_estimate: isEstimate }) {
  const columns = { kept: "kept", reembedded: "embedded again", rebuilt: "new", removed: "removed", calls: "model calls" };
  const rows = Object.entries(kinds).map(([kind, counts]) => rowElement(kind, ...Object.keys(columns).map((column) => counts[column])));
  const minutes = (value) => (value === null ? "not measured yet" : `${Math.ceil(value)} min`);
  return element(
    "div",
    {},
    rows.length ? tableElement(["nodes", ...Object.values(columns)], rows) : null,
    element("p", { className: "soft" },
      "The vectors of kept nodes are copied. Nodes embedded again have the same text but another model or context. ",
      `Embedding: ${minutes(embedding)}. Language model: ${minutes(writing)}. Disk: about ${Math.ceil(disk / 2 ** 20)} MiB.`,
      isEstimate ? " Estimated from a sample of the documents." : ""),
  );
}

// --- Agreement ---------------------------------------------------------------------------------------

async function verify(body) {
  $("report").replaceChildren("Documents, rows and vectors are compared …");
  const report = await send("POST", `${path}verify/`, body).catch((error) => {
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
    repaired ? element("p", {}, `${countOf(repaired, "finding")} repaired. Verify again when the nodes are written.`) : act("Repair", () => verify({ repair: true })),
  ];
}

onClick($("verify"), () => verify({ repair: false }));
onClick($("measure"), measure);

show();
if (name !== null) {
  keepIndex(name);
  attempt(showSpec);
  attempt(showQuality);
}
