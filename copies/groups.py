"""Reads groups of near copies. A document that a request may not see is in none of its groups."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery

from access.grants import Grant
from copies.models import Sketch
from documents.models import Artifact


def find_groups(index: str, grant: Grant) -> QuerySet[Any, Any]:
    """The groups of an index, each with the number of its visible documents, the largest first."""
    groups = _visible(grant).filter(artifact__index=index).values("group")
    return groups.annotate(count=Count("pk")).filter(count__gt=1).order_by("-count", "group")


def list_documents(groups: Sequence[UUID], grant: Grant) -> dict[UUID, list[Artifact]]:
    """The visible documents of these groups, the newest first."""
    found: dict[UUID, list[Artifact]] = {group: [] for group in groups}
    rows = _visible(grant).filter(group__in=groups).select_related("artifact")
    for row in rows.order_by("-artifact__updated_at", "pk"):
        found[row.group].append(row.artifact)
    return found


def count_near_copies(artifacts: Sequence[Artifact], grant: Grant) -> dict[UUID, dict[str, Any]]:
    """``near_duplicates`` of each document: how many other visible documents are in its group."""
    others = _visible(grant).filter(group=OuterRef("group")).order_by().values("group")
    own = Sketch.objects.filter(pk__in=[artifact.pk for artifact in artifacts])
    count = Subquery(others.annotate(count=Count("pk")).values("count"))
    counts = dict(own.values_list("pk", count))
    return {
        artifact.pk: {"near_duplicates": (counts.get(artifact.pk) or 1) - 1}
        for artifact in artifacts
    }


def describe_groups() -> Iterator[tuple[str, str, str]]:
    """For each index with near copies: what ``doctor`` says of them, and where they are shown."""
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    groups = Sketch.objects.values_list("artifact__index", "group").order_by("artifact__index")
    for index, _, count in groups.annotate(count=Count("pk")).filter(count__gt=1):
        sizes[index].append(count)
    for index, counts in sizes.items():
        detail = f"{index}: documents that are near copies of others: {sum(counts):,}"
        where = "The page Documents lists the groups; searches show the newest of each passage."
        yield "copies", f"{detail}, in groups: {len(counts):,}.", where


def _visible(grant: Grant) -> QuerySet[Sketch]:
    return Sketch.objects.filter(artifact__in=Artifact.objects.visible_to(grant))
