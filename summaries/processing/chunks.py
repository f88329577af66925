"""Write and read ``chunks.json``: the chunks of a document with their annotations.

It is a list of objects in document order, with keys in the order of ``list_chunk_keys``. When it
is read, every value is validated, and every text must occur in the document.
"""

import json
from collections import defaultdict
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
from summaries.processing.json_positions import (
    LocatedValue,
    line_number_at,
    locate_list_elements,
    locate_object_members,
)

CHUNKS_FILE_NAME = "chunks.json"
MAX_QUESTIONS = 20  # per chunk; the limit of a spec
MAX_QUESTION_CHARS = 500  # questions of language models are truncated to this, too
MAX_CHUNK_SUMMARY_CHARS = 1_000
MAX_INTEGER = 2**31 - 1  # the largest value that every database stores

# Keys before and after the declared fields.
KEYS_BEFORE_FIELDS = ("chunk_id", "text")
KEYS_AFTER_FIELDS = (
    "hypothetical_questions", "summary", "page_index", "source_ordinal", "start_offset",
    "end_offset", "strategy", "chunk_index", "heading",
)  # fmt: skip
OPTIONAL_KEYS = {"summary", "page_index", "heading"}

ChunkLocation = tuple[int, int, int, str]


@dataclass(frozen=True, slots=True)
class AnnotatedChunk:
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
    def location(self) -> ChunkLocation:
        """The chunk's position: orders chunks as in the document, and is unique."""
        return self.source_ordinal, self.start_offset, self.end_offset, self.strategy


def list_chunk_keys(spec: IndexSpec) -> list[str]:
    """List the keys of each object, in order.

    Raises:
        InvalidSpec: a declared field has the name of another key.
    """
    for name in (*KEYS_BEFORE_FIELDS, *KEYS_AFTER_FIELDS):
        if name in spec.metadata:
            raise InvalidSpec(
                f"{spec.name}.yaml: metadata.{name} cannot be written to {CHUNKS_FILE_NAME}, "
                "which already has a key of this name.",
                fix="Rename the field.",
            )
    return [*KEYS_BEFORE_FIELDS, *spec.metadata, *KEYS_AFTER_FIELDS]


def format_chunks(chunks: Iterable[AnnotatedChunk], spec: IndexSpec) -> str:
    """Format chunks as JSON. Every declared field is present, empty (``[]`` or null) if it has no
    value, so that people see what they can fill in."""
    objects = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.location):
        empty_values: dict[str, Any] = {
            name: [] if field_spec.many else None for name, field_spec in spec.metadata.items()
        }
        values = {
            **{name: getattr(chunk, name) for name in KEYS_BEFORE_FIELDS},
            **{name: chunk.fields.get(name, empty_values[name]) for name in spec.metadata},
            "hypothetical_questions": chunk.questions,
            **{name: getattr(chunk, name) for name in KEYS_AFTER_FIELDS[1:]},
        }
        objects.append({name: values[name] for name in list_chunk_keys(spec)})
    return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"


def read_chunks(
    text: str, spec: IndexSpec, sources: Sequence[Source]
) -> tuple[list[AnnotatedChunk], list[str]]:
    """Read the chunks of these sources from a file that people may have edited. Return them in
    document order, and a description of what was corrected.

    Raises:
        InvalidInput: the first error, with its line.
    """
    list_chunk_keys(spec)
    try:
        content = load_json(text)
    except InvalidInput as error:
        raise InvalidInput(f"{CHUNKS_FILE_NAME}: {error}") from None
    if not isinstance(content, list):
        raise InvalidInput(f"{CHUNKS_FILE_NAME}, line 1: the file must hold a list of objects.")
    reader = _ChunkReader(text, spec, sources)
    chunks = [reader.read(part) for part in locate_list_elements(text)]
    return sorted(chunks, key=lambda chunk: chunk.location), reader.describe_corrections()


