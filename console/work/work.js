/* The page of the service's work: what failed and why, what waits, and whether each part is well. */

import { getJson, send } from "../common/api.js";
import { $, element, keyed, numberCell, rowElement, updateChildren } from "../common/dom.js";
import { actionElement, attempt, formatAge, keepShowing, linkElement } from "../common/page.js";

const POLL_MS = 3_000; // while the page is visible
const NAMES = { llm: "language model", readers: "file readers", beat: "schedule" };

const show = keepShowing(async () => {
  await attempt(showWork);
  $("loading").hidden = true;
  return POLL_MS;
});

async function showWork() {
  const { waiting, failures, parts, checks } = await getJson("work/");
  updateChildren($("failed"), failures.map((each) => keyed(`${each.work} ${each.index} ${each.error}`, failureElement(each))));
  updateChildren($("waiting"), waiting.map((each) => keyed(`${each.work} ${each.index}`, waitingElement(each))));
  const all = [...parts.map(({ part, ...state }) => ({ subject: part, fix: "", ...state })), ...checks];
  all.sort((a, b) => a.is_ok - b.is_ok);
  updateChildren($("parts"), all.map((each, at) => keyed(`${each.subject} ${at}`, partElement(each))));
  $("state").hidden = false;
  $("problem").hidden = true;
}

function failureElement({ work, index, error, count, is_retryable: isRetryable }) {
  return rowElement(
    [error, element("p", { className: "soft" }, work)],
    index ? [index, element("p", {}, linkElement("Show which", "documents/", { index, status: "failed" }))] : "",
    count,
    index && isRetryable ? retryElement(index) : "",
  );
}

function waitingElement({ work, index, count, oldest_seconds: age }) {
  return rowElement(work, index ? linkElement(index, "documents/", { index }) : "", count, numberCell(age === null ? "" : formatAge(age)));
}

function retryElement(index) {
  const retry = () => send("POST", `indexes/${encodeURIComponent(index)}/retry/`).then(show);
  return actionElement("Try again", retry, { subject: `what failed in ${index}` });
}

function partElement({ subject, is_ok: isOk, detail, fix }) {
  const text = detail === "ok" ? "well" : detail;
  return element(
    "li",
    {},
    element("strong", { className: isOk ? "good" : "bad" }, NAMES[subject] ?? subject),
    element("span", {}, text),
    fix ? element("p", { className: "soft" }, fix) : null,
  );
}

show();
