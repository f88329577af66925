"""Papers as JSON Lines, plain or gzipped: ``id``, ``title``, ``abstract``, ``authors``, ``year``,
``venue``, and optionally ``awards`` and ``doi``. Other keys are ignored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from core.exceptions import InvalidInput, Malformed
from core.http_formats import Line, iter_lines
from presets.papers.anthology.compressed import READ_ERRORS, open_decompressed
from presets.papers.anthology.papers import Paper
from presets.papers.anthology.plain_text import to_plain_text


class _PaperLine(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: str = Field(min_length=1, max_length=255)
    title: str = ""
    abstract: str | None = None
    authors: list[str] = []
    year: int | None = None
    venue: list[str] = []
    awards: list[str] = []
    doi: str | None = None

    @field_validator("venue", mode="before")
    @classmethod
    def _wrap_single_venue(cls, venue: Any) -> Any:
        return [venue] if isinstance(venue, str) else venue


def read_json_lines(path: Path) -> Iterator[Paper | InvalidInput]:
    """Yield a paper, or the error, for each line that is not blank."""
    try:
        with open_decompressed(path) as file:
            for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
                try:
                    yield _read_line(line)
                except InvalidInput as error:
                    error.field = f"{path}:{line.number}"
                    yield error
    except READ_ERRORS as error:
        yield InvalidInput(f"The file cannot be read: {error}.", field=str(path))


def _read_line(line: Line) -> Paper:
    try:
        content = _PaperLine.model_validate(line.load_json())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise Malformed(f"The line is not a valid paper: {where}: {first['msg']}.") from None
    names = (to_plain_text(name) for name in content.authors)
    return Paper(
        id=content.id,
        title=to_plain_text(content.title),
        abstract=to_plain_text(content.abstract or ""),
        authors=tuple(dict.fromkeys(name for name in names if name)),
        year=content.year,
        venues=tuple(venue.strip().lower() for venue in content.venue),
        awards=tuple(to_plain_text(award) for award in content.awards),
        doi=(content.doi or "").strip(),
    )
