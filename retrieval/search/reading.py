"""Reads a query with the fields of the indexes in which it is searched."""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from indexing.spec import IndexSpec
from retrieval.filters import RANGE_FIELD_TYPES, parse_filter
from retrieval.ledger import LiveBuild
from retrieval.search.query_syntax import Conditions, ReadQuery, read_conditions, read_query
from retrieval.search.request import SearchOptions

_BOUNDS: Final = {">=": "gte", "≥": "gte", ">": "gt", "<=": "lte", "≤": "lte", "<": "lt"}
_BOUND: Final = re.compile(r"([<>]=?|[≥≤])\s*(\S.*)")
_JSON_TYPES: Final = frozenset({"integer", "float", "bool"})


def read_search(
    query: str, options: SearchOptions, builds: Iterable[LiveBuild | None]
) -> ReadQuery:
    """The query as it is searched, with the conditions of the options. Raises ``InvalidInput``: one
    of these has no word."""
    read = options.read or ReadQuery(query)
    if options.read is None and options.reads_syntax:
        specs = [build.spec for build in builds if build is not None]
        names = [name for name in specs[0].metadata if _is_in_all(name, specs)] if specs else []
        read = read_query(query, partial(_read_field, specs, names), names)
    given = read_conditions(options.must, options.must_not, options.phrases)
    if not given:
        return read
    typed = read.conditions
    joined = Conditions(given.required + typed.required, given.excluded + typed.excluded)
    return replace(read, conditions=joined, words=" ".join([*options.must, *options.phrases]))


def explain_unread_syntax(query: str, builds: Iterable[LiveBuild | None]) -> list[str]:
    """A note for a search that reads no syntax, if the query has some."""
    read = read_search(query, SearchOptions(reads_syntax=True), builds)
    if not read.all_conditions and not read.filter:
        return []
    return [
        "The query was searched as text: this search reads no quotation marks, minus or plus "
        "signs, ORs or fields."
    ]


def _is_in_all(name: str, specs: Sequence[IndexSpec]) -> bool:
    return all(name in spec.metadata for spec in specs)


def _read_field(
    specs: Sequence[IndexSpec], names: Sequence[str], name: str, value: str
) -> tuple[str, Any]:
    """The declared name of a field, and the value of its type. Raises as a ``ReadField``."""
    known = next((each for each in names if each.casefold() == name.casefold()), None)
    if known is None:
        raise LookupError(name)
    type = specs[0].metadata[known].type
    bound = ""
    read: Any = value.strip()
    if type in RANGE_FIELD_TYPES and (found := _BOUND.fullmatch(read)):
        bound, read = _BOUNDS[found[1]], found[2]
    if type in _JSON_TYPES:
        with suppress(ValueError):  # the filter then says what the field takes
            read = json.loads(read.lower().replace("−", "-"))
    if bound:
        read = {bound: read}
    for spec in specs:
        parse_filter({known: read}, spec)
    return known, read
