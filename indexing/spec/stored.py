"""Recipes, search settings and store settings in the form in which the database stores them, and
how they are joined to a spec.

Files that people write are validated strictly (``reading.py``). Stored data may come from another
release: an older form is upgraded, and keys that a newer release added are ignored.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from indexing.exceptions import UnreadableRecipe
from indexing.spec.app_sections import list_sections
from indexing.spec.fields import FIELD_TYPE_BY_SAID_AS
from indexing.spec.index import FIELD_SEARCH_SETTINGS, SEARCH_SETTINGS, IndexSpec
from indexing.spec.reading import describe_first_error
from indexing.spec.sections import STORED

logger = logging.getLogger(__name__)

Upgrade = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _embed_context_with_text(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 1 knew no other way."""
    chunks = {"context_weight": None, **recipe.get("chunks", {})}
    return {**recipe, "chunks": chunks}


def _search_characters_as_written(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 2 knew no other rules of words."""
    return {**recipe, "sparse": {"word_rules": 1, **recipe.get("sparse", {})}}


# The first step turns version 1 into version 2, and so on. Stored data is never rewritten.
RECIPE_UPGRADES: Sequence[Upgrade] = (
    _embed_context_with_text,
    _search_characters_as_written,
)
SEARCH_SETTINGS_UPGRADES: Sequence[Upgrade] = ()
STORE_SETTINGS_UPGRADES: Sequence[Upgrade] = ()


def dump_recipe(spec: IndexSpec) -> dict[str, Any]:
    return {"version": len(RECIPE_UPGRADES) + 1, **spec.recipe}


def dump_search_settings(spec: IndexSpec) -> dict[str, Any]:
    return {"version": len(SEARCH_SETTINGS_UPGRADES) + 1, **spec.search_settings}


def dump_store_settings(spec: IndexSpec) -> dict[str, Any]:
    return {"version": len(STORE_SETTINGS_UPGRADES) + 1, **spec.store.model_dump(mode="json")}


@lru_cache(maxsize=256)
def read_stored_spec(
    recipe: str, search_settings: str | None, store_settings: str | None = None
) -> IndexSpec:
    """Join the JSON of a build's recipe and of its index's search and store settings; without them,
    the defaults are used.

    The settings may belong to a newer recipe. Settings that need a field or a kind that this recipe
    lacks are left out, except tools: ``IndexSpec.find_tool_problem`` tells why one cannot be called
    yet.

    Cached, because validating a spec costs as much as a search.

    Raises:
        UnreadableRecipe: a value has a meaning that this release does not know.
    """
    stored = json.loads(recipe)
    settings: Mapping[str, Any] = {}
    if search_settings is not None:
        settings = _upgrade(json.loads(search_settings), SEARCH_SETTINGS_UPGRADES)
    joined = _join(_upgrade(stored, RECIPE_UPGRADES), settings)
    if store_settings is not None:
        joined["store"] = _upgrade(json.loads(store_settings), STORE_SETTINGS_UPGRADES)
    try:
        spec = IndexSpec.model_validate(joined, extra="ignore", context=STORED)
    except ValidationError as error:
        raise UnreadableRecipe(
            f"The index {joined.get('name')} was stored by another release, and this release "
            f"cannot read it: {describe_first_error(error)}",
            fix="Run the release that applied its spec, or a newer one.",
        ) from None
    _log_ignored_keys(joined)
    identifiers = {
        name: identifier
        for name, identifier in spec.identifiers.items()
        if spec.can_look_up(identifier)
    }
    unusable = {
        name: None
        for name in list_sections("index")
        if (section := getattr(spec, name)) is not None and section.find_problem(spec)
    }
    return spec.model_copy(update={"identifiers": identifiers, **unusable})


def _upgrade(stored: Mapping[str, Any], upgrades: Sequence[Upgrade]) -> Mapping[str, Any]:
    """Upgrade to this release's version; a newer version is read as this one."""
    for upgrade in upgrades[stored.get("version", 1) - 1 :]:
        stored = upgrade(stored)
    return {key: value for key, value in stored.items() if key != "version"}


def _join(recipe: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe, joined with the settings for its sections and fields."""
    joined = {name: settings[name] for name in SEARCH_SETTINGS if name in settings}
    joined.update(recipe)
    for section in list_sections("both"):
        if recipe.get(section):
            joined[section] = settings.get(section) or True
    field_settings = settings.get("metadata", {})
    joined["metadata"] = {
        name: _join_field(field, field_settings.get(name, {}))
        for name, field in recipe.get("metadata", {}).items()
    }
    return joined


def _join_field(field: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**_select_field_settings(settings, field), **field}
    if field.get("values"):
        synonyms = settings.get("synonyms", {})
        joined["values"] = [
            {**each, "synonyms": synonyms.get(each["value"], [])} for each in field["values"]
        ]
    return joined


def _select_field_settings(settings: Mapping[str, Any], field: Mapping[str, Any]) -> dict[str, Any]:
    selected = {key: settings[key] for key in FIELD_SEARCH_SETTINGS if key in settings}
    # The field may have another type in this recipe.
    if FIELD_TYPE_BY_SAID_AS.get(selected.get("said_as", "")) != field.get("type"):
        selected.pop("said_as", None)
    return selected


def _log_ignored_keys(joined: Mapping[str, Any]) -> None:
    try:
        IndexSpec.model_validate(joined, context=STORED)
    except ValidationError as error:
        keys = sorted(".".join(map(str, mistake["loc"])) for mistake in error.errors())
        logger.warning(
            "The index %s was stored by a newer release; what this one does not know is ignored: "
            "%s", joined["name"], ", ".join(keys),
        )  # fmt: skip
