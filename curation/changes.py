"""What an edit does to a document: its new title, metadata and groups, or its removal."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from access.grants import Grant
from core.exceptions import InvalidInput
from core.text import clean_name
from curation.models import EditedDocument
from documents.exceptions import DocumentHeld
from documents.groups import choose_changed_groups
from documents.models import Artifact
from documents.serializers import check_metadata

Values = dict[str, Any]  # of ``title``, ``metadata`` and ``groups``


@dataclass(frozen=True, slots=True)
class Change:
    """``fields``: values of metadata to set; ``unset``: names of fields to remove. ``groups``
    replaces those that the document has; None leaves them."""

    title: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    groups: list[str] | None = None
    add_groups: list[str] = field(default_factory=list)
    remove_groups: list[str] = field(default_factory=list)
    is_removal: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def compute(self, artifact: Artifact, grant: Grant) -> Values:
        """The attributes that would change, each as ``update_artifact`` takes it; of the groups,
        those that the grant shows.

        Raises:
            InvalidInput: the grant may not change the groups so, none would be left, or the
                metadata would be too large.
            DocumentHeld: it would be removed.
        """
        if self.is_removal:
            if artifact.is_held:
                raise DocumentHeld
            return {}
        wanted: Values = {}
        if self.title is not None:
            wanted["title"] = clean_name(self.title).strip()
        if self.fields or self.unset:
            kept = {
                name: each for name, each in artifact.metadata.items() if name not in self.unset
            }
            wanted["metadata"] = kept | self.fields
            check_metadata(wanted["metadata"], "set")
        groups = self._compute_groups(artifact, grant)
        if groups is not None:
            all_groups = choose_changed_groups(grant, artifact.groups, groups)
            if all_groups != artifact.groups:
                wanted["groups"] = groups
        return {
            name: value
            for name, value in wanted.items()
            if name == "groups" or value != getattr(artifact, name)
        }

    def _compute_groups(self, artifact: Artifact, grant: Grant) -> list[str] | None:
        if self.groups is not None:
            return self.groups
        if not self.add_groups and not self.remove_groups:
            return None
        shown = {group for group in artifact.groups if grant.shows_group(group)}
        groups = (shown | set(self.add_groups)) - set(self.remove_groups)
        if shown and not groups:
            raise InvalidInput(
                "It would have no group left, and all who read the index would see it.",
                field="remove_groups",
                fix="Add a group, or give groups as an empty list if all may see it.",
            )
        return sorted(groups)


def read_values(artifact: Artifact) -> Values:
    """What an edit can change, as it is now."""
    return {"title": artifact.title, "metadata": artifact.metadata, "groups": artifact.groups}


def find_differences(before: Values, after: Values) -> tuple[Values, Values]:
    """Of the former and of the new values, those that differ; of metadata, the fields."""
    changed = [name for name in before if before[name] != after[name]]
    kept = ({name: each[name] for name in changed} for each in (before, after))
    old, new = kept
    if "metadata" in changed:
        old["metadata"], new["metadata"] = _differing(old["metadata"], new["metadata"])
    return old, new


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Values, Values]:
    names = [
        name
        for name in {**before, **after}
        if name not in before or name not in after or before[name] != after[name]
    ]
    old, new = ({name: each[name] for name in names if name in each} for each in (before, after))
    return old, new


def find_changed_since(row: EditedDocument, now: Values) -> str:
    """The first attribute that is no longer as the edit left it; empty if all are."""
    for name, after in row.after.items():
        value = now[name]
        if name == "metadata":
            names = {*row.before[name], *after}
            value = {each: value[each] for each in names if each in value}
        if value != after:
            return name
    return ""


def compute_restored(row: EditedDocument, now: Values) -> Values:
    """What ``update_artifact`` has to be given so that the document is as before the edit; other
    fields of the metadata stay as they are now."""
    restored: Values = dict(row.before)
    if "metadata" in restored:
        touched = {*row.before["metadata"], *row.after["metadata"]}
        kept = {name: value for name, value in now["metadata"].items() if name not in touched}
        restored["metadata"] = kept | row.before["metadata"]
    return restored
