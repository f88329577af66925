/* The choice *Answer* of the search page: shows an answer while it streams, above the hits it is based on. */

import { answerElement, streamAnswerEvents } from "./answer_stream.js";
import { deleteThread, earlierTurns, showEarlier, showFollowUp } from "./thread.js";
import { passageElement, questionElement } from "../common/result_elements.js";

export const isAvailable = (kinds) => kinds.includes("chunk") || kinds.includes("question");
export const names = ["hit", "hits"];
export const forget = deleteThread;

export function show({ hits }, words) {
  return hits.map((hit) => (hit.kind === "question" ? questionElement : passageElement)(hit, words));
}

export async function run({ index, q, limit, filter }, page) {
  const question = { index, query: q, limit, history: earlierTurns(index, q), ...(filter && { filter: JSON.parse(filter) }) };
  let answer = null;
  for await (const { kind, data } of streamAnswerEvents(question, page.signal)) {
    if (!page.isWanted()) return;
    if (kind === "metadata") {
      page.showAnswer({ ...data, notes: [] }); // an answer shows its notes itself
      answer = answerElement(data, page.focusHit, page.stop);
      showEarlier(answer.panel, q, data);
      page.showAbove(answer.panel);
    } else if (kind === "chunk") {
      answer.add(data.text);
    } else if (kind === "done") {
      showFollowUp(answer.panel, index, q, answer.end(data), page.searchFor);
    } else {
      page.showError([data.detail, data.fix].filter(Boolean).join(" "));
    }
  }
}
