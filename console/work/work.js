/* The page of the service's work: what failed and why, what waits, and whether each part is well. */

import { getJson, pageAddress, sendJson, storeKeyFromAddress } from "../common/api.js";
import { $, element, keyed, numberFormat, updateChildren } from "../common/dom.js";
import { attempt, formatAge } from "../common/page.js";

const POLL_MS = 3_000; // while the page is visible
const NAMES = { llm: "language model", readers: "file readers", beat: "schedule" };
let timer = 0;

async function show() {
  clearTimeout(timer);
  try {
    const { waiting, failures, parts, checks } = await getJson("work/");
    fill("failed", failures.map((each) => keyed(`${each.work} ${each.index} ${each.error}`, failureElement(each))));
    fill("waiting", waiting.map((each) => keyed(`${each.work} ${each.index}`, waitingElement(each))));
    const all = [...parts.map(({ part, ...state }) => ({ subject: part, fix: "", ...state })), ...checks];
    all.sort((a, b) => a.is_ok - b.is_ok);
    updateChildren($("parts"), all.map((each, at) => keyed(`${each.subject} ${at}`, partElement(each))));
    $("state").hidden = false;
    $("problem").hidden = true;
  } finally {
    timer = setTimeout(() => (document.hidden ? null : attempt(show)), POLL_MS);
  }
}

function fill(id, rows) {
  $(id).hidden = rows.length === 0;
  updateChildren($(id).tBodies[0], rows);
}

function failureElement({ work, index, error, count }) {
  return element(
    "tr",
    {},
    element("td", {}, error, element("p", { className: "soft" }, work)),
    element("td", {}, index ? documentsLink(index, { status: "failed" }) : ""),
    element("td", { className: "number" }, numberFormat.format(count)),
    element("td", {}, index ? retryElement(index) : ""),
  );
}

function waitingElement({ work, index, count, oldest_seconds: age }) {
  return element(
    "tr",
    {},
    element("td", {}, work),
    element("td", {}, index ? documentsLink(index, {}) : ""),
    element("td", { className: "number" }, numberFormat.format(count)),
    element("td", { className: "number" }, age === null ? "" : formatAge(age)),
  );
}

function documentsLink(index, filter) {
  return element("a", { href: pageAddress("documents/", { index, ...filter }) }, index);
}

function retryElement(index) {
  const button = element("button", { type: "button" }, "Try again");
  button.setAttribute("aria-label", `Try again what failed in ${index}`);
  button.addEventListener("click", () =>
    attempt(async () => {
      button.disabled = true;
      await sendJson("POST", `indexes/${encodeURIComponent(index)}/retry/`).finally(() => (button.disabled = false));
      await show();
    }),
  );
  return button;
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

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) attempt(show);
});

storeKeyFromAddress();
attempt(show);
