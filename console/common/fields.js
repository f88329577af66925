/* Controls for the metadata fields that an index declares: to give them, and to filter by them. */

import { element } from "./dom.js";

const BOUNDS = { gte: "from", lte: "to" };
const NUMBERS = ["integer", "float"];
const RANGES = [...NUMBERS, "datetime"];
const SEVERAL = "separated by commas";

/** The label and the control of a field, and the values that it suggests. */
export function fieldElements(field) {
  return labelled(field, field.description, field.many ? { many: true } : {});
}

/** As ``fieldElements``, to filter by the field: numbers and times by bounds, others by values, any of which may match. */
export function filterElements(field) {
  if (!RANGES.includes(field.type)) return labelled(field, "", { many: true });
  return Object.entries(BOUNDS).flatMap(([bound, word]) => labelled(field, word, { bound }));
}

function labelled({ name, type, values, closed }, about, dataset) {
  const id = `field-${name}${dataset.bound ? `-${dataset.bound}` : ""}`;
  const choices = type === "bool" ? ["true", "false"] : values;
  const offered = choices.map((value) => element("option", { value }, value));
  const isChoice = type === "bool" || (closed && !dataset.many);
  const control = isChoice ? element("select", {}, element("option"), ...offered) : element("input");
  control.id = id; // and no name: a field may be called as a control of the form
  Object.assign(control.dataset, { field: name, type, ...dataset });
  if (NUMBERS.includes(type) && !dataset.many) Object.assign(control, { type: "number", step: type === "integer" ? "1" : "any" });
  else if (!isChoice) control.placeholder = dataset.many ? SEVERAL : type === "datetime" ? "2026-11-26" : "";
  const label = element("label", { htmlFor: id }, name, about ? `${dataset.bound ? " " : " – "}${about}` : "");
  if (isChoice || !offered.length) return [label, control];
  control.setAttribute("list", `${id}-values`);
  return [label, control, element("datalist", { id: `${id}-values` }, ...offered)];
}

/** What was entered, by field: a value, a list, or bounds. Fields that are empty are left out. */
export function readFields(container) {
  const found = {};
  for (const { value, dataset } of container.querySelectorAll("input, select")) {
    const texts = dataset.many && value !== "" ? splitNames(value) : [value.trim()].filter(Boolean);
    const values = texts.map((text) => toValue(text, dataset.type));
    if (!values.length) continue;
    const name = dataset.field;
    if (dataset.bound) found[name] = { ...found[name], [dataset.bound]: values[0] };
    else found[name] = dataset.many && dataset.type !== "bool" ? values : values[0];
  }
  return found;
}

/** Enter a filter. Returns the conditions for which there is no control. */
export function fillFields(container, filter) {
  const rest = {};
  for (const control of container.querySelectorAll("input, select")) control.value = "";
  for (const [name, condition] of Object.entries(filter)) {
    const controls = [...container.querySelectorAll("input, select")].filter(({ dataset }) => dataset.field === name);
    const isRange = controls.some(({ dataset }) => dataset.bound);
    const bounds = isRange && condition !== null && typeof condition === "object" && !Array.isArray(condition) ? condition : null;
    const isShown = controls.length > 0 && (isRange ? bounds && Object.keys(bounds).every((bound) => bound in BOUNDS) : isPlain(condition));
    if (!isShown) rest[name] = condition;
    for (const control of isShown ? controls : []) {
      control.value = isRange ? bounds[control.dataset.bound] ?? "" : [condition].flat().join(", ");
    }
  }
  return rest;
}

export function splitNames(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

function isPlain(condition) {
  return [condition].flat().every((value) => value !== null && typeof value !== "object" && !String(value).includes(","));
}

/** What cannot be read as its type is sent as it is: the service says what is wrong with it. */
function toValue(text, type) {
  if (type === "bool") return text === "true";
  const number = Number(text);
  return NUMBERS.includes(type) && Number.isFinite(number) ? number : text;
}
