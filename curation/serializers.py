"""Reads requests to edit documents, and renders what becomes of them."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from access.grants import MAX_GROUP_CHARS, Grant
from core.exceptions import InvalidInput
from core.openapi import with_example
from core.serializers import FlagField, IdField, StrictSerializer, StringField, TitleField
from curation.changes import Change
from curation.edits import count_documents, list_refused
from curation.models import Edit
from curation.selecting import Plan, Selection
from documents.groups import MAX_GROUPS, clean_groups
from documents.models import Artifact
from documents.serializers import (
    MAX_TITLE_CHARS,
    ArtifactMatchSerializer,
    GroupsField,
    MetadataField,
    render_reference,
)

MAX_IDS = 1_000
MAX_FIELDS = 100
SHOWN_REFUSALS = 20
CHANGES = ("title", "set", "unset", "groups", "add_groups", "remove_groups", "delete")


def _group_list(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=StringField(max_length=MAX_GROUP_CHARS),
        required=False, max_length=MAX_GROUPS, help_text=help_text,
    )  # fmt: skip


@with_example({"match": {"folder": "clients/orrin/"}, "groups": ["partners"], "expected": 12})
class EditRequestSerializer(StrictSerializer):
    """Which documents to change, and how. Give `ids` or `match`."""

    ids = serializers.ListField(
        child=IdField(), required=False, min_length=1, max_length=MAX_IDS,
        help_text=f"Of the artifacts, at most {MAX_IDS:,}.",
    )  # fmt: skip
    match = ArtifactMatchSerializer(
        required=False, help_text="All artifacts that have these values; `{}`: all of the index."
    )
    title = TitleField(
        required=False, allow_blank=True, max_length=MAX_TITLE_CHARS,
        help_text="Of one artifact, named by `ids`.",
    )  # fmt: skip
    set = MetadataField(required=False, help_text="Fields of the metadata to set; the others stay.")
    unset = serializers.ListField(
        child=StringField(max_length=MAX_TITLE_CHARS), required=False, max_length=MAX_FIELDS,
        help_text="Fields of the metadata to remove.",
    )  # fmt: skip
    groups = GroupsField()
    add_groups = _group_list("Groups that may see the artifacts, besides those they have.")
    remove_groups = _group_list("Groups that may no longer see them; one must be left.")
    delete = FlagField(required=False, help_text="Delete the artifacts, for good.")
    expected = serializers.IntegerField(
        required=False, min_value=0,
        help_text="How many the preview would change; refused if it is another number by now.",
    )  # fmt: skip

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("ids" in attrs) == ("match" in attrs):
            raise InvalidInput("Give ids or match, and not both.", field="ids")
        given = [name for name in CHANGES if attrs.get(name) or (name in attrs and name in KEPT)]
        if not given:
            raise InvalidInput("Say what to change.", field="set", allowed=CHANGES)
        if "delete" in given and len(given) > 1:
            raise InvalidInput("Delete the artifacts or change them.", field="delete")
        if "groups" in given and {"add_groups", "remove_groups"} & {*given}:
            raise InvalidInput("Give groups, or those to add and remove.", field="groups")
        if "title" in given and len(attrs.get("ids", ())) != 1:
            raise InvalidInput("Only one artifact can be given a title.", field="title")
        if both := {*attrs.get("set", ())} & {*attrs.get("unset", ())}:
            raise InvalidInput(f"{sorted(both)[0]!r} is both set and removed.", field="unset")
        for name in ("groups", "add_groups", "remove_groups"):
            if name in attrs:
                attrs[name] = clean_groups(attrs[name])
        return attrs


KEPT = ("title", "groups")  # an empty one is a change, too


def to_selection(data: dict[str, Any]) -> Selection:
    return Selection(data.get("ids"), data.get("match", {}))


def to_change(data: dict[str, Any]) -> Change:
    return Change(
        title=data.get("title"),
        fields=data.get("set", {}),
        unset=data.get("unset", []),
        groups=data.get("groups"),
        add_groups=data.get("add_groups", []),
        remove_groups=data.get("remove_groups", []),
        is_removal=data.get("delete", False),
    )


def render_plan(plan: Plan) -> dict[str, Any]:
    return {
        "count": plan.count,
        "changed": len(plan.ids),
        "unchanged": plan.count - len(plan.ids) - plan.refused_count,
        "refused": plan.refused_count,
        "sample": [
            {**render_reference(artifact), "before": before, "after": after}
            for artifact, before, after in plan.sample
        ],
        "refusals": [
            {"id": str(each.artifact_id), "title": each.artifact and each.artifact.title,
             "error": each.error.as_json()}
            for each in plan.refusals
        ],
    }  # fmt: skip


def render_edits(edits: Sequence[Edit]) -> list[dict[str, Any]]:
    counts = count_documents(edits)
    return [
        {
            "id": str(edit.pk), "index": edit.index, "state": edit.state,
            "change": _render_change(Change(**edit.change)),
            "count": edit.count, **counts[edit.pk],
            "error": edit.last_error or None,
            "undo_until": edit.undo_until, "created_at": edit.created_at,
            "finished_at": edit.finished_at,
        }
        for edit in edits
    ]  # fmt: skip


def render_edit(edit: Edit, grant: Grant) -> dict[str, Any]:
    [rendered] = render_edits([edit])
    refused = list_refused(edit, grant, SHOWN_REFUSALS)
    refusals = [_render_refusal(row.artifact, row.error or {}) for row in refused]
    return {**rendered, "refusals": refusals}


def _render_refusal(artifact: Artifact, error: dict[str, Any]) -> dict[str, Any]:
    return {"id": str(artifact.pk), "title": artifact.title, "error": error}


def _render_change(change: Change) -> dict[str, Any]:
    """As it was asked for, without what it leaves as it is."""
    named = {
        "title": change.title, "set": change.fields or None, "unset": change.unset or None,
        "groups": change.groups, "add_groups": change.add_groups or None,
        "remove_groups": change.remove_groups or None, "delete": change.is_removal or None,
    }  # fmt: skip
    return {name: value for name, value in named.items() if value is not None}
