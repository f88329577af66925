/* Answers as they are written: the events of a question, and the element that shows them. */

import { element } from "./dom.js";
import { open } from "./api.js";

const MOST_BREAKS = 3; // of the connection, in a row without any event between

/** The events of an answer; where the connection breaks they go on after the last that came. */
export async function* eventsOf(parameters, signal) {
  let lastId = "";
  for (let breaks = 0; breaks < MOST_BREAKS; breaks += 1) {
    const response = await open("ask", parameters, signal, {
      Accept: "text/event-stream",
      ...(lastId ? { "Last-Event-ID": lastId } : {}),
    });
    try {
      for await (const event of parse(response.body)) {
        breaks = 0;
        lastId = event.id || lastId;
        yield event;
        if (event.kind === "done" || event.kind === "error") return;
      }
    } catch (error) {
      if (error.name === "AbortError" || !(error instanceof TypeError)) throw error;
    }
  }
  yield { kind: "error", data: { detail: "The connection broke, and could not be made again." } };
}

/** Server-sent events, from bytes. */
async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)];
        }),
      );
      if (fields.event) yield { id: fields.id, kind: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

/** The answer above its hits: its text grows by `add`, `end` says who wrote it. */
export function answerElement(metadata, showHit) {
  const text = element("p", { className: "text", dir: "auto" });
  const writer = element("p", { className: "place" });
  const panel = element(
    "section",
    { className: "answer" },
    element("h2", { className: "visually-hidden" }, "Answer"),
    ...readOutElements(metadata),
    text,
    writer,
  );
  panel.setAttribute("aria-label", "Answer");
  panel.setAttribute("aria-busy", "true");
  let written = "";
  return {
    panel,
    add(piece) {
      written += piece;
      text.replaceChildren(...withMarks(written, metadata.hits.length, showHit));
    },
    end(done) {
      panel.removeAttribute("aria-busy");
      if (!done.model_name || !written) text.replaceChildren(refusalOf(metadata));
      else writer.textContent = writerOf(done.model_name);
    },
  };
}

function refusalOf({ refusal, hits }) {
  if (refusal) return [refusal.detail, refusal.fix].filter(Boolean).join(" ");
  return hits.length ? "No sentence of these passages answers it." : "Nothing was found to answer it from.";
}

function writerOf(model) {
  return model === "extractive" ? "In the documents’ own sentences." : `Written by ${model} from the passages below.`;
}

/** What was read out of the question, and what could not be done. */
function readOutElements({ parsed, identified, notes }) {
  const tags = [
    ...Object.entries(parsed).map(([name, value]) => `${name}: ${wordsFor(value)}`),
    ...identified.map(({ identifier, title }) => `${identifier}: ${title}`),
  ].map((said) => element("span", { className: "tag", dir: "auto" }, said));
  return [
    tags.length ? element("div", { className: "below" }, ...tags) : null,
    ...notes.map((note) => element("p", { className: "note", dir: "auto" }, note)),
  ].filter(Boolean);
}

const SIGNS = { gte: "from", lte: "to", gt: "after", lt: "before" };

/** A condition as the API writes it, in words. */
function wordsFor(value) {
  if (Array.isArray(value)) return value.map(wordsFor).join(" or ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, bound]) => `${SIGNS[name] ?? name} ${wordsFor(bound)}`)
    .join(" ");
}

/** Text, with each mark such as [2] a button that leads to its hit. */
function withMarks(text, hitCount, showHit) {
  return text.split(/(\[\d{1,3}\])/).map((part) => {
    const number = /^\[(\d+)\]$/.exec(part)?.[1];
    if (!number || number < 1 || number > hitCount) return part;
    const mark = element("button", { type: "button", className: "mark" }, number);
    mark.setAttribute("aria-label", `Hit ${number}`);
    mark.addEventListener("click", () => showHit(number - 1));
    return mark;
  });
}
