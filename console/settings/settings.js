/* The page of people, their groups, and webhooks. */

import { getAll, getJson, send, storeKeyFromAddress } from "../common/api.js";
import { $, element, keyed, rowElement, updateChildren } from "../common/dom.js";
import { actionElement, attempt, countOf, formatTime, linkElement } from "../common/page.js";
import { formatDate, rightsOf } from "../keys/rights.js";

const POLL_MS = 3_000; // while the page is visible
const SHOWN_DELIVERIES = 50;
let timer = 0;

async function showPeople() {
  const [people, { groups }] = await Promise.all([getAll("people/", {}), getJson("people/", { limit: 1 })]);
  $("people-rows").replaceChildren(...people.map(personElement));
  $("no-people").hidden = people.length > 0;
  $("group-rows").replaceChildren(...groups.map((group) => groupElement(group, people)));
  $("no-groups").hidden = groups.length > 0;
  $("people").hidden = false;
}

function personElement({ name, groups, is_active: isActive, is_superuser: isSuperuser, uses_provider: usesProvider, last_sign_in_at: last }) {
  const about = isActive ? (isSuperuser ? "superuser: may do and see everything" : "") : "deactivated: cannot sign in";
  return rowElement(
    [element("span", { dir: "auto" }, name), element("p", { className: "soft" }, about)],
    element("td", { dir: "auto" }, groups.join(", ")),
    usesProvider ? "OpenID" : "password",
    last ? formatDate(last) : "never",
  );
}

function groupElement(group, people) {
  const rights = group.scope === null ? ["none", "none", "none"] : rightsOf(group);
  const count = people.filter(({ groups }) => groups.includes(group.name)).length;
  const from = group.is_filled_from_claim ? ", as the OpenID provider says" : "";
  return rowElement(element("td", { dir: "auto" }, group.name), ...rights, `${count}${from}`);
}

async function showWebhooks() {
  clearTimeout(timer);
  const state = $("state").value;
  const { receivers, results, count } = await getJson("webhooks/", { limit: SHOWN_DELIVERIES, ...(state && { state }) });
  $("no-receivers").hidden = receivers.length > 0;
  $("with-receivers").hidden = receivers.length === 0;
  $("receivers").replaceChildren(...receivers.map((url) => element("li", {}, url)));
  const shown = count > results.length ? `, of which these are the last ${results.length}` : "";
  $("delivery-count").textContent = `${countOf(count, "delivery", "deliveries")}${shown}`;
  updateChildren($("delivery-rows"), results.map((each) => keyed(each.id, deliveryElement(each))));
  $("webhooks").hidden = false;
  timer = setTimeout(() => (document.hidden ? null : attempt(showWebhooks)), POLL_MS);
}

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

$("test").append(actionElement("Send a test event", () => send("POST", "webhooks/test/").then(showWebhooks)));
$("state").addEventListener("change", () => attempt(showWebhooks));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) attempt(showWebhooks);
});

storeKeyFromAddress();
attempt(showPeople);
attempt(showWebhooks);
