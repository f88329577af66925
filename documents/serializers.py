"""Serializers of the documents API: request bodies, strictly validated, and responses. Answers are
rendered from plain dicts; their serializers only describe them in the OpenAPI document."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from access.grants import EVERYTHING, MAX_GROUP_CHARS, Grant
from core.exceptions import InvalidInput
from core.openapi import make_list_example, with_example
from core.parsers import load_json
from core.serializers import (
    MAX_NAME_CHARS,
    ErrorSerializer,
    ListSerializer,
    PagingSerializer,
    ProblemSerializer,
    StrictSerializer,
    StringField,
    TitleField,
)
from core.text import clean_text
from documents.groups import MAX_GROUPS
from documents.index_catalog import IndexingProgress, get_catalog
from documents.models import Artifact, Page
from documents.parsing import MAX_SEPARATORS_PER_LETTER, is_nearly_all_separators
from documents.services import TextContent

NDJSON = "application/x-ndjson"
FORM = "multipart/form-data"
MAX_TITLE_CHARS = 1_000
MAX_EXTERNAL_ID_CHARS = 255
MAX_URL_CHARS = 2_000
MAX_METADATA_DEPTH = 10
MAX_METADATA_CHARS = 100_000  # a list has up to 100 artifacts with theirs
# Schemes that are safe as a link in a browser: `javascript:` is a URL, too.
URL_SCHEMES = ("file", "ftp", "gs", "http", "https", "s3")
STATUSES = ("received", "parsing", "indexing", "ready", "failed")
ORDERINGS = ("created_at", "updated_at", "title")


# --- Fields ----------------------------------------------------------------------------------


class URLField(StringField):
    default_error_messages = {
        "invalid_url": "The URL must be absolute, such as https://example.org/."
    }

    def to_internal_value(self, data: Any) -> str:
        url = super().to_internal_value(data).strip()
        if not url:
            return url
        if not url.isprintable() or any(char.isspace() for char in url):
            self.fail("invalid_url")
        try:
            scheme = urlsplit(url).scheme
        except ValueError:
            self.fail("invalid_url")
        if not scheme:
            self.fail("invalid_url")
        if scheme not in URL_SCHEMES:
            raise InvalidInput(
                f"The URL must not start with {scheme[:MAX_NAME_CHARS]}:",
                field=self.field_name,
                allowed=URL_SCHEMES,
            )
        return url


@extend_schema_field({"type": "string"})
class TextField(serializers.Field):
    """Text of any length; characters that cannot be stored are replaced later, not refused."""

    default_error_messages = {"invalid": "Not a valid string."}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


@extend_schema_field({"type": "object", "additionalProperties": True})
class MetadataField(serializers.Field):
    """A JSON object; the fields that an index declares are checked when it is stored."""

    default_error_messages = {
        "invalid": "Metadata must be a JSON object.",
        "too_deep": f"Metadata may be nested at most {MAX_METADATA_DEPTH} levels deep.",
        "too_large": f"Metadata may have at most {MAX_METADATA_CHARS:,} characters.",
        "number": "A whole number in metadata must fit in 64 bits.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        remaining_chars = MAX_METADATA_CHARS

        def clean(value: Any, depth: int) -> Any:
            nonlocal remaining_chars
            if depth < 0:
                self.fail("too_deep")
            remaining_chars -= len(value) + 2 if isinstance(value, str) else 4
            if remaining_chars < 0:
                self.fail("too_large")
            if isinstance(value, str):
                return clean_text(value)
            if isinstance(value, dict):
                return {clean(name, depth): clean(each, depth - 1) for name, each in value.items()}
            if isinstance(value, list):
                return [clean(each, depth - 1) for each in value]
            if isinstance(value, float) and value.is_integer():
                # As PostgreSQL returns them: 1e16 with all digits, and no negative zero.
                value = int(value) if abs(value) >= 1e16 else value + 0.0
            # Payloads of points hold integers of 64 bits, and so do many JSON parsers.
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                self.fail("number")
            return value

        cleaned: dict[str, Any] = clean(data, MAX_METADATA_DEPTH)
        return cleaned


@extend_schema_field({"type": "string", "description": "A JSON object, as text."})
class MetadataTextField(MetadataField):
    """Metadata in a form, where every field is text."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, str):
            self.fail("invalid")
        if not data.strip():
            return {}
        return super().to_internal_value(load_json(data))

    def run_validation(self, data: Any = serializers.empty) -> Any:
        try:
            return super().run_validation(data)
        except InvalidInput as error:
            raise InvalidInput(error.detail, field=self.field_name) from None


