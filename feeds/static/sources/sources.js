/* The page of sources: how each is, what changed, what waits and why; run now, pause, look first, confirm. */

import { getJson, send } from "../common/api.js";
import { $, element, keyed, rowElement, updateChildren } from "../common/dom.js";
import { actionElement, attempt, countOf, fillIndexes, formatTime, keepShowing, linkElement } from "../common/page.js";

const POLL_MS = 3_000; // while the page is visible
const SHOWN_STATES = ["failed", "due", "missing", "removing"];
const HEALTH = {
  well: "well",
  new: "not read yet",
  working: "is being read …",
  stalled: "does not get on",
  failing: "cannot be read",
  waiting: "waits for your decision",
  paused: "paused",
  undeclared: "not in the spec any more",
};
const BAD = ["stalled", "failing", "waiting"];
const STATES = {
  failed: "given up",
  due: "waits to be fetched",
  missing: "missing at the source",
  removing: "is being removed",
};
let shownName = "";

const pathOf = (name = "") =>
  `indexes/${encodeURIComponent($("index").value)}/document-sources/${name ? `${encodeURIComponent(name)}/` : ""}`;

const show = keepShowing(async () => {
  await attempt(showSources);
  return POLL_MS;
});

async function showSources() {
  const { results } = await getJson(pathOf(), { limit: 100 });
  $("status").textContent = results.length ? "" : "The spec of this index names no sources.";
  updateChildren($("sources"), results.map((each) => keyed(each.name, sourceElement(each))));
  $("problem").hidden = true;
}

function sourceElement(source) {
  const { name, type, place, every, health, problem, report } = source;
  return element(
    "li",
    {},
    element("h2", {}, element("bdi", {}, name)),
    element("p", { className: BAD.includes(health) ? "bad" : "good" }, HEALTH[health] ?? health),
    problem ? element("p", {}, problem.detail) : null,
    place ? element("p", { className: "soft" }, `${type}, `, element("bdi", {}, place), every ? `, every ${every}` : ", when you ask") : null,
    element("p", {}, describeTimes(source)),
    element("p", {}, describeReport(report)),
    waitingElement(source),
    actionsElement(source),
  );
}

function describeTimes({ listed_at: last, next_listing_at: next, waits_until: waits }) {
  const parts = [last ? `Last read ${formatTime(last)}.` : "Not read yet."];
  if (waits) parts.push(`Tried again ${formatTime(waits)}.`);
  else if (next) parts.push(`Next ${formatTime(next)}.`);
  return parts.join(" ");
}

function describeReport(report) {
  const names = ["stored", "revised", "renamed", "relabelled", "removed", "failed", "unchanged"];
  const counts = names.filter((name) => report[name]).map((name) => `${report[name]} ${name}`);
  return counts.length ? `${counts.join(", ")}.` : "";
}

function waitingElement({ name, waiting_removals: count }) {
  if (!count) return null;
  const question = `${countOf(count, "document")} will be removed unless ${name} has them again. Are they gone?`;
  return element(
    "p",
    {},
    `${countOf(count, "document")} are missing, which is more than usual. Nothing is removed until you say so. `,
    actionElement("They are gone", () => act(name, "confirm", `?count=${count}`), { subject: name, question }),
  );
}

function actionsElement({ name, health }) {
  const isPaused = health === "paused";
  return element(
    "p",
    { className: "actions" },
    isPaused ? null : actionElement("Read now", () => act(name, "run"), { subject: name }),
    isPaused
      ? actionElement("Resume", () => act(name, "resume"), { subject: name })
      : actionElement("Pause", () => act(name, "pause"), { subject: name }),
    actionElement("What would change", () => showPreview(name), { subject: name }),
    actionElement("What waits", () => showEntries(name), { subject: name }),
  );
}

async function act(name, action, query = "") {
  await send("POST", `${pathOf(name)}${action}/${query}`);
  await show();
}

async function showPreview(name) {
  const preview = await send("POST", `${pathOf(name)}preview/`);
  const kinds = Object.entries(preview).map(([kind, { count, bytes, paths }]) =>
    element(
      "li",
      {},
      `${kind}: ${countOf(count, "document")}, ${countOf(bytes, "byte")}`,
      element("ul", {}, ...paths.map((path) => element("li", {}, element("bdi", {}, path)))),
    ),
  );
  await showEntries(name);
  $("preview").replaceChildren(element("p", {}, "A run would find now:"), element("ul", {}, ...kinds));
}

async function showEntries(name) {
  const lists = await Promise.all(SHOWN_STATES.map((state) => getJson(`${pathOf(name)}entries/`, { state, limit: 50 })));
  shownName = name;
  $("details").hidden = false;
  $("details-heading").textContent = shownName;
  $("preview").replaceChildren();
  $("entries").replaceChildren(...lists.flatMap(({ results }) => results.map(entryElement)));
  $("details").scrollIntoView({ block: "nearest" });
}

function entryElement({ path, state, problem, artifact_id: id }) {
  const name = id ? linkElement(path, `documents/${id}/`) : element("bdi", {}, path);
  return rowElement(name, STATES[state] ?? state, problem?.detail ?? "");
}

$("index").addEventListener("change", () => {
  $("details").hidden = true;
  attempt(show);
});
attempt(async () => {
  await fillIndexes($("index"));
  await show();
});
