/* A conversation: its questions and answers stay in this browser, until another one begins or it is deleted.
 *
 * A question of the search box begins one, that of the follow-up box goes on with it.
 */

import { element, fromTemplate } from "../common/dom.js";
import { readKey } from "../common/key.js";
import { countOf, onSubmit } from "../common/page.js";

const MAX_TURNS = 10; // that the service takes
const MAX_ANSWER_CHARS = 20_000;

let earlier = []; // turns before the question that is shown
let isFollowUp = false;

// A key is kept as long as its tab, a session longer; both go with what was asked (common/key.js).
const user = document.documentElement.dataset.user;
const storage = () => (readKey() || !user ? sessionStorage : localStorage);
const entryName = () => `thread ${readKey().slice(0, 12) || `user ${user}`}`;

function readTurns(index) {
  const stored = JSON.parse(storage().getItem(entryName()) ?? "null");
  return stored?.index === index ? stored.turns : [];
}

/** What was asked before this question, as the service takes it; nothing if it begins a conversation. */
export function earlierTurns(index, question) {
  const turns = readTurns(index);
  const at = turns.findIndex((turn) => turn.question === question); // after a reload, or on the way back
  if (isFollowUp) earlier = turns.slice(0, at < 0 ? turns.length : at);
  else earlier = at < 0 ? [] : turns.slice(0, at);
  isFollowUp = false;
  return earlier.slice(-MAX_TURNS).map((turn) => ({ ...turn, answer: [...turn.answer].slice(0, MAX_ANSWER_CHARS).join("") }));
}

function keepTurn(index, turn) {
  const before = readTurns(index);
  const at = before.findIndex(({ question }) => question === turn.question);
  const turns = at < 0 ? [...earlier, turn] : before.with(at, turn);
  storage().setItem(entryName(), JSON.stringify({ index, turns }));
}

export function deleteThread() {
  storage().removeItem(entryName());
  earlier = [];
}

/** Show above an answer what was asked before, and how the question was read. */
export function showEarlier(panel, question, metadata) {
  const turns = earlier.map((turn) =>
    element("li", {}, element("p", { className: "asked", dir: "auto" }, turn.question), element("p", { dir: "auto" }, turn.answer)),
  );
  const list = element("details", { className: "earlier" }, element("summary", {}, countOf(turns.length, "earlier question")), element("ol", {}, ...turns));
  const isRewritten = metadata.question !== question;
  panel.querySelector("h2").after(
    ...(turns.length ? [list] : []),
    ...(isRewritten ? [element("p", { className: "place", dir: "auto" }, `Read as “${metadata.question}”`)] : []),
  );
}

/** Keep a finished answer, and offer below it to ask on; `ask` takes the next question. */
export function showFollowUp(panel, index, question, answer, ask) {
  keepTurn(index, { question, answer });
  const form = fromTemplate("follow-up-form");
  onSubmit(form, () => {
    const next = form.elements.question.value.trim();
    isFollowUp = next !== "";
    if (isFollowUp) ask(next);
  });
  form.elements.remove.addEventListener("click", () => {
    deleteThread();
    panel.querySelector(".earlier")?.remove();
    form.replaceWith(element("p", { className: "place", role: "status" }, "Deleted from this browser."));
  });
  panel.append(form);
}
