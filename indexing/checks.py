"""Django system checks of index specs and indexing settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from core.import_lock import import_lock
from indexing.exceptions import InvalidSpec
from indexing.spec import OPTIONS_BY_PARSER, IndexSpec, NodeParserStrategy
from indexing.spec.loaded import get_invalid_specs, get_specs


@register("strata")
def check_store_settings(**kwargs: Any) -> list[CheckMessage]:
    """The folder of specs exists, and the store takes the settings that specs give it."""
    folder = Path(settings.STRATA_SPECS_DIR)
    if not folder.is_dir():
        return [
            Error(
                f"The folder of index specs, {folder}, does not exist.",
                hint="Make the folder, or set STRATA_SPECS_DIR to the right one.",
                id="indexing.E001",
            )
        ]
    specs = get_specs().values()
    if settings.STRATA_VECTOR_STORE == "embedded":
        return [
            Warning(
                f"{spec.name}.yaml: the embedded vector store ignores {', '.join(ignored)} in the "
                "section store.",
                hint="Run a Qdrant server to use them, or remove them.",
                id="indexing.W001",
            )
            for spec in specs
            if (ignored := spec.store.model_dump(exclude={"vectors"}, exclude_defaults=True))
        ]
    return []


@register("specs")
def check_specs(**kwargs: Any) -> list[CheckMessage]:
    """Every spec file is valid. ``strata check`` alone reports it as an error: the other indexes
    are served without those that have a mistake."""
    problems = list(get_invalid_specs().values())
    for spec in get_specs().values():
        try:
            _check_added_node_parsers(spec)
        except InvalidSpec as error:
            problems.append(str(error))
    return [Error(problem, id="indexing.E002") for problem in problems]


def _embed_nothing(texts: Sequence[str]) -> NoReturn:
    raise AssertionError("a node parser may not embed before it has a text")


def _check_added_node_parsers(spec: IndexSpec) -> None:
    """Check the options of node parsers that distributions add. Imports them, and LlamaIndex."""
    for strategy in spec.chunks.strategies:
        if isinstance(strategy, NodeParserStrategy) and strategy.parser not in OPTIONS_BY_PARSER:
            with import_lock:
                from indexing.chunking.node_parsers import make_node_parser
            try:
                make_node_parser(strategy, embed=_embed_nothing)
            except InvalidSpec as error:
                raise InvalidSpec(f"{spec.name}.yaml: chunks.strategies: {error}") from None


@register("strata")
def check_lease_seconds(**kwargs: Any) -> list[CheckMessage]:
    """A batch must be small enough for other work, and a lease longer than one slow statement."""
    if settings.STRATA_LEASE_SECONDS >= 30 and settings.STRATA_SYNC_BATCH <= 2_000:
        return []
    return [
        Error(
            "STRATA_SYNC_BATCH is too large or STRATA_LEASE_SECONDS too short.",
            hint="Keep the batch at 2000 or less and the lease at 30 seconds or more.",
            id="indexing.E004",
        )
    ]


@register("strata")
def check_unconfirmed_seconds(**kwargs: Any) -> list[CheckMessage]:
    """The wait before an unconfirmed write is checked exceeds the Qdrant timeout."""
    timeout = getattr(settings, "QDRANT_TIMEOUT_SECONDS", 0)
    if timeout < settings.STRATA_UNCONFIRMED_SECONDS:
        return []
    return [
        Error(
            "A write to Qdrant would still be under way after STRATA_UNCONFIRMED_SECONDS.",
            hint=f"Set it to more than QDRANT_TIMEOUT_SECONDS, {timeout}.",
            id="indexing.E005",
        )
    ]