class _ChunkReader:
    def __init__(self, text: str, spec: IndexSpec, sources: Sequence[Source]) -> None:
        self._text = text
        self._spec = spec
        self._sources = sources
        self._keys = list_chunk_keys(spec)
        self._ids: dict[str, int] = {}  # chunk id -> position of its first occurrence
        self._locations: dict[ChunkLocation, int] = {}
        self._corrected_positions = defaultdict[str, list[int]](list)

    def read(self, part: LocatedValue) -> AnnotatedChunk:
        if not isinstance(part.value, dict):
            raise self._make_error(part.at, "the list must hold objects only")
        parts = self._read_members(part)
        source = self._read_source(parts["source_ordinal"])
        text = self._read_string(parts["text"])
        if not text.strip():
            raise self._make_error(parts["text"].key_at, "text: it is blank")
        start, end = self._read_offsets(parts, source, text)
        page = source.page
        chunk = AnnotatedChunk(
            chunk_id=self._read_string(parts["chunk_id"]),
            text=text,
            page_index=page.index,
            source_ordinal=source.ordinal,
            start_offset=start,
            end_offset=end,
            strategy=self._read_strategy(parts["strategy"]),
            chunk_index=self._read_integer(parts["chunk_index"]),
            heading=source.heading,
            questions=self._read_questions(parts["hypothetical_questions"]),
            summary=self._read_summary(parts.get("summary")),
            fields=self._read_fields(parts),
        )
        self._check_unique(chunk, parts)
        if "page_index" in parts and self._read_integer(parts["page_index"]) != page.index:
            self._corrected_positions["page_index"].append(parts["page_index"].key_at)
        if "heading" in parts and self._read_string(parts["heading"]) != source.heading:
            self._corrected_positions["heading"].append(parts["heading"].key_at)
        return chunk

    def describe_corrections(self) -> list[str]:
        """One sentence for each key whose values differed from the document and were corrected."""
        explanations = {
            "start_offset": "the offsets did not match the text and were corrected",
            "page_index": "page_index did not match the text and was corrected",
            "heading": "the heading did not match the document and was corrected",
        }
        return [
            f"{CHUNKS_FILE_NAME}, line {line_number_at(self._text, places[0])}"
            + (f" and {len(places) - 1} more" if len(places) > 1 else "")
            + f": {explanations[name]}."
            for name, places in self._corrected_positions.items()
        ]

    def _read_members(self, part: LocatedValue) -> dict[str, LocatedValue]:
        parts: dict[str, LocatedValue] = {}
        for each in locate_object_members(self._text, part.at):
            if each.key not in self._keys:
                raise self._make_error(
                    each.key_at, f"{each.key}: there is no such key", allowed=self._keys
                )
            if each.key in parts:
                raise self._make_error(
                    each.key_at, f"{each.key}: the key is given twice in this object"
                )
            parts[each.key] = each
        for name in (*KEYS_BEFORE_FIELDS, *KEYS_AFTER_FIELDS):
            if name not in parts and name not in OPTIONAL_KEYS:
                raise self._make_error(part.at, f"{name}: it is missing from this object")
        return parts

    def _read_source(self, part: LocatedValue) -> Source:
        ordinal = self._read_integer(part)
        if ordinal >= len(self._sources):
            raise self._make_error(
                part.key_at,
                f"source_ordinal: there is no source {ordinal}; the document has "
                f"{len(self._sources)}, counted from 0",
            )
        return self._sources[ordinal]

    def _read_offsets(
        self, parts: Mapping[str, LocatedValue], source: Source, text: str
    ) -> tuple[int, int]:
        start = self._read_integer(parts["start_offset"])
        end = self._read_integer(parts["end_offset"])
        is_at_offset = source.text.startswith(text, start)
        if is_at_offset and end == start + len(text):
            return start, end
        found = start if is_at_offset else source.text.find(text)
        if found < 0:
            raise self._make_error(
                parts["text"].key_at,
                f"text: it does not occur in source {source.ordinal} of the document; a chunk must "
                "be copied from it word for word",
            )
        if not is_at_offset and source.text.find(text, found + 1) >= 0:
            raise self._make_error(
                parts["start_offset"].key_at,
                f"start_offset: the text is not at this offset and occurs more than once in source "
                f"{source.ordinal}, so its place is ambiguous",
            )
        self._corrected_positions["start_offset"].append(parts["start_offset"].key_at)
        return found, found + len(text)

    def _read_strategy(self, part: LocatedValue) -> str:
        names = [strategy.key for strategy in self._spec.chunks.strategies]
        name = self._read_string(part)
        if name not in names:
            raise self._make_error(
                part.key_at, f"strategy: {name!r} is not a strategy of the spec", allowed=names
            )
        return name

    def _read_questions(self, part: LocatedValue) -> list[str]:
        if not isinstance(part.value, list):
            raise self._make_error(part.key_at, f"{part.key}: it must be a list of strings")
        if len(part.value) > MAX_QUESTIONS:
            raise self._make_error(
                part.key_at,
                f"{part.key}: {len(part.value)} questions; at most {MAX_QUESTIONS} are allowed",
            )
        questions = []
        for each in locate_list_elements(self._text, part.at):
            if not isinstance(each.value, str):
                raise self._make_error(each.at, f"{part.key}: it must be a list of strings")
            question = clean_text(each.value).strip()
            if not question:
                raise self._make_error(each.at, f"{part.key}: a question is blank")
            if len(question) > MAX_QUESTION_CHARS:
                raise self._make_error(
                    each.at,
                    f"{part.key}: a question may have at most {MAX_QUESTION_CHARS} characters",
                )
            questions.append(question)
        return list(dict.fromkeys(questions))

    def _read_summary(self, part: LocatedValue | None) -> str:
        summary = "" if part is None else self._read_string(part).strip()
        if part is not None and len(summary) > MAX_CHUNK_SUMMARY_CHARS:
            raise self._make_error(
                part.key_at, f"summary: it may have at most {MAX_CHUNK_SUMMARY_CHARS} characters"
            )
        return summary

    def _read_fields(self, parts: Mapping[str, LocatedValue]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field_spec in self._spec.metadata.items():
            part = parts.get(name)
            if part is None or part.value is None:
                continue
            if field_spec.many and isinstance(part.value, list):
                values = [
                    self._read_field(
                        name, field_spec.model_copy(update={"many": False}), each.value, each.at
                    )
                    for each in locate_list_elements(self._text, part.at)
                ]
                if values:
                    found[name] = list(dict.fromkeys(values))
            else:
                found[name] = self._read_field(name, field_spec, part.value, part.key_at)
        return found

    def _read_field(self, name: str, field_spec: FieldSpec, value: Any, at: int) -> Any:
        value = clean_text(value) if isinstance(value, str) else value
        try:
            cleaned = clean_metadata_value(name, field_spec, value)
        except InvalidInput as error:
            if error.allowed is not None:
                problem = f"{value!r} is not an allowed value"
                raise self._make_error(at, f"{name}: {problem}", allowed=error.allowed) from None
            raise self._make_error(at, f"{name}: {error.detail.rstrip('.')}") from None
        if isinstance(cleaned, str) and not cleaned.strip():
            raise self._make_error(at, f"{name}: a value is blank")
        return cleaned

    def _check_unique(self, chunk: AnnotatedChunk, parts: Mapping[str, LocatedValue]) -> None:
        if not chunk.chunk_id.strip():
            raise self._make_error(parts["chunk_id"].key_at, "chunk_id: it is blank")
        at = parts["chunk_id"].key_at
        first = self._ids.setdefault(chunk.chunk_id, at)
        if first != at:
            line = line_number_at(self._text, first)
            raise self._make_error(
                at, f"chunk_id: {chunk.chunk_id!r} is already used in line {line}"
            )
        first = self._locations.setdefault(chunk.location, at)
        if first != at:
            line = line_number_at(self._text, first)
            raise self._make_error(at, f"text: the chunk in line {line} is the same passage")

    def _read_string(self, part: LocatedValue) -> str:
        if not isinstance(part.value, str):
            raise self._make_error(part.key_at, f"{part.key}: it must be a string")
        return clean_text(part.value)

    def _read_integer(self, part: LocatedValue) -> int:
        value = part.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INTEGER:
            raise self._make_error(
                part.key_at, f"{part.key}: it must be a whole number of at least 0"
            )
        return value

    def _make_error(
        self, at: int, problem: str, *, allowed: Iterable[str] | None = None
    ) -> InvalidInput:
        line = line_number_at(self._text, at)
        choice = "" if allowed is None else f"; allowed: {', '.join(allowed)}"
        return InvalidInput(f"{CHUNKS_FILE_NAME}, line {line}: {problem}{choice}.")
