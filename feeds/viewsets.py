"""REST endpoints of sources, for callers who may manage and see all documents of the index.

What a source is stands in the spec; here people see how it is, and decide what waits for them.
"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.grants import Scope
from core.enqueueing import enqueue_on_commit
from core.exceptions import StrataError
from core.openapi import operation
from core.paging import narrow, paginate
from core.serializers import PagingSerializer, StrictSerializer
from documents.index_catalog import require_index
from feeds import services, tasks
from feeds.models import Feed, FeedEntry
from feeds.protocol import SourceSettings, format_period


class EntryFilterSerializer(PagingSerializer):
    state = serializers.ChoiceField(FeedEntry.State.values, required=False)


class ConfirmationSerializer(StrictSerializer):
    count = serializers.IntegerField(
        required=False, min_value=1, help_text="Confirm only if that many wait."
    )


@extend_schema(tags=["Sources"])
class DocumentSourceViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """Sources from which documents come by themselves."""

    scopes = Scope.MANAGE

    @operation("list_document_sources", strata_types.DocumentSourceList, query=PagingSerializer)
    def list(self, request: Request, index: str) -> Response:
        """List the sources of an index, by name, with how they are."""
        require_index(index)
        parameters = PagingSerializer.read(request.query_params)
        page, answer = paginate(request, Feed.objects.filter(index=index), parameters)
        return Response({**answer, "results": _render_feeds(page)})

    @operation("read_document_source", strata_types.DocumentSource)
    def retrieve(self, request: Request, index: str, name: str) -> Response:
        """Read how a source is: when it was read, what changed, and what waits."""
        return _answer(_require(index, name))

    @operation("list_source_entries", strata_types.SourceEntryList, query=EntryFilterSerializer)
    def entries(self, request: Request, index: str, name: str) -> Response:
        """List the documents that a source has or had, by path.

        `state` narrows them, for example to those that failed, each with its reason.
        """
        feed = _require(index, name)
        parameters = EntryFilterSerializer.read(request.query_params)
        rows = narrow(feed.entries.all(), parameters, "state")
        page, answer = paginate(request, rows, parameters)
        return Response({**answer, "results": [_render_entry(each) for each in page]})

    @operation("preview_source", strata_types.SourcePreview, errors=[409])
    def preview(self, request: Request, index: str, name: str) -> Response:
        """Show what a run would change now, without changing anything.

        The source is listed while the caller waits. What looks renamed is read, to compare it.
        """
        return Response(services.preview(_require(index, name)))

    @operation("run_source", strata_types.DocumentSource, errors=[409])
    def run(self, request: Request, index: str, name: str) -> Response:
        """List a source now, and try again what failed."""
        feed = _require(index, name)
        services.run_now(feed)
        return _wake(feed)

    @operation("pause_source", strata_types.DocumentSource)
    def pause(self, request: Request, index: str, name: str) -> Response:
        """Read nothing from a source until it is resumed."""
        feed = _require(index, name)
        services.pause(feed)
        return _answer(_require(index, name))

    @operation("resume_source", strata_types.DocumentSource)
    def resume(self, request: Request, index: str, name: str) -> Response:
        """Read a source again that was paused."""
        feed = _require(index, name)
        services.resume(feed)
        return _wake(feed)

    @operation(
        "confirm_removals",
        strata_types.ConfirmedRemovals,
        query=ConfirmationSerializer,
        errors=[409],
    )
    def confirm(self, request: Request, index: str, name: str) -> Response:
        """Confirm that the many documents that a source lacks are gone.

        They are removed after one more listing, which is begun now, unless it has them.
        """
        feed = _require(index, name)
        given = ConfirmationSerializer.read(request.query_params)
        count = services.confirm_removals(feed, given.get("count"))
        _wake(feed)
        return Response({"confirmed": count})


def _require(index: str, name: str) -> Feed:
    require_index(index)
    return services.require_feed(index, name)


def _wake(feed: Feed) -> Response:
    enqueue_on_commit(tasks.work_on_feed, feed_id=feed.pk)
    return _answer(_require(feed.index, feed.name))


def _answer(feed: Feed) -> Response:
    [rendered] = _render_feeds([feed])
    return Response(rendered)


def _render_feeds(feeds: Any) -> "list[dict[str, Any]]":
    rows = [*feeds]
    counts = services.count_entries(rows)
    return [_render_feed(each, counts.get(each.pk, {})) for each in rows]


def _render_feed(feed: Feed, entries: dict[str, int]) -> dict[str, Any]:
    source: SourceSettings | None = None
    problem = {"code": feed.error_code, "detail": feed.last_error} if feed.last_error else None
    try:
        source = services.load_source(feed)
    except StrataError as error:
        problem = {"code": error.code, "detail": error.with_fix()}
    names = ("listed_at", "finished_at", "next_listing_at", "waits_until", "waiting_removals")
    return {
        "name": feed.name,
        "type": source.type if source else "",
        "place": source.place if source else "",
        "every": format_period(source.every) if source and source.every else None,
        "health": services.describe_health(feed),
        "problem": problem,
        **{name: getattr(feed, name) for name in names},
        "entries": entries,
        "report": feed.report,
    }


def _render_entry(entry: FeedEntry) -> dict[str, Any]:
    names = ("path", "state", "artifact_id", "byte_count", "missing_since", "attempts")
    return {
        **{name: getattr(entry, name) for name in names},
        "next_attempt_at": entry.next_attempt_at,
        "problem": {"code": entry.error_code or "unexpected_error", "detail": entry.last_error}
        if entry.last_error
        else None,
    }
