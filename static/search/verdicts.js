/* Verdicts on hits: whether they answer the query. They are kept, and the index is measured by them. */

import { ask, send } from "./api.js";
import { element } from "./dom.js";

const VERDICTS = [
  { verdict: "good", label: "It answers the query" },
  { verdict: "bad", label: "It does not answer the query" },
];
const THUMB =
  "M7 10.5V20H4v-9.5zM7 10.5 11 3c1.6 0 2.6 1.3 2.2 2.9l-.7 3.1h6c1.3 0 2.2 1.2 1.8 2.4l-2 6.8A2.5 2.5 0 0 1 16 20H7z";
const SVG = "http://www.w3.org/2000/svg";

/* What is being answered: the verdicts kept on it, and the buttons of each of its hits. */
let current = { index: "", query: "", kept: [], shown: [] };

/** From now on hits are of this query. What was said of them before is shown once it is known. */
export async function beginVerdicts(index, query) {
  const mine = (current = { index, query, kept: [], shown: [] });
  try {
    const answer = await ask("judgements/", { index, query, limit: 100 });
    mine.kept = [...answer.results, ...mine.kept];
    showVerdicts(mine);
  } catch (error) {
    if (error.status === undefined) throw error; // without them the hits are as good
  }
}

/** Two buttons; the one that holds is pressed, and pressed again it is taken back. */
export function judgeElement(hit) {
  const of = current;
  const group = element("span", { className: "judge" });
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Does it answer the query?");
  const buttons = VERDICTS.map(({ verdict, label }) => {
    const button = element("button", { type: "button", title: label }, thumb());
    button.dataset.verdict = verdict;
    button.setAttribute("aria-label", label);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => say(of, hit, verdict, group));
    return button;
  });
  group.append(...buttons);
  of.shown.push({ hit, buttons });
  showVerdicts(of);
  return group;
}

async function say(of, hit, verdict, group) {
  if (group.getAttribute("aria-busy") === "true") return;
  group.setAttribute("aria-busy", "true");
  try {
    const before = keptOf(of, hit);
    if (before?.verdict === verdict) {
      await send("DELETE", `judgements/${before.id}/`);
      of.kept = of.kept.filter((each) => each.id !== before.id);
    } else {
      const { index, query } = of;
      const said = await send("POST", "judgements/", { index, query, node_id: hit.node_id, verdict });
      of.kept = [said, ...of.kept.filter((each) => each.id !== said.id)];
    }
    showVerdicts(of);
  } catch (error) {
    if (error.status === undefined) throw error;
    group.dispatchEvent(new CustomEvent("problem", { bubbles: true, detail: error.message }));
  } finally {
    group.removeAttribute("aria-busy");
  }
}

/** The last word on a hit: on its page, or on its whole document. */
function keptOf(of, hit) {
  return of.kept.find(
    (each) =>
      each.artifact_id === hit.artifact?.id &&
      (each.page_index === null || each.page_index === hit.page?.index),
  );
}

function showVerdicts(of) {
  for (const { hit, buttons } of of.shown) {
    const said = keptOf(of, hit)?.verdict;
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.verdict === said));
    }
  }
}

function thumb() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", THUMB);
  svg.append(path);
  return svg;
}
