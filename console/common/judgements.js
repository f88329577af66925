/* Judgements by people of whether hits answer the query; evaluations use them as golden queries. */

import { getJson, send } from "./api.js";
import { fromTemplate } from "./dom.js";
import { report } from "./page.js";

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
  const group = fromTemplate("judge");
  const buttons = [...group.children];
  for (const button of buttons) button.addEventListener("click", () => saveJudgement(state, hit, button.dataset.verdict, group));
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
