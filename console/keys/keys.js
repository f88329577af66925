/* The page of API keys: make, list and revoke them. */

import { getJson, sendJson, storeKeyFromAddress } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { splitNames } from "../common/fields.js";
import { attempt } from "../common/page.js";

async function show() {
  const { results } = await getJson("keys/");
  $("keys").hidden = results.length === 0;
  $("keys").tBodies[0].replaceChildren(...results.map(keyElement));
  $("new").hidden = false;
  $("problem").hidden = true;
}

async function start() {
  await show();
  const { results } = await getJson("indexes/", { limit: 100 });
  $("index-names").replaceChildren(...results.map(({ name }) => element("option", { value: name })));
}

function keyElement(key) {
  const { name, prefix, scope, indexes, groups, state, expires_at: expires, last_used_at: used } = key;
  const until = expires ? `valid until ${formatDate(expires)}` : "";
  const about = [`${prefix}…`, state === "active" ? until : state].filter(Boolean).join(", ");
  return element(
    "tr",
    { className: state === "active" ? "" : "revoked" },
    element("td", {}, element("span", { dir: "auto" }, name), element("p", { className: "soft" }, about)),
    element("td", {}, scope),
    element("td", {}, indexes === null ? "all" : indexes.join(", ") || "none"),
    element("td", { dir: "auto" }, groups === null ? "all" : groups.join(", ") || "documents without groups"),
    element("td", {}, used ? formatDate(used) : "never"),
    element("td", {}, state === "active" ? revokeElement(key) : ""),
  );
}

function formatDate(time) {
  return new Date(time).toLocaleDateString("en", { dateStyle: "medium" });
}

function revokeElement({ id, name }) {
  const button = element("button", { type: "button" }, "Revoke");
  button.setAttribute("aria-label", `Revoke ${name}`);
  button.addEventListener("click", () =>
    attempt(async () => {
      if (!confirm(`Revoke “${name}”? The next request with it is refused.`)) return;
      await sendJson("DELETE", `keys/${id}/`);
      await show();
    }),
  );
  return button;
}

/** The names that were entered; null for all. */
function readNames(id) {
  const names = splitNames($(id).value);
  return names.length ? names : null;
}

$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const until = $("expires").value;
    const { secret } = await sendJson("POST", "keys/", {
      name: $("name").value,
      scope: $("scope").value,
      indexes: readNames("indexes"),
      groups: readNames("groups"),
      expires_at: until ? new Date(`${until}T23:59:59`).toISOString() : null,
    });
    $("new").reset();
    $("secret").textContent = secret;
    $("copied").textContent = "";
    $("made").hidden = false;
    await show();
    $("made-heading").focus();
  });
});

$("copy").addEventListener("click", async () => {
  const isCopied = await navigator.clipboard?.writeText($("secret").textContent).then(
    () => true,
    () => false,
  );
  $("copied").textContent = isCopied ? "Copied." : "Select it and copy it by hand: this browser does not allow it here.";
});

storeKeyFromAddress();
attempt(start);
