"""Declared metadata fields: which values they take, and the one form in which each is stored."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import field_validator, model_validator

from core.text import clean_text, normalise
from indexing.spec.sections import FrozenModel

# ``said_as`` -> the field type that it requires.
FIELD_TYPE_BY_SAID_AS: dict[str, str] = {
    "year": "integer",
    "person": "keyword",
    "name": "keyword",
    "mark": "keyword",
}

_SEPARATORS = re.compile(r"(?<=\w)[-_‐‑](?=\w)")  # within a name; "A-" is not "A"


class ValueSpec(FrozenModel):
    """One value of a declared field, and its synonyms."""

    value: str
    group: str = ""  # the group of the value, such as a region of the body
    synonyms: tuple[str, ...] = ()


class FieldSpec(FrozenModel):
    """One declared metadata field: it is validated, stored, and can be used in filters.

    ``said_as``: how questions mention the field, if a query pipeline reads filters from questions:
    ``year`` (since 2019), ``person`` (by Ada Lovelace), ``name`` (at ACL), ``mark`` (with a best
    paper award).
    """

    type: Literal["keyword", "integer", "float", "bool", "datetime", "text"]
    many: bool = False
    # A list of values, or a mapping that describes them. Stored as a list: databases sort mappings.
    values: tuple[ValueSpec, ...] | None = None
    closed: bool = True  # no other values are allowed; no effect without ``values``
    lowercase: bool = False
    said_as: Literal["year", "person", "name", "mark"] | None = None
    description: str = ""

    @field_validator("values", mode="before")
    @classmethod
    def _normalise_values(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            return [{**(about or {}), "value": value} for value, about in values.items()]
        if isinstance(values, list | tuple):
            return [{"value": each} if isinstance(each, str) else each for each in values]
        return values

    @model_validator(mode="after")
    def _check_values(self) -> "FieldSpec":
        if (self.values is not None or self.lowercase) and not self.holds_texts:
            raise ValueError("values and lowercase are allowed for keyword and text fields only")
        names = [each.value for each in self.values or ()]
        if len(set(names)) < len(names):
            raise ValueError("values: each value may be listed only once")
        if self.said_as is not None and self.type != FIELD_TYPE_BY_SAID_AS[self.said_as]:
            raise ValueError(
                f"said_as: {self.said_as} is allowed for {FIELD_TYPE_BY_SAID_AS[self.said_as]} "
                "fields only"
            )
        return self

    @property
    def holds_texts(self) -> bool:
        return self.type in {"keyword", "text"}

    @property
    def closed_values(self) -> tuple[str, ...] | None:
        """All the values the field may hold; None if any value is allowed."""
        return None if self.values is None or not self.closed else tuple(self._synonyms_by_value)

    def find_values(self, wording: str) -> list[str]:
        """The declared values that a wording names: a value by its own name, else those of which it
        is a synonym. Upper and lower case, spaces, hyphens and underscores are not told apart,
        except between values that differ in nothing else."""
        if not self.values:
            return []
        clean = self._clean(wording)
        if clean in self._synonyms_by_value:
            return [clean]
        return list(self._values_by_wording.get(_fold_wording(clean), ()))

    def list_wordings(self, value: str) -> list[str]:
        """A declared value and the synonyms that name it."""
        synonyms = self._synonyms_by_value.get(value, ())
        return [value, *(each for each in synonyms if value in self.find_values(each))]

    def list_stored_forms(self, wording: str) -> list[str]:
        """The values that documents may hold for a wording: the declared ones that it names, and
        their synonyms where these were stored before they were declared; or the wording itself."""
        forms = [
            self._clean(each)
            for value in self.find_values(wording)
            for each in self.list_wordings(value)
        ]
        return list(dict.fromkeys(forms)) or [self._clean(wording)]

    def normalise(self, content: Any) -> Any:
        """A value, or a list of values, as it is stored: what names declared values becomes these.
        A field with one value takes the first. Anything but text stays as it is."""
        if not self.holds_texts:
            return content
        if isinstance(content, str):
            clean = self._clean(content)
            return next(iter(self.find_values(clean)), clean)
        if isinstance(content, list) and all(isinstance(each, str) for each in content):
            values: list[str] = []
            for each in map(self._clean, content):
                named = self.find_values(each)
                # Others may be equal and different, such as the names of two authors.
                values += [value for value in named if value not in values] if named else [each]
            return values
        return content

    def _clean(self, value: str) -> str:
        value = value.lower() if self.lowercase else value
        value = clean_text(value)
        return " ".join(value.split()) if self.type == "keyword" else value

    @cached_property
    def _synonyms_by_value(self) -> dict[str, tuple[str, ...]]:
        return {self._clean(each.value): each.synonyms for each in self.values or ()}

    @cached_property
    def _values_by_wording(self) -> dict[str, dict[str, None]]:
        """Folded name or synonym -> the values that it names. A name is no synonym of others."""
        named: dict[str, dict[str, None]] = {}
        for value in self._synonyms_by_value:
            named.setdefault(_fold_wording(value), {})[value] = None
        by_synonym: dict[str, dict[str, None]] = {}
        for value, synonyms in self._synonyms_by_value.items():
            for each in synonyms:
                by_synonym.setdefault(_fold_wording(each), {})[value] = None
        return by_synonym | named


def _fold_wording(wording: str) -> str:
    folded = normalise(wording, "NFKC").casefold().replace("’", "'")
    return " ".join(_SEPARATORS.sub(" ", folded).split())
