/* Pairs of similar concepts without a relationship, for people to relate or dismiss. */

import { getJson, send } from "../common/api.js";
import { $, element } from "../common/dom.js";
import { actionElement } from "../common/page.js";

/** List the pairs of an index below its drawing. */
export async function showPairs(index) {
  const [{ results, count }, types] = await Promise.all([
    getJson("emergent", { index }),
    getJson(`indexes/${encodeURIComponent(index)}/relationship-types/`, { limit: 100 }),
  ]);
  $("pairs").hidden = count === 0;
  $("pairs-title").textContent = `${count} ${count === 1 ? "pair" : "pairs"} of similar concepts without a relationship`;
  $("pairs").querySelector("ul").replaceChildren(
    ...results.filter(({ id }) => id !== null).map((pair) => pairElement(pair, types.results, () => showPairs(index))),
  );
}

function pairElement({ id, concepts: [first, second], similarity }, types, refresh) {
  const label = `${first.label} and ${second.label}`;
  const choice = element(
    "select",
    { ariaLabel: `Relationship of ${label}` },
    ...types.flatMap(({ id: type, name }) => [
      new Option(`${first.label} → ${name} → ${second.label}`, JSON.stringify({ type })),
      new Option(`${second.label} → ${name} → ${first.label}`, JSON.stringify({ type, reversed: true })),
    ]),
  );
  const post = (verb, content) => send("POST", `emergent/${id}/${verb}`, content).then(refresh);
  const relate = actionElement("Relate", () => post("accept", JSON.parse(choice.value)), { subject: label });
  return element(
    "li",
    {},
    element("bdi", {}, label),
    element("span", { className: "soft" }, ` similarity ${similarity.toFixed(2)}`),
    element(
      "p",
      { className: "row" },
      ...(types.length ? [choice, relate] : []),
      actionElement("Dismiss", () => post("dismiss"), { subject: label }),
    ),
  );
}
