/* What the pages share: their error message and the choice of an index. */

import { getJson, pageAddress } from "./api.js";
import { $, element, numberFormat } from "./dom.js";
import { readKey } from "./key.js";

// What the nodes of a kind are called where they are counted.
export const NODE_NAMES = {
  chunk: "passages",
  page_summary: "summaries",
  artifact_summary: "summaries",
  question: "questions",
};

// What becomes of a document, by its status.
export const STATES = {
  received: "waits to be read",
  parsing: "is read …",
  indexing: "is indexed …",
  ready: "ready",
  failed: "failed",
};

/** The state of a document in words, with how far it is. */
export function describeState({ status, nodes, ocr }) {
  const written = nodes && nodes.pending + nodes.synced;
  if (status === "parsing" && ocr) return `${STATES.parsing} page ${ocr.pages_read} of ${ocr.page_count}`;
  return status === "indexing" && written ? `${STATES.indexing} ${nodes.synced} of ${written}` : STATES[status];
}

/** An error or a warning of a document, and what helps. */
export function describeProblem({ detail, fix }) {
  return [detail, fix].filter(Boolean).join(" ");
}

/** Run an action; show the error of a request that failed. */
export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    report(error);
  }
}

export function report(error) {
  if (error.name === "AbortError") return;
  if (error.status === undefined) throw error;
  const withoutKey = error.status === 401 && !readKey() ? " Enter your API key on the search page." : "";
  const place = document.querySelector("dialog[open] .error") ?? $("problem");
  place.textContent = error.message + withoutKey;
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

/** Attempt an action when a form is sent. */
export function onSubmit(form, action) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    $("problem").hidden = true;
    attempt(action);
  });
}

/** Attempt an action when a button is pressed, after a question if there is one. */
export function onClick(button, action, question = "") {
  button.addEventListener("click", () => {
    if (question && !confirm(question)) return;
    $("problem").hidden = true;
    button.disabled = true;
    attempt(action).finally(() => (button.disabled = false));
  });
}

/** A button that attempts an action. `subject` tells it from others of its text. */
export function actionElement(text, action, { subject = "", question = "" } = {}) {
  const button = element("button", { type: "button", ...(subject && { ariaLabel: `${text} ${subject}` }) }, text);
  button.dataset.question = question;
  onClick(button, action, question);
  return button;
}

/** Show something again in as many milliseconds as `show` returns, if any, and when the page becomes visible. */
export function keepShowing(show) {
  let timer = 0;
  const showNow = async (...given) => {
    clearTimeout(timer);
    const wait = await show(...given);
    clearTimeout(timer);
    if (wait) timer = setTimeout(() => (document.hidden ? null : attempt(showNow)), wait);
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? null : attempt(showNow)));
  return showNow;
}

export function linkElement(text, page, parameters = {}) {
  return element("a", { href: pageAddress(page, parameters) }, text);
}

export const formatTime = (time) => new Date(time).toLocaleString();

/** Which of these indexes to show first: that of the address, which is kept; the one chosen last in this tab; a preferred one. */
export function firstIndex(listed, isPreferred) {
  const named = (wanted) => listed.find(({ name }) => name === wanted);
  const ofAddress = named(new URLSearchParams(location.search).get("index"));
  if (ofAddress) keepIndex(ofAddress.name);
  return ofAddress ?? named(sessionStorage.getItem("index")) ?? listed.find(isPreferred) ?? named("plain") ?? listed[0];
}

/** Keep the choice of an index for the other pages. */
export function keepIndex(name) {
  sessionStorage.setItem("index", name);
}

/** Offer the indexes; choose the first to show. Returns what the service says of each. */
export async function fillIndexes(select, { isOffered = () => true, isPreferred = ({ artifacts }) => artifacts > 0 } = {}) {
  const results = (await getJson("indexes/", { limit: 100 })).results.filter(isOffered);
  select.append(...results.map(({ name, title }) => element("option", { value: name }, title || name)));
  select.value = firstIndex(results, isPreferred)?.name ?? "";
  select.addEventListener("change", () => keepIndex(select.value));
  return results;
}

/** How long something has waited. */
export function formatAge(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

export function countOf(count, thing, things = `${thing}s`) {
  return `${numberFormat.format(count)} ${count === 1 ? thing : things}`;
}
