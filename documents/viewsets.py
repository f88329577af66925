"""REST endpoints that add, read, update and remove artifacts."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models.functions import Length
from django.http import FileResponse, StreamingHttpResponse
from django.http.request import UnreadablePostError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status, viewsets
from rest_framework.exceptions import APIException, NotFound, UnsupportedMediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import MultiPartParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from core.exceptions import StrataError, TooLarge, UnknownIndex
from core.paging import paginate
from core.parsers import JSONParser, Readable
from core.serializers import MAX_NAME_CHARS, ErrorSerializer, PagingSerializer, StrictSerializer
from core.text import clean_text
from documents import services
from documents.batches import add_batch
from documents.exceptions import UnknownArtifact
from documents.index_catalog import get_catalog
from documents.models import Artifact, Page
from documents.originals import FileContent, save_incoming_file
from documents.serializers import (
    ArtifactFilterSerializer,
    ArtifactListSerializer,
    ArtifactSerializer,
    ArtifactUpdateSerializer,
    BatchLineSerializer,
    FileArtifactSerializer,
    FileContentSerializer,
    PageListSerializer,
    PageSerializer,
    RemovalSerializer,
    TextArtifactSerializer,
    TextContentSerializer,
    render_artifacts,
    validate_text_artifact,
)
from documents.services import AddOutcome, Content, TextContent

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
FORM_OVERHEAD_BYTES = 2**20  # what surrounds a file in a form: its other fields, the boundaries

ARTIFACT_ID = OpenApiParameter("artifact_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
PAGE_INDEX = OpenApiParameter(
    "page_index", OpenApiTypes.INT, OpenApiParameter.PATH, description="Counted from 0."
)
ADD_RESPONSES = {
    200: ArtifactSerializer,
    202: ArtifactSerializer,
    400: ErrorSerializer,
    404: ErrorSerializer,
    413: ErrorSerializer,
}


class LengthRequired(APIException):
    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_code = "length_required"
    default_detail = "Send a Content-Length with the body."


class IgnoreAcceptHeader(DefaultContentNegotiation):
    """For answers in one form only: better one the caller did not name than none."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ArtifactViewSet(viewsets.ViewSet):
    """Artifacts of an index: add and list by index, read and change by id."""

    parser_classes = [JSONParser, MultiPartParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before anything reads the body: for a session, the check against forgery would.
        if self.action not in {"batch", "retrieve", "list"}:
            _check_length(request)
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="list_artifacts",
        parameters=[ArtifactFilterSerializer],
        responses={200: ArtifactListSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def list(self, request: Request, index: str) -> Response:
        """The artifacts of an index."""
        _check_index(index)
        given = _validate(ArtifactFilterSerializer, request.query_params)
        documents = Artifact.objects.documents().filter(index=index)
        artifacts = get_catalog().with_status(documents, index)
        for name in ("status", "external_id", "media_type"):
            if name in given:
                artifacts = artifacts.filter(**{name: given[name]})
        if "title" in given:
            artifacts = artifacts.filter(title__icontains=given["title"])
        artifacts = artifacts.order_by(given["ordering"], "id")
        page, answer = paginate(request, artifacts, given)
        return Response({**answer, "results": render_artifacts(list(page))})

    @extend_schema(
        operation_id="add_artifact",
        request={
            "multipart/form-data": FileArtifactSerializer,
            "application/json": TextArtifactSerializer,
        },
        responses=ADD_RESPONSES,
    )
    def create(self, request: Request, index: str) -> Response:
        """Give a file or a text to an index.

        202: it is new, or a new revision, and is being indexed. 200: it was there already.
        """
        _check_index(index)
        if _is_form(request):
            given = _validate(FileArtifactSerializer, request.data)
            if given.get("metadata"):
                # Refuse it before the file is written, not after.
                get_catalog().clean_metadata(index, given["metadata"])
            artifact, verdict = services.add_artifact(
                index,
                _save_upload(given["file"]),
                title=given.get("title") or None,
                metadata=given.get("metadata"),
                external_id=given.get("external_id"),
                url=given.get("url") or None,
            )
        else:
            given = validate_text_artifact(request.data)
            artifact, verdict = services.add_artifact(index, **given)
        return _add_response(artifact, verdict)

    @extend_schema(
        operation_id="add_artifacts",
        request={NDJSON: TextArtifactSerializer},
        responses={(200, NDJSON): BatchLineSerializer, 404: ErrorSerializer},
    )
    def batch(self, request: Request, index: str) -> StreamingHttpResponse:
        """Give many texts to an index, a JSON object a line; a verdict for each, in order.

        A line that is wrong is rejected with its number, and those after it are still taken.
        A verdict is sent once what it says is stored for good.
        """
        _check_index(index)
        if _is_form(request):
            raise UnsupportedMediaType(
                request.content_type, f"Send lines of JSON, as {NDJSON}; this takes no form."
            )
        verdicts = _stop_on_disconnect(add_batch(index, _open_body(request)))
        # A client may wait to be told to go on: read from it before anything is answered.
        first = next(verdicts, b"")
        response = StreamingHttpResponse(_chained(first, verdicts), content_type=NDJSON)
        response["X-Accel-Buffering"] = "no"  # proxies pass verdicts on as they come
        return response

    @extend_schema(
        operation_id="read_artifact",
        parameters=[ARTIFACT_ID],
        responses={200: ArtifactSerializer, 404: ErrorSerializer},
    )
    def retrieve(self, request: Request, artifact_id: str) -> Response:
        """One artifact: how far it is, and what went wrong with it."""
        return Response(_load_and_render(_parse_artifact_id(artifact_id)))

    @extend_schema(
        operation_id="update_artifact",
        parameters=[ARTIFACT_ID],
        request=ArtifactUpdateSerializer,
        responses={200: ArtifactSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def partial_update(self, request: Request, artifact_id: str) -> Response:
        """Change title, URL or metadata; what is not named stays."""
        pk = _parse_artifact_id(artifact_id)
        given = _validate(ArtifactUpdateSerializer, request.data)
        with _raise_unknown_artifact(pk):
            services.update_artifact(pk, **given)
        return Response(_load_and_render(pk))

    @extend_schema(
        operation_id="remove_artifact",
        parameters=[ARTIFACT_ID],
        responses={200: RemovalSerializer, 202: RemovalSerializer, 404: ErrorSerializer},
    )
    def destroy(self, request: Request, artifact_id: str) -> Response:
        """Delete an artifact with its pages and its points.

        200: no point of it is left in the vector store. 202: some may be, and go by themselves.
        """
        pk = _parse_artifact_id(artifact_id)
        with _raise_unknown_artifact(pk):
            index = Artifact.objects.documents().only("index").get(pk=pk).index
            revision = services.remove_artifact(pk)
        answer: dict[str, Any] = {
            "id": str(pk), "deleted": True, "revision": revision, "points": None, "collections": {},
        }  # fmt: skip
        try:
            answer["collections"] = get_catalog().remove_artifact_points(pk, index)
            answer["points"] = sum(answer["collections"].values())
        except StrataError as error:
            logger.warning("The points of %s stay for now: %s", pk, error)
        if answer["points"] == 0:
            return Response(answer)
        answer["detail"] = (
            "The document is deleted and no search returns it; its points in the vector store "
            "are removed by themselves as soon as that can be done."
        )
        return Response(answer, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="replace_content",
        parameters=[ARTIFACT_ID],
        request={
            "multipart/form-data": FileContentSerializer,
            "application/json": TextContentSerializer,
        },
        responses={**ADD_RESPONSES, 409: ErrorSerializer},
    )
    def content(self, request: Request, artifact_id: str) -> Response:
        """Give an artifact other content; its id, title and metadata stay.

        202: a new revision, being indexed. 200: the content is what it was.
        """
        pk = _parse_artifact_id(artifact_id)
        with _raise_unknown_artifact(pk):
            Artifact.objects.documents().only("pk").get(
                pk=pk
            )  # before a file is written for nothing
        content: Content
        if _is_form(request):
            content = _save_upload(_validate(FileContentSerializer, request.data)["file"])
        else:
            content = TextContent(tuple(_validate(TextContentSerializer, request.data)["pages"]))
        with _raise_unknown_artifact(pk):
            return _add_response(*services.replace_content(pk, content))

    @extend_schema(
        operation_id="list_pages",
        parameters=[ARTIFACT_ID, PagingSerializer],
        responses={200: PageListSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def pages(self, request: Request, artifact_id: str) -> Response:
        """The pages of an artifact, without their text."""
        pk = _parse_artifact_id(artifact_id)
        given = _validate(PagingSerializer, request.query_params)
        with _raise_unknown_artifact(pk):
            artifact = Artifact.objects.documents().get(pk=pk)
        pages = artifact.pages.order_by("index").annotate(char_count=Length("text"))
        page, answer = paginate(request, pages.defer("text"), given)
        results = [
            {
                "id": str(row.pk),
                "index": row.index,
                "label": row.label,
                "char_count": row.char_count,
            }
            for row in page
        ]
        return Response({**answer, "results": results})

    @extend_schema(
        operation_id="read_page",
        parameters=[ARTIFACT_ID, PAGE_INDEX],
        responses={200: PageSerializer, 404: ErrorSerializer},
    )
    def page(self, request: Request, artifact_id: str, page_index: str) -> Response:
        """One page with its text, which is what offsets count in."""
        pk = _parse_artifact_id(artifact_id)
        page = None
        if page_index.isascii() and page_index.isdigit() and len(page_index) < 10:
            page = Page.objects.filter(artifact=pk, index=int(page_index)).first()
        if page is None:
            with _raise_unknown_artifact(pk):
                Artifact.objects.documents().only("pk").get(pk=pk)
            raise NotFound("The artifact has no such page.", code="unknown_page")
        return Response(
            {
                "id": str(page.pk),
                "artifact_id": str(pk),
                "index": page.index,
                "label": page.label,
                "char_count": len(page.text),
                "text": page.text,
            }
        )

    @extend_schema(
        operation_id="read_original",
        parameters=[ARTIFACT_ID],
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            404: ErrorSerializer,
        },
    )
    def original(self, request: Request, artifact_id: str) -> FileResponse:
        """The file as it was given, always as a download."""
        pk = _parse_artifact_id(artifact_id)
        with _raise_unknown_artifact(pk):
            artifact = Artifact.objects.documents().get(pk=pk)
        if not artifact.has_file:
            raise NotFound("The artifact was given as text, not as a file.", code="no_original")
        try:
            file = artifact.file_path.open("rb")
        except FileNotFoundError:
            raise NotFound(
                "The original is gone from the data folder.", code="missing_file"
            ) from None
        name = "".join(char if char.isprintable() else "_" for char in artifact.file_name)
        response = FileResponse(
            file,
            as_attachment=True,
            filename=name or "original",
            content_type=artifact.media_type or "application/octet-stream",
        )
        # Someone else's HTML must never run as a page of ours.
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return response


class StreamedArtifactViewSet(ArtifactViewSet):
    """Endpoints whose response is not a JSON document."""

    content_negotiation_class = IgnoreAcceptHeader


def _validate(serializer_class: type[StrictSerializer], data: Any) -> dict[str, Any]:
    serializer = serializer_class(data=data)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def _check_index(index: str) -> None:
    names = get_catalog().index_names()
    if index not in names:
        raise UnknownIndex(
            f"There is no index named {index[:MAX_NAME_CHARS]!r}.", field="index", allowed=names
        )


def _check_length(request: Request) -> None:
    declared = request.META.get("CONTENT_LENGTH")
    if not declared and "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired
    limit = settings.STRATA_MAX_JSON_BYTES
    if _is_form(request):
        limit = settings.STRATA_MAX_UPLOAD_BYTES + FORM_OVERHEAD_BYTES
    if declared and declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"This request may have {limit:,} bytes; it has {int(declared):,}.")


def _is_form(request: Request) -> bool:
    return (request.content_type or "").lower().startswith("multipart/")


def _open_body(request: Request) -> Readable:
    """The request's body as it comes, also where its length is not known beforehand."""
    environ = request.META
    if environ.get("CONTENT_LENGTH") or "HTTP_TRANSFER_ENCODING" not in environ:
        return request._request
    # Django reads no body without a length. The server's own stream does, where it is one
    # that ends with the request.
    if environ.get("wsgi.input_terminated"):
        stream: Readable = environ["wsgi.input"]
        return stream
    raise LengthRequired


def _stop_on_disconnect(verdicts: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from verdicts
    except UnreadablePostError:
        logger.info("A batch ended early: its client hung up")


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _save_upload(file: UploadedFile) -> FileContent:
    return save_incoming_file(clean_text(file.name or ""), file.chunks())


def _parse_artifact_id(artifact_id: str) -> UUID:
    try:
        parsed = UUID(artifact_id)
    except ValueError:
        raise UnknownArtifact from None
    return parsed


@contextmanager
def _raise_unknown_artifact(artifact_id: UUID) -> Iterator[None]:
    try:
        yield
    except Artifact.DoesNotExist:
        raise UnknownArtifact(f"There is no artifact {artifact_id}.") from None


def _load_and_render(artifact_id: UUID) -> dict[str, Any]:
    with _raise_unknown_artifact(artifact_id):
        documents = Artifact.objects.documents().filter(pk=artifact_id)
        index = documents.values_list("index", flat=True).get()
        artifact = get_catalog().with_status(documents, index).get()
    [rendered] = render_artifacts([artifact])
    return rendered


def _add_response(artifact: Artifact, verdict: AddOutcome) -> Response:
    is_done = verdict == AddOutcome.UNCHANGED
    return Response(
        _load_and_render(artifact.pk),
        status=status.HTTP_200_OK if is_done else status.HTTP_202_ACCEPTED,
    )