class GroupsField(serializers.ListField):
    """Names of groups."""

    def __init__(self, **options: Any) -> None:
        help_text = (
            f"Who may see the artifact: names of groups, at most {MAX_GROUPS}. An empty list: all "
            "who may read the index."
        )
        child = StringField(max_length=MAX_GROUP_CHARS)
        super().__init__(child=child, required=False, help_text=help_text, **options)


@extend_schema_field({"type": "string", "description": "A JSON list of names, as text."})
class GroupsTextField(GroupsField):
    """Groups in a form, where every field is text."""

    def to_internal_value(self, data: Any) -> list[Any]:
        try:
            return super().to_internal_value(load_json(data) if isinstance(data, str) else data)
        except InvalidInput as error:
            raise InvalidInput(error.detail, field=self.field_name) from None


# --- Requests --------------------------------------------------------------------------------


@with_example({"pages": ["The lamp is lit at sunset.", "The tide turns at noon."]})
class TextContentSerializer(StrictSerializer):
    """Text that needs no parsing."""

    text = TextField(required=False, help_text="The whole text, as one page.")
    pages = serializers.ListField(
        child=TextField(), required=False, min_length=1, help_text="Texts, one per page."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "text" in attrs and "pages" in attrs:
            raise InvalidInput("Give text or pages, not both.", field="pages")
        if "text" not in attrs and "pages" not in attrs:
            raise InvalidInput("Give text or pages.", field="text")
        field = "pages" if "pages" in attrs else "text"
        attrs["pages"] = attrs["pages"] if "pages" in attrs else [attrs.pop("text")]
        _check_size(attrs["pages"], field)
        return attrs


def _check_size(pages: Sequence[str], field: str) -> None:
    most = settings.STRATA_PARSE_MAX_PAGES
    if len(pages) > most:
        raise InvalidInput(
            f"An artifact may have at most {most:,} pages.", field=field, fix="Split the document."
        )
    most = settings.STRATA_PARSE_MAX_TEXT_CHARS
    if sum(map(len, pages)) > most:
        raise InvalidInput(
            f"An artifact may have at most {most:,} characters of text.",
            field=field,
            fix="Split the document.",
        )
    for number, page in enumerate(pages):
        if is_nearly_all_separators(page):
            raise InvalidInput(
                "The text is almost only white space and punctuation: letters and digits are less "
                f"than one in {MAX_SEPARATORS_PER_LETTER} of its characters.",
                field=field if field == "text" else f"pages.{number}",
                fix="Delete the empty cells or the lines between its values.",
            )


@with_example(
    {
        "text": "The lamp is lit at sunset.",
        "title": "Keeper's handbook",
        "external_id": "handbook-7",
        "url": "https://lights.example/handbook",
        "metadata": {"year": 1911},
    },
    "application/json",
    NDJSON,
)
class TextArtifactSerializer(TextContentSerializer):
    """An artifact given as text: the body of a request, or a line of a batch."""

    title = TitleField(
        required=False, allow_null=True, allow_blank=True, max_length=MAX_TITLE_CHARS
    )
    external_id = StringField(
        required=False,
        allow_null=True,
        max_length=MAX_EXTERNAL_ID_CHARS,
        help_text="Its id in your system. Adding the same id again updates the artifact.",
    )
    url = URLField(required=False, allow_null=True, allow_blank=True, max_length=MAX_URL_CHARS)
    metadata = MetadataField(required=False, allow_null=True)
    groups = GroupsField(allow_null=True)


def validate_text_artifact(data: Any) -> dict[str, Any]:
    """Validate a JSON document and return it as arguments of ``services.add_artifact``.

    An empty title or URL counts as not given.

    Raises:
        InvalidInput: names the first wrong field.
    """
    fields = TextArtifactSerializer.read(data)
    return {
        "content": TextContent(tuple(fields["pages"])),
        "title": fields.get("title") or None,
        "url": fields.get("url") or None,
        "metadata": fields.get("metadata"),
        "external_id": fields.get("external_id"),
        "groups": fields.get("groups"),
    }


@with_example({"file": "handbook.pdf"}, FORM)
class FileContentSerializer(StrictSerializer):
    """A file to be parsed."""

    # Parsing warns of an empty file, so it is accepted here.
    file = serializers.FileField(allow_empty_file=True)


@with_example(
    {"file": "handbook.pdf", "title": "Keeper's handbook", "metadata": '{"year": 1911}'}, FORM
)
class FileArtifactSerializer(FileContentSerializer):
    """An artifact given as a file."""

    title = TitleField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    external_id = StringField(required=False, max_length=MAX_EXTERNAL_ID_CHARS)
    url = URLField(required=False, allow_blank=True, max_length=MAX_URL_CHARS)
    metadata = MetadataTextField(required=False)
    groups = GroupsTextField()


@with_example({"title": "Keeper's handbook, 2nd edition", "metadata": {"year": 1912}})
class ArtifactUpdateSerializer(StrictSerializer):
    """The fields that can change without new content; metadata and groups are replaced as a
    whole."""

    title = TitleField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    url = URLField(required=False, allow_blank=True, max_length=MAX_URL_CHARS)
    external_id = StringField(
        required=False,
        max_length=MAX_EXTERNAL_ID_CHARS,
        help_text="Only for an artifact that has none, and unique in its index.",
    )
    metadata = MetadataField(required=False)
    groups = GroupsField()


class ArtifactFilterSerializer(PagingSerializer):
    status = serializers.ChoiceField(choices=STATUSES, required=False)
    external_id = StringField(required=False, max_length=MAX_EXTERNAL_ID_CHARS)
    title = StringField(
        required=False, max_length=MAX_TITLE_CHARS, help_text="Part of the title, in any case."
    )
    media_type = StringField(required=False, max_length=150)
    ordering = serializers.ChoiceField(
        choices=[*ORDERINGS, *(f"-{name}" for name in ORDERINGS)], default="created_at"
    )


# --- Answers ---------------------------------------------------------------------------------


class ArtifactNodeCountsSerializer(serializers.Serializer):
    pending = serializers.IntegerField()
    synced = serializers.IntegerField()
    failed = serializers.IntegerField()


ARTIFACT_EXAMPLE = {
    "id": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1",
    "index": "handbook",
    "title": "Keeper's handbook",
    "file_name": "handbook.pdf",
    "external_id": "handbook-7",
    "url": "https://lights.example/handbook",
    "media_type": "application/pdf",
    "encoding": "",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "metadata": {"year": 1911},
    "groups": ["keepers"],
    "revision": 42,
    "status": "ready",
    "error": None,
    "warnings": [],
    "pages": 12,
    "nodes": {"pending": 0, "synced": 87, "failed": 0},
    "created_at": "2026-03-02T09:30:00Z",
    "updated_at": "2026-03-02T09:30:04Z",
}
PAGE_INFO_EXAMPLE = {
    "id": "5d0f6f0e-1c0a-4a53-8f6e-2b1f5f7f3a10",
    "index": 0,
    "label": "Lighting the lamp",
    "char_count": 26,
}

REVISION_HELP = (
    "Revision of the last write to it. A search with this min_revision shows that write."
)


@with_example(ARTIFACT_EXAMPLE)
class ArtifactSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.CharField()
    title = serializers.CharField()
    file_name = serializers.CharField()
    external_id = serializers.CharField(allow_null=True)
    url = serializers.CharField()
    media_type = serializers.CharField()
    encoding = serializers.CharField(help_text="Detected encoding of a text file.")
    sha256 = serializers.CharField(help_text="SHA-256 of the content as received.")
    metadata = MetadataField()
    groups = serializers.ListField(
        child=serializers.CharField(), help_text="Who may see it; empty: all who read the index."
    )
    revision = serializers.IntegerField(help_text=REVISION_HELP)
    status = serializers.ChoiceField(choices=STATUSES)
    error = ProblemSerializer(allow_null=True)
    warnings = ProblemSerializer(many=True)
    pages = serializers.IntegerField(help_text="Number of pages.")
    nodes = ArtifactNodeCountsSerializer()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class PageInfoSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.IntegerField(help_text="Counted from 0.")
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="Slide title, sheet or heading."
    )
    char_count = serializers.IntegerField()


