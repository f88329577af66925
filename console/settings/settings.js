/* The page of people, their groups, and webhooks. */

import { getAll, getJson, send } from "../common/api.js";
import { $, element, keyed, rowElement, updateChildren } from "../common/dom.js";
import { actionElement, attempt, countOf, formatTime, keepShowing, linkElement, onSubmit } from "../common/page.js";
import { showSecret } from "../common/secret.js";
import { formatDate, rightsOf } from "../keys/rights.js";

const POLL_MS = 3_000; // while the page is visible
const SHOWN_DELIVERIES = 50;
let allGroups = [];
let chosen = null; // the person in the dialog; null: a new one

async function showPeople() {
  const [people, { groups }] = await Promise.all([getAll("people/", {}), getJson("people/", { limit: 1 })]);
  allGroups = groups;
  $("people-rows").replaceChildren(...people.map(personElement));
  $("group-rows").replaceChildren(...groups.map((group) => groupElement(group, people)));
  $("people").hidden = false;
}

function personElement(person) {
  const { name, groups, is_active: isActive, is_superuser: isSuperuser, uses_provider: usesProvider, last_sign_in_at: last } = person;
  const about = isActive ? (isSuperuser ? "superuser: may do and see everything" : "") : "deactivated: cannot sign in";
  return rowElement(
    [element("span", { dir: "auto" }, name), element("p", { className: "soft" }, about)],
    element("td", { dir: "auto" }, groups.join(", ")),
    usesProvider ? "OpenID" : "password",
    last ? formatDate(last) : "never",
    person.is_changeable ? element("div", { className: "actions" }, ...personButtons(person)) : "",
  );
}

function personButtons(person) {
  const { id, name, is_active: isActive, uses_provider: usesProvider } = person;
  const change = (changes) => send("PATCH", `people/${id}/`, changes).then(showPeople);
  const question = `Deactivate “${name}”? Their session ends and they cannot sign in.`;
  const subject = name;
  if (!isActive) return [actionElement("Activate", () => change({ is_active: true }), { subject })];
  return [
    actionElement("Groups", async () => openDialog(person), { subject }),
    usesProvider ? null : actionElement("Password link", () => send("POST", `people/${id}/password-link/`).then(showLink), { subject }),
    actionElement("Deactivate", () => change({ is_active: false }), { subject, question }),
  ].filter(Boolean);
}

/** Add a person, or change the groups of one. */
function openDialog(person = null) {
  chosen = person;
  $("person-heading").textContent = person ? `Groups of ${person.name}` : "Add a person";
  $("name").value = person?.name ?? "";
  $("name").parentElement.hidden = Boolean(person);
  $("choices").replaceChildren(...allGroups.map((group) => choiceElement(group, person)));
  $("person").querySelector(".error").hidden = true;
  $("person").showModal();
}

function choiceElement({ name, is_filled_from_claim: isFilled }, person) {
  const box = element("input", { type: "checkbox", name: "groups", value: name, checked: Boolean(person?.groups.includes(name)) });
  const about = isFilled && person?.uses_provider ? element("span", { className: "soft" }, "set by the OpenID provider at each sign-in") : null;
  return element("label", { className: "choice" }, box, element("span", { dir: "auto" }, name), about);
}

function showLink({ name, password_link: link }) {
  $("made-for").textContent = name;
  showSecret(link);
}

function groupElement(group, people) {
  const rights = group.scope === null ? ["none", "none", "none"] : rightsOf(group);
  const count = people.filter(({ groups }) => groups.includes(group.name)).length;
  const from = group.is_filled_from_claim ? ", as the OpenID provider says" : "";
  return rowElement(element("td", { dir: "auto" }, group.name), ...rights, `${count}${from}`);
}

const showWebhooks = keepShowing(async () => {
  const state = $("state").value;
  const { receivers, results, count } = await getJson("webhooks/", { limit: SHOWN_DELIVERIES, ...(state && { state }) });
  $("no-receivers").hidden = receivers.length > 0;
  $("with-receivers").hidden = receivers.length === 0;
  $("receivers").replaceChildren(...receivers.map((url) => element("li", {}, url)));
  const shown = count > results.length ? `, of which these are the last ${results.length}` : "";
  $("delivery-count").textContent = `${countOf(count, "delivery", "deliveries")}${shown}`;
  updateChildren($("delivery-rows"), results.map((each) => keyed(each.id, deliveryElement(each))));
  $("webhooks").hidden = false;
  return POLL_MS;
});

function deliveryElement({ id, event, receiver, artifact_id: artifact, state, attempts, last_error: error, next_attempt_at: next, created_at: made, delivered_at: delivered }) {
  const outcomes = { due: `is sent after ${formatTime(next)}`, delivered: `delivered ${delivered && formatTime(delivered)}`, given_up: "given up" };
  return rowElement(
    [artifact ? linkElement(event, `documents/${artifact}/`) : event, element("p", { className: "soft" }, receiver)],
    [outcomes[state], error ? element("p", { className: "bad" }, error) : null],
    attempts,
    formatTime(made),
    state === "due" && attempts === 0 ? "" : actionElement("Send again", () => send("POST", `webhooks/${id}/retry/`).then(showWebhooks), { subject: `${event} of ${formatTime(made)}` }),
  );
}

const form = $("person").querySelector("form");

onSubmit(form, async () => {
  const groups = new FormData(form).getAll("groups");
  const saved = chosen ? await send("PATCH", `people/${chosen.id}/`, { groups }) : await send("POST", "people/", { name: $("name").value, groups });
  $("person").close();
  await showPeople();
  if (saved.password_link) showLink(saved);
});

$("add").addEventListener("click", () => openDialog());
$("cancel").addEventListener("click", () => $("person").close());
$("test").append(actionElement("Send a test event", () => send("POST", "webhooks/test/").then(showWebhooks)));
$("state").addEventListener("change", () => attempt(showWebhooks));
attempt(showPeople);
attempt(showWebhooks);
