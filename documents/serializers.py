"""Reads the requests of the documents API and renders its answers."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from access.grants import EVERYTHING, MAX_GROUP_CHARS, Grant
from core.exceptions import InvalidInput
from core.http_formats import load_json
from core.openapi import with_example
from core.serializers import (
    MAX_NAME_CHARS,
    FlagField,
    PagingSerializer,
    StrictSerializer,
    StringField,
    TitleField,
    to_invalid_input,
)
from core.text import clean_text, hash_text
from documents.groups import MAX_GROUPS
from documents.hooks import read_document_fields
from documents.identity import IfExists
from documents.index_catalog import IndexingProgress, get_catalog
from documents.models import Artifact, Page
from documents.parsing import MAX_SEPARATORS_PER_LETTER, is_nearly_all_separators
from documents.partial_reading import add_fixes
from documents.services import AddOutcome, TextContent

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
ORDERINGS = ("created_at", "updated_at", "title", "byte_count")


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


class ExternalIdField(StringField):
    """An id in the caller's system."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=MAX_EXTERNAL_ID_CHARS, **options)


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


def check_metadata(metadata: dict[str, Any], field: str) -> None:
    """Check fields that were given one by one as ``MetadataField`` checks all of them. Raises
    ``InvalidInput``, which names ``field``."""
    try:
        MetadataField().run_validation(metadata)
    except serializers.ValidationError as error:
        raise to_invalid_input({field: error.detail}) from None


@extend_schema_field({"type": "string", "description": "A JSON object, as text."})
class MetadataTextField(MetadataField):
    """Metadata in a form, where every field is text."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(_load_json_text(self, data)) if data.strip() else {}


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
        is_text = isinstance(data, str)
        return super().to_internal_value(_load_json_text(self, data) if is_text else data)


class IfExistsField(serializers.ChoiceField):
    """What becomes of a document of the same name and other content."""

    def __init__(self, **options: Any) -> None:
        help_text = (
            "If another document has this name and other content: `replace` it, the default with "
            "an `external_id`; `keep` both, the default without one; or `refuse` this one. Its "
            "name is its `external_id`, or without one the name of its file."
        )
        super().__init__(choices=list(IfExists), required=False, help_text=help_text, **options)

    def to_internal_value(self, data: Any) -> IfExists:
        return IfExists(super().to_internal_value(data))


def _check_if_exists(attrs: dict[str, Any]) -> dict[str, Any]:
    if attrs.get("if_exists") == IfExists.KEEP and attrs.get("external_id"):
        raise InvalidInput(
            "Two documents cannot have one external_id, so that `if_exists` cannot be keep.",
            field="if_exists",
            allowed=[IfExists.REFUSE, IfExists.REPLACE],
            fix="Leave external_id out, or give another one.",
        )
    return attrs


def _load_json_text(field: serializers.Field, text: str) -> Any:
    try:
        return load_json(text)
    except InvalidInput as error:
        raise InvalidInput(error.detail, field=field.field_name) from None


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
    for count, most, unit in (
        (len(pages), settings.STRATA_PARSE_MAX_PAGES, "pages"),
        (sum(map(len, pages)), settings.STRATA_PARSE_MAX_TEXT_CHARS, "characters of text"),
    ):
        if count > most:
            raise InvalidInput(
                f"An artifact may have at most {most:,} {unit}.",
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
    external_id = ExternalIdField(
        allow_null=True,
        help_text="Its id in your system. Adding the same id again updates the artifact.",
    )
    url = URLField(required=False, allow_null=True, allow_blank=True, max_length=MAX_URL_CHARS)
    metadata = MetadataField(required=False, allow_null=True)
    groups = GroupsField(allow_null=True)
    if_exists = IfExistsField(allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return _check_if_exists(super().validate(attrs))


def validate_text_artifact(data: Any) -> dict[str, Any]:
    """Validate a JSON document and return it as arguments of ``services.add_artifact``. Raises
    ``InvalidInput``, which names the first wrong field."""
    fields = TextArtifactSerializer.read(data)
    return {"content": TextContent(tuple(fields["pages"])), **select_attributes(fields)}


class AddressArtifactSerializer(TextArtifactSerializer):
    """An artifact given by its address alone."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        url = attrs["url"]
        own_id = url if len(url) <= MAX_EXTERNAL_ID_CHARS else hash_text(url)
        return _check_if_exists({**attrs, "external_id": attrs.get("external_id") or own_id})


def is_only_address(data: Any) -> bool:
    """Whether a JSON document has an address and no text."""
    return isinstance(data, dict) and bool(data.get("url")) and not {"text", "pages"} & data.keys()


