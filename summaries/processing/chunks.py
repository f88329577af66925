"""``chunks.json``: the chunks of a document with what is said about them, there and back.

A list of objects in the order of the document, each with its keys in the order of
``key_names``. Read back, every value is checked, and every text must stand in the document.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.exceptions import InvalidInput
from core.parsers import load_json
from core.text import clean_text
from documents.models import Source
from indexing.catalog import clean_metadata_value
from indexing.exceptions import InvalidSpec
from indexing.spec import FieldSpec, IndexSpec
from summaries.processing.located import Located, line_at, list_parts, object_parts

CHUNKS = "chunks.json"
MAX_QUESTIONS = 20  # of a chunk; as many as a spec may ask for
MAX_QUESTION_CHARS = 500  # as what language models write is cut to
MAX_SUMMARY_CHARS = 1_000
MAX_WHOLE = 2**31 - 1  # what every database keeps in its column

# Around the declared fields.
KEYS_BEFORE = ("chunk_id", "text")
KEYS_AFTER = (
    "hypothetical_questions", "summary", "page_index", "source_ordinal", "start_offset",
    "end_offset", "strategy", "chunk_index", "heading",
)  # fmt: skip
OPTIONAL_KEYS = {"summary", "page_index", "heading"}

Place = tuple[int, int, int, str]


@dataclass(frozen=True, slots=True)
class WrittenChunk:
    """One object of ``chunks.json``. Its offsets are in its source, counted in code points."""

    chunk_id: str
    text: str
    page_index: int
    source_ordinal: int
    start_offset: int
    end_offset: int
    strategy: str
    chunk_index: int
    heading: str
    questions: list[str] = field(default_factory=list)
    summary: str = ""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Orders chunks as the document has them; no two have the same."""
        return self.source_ordinal, self.start_offset, self.end_offset, self.strategy


def key_names(spec: IndexSpec) -> list[str]:
    """The keys of each object.

    Raises:
        InvalidSpec: a declared field has the name of another key.
    """
    for name in (*KEYS_BEFORE, *KEYS_AFTER):
        if name in spec.metadata:
            raise InvalidSpec(
                f"specs/{spec.name}.yaml: metadata.{name} cannot stand in {CHUNKS}, which has a "
                "key of this name already.",
                fix="Call the field something else.",
            )
    return [*KEYS_BEFORE, *spec.metadata, *KEYS_AFTER]


def format_chunks(chunks: Iterable[WrittenChunk], spec: IndexSpec) -> str:
    """Every declared field is there, that people see what they can fill in: an empty list or
    null where nothing is said."""
    objects = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.place):
        nothing: dict[str, Any] = {
            name: [] if about.many else None for name, about in spec.metadata.items()
        }
        values = {
            **{name: getattr(chunk, name) for name in KEYS_BEFORE},
            **{name: chunk.fields.get(name, nothing[name]) for name in spec.metadata},
            "hypothetical_questions": chunk.questions,
            **{name: getattr(chunk, name) for name in KEYS_AFTER[1:]},
        }
        objects.append({name: values[name] for name in key_names(spec)})
    return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"


def read_chunks(
    text: str, spec: IndexSpec, sources: Sequence[Source]
) -> tuple[list[WrittenChunk], list[str]]:
    """The chunks of a file that was made from these sources, or edited since, in the order of
    the document; and what in it was not taken as it stands.

    Raises:
        InvalidInput: the first thing that is wrong, with its line.
    """
    key_names(spec)
    try:
        content = load_json(text)
    except InvalidInput as error:
        raise InvalidInput(f"{CHUNKS}: {error}") from None
    if not isinstance(content, list):
        raise InvalidInput(f"{CHUNKS}, line 1: this is no list of objects.")
    reader = _Reader(text, spec, sources)
    chunks = [reader.read(part) for part in list_parts(text)]
    return sorted(chunks, key=lambda chunk: chunk.place), reader.describe_differences()


