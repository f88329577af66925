"""A type of source for tests: what it has, and how it lies and fails, is set by the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from feeds.exceptions import EntryGone
from feeds.protocol import Fetched, Listed, SourceSettings


@dataclass
class Script:
    """``documents``: id -> its content. ``lie``: what a listing does with the whole one."""

    documents: dict[str, bytes] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    lie: Any = None
    open_error: Exception | None = None
    fetch_errors: dict[str, Exception] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    changing_versions: Any = None

    def version(self, id: str) -> str:
        if self.changing_versions is not None:
            return str(next(self.changing_versions))
        return str(hash(self.documents[id]))

    def list(self) -> Iterator[Listed]:
        listed = (
            Listed(
                id,
                self.version(id),
                name=self.names.get(id, id),
                groups=self.groups.get(id),
                byte_count=len(content),
            )
            for id, content in sorted(self.documents.items())
        )
        return listed if self.lie is None else self.lie(listed)

    def fetch(self, id: str, version: str) -> Fetched | None:
        self.fetched.append(id)
        if id in self.fetch_errors:
            raise self.fetch_errors[id]
        if id not in self.documents:
            raise EntryGone
        return Fetched(iter([self.documents[id]]), self.version(id))


SCRIPTS: dict[str, Script] = {}


class ScriptedSource(SourceSettings):
    type: Literal["scripted"]
    script: str = "script"

    @property
    def place(self) -> str:
        return self.script

    @contextmanager
    def open(self) -> Iterator[Script]:
        script = SCRIPTS[self.script]
        if script.open_error is not None:
            raise script.open_error
        yield script


def change_at_each_listing(script: Script) -> None:
    script.changing_versions = count()
