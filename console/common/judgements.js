/* Judgements by people of whether hits answer the query; evaluations use them as golden queries. */

import { getJson, send } from "./api.js";
import { element } from "./dom.js";
import { report } from "./page.js";
import { svgElement } from "./svg.js";

const VERDICTS = [
  { verdict: "good", label: "It answers the query" },
  { verdict: "bad", label: "It does not answer the query" },
];
const THUMB =
  "M7 10.5V20H4v-9.5zM7 10.5 11 3c1.6 0 2.6 1.3 2.2 2.9l-.7 3.1h6c1.3 0 2.2 1.2 1.8 2.4l-2 6.8A2.5 2.5 0 0 1 16 20H7z";

/* The current query: its stored judgements, and the buttons of each of its hits. */
let currentQuery = { index: "", query: "", stored: [], shown: [] };

/** Start judging the hits of a query: load its stored judgements and show them. */
export async function loadJudgements(index, query) {
  const mine = (currentQuery = { index, query, stored: [], shown: [] });
  try {
    const answer = await getJson("judgements/", { index, query, limit: 100 });
    mine.stored = [...answer.results, ...mine.stored];
    updateJudgementButtons(mine);
  } catch (error) {
    if (error.status === undefined) throw error; // the hits are shown without judgements
  }
}

/** Two buttons that judge a hit; pressing the active one again deletes the judgement. */
export function judgementButtonsElement(hit) {
  const state = currentQuery;
  const group = element("span", { className: "judge", role: "group", ariaLabel: "Does it answer the query?" });
  const buttons = VERDICTS.map(({ verdict, label }) => {
    const icon = svgElement("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svgElement("path", { d: THUMB }));
    const button = element("button", { type: "button", title: label, ariaLabel: label, ariaPressed: "false" }, icon);
    button.dataset.verdict = verdict;
    button.addEventListener("click", () => saveJudgement(state, hit, verdict, group));
    return button;
  });
  group.append(...buttons);
  state.shown.push({ hit, buttons });
  updateJudgementButtons(state);
  return group;
}

async function saveJudgement(state, hit, verdict, group) {
  if (group.getAttribute("aria-busy") === "true") return;
  group.setAttribute("aria-busy", "true");
  try {
    const before = findJudgement(state, hit);
    if (before?.verdict === verdict) {
      await send("DELETE", `judgements/${before.id}/`);
      state.stored = state.stored.filter((each) => each.id !== before.id);
    } else {
      const { index, query } = state;
      const judgement = await send("POST", "judgements/", { index, query, node_id: hit.node_id, verdict });
      state.stored = [judgement, ...state.stored.filter((each) => each.id !== judgement.id)];
    }
    updateJudgementButtons(state);
  } catch (error) {
    report(error);
  } finally {
    group.removeAttribute("aria-busy");
  }
}

/** The stored judgement of a hit: of its page, or of its whole document. */
function findJudgement(state, hit) {
  const isOf = (each) => each.artifact_id === hit.artifact?.id && (each.page_index === null || each.page_index === hit.page?.index);
  return state.stored.find(isOf);
}

function updateJudgementButtons(state) {
  for (const { hit, buttons } of state.shown) {
    const verdict = findJudgement(state, hit)?.verdict;
    for (const button of buttons) button.ariaPressed = String(button.dataset.verdict === verdict);
  }
}