class _Reader:
    def __init__(self, text: str, spec: IndexSpec, sources: Sequence[Source]) -> None:
        self._text = text
        self._spec = spec
        self._sources = sources
        self._keys = key_names(spec)
        self._ids: dict[str, int] = {}  # where each first stands
        self._places: dict[Place, int] = {}
        self._differing: dict[str, list[int]] = {}

    def read(self, part: Located) -> WrittenChunk:
        if not isinstance(part.value, dict):
            raise self._wrong(part.at, "this is no object")
        parts = self._parts(part)
        source = self._source(parts["source_ordinal"])
        text = self._string(parts["text"])
        if not text.strip():
            raise self._wrong(parts["text"].key_at, "text: it is blank")
        start, end = self._offsets(parts, source, text)
        page = source.page
        chunk = WrittenChunk(
            chunk_id=self._string(parts["chunk_id"]),
            text=text,
            page_index=page.index,
            source_ordinal=source.ordinal,
            start_offset=start,
            end_offset=end,
            strategy=self._strategy(parts["strategy"]),
            chunk_index=self._whole(parts["chunk_index"]),
            heading=source.heading,
            questions=self._questions(parts["hypothetical_questions"]),
            summary=self._summary(parts.get("summary")),
            fields=self._fields(parts),
        )
        self._check_new(chunk, parts)
        if "page_index" in parts and self._whole(parts["page_index"]) != page.index:
            self._differing.setdefault("page_index", []).append(parts["page_index"].key_at)
        if "heading" in parts and self._string(parts["heading"]) != source.heading:
            self._differing.setdefault("heading", []).append(parts["heading"].key_at)
        return chunk

    def describe_differences(self) -> list[str]:
        """A sentence for each key that some objects have otherwise than the document."""
        told = {
            "start_offset": "offsets were not those of the text, which were taken",
            "page_index": "page_index is not that of the text, which was taken",
            "heading": "the heading is not the document's, which was taken",
        }
        return [
            f"{CHUNKS}, line {line_at(self._text, places[0])}"
            + (f" and {len(places) - 1} more" if len(places) > 1 else "")
            + f": {told[name]}."
            for name, places in self._differing.items()
        ]

    def _parts(self, part: Located) -> dict[str, Located]:
        parts: dict[str, Located] = {}
        for each in object_parts(self._text, part.at):
            if each.key not in self._keys:
                raise self._wrong(
                    each.key_at, f"{each.key}: there is no such key", allowed=self._keys
                )
            if each.key in parts:
                raise self._wrong(each.key_at, f"{each.key}: it stands twice in this object")
            parts[each.key] = each
        for name in (*KEYS_BEFORE, *KEYS_AFTER):
            if name not in parts and name not in OPTIONAL_KEYS:
                raise self._wrong(part.at, f"{name}: it is missing from this object")
        return parts

    def _source(self, part: Located) -> Source:
        ordinal = self._whole(part)
        if ordinal >= len(self._sources):
            raise self._wrong(
                part.key_at,
                f"source_ordinal: there is no source {ordinal}; the document has "
                f"{len(self._sources)}, counted from 0",
            )
        return self._sources[ordinal]

    def _offsets(self, parts: Mapping[str, Located], source: Source, text: str) -> tuple[int, int]:
        start, end = self._whole(parts["start_offset"]), self._whole(parts["end_offset"])
        is_there = source.text.startswith(text, start)
        if is_there and end == start + len(text):
            return start, end
        found = start if is_there else source.text.find(text)
        if found < 0:
            raise self._wrong(
                parts["text"].key_at,
                f"text: it does not stand in source {source.ordinal} of the document; chunks are "
                "passages of it, word for word",
            )
        if not is_there and source.text.find(text, found + 1) >= 0:
            raise self._wrong(
                parts["start_offset"].key_at,
                f"start_offset: the text does not stand there, and more than once in source "
                f"{source.ordinal}, so its place is not known",
            )
        self._differing.setdefault("start_offset", []).append(parts["start_offset"].key_at)
        return found, found + len(text)

    def _strategy(self, part: Located) -> str:
        names = [strategy.name for strategy in self._spec.chunks.strategies]
        name = self._string(part)
        if name not in names:
            raise self._wrong(
                part.key_at, f"strategy: {name!r} is not one of the spec's", allowed=names
            )
        return name

    def _questions(self, part: Located) -> list[str]:
        if not isinstance(part.value, list):
            raise self._wrong(part.key_at, f"{part.key}: it takes a list of strings")
        if len(part.value) > MAX_QUESTIONS:
            raise self._wrong(
                part.key_at,
                f"{part.key}: {len(part.value)} questions; a chunk may have {MAX_QUESTIONS}",
            )
        questions = []
        for each in list_parts(self._text, part.at):
            if not isinstance(each.value, str):
                raise self._wrong(each.at, f"{part.key}: it takes a list of strings")
            question = clean_text(each.value).strip()
            if not question:
                raise self._wrong(each.at, f"{part.key}: a question is blank")
            if len(question) > MAX_QUESTION_CHARS:
                raise self._wrong(
                    each.at, f"{part.key}: a question may have {MAX_QUESTION_CHARS} characters"
                )
            questions.append(question)
        return list(dict.fromkeys(questions))

    def _summary(self, part: Located | None) -> str:
        summary = "" if part is None else self._string(part).strip()
        if part is not None and len(summary) > MAX_SUMMARY_CHARS:
            raise self._wrong(part.key_at, f"summary: it may have {MAX_SUMMARY_CHARS} characters")
        return summary

    def _fields(self, parts: Mapping[str, Located]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, about in self._spec.metadata.items():
            part = parts.get(name)
            if part is None or part.value is None:
                continue
            if about.many and isinstance(part.value, list):
                values = [
                    self._field(name, about.model_copy(update={"many": False}), each.value, each.at)
                    for each in list_parts(self._text, part.at)
                ]
                if values:
                    found[name] = list(dict.fromkeys(values))
            else:
                found[name] = self._field(name, about, part.value, part.key_at)
        return found

    def _field(self, name: str, about: FieldSpec, value: Any, at: int) -> Any:
        value = clean_text(value) if isinstance(value, str) else value
        try:
            cleaned = clean_metadata_value(name, about, value)
        except InvalidInput as error:
            if error.allowed is not None:
                problem = f"{value!r} is not one of its values"
                raise self._wrong(at, f"{name}: {problem}", allowed=error.allowed) from None
            raise self._wrong(at, f"{name}: {error.detail.rstrip('.')}") from None
        if isinstance(cleaned, str) and not cleaned.strip():
            raise self._wrong(at, f"{name}: a value is blank")
        return cleaned

    def _check_new(self, chunk: WrittenChunk, parts: Mapping[str, Located]) -> None:
        if not chunk.chunk_id.strip():
            raise self._wrong(parts["chunk_id"].key_at, "chunk_id: it is blank")
        at = parts["chunk_id"].key_at
        first = self._ids.setdefault(chunk.chunk_id, at)
        if first != at:
            line = line_at(self._text, first)
            raise self._wrong(at, f"chunk_id: {chunk.chunk_id!r} stands in line {line} already")
        first = self._places.setdefault(chunk.place, at)
        if first != at:
            line = line_at(self._text, first)
            raise self._wrong(at, f"text: the chunk of line {line} is this very passage")

    def _string(self, part: Located) -> str:
        if not isinstance(part.value, str):
            raise self._wrong(part.key_at, f"{part.key}: it takes a string")
        return clean_text(part.value)

    def _whole(self, part: Located) -> int:
        value = part.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_WHOLE:
            raise self._wrong(part.key_at, f"{part.key}: it takes a whole number from 0 on")
        return value

    def _wrong(
        self, at: int, problem: str, *, allowed: Iterable[str] | None = None
    ) -> InvalidInput:
        line = line_at(self._text, at)
        choice = "" if allowed is None else f"; allowed: {', '.join(allowed)}"
        return InvalidInput(f"{CHUNKS}, line {line}: {problem}{choice}.")