@with_example(
    PAGE_INFO_EXAMPLE
    | {"artifact_id": ARTIFACT_EXAMPLE["id"], "text": "The lamp is lit at sunset."}
)
class PageSerializer(PageInfoSerializer):
    artifact_id = serializers.UUIDField()
    text = serializers.CharField()


@with_example(make_list_example(ARTIFACT_EXAMPLE))
class ArtifactListSerializer(ListSerializer):
    results = ArtifactSerializer(many=True)


@with_example(make_list_example(PAGE_INFO_EXAMPLE))
class PageListSerializer(ListSerializer):
    results = PageInfoSerializer(many=True)


@with_example({"line": 1, "verdict": "added", "id": ARTIFACT_EXAMPLE["id"], "revision": 42}, NDJSON)
class BatchLineSerializer(serializers.Serializer):
    """The result of one line of a batch."""

    line = serializers.IntegerField(help_text="Counted from 1, blank lines included.")
    verdict = serializers.ChoiceField(choices=["added", "unchanged", "revised", "rejected"])
    id = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(required=False, help_text=REVISION_HELP)
    error = ErrorSerializer(required=False)


@with_example(
    {
        "id": ARTIFACT_EXAMPLE["id"],
        "deleted": True,
        "revision": 43,
        "points": 0,
        "collections": {"handbook.page_embeddings.1": 0},
        "waits_for": [],
    }
)
class RemovalSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    deleted = serializers.BooleanField()
    revision = serializers.IntegerField(help_text=REVISION_HELP)
    points = serializers.IntegerField(
        allow_null=True, help_text="Points left in the vector store; null if unknown."
    )
    collections = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Number of points left in each collection of its index.",
    )
    waits_for = serializers.ListField(
        child=serializers.CharField(),
        help_text="Why copies of removed points may still exist, such as a replica that is down.",
    )
    detail = serializers.CharField(required=False)


