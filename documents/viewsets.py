"""REST endpoints that add, read, update and remove artifacts."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Length
from django.http import FileResponse, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status, viewsets
from rest_framework.exceptions import NotFound, UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Grant, Scope
from access.permissions import require_larger_scope
from access.request_throttle import get_holder
from access.usage_limits import require_room, take_batch
from core.events import note_changes
from core.exceptions import StrataError
from core.http_formats import IgnoreAcceptHeader, JSONParser, max_json_bytes
from core.openapi import ERROR, body_of, operation
from core.paging import paginate, render_whole_list
from core.serializers import PagingSerializer
from documents import reading, services
from documents.batches import BatchResponse, add_batch
from documents.exceptions import HiddenParts, UnknownArtifact
from documents.fetching import fetch_file
from documents.groups import require_all_visible
from documents.index_catalog import get_catalog, require_index
from documents.models import Artifact, Page
from documents.parsing import REASONS, draw_page, find_boxes, find_line_boxes
from documents.serializers import (
    FORM,
    NDJSON,
    AddressArtifactSerializer,
    ArtifactFilterSerializer,
    ArtifactUpdateSerializer,
    FileArtifactSerializer,
    FileContentSerializer,
    PassageSerializer,
    TextArtifactSerializer,
    TextContentSerializer,
    is_only_address,
    render_artifacts,
    render_written,
    select_attributes,
    validate_text_artifact,
)
from documents.services import AddOutcome, Content, TextContent
from documents.storage import get_storage

logger = logging.getLogger(__name__)

POINTS_AWAIT_REMOVAL = (
    "The document is deleted and no search returns it; its points in the vector store are removed "
    "automatically as soon as possible."
)
POINTS_AWAIT_REPLICAS = (
    "The document is deleted and no search returns it; a replica that is not up to date may still "
    "hold its points. The vector store removes them there before that replica answers again."
)

PDF_TYPE = "application/pdf"
PICTURE_TYPE = "image/webp"
FORM_OVERHEAD_BYTES = 2**20  # the other fields and the boundaries of a form with a file

ARTIFACT_ID = OpenApiParameter("artifact_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
PAGE_INDEX = OpenApiParameter(
    "page_index", OpenApiTypes.INT, OpenApiParameter.PATH, description="Counted from 0."
)


@extend_schema(tags=["Documents"])
class ArtifactViewSet(viewsets.ViewSet):
    """Artifacts of an index: add and list by index, read and change by id."""

    reads = ("list", "retrieve", "pages", "page", "picture", "boxes", "original")
    writes = ("create", "batch", "partial_update", "destroy", "content")
    # What a document holds and does not show is for those who look after it.
    scopes = dict.fromkeys(reads, Scope.SEARCH) | dict.fromkeys((*writes, "unseen"), Scope.WRITE)
    parser_classes = [JSONParser, MultiPartParser]

    @staticmethod
    def max_body_bytes(content_type: str) -> int:
        if _is_form(content_type):
            return int(settings.STRATA_MAX_UPLOAD_BYTES) + FORM_OVERHEAD_BYTES
        return max_json_bytes(content_type)

    @operation("list_artifacts", strata_types.ArtifactList, query=ArtifactFilterSerializer)
    def list(self, request: Request, index: str) -> Response:
        """List the artifacts of an index."""
        require_index(index)
        parameters = ArtifactFilterSerializer.read(request.query_params)
        grant = get_grant(request)
        rows = services.find_artifacts(index, grant, parameters)
        page, answer = paginate(request, rows.order_by(parameters["ordering"], "id"), parameters)
        return Response({**answer, "results": render_artifacts(list(page), grant)})

    @operation(
        "add_artifact",
        strata_types.WrittenArtifact,
        body={FORM: FileArtifactSerializer, "application/json": TextArtifactSerializer},
        status=(200, 202),
        errors=[409],
    )
    def create(self, request: Request, index: str) -> Response:
        """Add a file or a text to an index, or a file that the service fetches.

        A `url` without `text` or `pages` is fetched if `STRATA_FETCH_HOSTS` names its host; it is
        the external id, unless one is given. 202: it is new or a new revision, and is being
        indexed. 200: it was already in the index. `verdict` says which, and `replaced` which
        content a new revision replaced. 409: another document has its name (`if_exists`).
        """
        require_index(index)
        grant, holder = get_grant(request), get_holder(request)
        is_form = _is_form(request.content_type)
        if is_form or is_only_address(request.data):
            serializer = FileArtifactSerializer if is_form else AddressArtifactSerializer
            data = serializer.read(request.data)
            _require_room_for_upload(holder)
            if data.get("metadata"):
                # Check the metadata before the file is written.
                get_catalog().clean_metadata(index, data["metadata"])
            artifact, verdict = services.add_artifact(
                index,
                data["file"].finish() if is_form else fetch_file(data["url"]),
                **select_attributes(data),
                grant=grant,
                added_by=holder,
            )
        else:
            data = validate_text_artifact(request.data)
            artifact, verdict = services.add_artifact(index, **data, grant=grant)
        return _add_response(artifact, verdict, grant)

    @extend_schema(
        operation_id="add_artifacts",
        request={NDJSON: TextArtifactSerializer},
        responses={(200, NDJSON): body_of(strata_types.BatchVerdict, NDJSON)},
    )
    def batch(self, request: Request, index: str) -> BatchResponse:
        """Add many texts to an index.

        Send one JSON object per line. Each line gets a verdict, in order, once it is stored. An
        invalid line is rejected with its number, and the lines after it are still added. A key may
        send one batch at a time.
        """
        require_index(index)
        if _is_form(request.content_type):
            raise UnsupportedMediaType(
                request.content_type, f"Send lines of JSON, as {NDJSON}; a form is not accepted."
            )
        slot = take_batch(get_holder(request))
        verdicts = add_batch(
            index,
            request.stream or BytesIO(),
            get_grant(request),
            partial(note_changes, request),
        )
        response = BatchResponse(verdicts, slot)
        response["X-Accel-Buffering"] = "no"  # proxies must not buffer the verdicts
        return response

    @operation("read_artifact", strata_types.Artifact, path=[ARTIFACT_ID])
    def retrieve(self, request: Request, artifact_id: str) -> Response:
        """Read an artifact.

        The answer holds its status, its progress and its error, if there is one.
        """
        return Response(_load_and_render(_parse_artifact_id(artifact_id), get_grant(request)))

    @operation(
        "update_artifact",
        strata_types.Artifact,
        path=[ARTIFACT_ID],
        body={"application/json": ArtifactUpdateSerializer},
        errors=[409],
    )
    def partial_update(self, request: Request, artifact_id: str) -> Response:
        """Change title, URL, metadata or groups, or give an external id to an artifact without one.

        Fields that are not given stay as they are. `is_held` needs the scope `manage`.
        """
        pk, grant = _parse_artifact_id(artifact_id), get_grant(request)
        data = ArtifactUpdateSerializer.read(request.data)
        if "is_held" in data:
            grant = require_larger_scope(request, Scope.MANAGE)
        services.update_artifact(pk, **data, grant=grant)
        return Response(_load_and_render(pk, grant))

    @operation(
        "remove_artifact",
        strata_types.Removal,
        path=[ARTIFACT_ID],
        status=(200, 202),
        errors=[409],
    )
    def destroy(self, request: Request, artifact_id: str) -> Response:
        """Delete an artifact with its pages and its points; a ZIP or an e-mail with its files.

        200: no point of it is left in the vector store. 202: some may be left and are removed
        later; `waits_for` names the replicas that may still hold one.
        """
        artifact = get_visible_artifact(request, artifact_id)
        pk, part_ids = artifact.pk, list(artifact.parts.values_list("pk", flat=True))
        revision = services.remove_artifact(pk, get_grant(request))
        answer: dict[str, Any] = {
            "id": str(pk), "deleted": True, "revision": revision, "parts": list(map(str, part_ids)),
            "points": None, "collections": {}, "waits_for": [],
        }  # fmt: skip
        try:
            removal = get_catalog().remove_artifact_points([pk, *part_ids], artifact.index)
        except StrataError as error:
            logger.warning("The points of %s are not removed yet: %s", pk, error)
        else:
            answer |= removal.as_json()
            if removal.is_complete:
                return Response(answer)
        answer["detail"] = POINTS_AWAIT_REPLICAS if answer["waits_for"] else POINTS_AWAIT_REMOVAL
        return Response(answer, status=status.HTTP_202_ACCEPTED)

    @operation(
        "replace_content",
        strata_types.WrittenArtifact,
        path=[ARTIFACT_ID],
        body={FORM: FileContentSerializer, "application/json": TextContentSerializer},
        status=(200, 202),
        errors=[409],
    )
    def content(self, request: Request, artifact_id: str) -> Response:
        """Replace the content of an artifact.

        Its id, title, metadata and groups stay. 202: a new revision is being indexed. 200: the
        content is unchanged.
        """
        pk = get_visible_artifact(request, artifact_id).pk  # before a file is written
        grant, holder = get_grant(request), get_holder(request)
        content: Content
        if _is_form(request.content_type):
            _require_room_for_upload(holder)
            content = FileContentSerializer.read(request.data)["file"].finish()
        else:
            content = TextContent(tuple(TextContentSerializer.read(request.data)["pages"]))
        return _add_response(*services.replace_content(pk, content, grant, holder), grant)

    @operation("list_pages", strata_types.PageList, path=[ARTIFACT_ID], query=PagingSerializer)
    def pages(self, request: Request, artifact_id: str) -> Response:
        """List the pages of an artifact, without their text."""
        parameters = PagingSerializer.read(request.query_params)
        artifact = get_visible_artifact(request, artifact_id)
        pages = artifact.pages.order_by("index").annotate(char_count=Length("text"))
        page, answer = paginate(request, pages.defer("text", "unseen"), parameters)
        return Response({**answer, "results": [_render_page(row, row.char_count) for row in page]})

    @operation("read_page", strata_types.Page, path=[ARTIFACT_ID, PAGE_INDEX])
    def page(self, request: Request, artifact_id: str, page_index: str) -> Response:
        """Read a page.

        Offsets of sources are positions in its text.
        """
        page = _get_page(request, artifact_id, page_index)
        counts: Counter[str] = Counter()
        for text, reason in page.unseen:
            counts[reason] += len(text)
        return Response(
            {
                **_render_page(page, len(page.text)),
                "artifact_id": str(page.artifact_id),
                "text": page.text,
                "unseen": [
                    {"reason": reason, "detail": REASONS[reason], "char_count": count}
                    for reason, count in counts.items()
                ],
                "unseen_start": page.unseen_start,
                "unreadable_count": page.unreadable_count,
            }
        )

    @operation("read_unseen_text", strata_types.UnseenTextList, path=[ARTIFACT_ID, PAGE_INDEX])
    def unseen(self, request: Request, artifact_id: str, page_index: str) -> Response:
        """Read the text of a page that cannot be seen on it."""
        unseen = _get_page(request, artifact_id, page_index).unseen
        rows = [{"reason": reason, "text": text} for text, reason in unseen]
        return Response(render_whole_list(rows))

    @extend_schema(
        operation_id="draw_page",
        parameters=[ARTIFACT_ID, PAGE_INDEX],
        responses={(200, PICTURE_TYPE): OpenApiTypes.BINARY, 422: ERROR},
    )
    def picture(self, request: Request, artifact_id: str, page_index: str) -> HttpResponse:
        """Draw a page of a PDF or an image.

        At most 1,600 pixels wide and high.
        """
        page = _get_page(request, artifact_id, page_index)
        artifact = page.artifact
        if artifact.media_type != PDF_TYPE and not artifact.media_type.startswith("image/"):
            raise NotFound("Only pages of PDFs and images can be drawn.", code="no_picture")
        with _reading_original(artifact) as path:
            picture = draw_page(path, artifact.file_name, artifact.media_type, page.index)
        return HttpResponse(picture, content_type=PICTURE_TYPE)

    @operation(
        "find_passage_boxes",
        strata_types.PassageBoxes,
        path=[ARTIFACT_ID, PAGE_INDEX],
        query=PassageSerializer,
        errors=[422],
    )
    def boxes(self, request: Request, artifact_id: str, page_index: str) -> Response:
        """Find where a passage stands on a page of a PDF or an image.

        No box means that the place is not certain: the page's text is in disorder. On a page that
        OCR read, the boxes are those of whole lines.
        """
        page = _get_page(request, artifact_id, page_index)
        passage = PassageSerializer.read(request.query_params)
        artifact = page.artifact
        boxes = find_line_boxes(page.text, page.ocr_lines, **passage)
        with _reading_original(artifact) as path:
            if artifact.media_type == PDF_TYPE and not page.ocr_lines:
                boxes = find_boxes(path, artifact.file_name, page.index, page.text, **passage)
        names = ("left", "top", "right", "bottom")
        return Response(
            {
                "boxes": [dict(zip(names, box, strict=True)) for box in boxes],
                "are_whole_lines": bool(page.ocr_lines),
            }
        )

    @extend_schema(
        operation_id="read_original",
        parameters=[ARTIFACT_ID],
        responses={(200, "*/*"): OpenApiTypes.BINARY, 409: ERROR, 422: ERROR},
    )
    def original(self, request: Request, artifact_id: str) -> FileResponse:
        """Download the original file.

        If a virus scanner is configured, it has checked the file.
        """
        artifact = get_visible_artifact(request, artifact_id)
        # The original of a ZIP or an e-mail has the bytes of all its files.
        require_all_visible(artifact.parts, get_grant(request), HiddenParts)
        with _reading_original(artifact) as path:
            file = path.open("rb")
        name = "".join(char if char.isprintable() else "_" for char in artifact.file_name)
        response = FileResponse(
            file,
            as_attachment=True,
            filename=name or "original",
            content_type=artifact.media_type or "application/octet-stream",
        )
        # HTML that users uploaded must never run as a page of this site.
        response["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return response


class StreamedArtifactViewSet(ArtifactViewSet):
    """Endpoints whose response is not a JSON document."""

    content_negotiation_class = IgnoreAcceptHeader

    @staticmethod
    def max_body_bytes(content_type: str) -> int:
        return int(settings.STRATA_MAX_BATCH_BYTES)


def _require_room_for_upload(holder: str) -> None:
    waiting = Artifact.objects.unparsed_of(holder)
    require_room(holder, waiting, settings.STRATA_KEY_WAITING_UPLOADS, "files")


def _is_form(content_type: str | None) -> bool:
    return (content_type or "").lower().startswith("multipart/")


def _parse_artifact_id(artifact_id: str) -> UUID:
    try:
        return UUID(artifact_id)
    except ValueError:
        raise UnknownArtifact from None


def get_visible_artifact(request: Request, artifact_id: str) -> Artifact:
    return Artifact.objects.require(_parse_artifact_id(artifact_id), get_grant(request))


def _get_page(request: Request, artifact_id: str, page_index: str) -> Page:
    artifact, page = get_visible_artifact(request, artifact_id), None
    if page_index.isascii() and page_index.isdigit() and len(page_index) < 10:
        page = artifact.pages.filter(index=int(page_index)).first()
    if page is None:
        raise NotFound("The artifact has no such page.", code="unknown_page")
    return page


def _render_page(page: Page, char_count: int) -> dict[str, Any]:
    confidences = [confidence for confidence, *_ in page.ocr_lines]
    return {
        "id": str(page.pk),
        "index": page.index,
        "label": page.label,
        "char_count": char_count,
        "ocr_confidence": round(fmean(confidences), 3) if confidences else None,
        "warnings": page.warnings,
    }


@contextmanager
def _reading_original(artifact: Artifact) -> Iterator[Path]:
    """The path of the original while the block runs; answers 404 if there is none, or it is gone
    before it is read."""
    if not artifact.has_file:
        raise NotFound("The artifact was given as text, not as a file.", code="no_original")
    try:
        reading.require_clean_original(artifact)
        with get_storage().local(artifact.original_name) as path:
            yield path
    except FileNotFoundError:
        raise NotFound("The original is gone from the data folder.", code="missing_file") from None


def _load_and_render(artifact_id: UUID, grant: Grant) -> dict[str, Any]:
    artifacts = get_catalog().with_status(Artifact.objects.visible_to(grant))
    [rendered] = render_artifacts([artifacts.require(artifact_id)], grant)
    return rendered


def _add_response(artifact: Artifact, verdict: AddOutcome, grant: Grant) -> Response:
    is_done = verdict == AddOutcome.UNCHANGED
    return Response(
        {**_load_and_render(artifact.pk, grant), **render_written(artifact, verdict)},
        status=status.HTTP_200_OK if is_done else status.HTTP_202_ACCEPTED,
    )
