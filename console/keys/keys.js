/* The page of API keys: make, list and revoke them. */

import { getJson, send } from "../common/api.js";
import { $, element, rowElement } from "../common/dom.js";
import { splitNames } from "../common/fields.js";
import { actionElement, attempt, fillIndexes, onSubmit } from "../common/page.js";
import { showSecret } from "../common/secret.js";
import { formatDate, rightsOf } from "./rights.js";

async function show() {
  const { results } = await getJson("keys/");
  $("keys").tBodies[0].replaceChildren(...results.map(keyElement));
  $("new").hidden = false;
  $("problem").hidden = true;
}

async function start() {
  await show();
  await fillIndexes($("index-names"));
}

function keyElement(key) {
  const { name, prefix, scope, indexes, groups, state, expires_at: expires, last_used_at: used } = key;
  const until = expires ? `valid until ${formatDate(expires)}` : "";
  const about = [`${prefix}…`, state === "active" ? until : state].filter(Boolean).join(", ");
  const row = rowElement(
    [element("span", { dir: "auto" }, name), element("p", { className: "soft" }, about)],
    ...rightsOf(key),
    used ? formatDate(used) : "never",
    state === "active" ? revokeElement(key) : "",
  );
  row.classList.toggle("revoked", state !== "active");
  return row;
}

function revokeElement({ id, name }) {
  const question = `Revoke “${name}”? The next request with it is refused.`;
  return actionElement("Revoke", () => send("DELETE", `keys/${id}/`).then(show), { subject: name, question });
}

/** The names that were entered; null for all. */
function readNames(id) {
  const names = splitNames($(id).value);
  return names.length ? names : null;
}

onSubmit($("new"), async () => {
  const until = $("expires").value;
  const { secret } = await send("POST", "keys/", {
    name: $("name").value,
    scope: $("scope").value,
    indexes: readNames("indexes"),
    groups: readNames("groups"),
    expires_at: until ? new Date(`${until}T23:59:59`).toISOString() : null,
  });
  $("new").reset();
  await show();
  showSecret(secret);
});

attempt(start);