def render_reference(artifact: Artifact) -> dict[str, Any]:
    """What hits, quotes and sources show of their document."""
    return {
        "id": str(artifact.pk),
        "title": artifact.title,
        "external_id": artifact.external_id,
        "file_name": artifact.file_name,
    }


def render_artifacts(
    artifacts: Sequence[Artifact], grant: Grant = EVERYTHING
) -> list[dict[str, Any]]:
    """Artifacts as ``ArtifactSerializer`` describes them.

    Args:
        artifacts: read through the catalog's ``with_status``.
    """
    catalog = get_catalog()
    ids = [artifact.pk for artifact in artifacts]
    progress = catalog.get_indexing_progress(ids)
    page_counts = dict(
        Page.objects.filter(artifact__in=ids)
        .order_by()
        .values_list("artifact")
        .annotate(Count("pk"))
    )
    rendered = []
    for artifact in artifacts:
        nodes = progress.get(artifact.pk, IndexingProgress())
        error = nodes.error
        if artifact.state == Artifact.State.FAILED:
            error = {"code": artifact.error_code, "detail": artifact.error_detail}
        elif artifact.state != Artifact.State.PARSED and artifact.last_error:
            error = {"code": "parsing_waits", "detail": artifact.last_error}
        rendered.append(
            {
                "id": str(artifact.pk),
                "index": artifact.index,
                "title": artifact.title,
                "file_name": artifact.file_name,
                "external_id": artifact.external_id,
                "url": artifact.url,
                "media_type": artifact.media_type,
                "encoding": artifact.encoding,
                "sha256": artifact.sha256,
                "metadata": artifact.metadata,
                "groups": [group for group in artifact.groups if grant.shows_group(group)],
                "revision": artifact.revision,
                "status": getattr(artifact, "status"),  # noqa: B009  (an annotation)
                "error": error,
                "warnings": [*artifact.warnings, *nodes.warnings],
                "pages": page_counts.get(artifact.pk, 0),
                "nodes": {
                    "pending": nodes.pending,
                    "synced": nodes.synced,
                    "failed": nodes.failed,
                },
                "created_at": artifact.created_at,
                "updated_at": artifact.updated_at,
            }
        )
    return rendered
