import signal
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import CommandParser
from httpx_sse import EventSource

from core.api_client import ApiClient, ApiCommand, require_success
from core.command_options import add_json_option, format_json, parse_json
from core.exceptions import StrataError
from retrieval.management.answer_printing import (
    AnswerPrinter,
    format_relationship,
    strip_control_characters,
)
from retrieval.search import MAX_LIMIT
from summaries.models import EXTRACTIVE_MODEL_NAME


class Command(ApiCommand):
    help = "Answer a question in whole sentences, with the passages that support them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--index", help="Default: the only index that holds something.")
        parser.add_argument("--pipeline", help="Default: the pipeline that the index's spec names.")
        parser.add_argument("--filter", help="A filter as JSON, as in the API.")
        parser.add_argument("--limit", type=int, help=f"Passages, 1 to {MAX_LIMIT}.")
        add_json_option(parser)

    def handle(self, *, question: str, filter: str | None, json: bool, **options: Any) -> None:
        body: dict[str, Any] = {"query": question}
        if filter is not None:
            body["filter"] = parse_json(filter, "--filter")
        for name in ("index", "pipeline", "limit"):
            if options[name] is not None:
                body[name] = options[name]
        if json:
            headers = {"Accept": "application/json"}
            answer = self.api.send("POST", "ask", json=body, headers=headers).json()
            self.stdout.write(format_json(answer))
            return
        try:
            self._print_events(_stream_events(self.api, body))
        except KeyboardInterrupt:  # the server stops writing the answer
            raise SystemExit(128 + signal.SIGINT) from None

    def _print_events(self, events: Iterator[tuple[str, Any]]) -> None:
        found: dict[str, Any] = {}
        has_text = False
        for kind, data in events:
            if kind == "metadata":
                found = data
                if refusal := found["refusal"]:
                    self.stdout.write(" ".join(filter(None, (refusal["detail"], refusal["fix"]))))
                self._print_notes(found)
            elif kind == "chunk":
                self.stdout.write(strip_control_characters(data["text"]), ending="")
                self.stdout.flush()
                has_text = True
            elif kind == "done" and found["relevant"] is not False:
                self.stdout.write("" if has_text else "No answer was written.")
                self._print_notes(data)
                self._print_passages(found["hits"], data)
                self._print_relationships(found["relationships"])

    def _print_notes(self, data: dict[str, Any]) -> None:
        for note in data["notes"]:
            self.stderr.write(strip_control_characters(note))

    def _print_relationships(self, relationships: Sequence[dict[str, Any]]) -> None:
        for each in relationships:
            quotes = [f"“{quote['quote']}” [{quote['number']}]" for quote in each["quotes"]]
            line = f"{format_relationship(each)}: {' '.join(quotes)}"
            self.stdout.write(strip_control_characters(line))

    def _print_passages(self, hits: Sequence[dict[str, Any]], end: dict[str, Any]) -> None:
        """Print the cited passages, numbered as in the answer; if none is cited, all."""
        printer = AnswerPrinter(self.stdout)
        cited = {citation["number"] for citation in end["citations"]}
        for number, hit in enumerate(hits, start=1):
            if number in cited or not cited:
                printer.print_hit(number, hit)
        if end["model_name"] == EXTRACTIVE_MODEL_NAME:
            if cited:  # else it says that no sentence answers the question
                self.stdout.write("Quoted from the documents.")
        elif end["model_name"]:
            self.stdout.write(f"Written by {end['model_name']}.")
        unsupported = {each["number"] for each in end["citations"] if not each["is_supported"]}
        for number in sorted(unsupported):
            self.stdout.write(f"Passage [{number}] does not support a sentence that cites it.")


def _stream_events(api: ApiClient, body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the kind and data of each event of an answer. Raises ``StrataError``: the question was
    refused, or the answer failed."""
    headers = {"Accept": "text/event-stream"}
    with api.http.stream("POST", "ask", json=body, headers=headers) as response:
        require_success(response)
        for event in EventSource(response).iter_sse():
            if event.event == "error":
                raise StrataError.from_json(event.json())
            yield event.event, event.json()
