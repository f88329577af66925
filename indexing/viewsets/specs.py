"""The files of the specs over HTTP: read, check, write."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import AllIndexesNeeded, NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Scope
from core.openapi import operation, with_example
from core.serializers import StrictSerializer
from indexing import services
from indexing.spec.loaded import MAX_CHARS, get_invalid_specs, read_spec_text, write_spec_text

TEXT = "title: Minutes\nchunks:\n  context: [title, heading]\n"


@with_example({"text": TEXT, "replaces": "title: Minutes\n"})
class SpecTextSerializer(StrictSerializer):
    text = serializers.CharField(max_length=MAX_CHARS, allow_blank=True, trim_whitespace=False)
    replaces = serializers.CharField(
        max_length=MAX_CHARS,
        required=False,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The text that was read before; null or left out for a new index.",
    )


@extend_schema(tags=["Indexes and builds"])
class SpecView(NeedsAllDocuments):
    scopes = Scope.MANAGE

    @operation("read_spec", strata_types.SpecFile)
    def get(self, request: Request, index: str) -> Response:
        """Read the YAML file of an index."""
        get_grant(request).require(index)
        return Response(_render(index, read_spec_text(index)))

    @operation("write_spec", strata_types.SpecFile, body=SpecTextSerializer, errors=[409, 422])
    def put(self, request: Request, index: str) -> Response:
        """Write the YAML file of an index, or of a new one.

        Only for keys and users that see all indexes. Search settings apply at once; what changes
        stored data applies with a new build.
        """
        if get_grant(request).indexes is not None:
            raise AllIndexesNeeded
        data = SpecTextSerializer.read(request.data)
        write_spec_text(index, data["text"], replaces=data.get("replaces"))
        services.load_specs()
        return Response(_render(index, data["text"]))


def _render(index: str, text: str) -> dict[str, Any]:
    return {
        "index": index,
        "text": text,
        "is_editable": settings.STRATA_EDIT_SPECS,
        "problem": get_invalid_specs().get(index),
    }