def select_attributes(fields: dict[str, Any]) -> dict[str, Any]:
    """What is given with a document, apart from its content, as arguments of
    ``services.add_artifact``. An empty title or URL counts as not given."""
    return {
        "title": fields.get("title") or None,
        "url": fields.get("url") or None,
        "metadata": fields.get("metadata"),
        "external_id": fields.get("external_id"),
        "groups": fields.get("groups"),
        "if_exists": fields.get("if_exists"),
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
    external_id = ExternalIdField()
    url = URLField(required=False, allow_blank=True, max_length=MAX_URL_CHARS)
    metadata = MetadataTextField(required=False)
    groups = GroupsTextField()
    if_exists = IfExistsField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return _check_if_exists(attrs)


@with_example({"title": "Keeper's handbook, 2nd edition", "metadata": {"year": 1912}})
class ArtifactUpdateSerializer(StrictSerializer):
    """The fields that can change without new content; metadata and groups are replaced as a
    whole."""

    title = TitleField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    url = URLField(required=False, allow_blank=True, max_length=MAX_URL_CHARS)
    external_id = ExternalIdField(
        help_text="Only for an artifact that has none, and unique in its index.",
    )
    metadata = MetadataField(required=False)
    groups = GroupsField()
    is_held = FlagField(
        required=False,
        help_text="Whether it is under a legal hold: it can be neither deleted nor replaced, and "
        "never expires. Only for keys with the scope manage.",
    )


class PassageSerializer(StrictSerializer):
    """A part of a page's text, in Unicode code points."""

    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)

    def validate(self, attrs: dict[str, int]) -> dict[str, int]:
        if attrs["end"] <= attrs["start"]:
            raise InvalidInput("`end` must be greater than `start`.", field="end")
        return attrs


class ArtifactMatchSerializer(StrictSerializer):
    status = serializers.ChoiceField(choices=STATUSES, required=False)
    external_id = ExternalIdField()
    title = StringField(
        required=False, max_length=MAX_TITLE_CHARS, help_text="Part of the title, in any case."
    )
    media_type = StringField(required=False, max_length=150)
    part_of = serializers.UUIDField(required=False, help_text="Id of a ZIP or e-mail: its files.")
    is_partial = FlagField(
        required=False, help_text="Whether a part of it was left out when it was read."
    )
    words = StringField(
        required=False, allow_blank=True, max_length=MAX_TITLE_CHARS,
        help_text="Each word is in its title, file name or external id, or begins its id.",
    )  # fmt: skip
    folder = StringField(
        required=False, max_length=MAX_EXTERNAL_ID_CHARS,
        help_text="How its external id or its file name begins, such as `clients/orrin/`.",
    )  # fmt: skip


class ArtifactFilterSerializer(ArtifactMatchSerializer, PagingSerializer):
    ordering = serializers.ChoiceField(
        choices=[*ORDERINGS, *(f"-{name}" for name in ORDERINGS)], default="created_at"
    )


# --- Answers ---------------------------------------------------------------------------------


def render_reference(artifact: Artifact) -> dict[str, Any]:
    """What hits, quotes and sources show of their document."""
    return {
        "id": str(artifact.pk),
        "title": artifact.title,
        "external_id": artifact.external_id,
        "file_name": artifact.file_name,
    }


def render_written(artifact: Artifact, verdict: AddOutcome) -> dict[str, Any]:
    """What a write did, and to which content. ``artifact``: as the write returned it."""
    replaced = artifact.replaced
    return {
        "verdict": str(verdict),
        "replaced": replaced
        and {
            "title": replaced.title,
            "file_name": replaced.file_name,
            "sha256": replaced.sha256,
            "revision": replaced.revision,
            "updated_at": replaced.updated_at,
        },
    }


def render_artifacts(
    artifacts: Sequence[Artifact], grant: Grant = EVERYTHING
) -> list[dict[str, Any]]:
    """``artifacts``: read through the catalog's ``with_status``."""
    catalog = get_catalog()
    ids = [artifact.pk for artifact in artifacts]
    progress = catalog.get_indexing_progress(ids)
    page_counts = dict(
        Page.objects.filter(artifact__in=ids)
        .order_by()
        .values_list("artifact")
        .annotate(Count("pk"))
    )
    more = read_document_fields(artifacts, grant)
    find_languages = cache(catalog.ocr_languages)
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
                "part_of": artifact.part_of_id and str(artifact.part_of_id),
                "url": artifact.url,
                "media_type": artifact.media_type,
                "encoding": artifact.encoding,
                "sha256": artifact.sha256,
                "byte_count": artifact.byte_count,
                "metadata": artifact.metadata,
                "groups": [group for group in artifact.groups if grant.shows_group(group)],
                "is_held": artifact.is_held,
                "revision": artifact.revision,
                "status": getattr(artifact, "status"),  # noqa: B009  (an annotation)
                "error": error,
                "warnings": [
                    *add_fixes(artifact.warnings, partial(find_languages, artifact.index)),
                    *nodes.warnings,
                ],
                "pages": page_counts.get(artifact.pk, 0),
                "ocr": {"pages_read": artifact.pages_read, "page_count": artifact.page_count}
                if artifact.state == Artifact.State.PARSING and artifact.page_count
                else None,
                "nodes": {
                    "pending": nodes.pending,
                    "synced": nodes.synced,
                    "failed": nodes.failed,
                },
                "indexed_revision": nodes.revision,
                "searchable_at": nodes.searchable_at,
                "created_at": artifact.created_at,
                "updated_at": artifact.updated_at,
                **more[artifact.pk],
            }
        )
    return rendered
