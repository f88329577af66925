"""What a type of source implements.

A type is one class, a ``SourceSettings``: its fields are the settings that a spec gives a source of
this type, and ``open`` gives a ``Reader``. Nothing of it knows documents, rows or the database.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, field_validator

from feeds.patterns import PathFields, compile_glob
from indexing.spec.sections import FrozenModel

MAX_ID_CHARS = 4_096
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MIN_PERIOD = timedelta(seconds=10)
MAX_PERIOD = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Listed:
    """A document that the source has, as its listing says it.

    ``id``: the same as long as it is the same document for the source. ``version``: differs
    whenever the content may differ; empty if the listing cannot tell, so that each run asks.
    ``name``: the path or name of its file, whose suffix decides how it is read; by default the id.
    ``groups``: who may see it; None if the source does not say.
    """

    id: str
    version: str
    name: str = ""
    byte_count: int | None = None
    title: str | None = None
    url: str | None = None
    groups: Sequence[str] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of a document.

    ``version``: the one that these bytes have, which may be newer than the listed one.
    ``file_name``: only where the listing could not know it.
    """

    chunks: Iterator[bytes]
    version: str
    file_name: str = ""


class Reader(Protocol):
    """A source while it is read."""

    def list(self) -> Iterator[Listed]:
        """Everything that the source has, in any order. It ends only after the last one, and raises
        an error rather than leave one out.

        Raises:
            SourceUnavailable: later may help; ``retry_after`` says when, if the source did.
        """

    def fetch(self, id: str, version: str) -> Fetched | None:
        """One document; None if it still has this ``version``, empty if none is known.

        Raises:
            EntryGone: there is none any more.
            SourceUnavailable: as ``list``.
            StrataError: this document cannot be fetched, and others can.
        """


def parse_period(given: Any) -> Any:
    """Read ``30s``, ``5m``, ``12h`` or ``1d``."""
    if not isinstance(given, str):
        return given
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", given)
    period = timedelta(seconds=int(found[1]) * UNITS[found[2]]) if found else None
    if period is None or not MIN_PERIOD <= period <= MAX_PERIOD:
        raise ValueError(
            f"{given[:40]!r} is no period from 10s to 366d; write a number and s, m, h or d, such "
            "as 5m"
        )
    return period


def format_period(period: timedelta) -> str:
    seconds = int(period.total_seconds())
    size, unit = max((size, unit) for unit, size in UNITS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"


Period = Annotated[
    timedelta, BeforeValidator(parse_period), PlainSerializer(format_period, return_type=str)
]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Patterns = tuple[str, ...]


class SourceSettings(FrozenModel, ABC):
    """The settings of a source that each type has.

    ``confirm_above``: a listing that lacks more than this share of the documents waits for a
    person. ``path_fields``: metadata that the path says, such as ``{client}/{year}/**``.
    ``groups``: of every document, or by patterns of paths, of which the first that matches counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    every: Period | None = timedelta(hours=1)  # null: only when somebody asks
    include: Patterns = ("**",)
    exclude: Patterns = ()
    at_most: int = Field(100_000, ge=1, le=10_000_000)
    confirm_above: float = Field(0.2, ge=0, le=1)
    path_fields: str = ""
    groups: tuple[str, ...] | dict[str, tuple[str, ...]] | None = None

    @field_validator("include", "exclude")
    @classmethod
    def _check_patterns(cls, patterns: Patterns) -> Patterns:
        for pattern in patterns:
            if not pattern or pattern.startswith("/"):
                raise ValueError(
                    f"{pattern[:100]!r} is no pattern of paths below the source; write one such as "
                    "**/*.md"
                )
        return patterns

    @field_validator("path_fields")
    @classmethod
    def _check_path_fields(cls, template: str) -> str:
        if template:
            PathFields(template)
        return template

    @abstractmethod
    def open(self) -> AbstractContextManager[Reader]:
        """Raises as ``Reader.list``."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for people; without credentials."""

    def includes(self, path: str) -> bool:
        """Whether the patterns include a path below the source."""
        return any(compile_glob(each).match(path) for each in self.include) and not any(
            compile_glob(each).match(path) for each in self.exclude
        )
