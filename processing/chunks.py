"""Write and read ``chunks.json``: the chunks of a document with their annotations.

It is a list of objects in document order. People may edit the annotations and remove objects; what
an object says of the document must stay as it is in the document, which its id names.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any
from uuid import UUID

from core.exceptions import InvalidInput
from core.http_formats import load_json
from core.text import clean_text
from indexing.catalog import clean_metadata_value
from indexing.drafting.chunk import DraftedChunk, make_chunk_id
from indexing.exceptions import InvalidSpec
from indexing.spec import FieldSpec, IndexSpec

CHUNKS_FILE_NAME = "chunks.json"
MAX_QUESTIONS = 20  # per chunk; the limit of a spec
MAX_QUESTION_CHARS = 500  # questions of language models are truncated to this, too
MAX_CHUNK_SUMMARY_CHARS = 1_000

ANNOTATION_KEYS = ("hypothetical_questions", "summary")  # beside the declared fields
PLACE_ATTRIBUTES = {  # key -> attribute of the drafted chunk
    "page_index": "source.page.index",
    "source_ordinal": "source.ordinal",
    "start_offset": "start",
    "end_offset": "end",
    "strategy": "strategy",
    "chunk_index": "index",
    "heading": "source.heading",
}
MISPLACED_FIX = f"Restore it, or move {CHUNKS_FILE_NAME} away to have it made again."


@dataclass(frozen=True, slots=True)
class AnnotatedChunk:
    """One object of ``chunks.json``."""

    chunk: DraftedChunk
    questions: list[str] = field(default_factory=list)
    summary: str = ""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.chunk.id)

    @property
    def place(self) -> tuple[int, int, int, str]:
        """Orders chunks as in the document."""
        chunk = self.chunk
        return chunk.source.ordinal, chunk.start, chunk.end, chunk.strategy


def check_field_names(spec: IndexSpec) -> None:
    """Check that the declared fields can be written beside the other keys of a chunk. Raises
    ``InvalidSpec``: a declared field has the name of another key."""
    for name in ("chunk_id", "text", *ANNOTATION_KEYS, *PLACE_ATTRIBUTES):
        if name in spec.metadata:
            raise InvalidSpec(
                f"{spec.name}.yaml: metadata.{name} cannot be written to {CHUNKS_FILE_NAME}, "
                "which already has a key of this name.",
                fix="Rename the field.",
            )


def format_chunks(chunks: Iterable[AnnotatedChunk], spec: IndexSpec) -> str:
    """Format chunks as JSON. Every declared field is present, empty (``[]`` or null) if it has no
    value, so that people see what they can fill in."""
    objects = [
        {
            "chunk_id": each.id,
            "text": each.chunk.text,
            **{
                name: each.fields.get(name, [] if field_spec.many else None)
                for name, field_spec in spec.metadata.items()
            },
            "hypothetical_questions": each.questions,
            "summary": each.summary,
            **_describe_place(each.chunk),
        }
        for each in sorted(chunks, key=lambda each: each.place)
    ]
    return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"


def _describe_place(chunk: DraftedChunk) -> dict[str, Any]:
    return {key: attrgetter(attribute)(chunk) for key, attribute in PLACE_ATTRIBUTES.items()}


def make_chunk_ids(artifact_id: UUID, chunks: Iterable[AnnotatedChunk]) -> list[UUID]:
    """The ids of all chunks of a document, in their order, if it is this artifact."""
    occurrences: Counter[tuple[str, str]] = Counter()
    ids = []
    for each in chunks:
        key = each.chunk.strategy, each.chunk.text_hash
        occurrences[key] += 1
        ids.append(make_chunk_id(artifact_id, *key, occurrences[key]))
    return ids


def read_chunks(
    text: str, spec: IndexSpec, chunks: Sequence[AnnotatedChunk], earlier_id: UUID
) -> list[AnnotatedChunk]:
    """Read the annotations of these chunks from a file that people may have edited, in document
    order. Chunks whose objects were removed are left out.

    ``earlier_id``: the id of the artifact before it was in the index. The file may have been
    written then.

    Raises:
        InvalidInput: the first error, with the id of its chunk.
    """
    check_field_names(spec)
    try:
        content = load_json(text)
    except InvalidInput as error:
        raise InvalidInput(f"{CHUNKS_FILE_NAME}: {error}") from None
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise InvalidInput(f"{CHUNKS_FILE_NAME}: the file must hold a list of objects.")
    earlier_ids = make_chunk_ids(earlier_id, chunks)
    chunk_by_id = dict(zip(map(str, earlier_ids), chunks, strict=True))
    chunk_by_id |= {each.id: each for each in chunks}
    read: dict[str, AnnotatedChunk] = {}
    for number, values in enumerate(content, start=1):
        chunk_id = values.get("chunk_id")
        if not isinstance(chunk_id, str) or chunk_id not in chunk_by_id:
            raise InvalidInput(
                f"{CHUNKS_FILE_NAME}, object {number}: chunk_id: the document has no chunk "
                f"{chunk_id!r}.",
                fix=MISPLACED_FIX,
            )
        try:
            chunk = chunk_by_id[chunk_id]
            if chunk.id in read:
                raise InvalidInput("chunk_id: it is given twice")
            read[chunk.id] = _read_annotations(values, spec, chunk)
        except InvalidInput as error:
            choice = "" if error.allowed is None else f"; allowed: {', '.join(error.allowed)}"
            detail = error.detail.rstrip(".")
            raise InvalidInput(
                f"{CHUNKS_FILE_NAME}, chunk {chunk_id}: {detail}{choice}.", fix=error.fix
            ) from None
    return sorted(read.values(), key=lambda each: each.place)


def _read_annotations(
    values: Mapping[str, Any], spec: IndexSpec, chunk: AnnotatedChunk
) -> AnnotatedChunk:
    place = {
        "chunk_id": values["chunk_id"],
        "text": chunk.chunk.text,
        **_describe_place(chunk.chunk),
    }
    allowed = [*place, *ANNOTATION_KEYS, *spec.metadata]
    for name, value in values.items():
        if name not in allowed:
            raise InvalidInput(f"{name}: there is no such key", allowed=allowed)
        if name in place and value != place[name]:
            raise InvalidInput(
                f"{name}: it differs from the document's, and only questions, summary and fields "
                "can be edited",
                fix=MISPLACED_FIX,
            )
    return replace(
        chunk,
        questions=_read_questions(values.get("hypothetical_questions", [])),
        summary=_read_summary(values.get("summary", "")),
        fields=_read_fields(values, spec),
    )


def _read_questions(values: Any) -> list[str]:
    name = "hypothetical_questions"
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise InvalidInput(f"{name}: it must be a list of strings")
    if len(values) > MAX_QUESTIONS:
        raise InvalidInput(f"{name}: {len(values)} questions; at most {MAX_QUESTIONS} are allowed")
    questions = [clean_text(each).strip() for each in values]
    if "" in questions:
        raise InvalidInput(f"{name}: a question is blank")
    if any(len(each) > MAX_QUESTION_CHARS for each in questions):
        raise InvalidInput(f"{name}: a question may have at most {MAX_QUESTION_CHARS} characters")
    return list(dict.fromkeys(questions))


def _read_summary(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("summary: it must be a string")
    summary = clean_text(value).strip()
    if len(summary) > MAX_CHUNK_SUMMARY_CHARS:
        raise InvalidInput(f"summary: it may have at most {MAX_CHUNK_SUMMARY_CHARS} characters")
    return summary


def _read_fields(values: Mapping[str, Any], spec: IndexSpec) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field_spec in spec.metadata.items():
        value = values.get(name)
        if field_spec.many and isinstance(value, list):
            single = field_spec.model_copy(update={"many": False})
            if value:
                found[name] = list(dict.fromkeys(_read_field(name, single, v) for v in value))
        elif value is not None:
            found[name] = _read_field(name, field_spec, value)
    return found


def _read_field(name: str, field_spec: FieldSpec, value: Any) -> Any:
    value = clean_text(value) if isinstance(value, str) else value
    try:
        cleaned = clean_metadata_value(name, field_spec, value)
    except InvalidInput as error:
        problem = error.detail if error.allowed is None else f"{value!r} is not an allowed value"
        raise InvalidInput(f"{name}: {problem}", allowed=error.allowed) from None
    if isinstance(cleaned, str) and not cleaned.strip():
        raise InvalidInput(f"{name}: a value is blank")
    return cleaned
