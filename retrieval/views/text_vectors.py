"""Vectors of texts over HTTP."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from core.openapi import operation
from retrieval.serializers.requests import EmbedSerializer
from retrieval.text_vectors import MAX_REQUEST_CHARS, embed_texts

VECTOR_DIGITS = 8  # as many as float32 has; more would double the answer
MAX_ESCAPED_CHAR_BYTES = 12  # a character outside the basic plane, escaped in JSON


class EmbedView(APIView):
    scopes = Scope.SEARCH

    @staticmethod
    def max_body_bytes(content_type: str) -> int:
        return 2**16 + MAX_ESCAPED_CHAR_BYTES * MAX_REQUEST_CHARS

    @operation("embed_texts", strata_types.Embeddings, body=EmbedSerializer, tags=["Search"])
    def post(self, request: Request, index: str) -> Response:
        """Embed texts with the model of an index.

        A vector of a query can be given to the searches of this index as `vector`.
        """
        given = EmbedSerializer.read(request.data)
        found = embed_texts(
            index, given["input"], input_type=given["input_type"], grant=get_grant(request)
        )
        return Response(
            {
                "index": found.index,
                "model": found.model,
                "dimension": found.vectors.shape[1],
                "input_type": found.input_type,
                "vectors": found.vectors.astype(float).round(VECTOR_DIGITS).tolist(),
                "truncated": found.truncated,
            }
        )
