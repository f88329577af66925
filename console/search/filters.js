/* The filter of the search page: a control for each field that the index declares, and its values with their counts. */

import { getJson } from "../common/api.js";
import { $, element, keyed, numberFormat, updateChildren } from "../common/dom.js";
import { fillFields, filterElements, readFields } from "../common/fields.js";

const VALUES_SHOWN = 12; // of each field, the most frequent ones

let hiddenFilter = {}; // conditions of the address for which the page has no control
let counting = null; // the AbortController of the running request

export function readFilter() {
  return { ...hiddenFilter, ...readFields($("fields")) };
}

export function countFilters() {
  return Object.keys(readFilter()).length;
}

/** Draw these fields, with a filter. */
export function drawFilters(fields = [], filter = {}) {
  counting?.abort();
  $("fields").replaceChildren(
    ...fields.map((field) => {
      const values = element("ul", { className: "facet", hidden: true, ariaLabel: `Values of ${field.name}` });
      values.dataset.facet = field.name;
      return element("div", {}, ...filterElements(field), values);
    }),
  );
  fillFilters(filter);
  $("filters").hidden = fields.length === 0 && countFilters() === 0;
}

function fillFilters(filter) {
  hiddenFilter = fillFields($("fields"), filter);
  nameFilters();
}

export function nameFilters() {
  $("filters-title").textContent = countFilters() ? `Filter (${countFilters()})` : "Filter";
}

/** The filter of the address; null if it is not a JSON object. */
export function readFilterOfAddress() {
  try {
    const filter = JSON.parse(new URLSearchParams(location.search).get("filter") ?? "{}");
    return filter?.constructor === Object ? filter : null;
  } catch {
    return null;
  }
}

/** Show the values of the fields if the filter is open. A click on one chooses it, or no longer, and calls `search`. */
export async function showFacets(index, search) {
  counting?.abort();
  if (!index || !$("filters").open) return;
  const { signal } = (counting = new AbortController());
  const filter = readFilter();
  const { facets } = await getJson(
    `indexes/${encodeURIComponent(index)}/facets`,
    { filter: JSON.stringify(filter), limit: VALUES_SHOWN },
    signal,
  );
  for (const { field, values, missing } of facets) {
    const list = $("fields").querySelector(`[data-facet="${CSS.escape(field)}"]`);
    const chosen = chosenValues(filter[field]);
    const counted = missing ? [...values, { value: null, documents: missing }] : values;
    const uncounted = chosen.filter((value) => !counted.some((each) => each.value === value));
    const shown = [...counted, ...uncounted.map((value) => ({ value, documents: 0 }))];
    updateChildren(list, shown.map((each) => valueElement(field, each, chosen.includes(each.value), search)));
    list.hidden = shown.length === 0;
  }
}

function valueElement(field, { value, documents }, isChosen, search) {
  const name = value === null ? "no value" : String(value);
  const button = element("button", { type: "button", dir: "auto", ariaPressed: String(isChosen) }, name, " ");
  button.append(element("span", { className: "count", title: "documents" }, numberFormat.format(documents)));
  button.addEventListener("click", () => {
    const { [field]: condition, ...rest } = readFilter();
    const before = chosenValues(condition);
    const after = before.includes(value) ? before.filter((each) => each !== value) : [...before, value];
    fillFilters(after.length ? { ...rest, [field]: after } : rest);
    search();
  });
  return keyed(JSON.stringify(value), element("li", {}, button));
}

/** The values of a condition, with null for none; bounds have none. */
function chosenValues(condition) {
  return condition === undefined ? [] : [condition].flat().filter((value) => value === null || typeof value !== "object");
}
