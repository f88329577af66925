/* Streamed answers: reads the server-sent events of a question and renders them. */

import { element, fromTemplate } from "../common/dom.js";
import { request } from "../common/api.js";

const MAX_CONNECTION_BREAKS = 3; // without an event between them

/** Yield the events of an answer; after a broken connection, ask for it again. */
export async function* streamAnswerEvents(question, signal) {
  let lastId = "";
  for (let breaks = 0; breaks < MAX_CONNECTION_BREAKS; breaks += 1) {
    const headers = { Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) };
    const response = await request("POST", "ask", { signal, headers, content: question });
    try {
      for await (const event of parseEvents(response.body)) {
        breaks = 0;
        lastId = event.id || lastId;
        yield event;
        if (event.kind === "done" || event.kind === "error") return;
      }
    } catch (error) {
      if (error.name === "AbortError" || !(error instanceof TypeError)) throw error;
    }
  }
  yield { kind: "error", data: { detail: "The connection was lost and could not be restored." } };
}

/** Parse server-sent events from a byte stream. */
async function* parseEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/)));
      if (fields.event) yield { id: fields.id, kind: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

/** The answer's panel; `add` appends text, `end` links its citations, shows which model wrote it, and returns the text. `stop` ends the stream. */
export function answerElement(metadata, showHit, stop) {
  const panel = fromTemplate("answer");
  const [text, writer] = [".text", ".place"].map((part) => panel.querySelector(part));
  const [stopButton, copyButton] = panel.querySelectorAll("button");
  text.before(...parsedQueryElements(metadata));
  let written = "";
  stopButton.addEventListener("click", () => {
    stop();
    finish();
    writer.textContent = "Stopped.";
  });
  function finish() {
    panel.removeAttribute("aria-busy");
    stopButton.hidden = true;
  }
  return {
    panel,
    add(piece) {
      written += piece;
      text.replaceChildren(written);
    },
    end(done) {
      finish();
      if (!done.model_name || !written) {
        text.replaceChildren(refusalText(metadata));
        return text.textContent;
      }
      text.replaceChildren(...linkCitations(written, done.citations, showHit));
      writer.textContent = [...done.notes, attributionText(done)].filter(Boolean).join(" ");
      copyButton.hidden = !navigator.clipboard;
      copyButton.addEventListener("click", async () => {
        await navigator.clipboard.writeText(withSources(written, done.citations, metadata.hits));
        copyButton.textContent = "Copied";
      });
      return written;
    },
  };
}

/** The answer as plain text, with the title and page of each passage that it cites. */
function withSources(written, citations, hits) {
  const numbers = [...new Set(citations.map(({ number }) => number))].sort((a, b) => a - b);
  const sources = numbers.map((number) => {
    const { artifact, page } = hits[number - 1];
    return `[${number}] ${artifact.title || "Untitled"}${page ? `, page ${page.index + 1}` : ""}`;
  });
  return [written, ...sources].join("\n\n");
}

function refusalText({ refusal, hits }) {
  if (refusal) return [refusal.detail, refusal.fix].filter(Boolean).join(" ");
  return hits.length ? "These passages do not answer the question." : "No passages were found for this question.";
}

function attributionText({ model_name: model, citations }) {
  if (model !== "extractive") {
    const unsupported = citations.filter((each) => !each.is_supported).length;
    const warning = unsupported ? ` Marks with “?” (${unsupported}) name passages that do not support the sentence.` : "";
    return `Written by ${model} from the passages below.${warning}`;
  }
  return citations.length ? "Quoted from the documents." : ""; // without citations it says that nothing answers
}

/** Tags for the filters and identifiers parsed from the question, and the pipeline's notes. */
function parsedQueryElements({ parsed, identified, notes }) {
  const tags = [
    ...Object.entries(parsed).map(([name, value]) => `${name}: ${describeCondition(value)}`),
    ...identified.map(({ identifier, title }) => `${identifier}: ${title}`),
  ].map((text) => element("span", { className: "tag", dir: "auto" }, text));
  return [
    tags.length ? element("div", { className: "below" }, ...tags) : null,
    ...notes.map((note) => element("p", { className: "note", dir: "auto" }, note)),
  ].filter(Boolean);
}

const OPERATOR_WORDS = { gte: "from", lte: "to", gt: "after", lt: "before" };

/** Describe a filter condition of the API in words. */
function describeCondition(value) {
  if (Array.isArray(value)) return value.map(describeCondition).join(" or ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, bound]) => `${OPERATOR_WORDS[name] ?? name} ${describeCondition(bound)}`)
    .join(" ");
}

/** Text, with the mark of each citation, such as [2], a button that leads to its hit. */
function linkCitations(text, citations, showHit) {
  let position = 0; // in code points, as the offsets of the citations
  return text.split(/(\[\d{1,3}\])/).map((part) => {
    const start = position;
    position += [...part].length;
    const number = Number(/^\[(\d+)\]$/.exec(part)?.[1]);
    const citation = citations.find((each) => each.number === number && isMarkOf(each, start, text));
    if (!citation) return part;
    const about = citation.is_supported
      ? { ariaLabel: `Hit ${number}` }
      : { ariaLabel: `Hit ${number}, which does not support the sentence`, title: "This passage does not support the sentence." };
    const onclick = () => showHit(number - 1);
    return element("button", { type: "button", className: "mark", onclick, ...about }, `${number}${citation.is_supported ? "" : "?"}`);
  });
}

/** The mark of a quoted sentence follows it, and a [2] in it is the document's; a model's sentence contains its mark. */
function isMarkOf({ number, answer_start: start, answer_end: end }, position, text) {
  const isQuoted = [...text].slice(end).join("").startsWith(` [${number}]`);
  return isQuoted ? position === end + 1 : position >= start && position < end;
}
