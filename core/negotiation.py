"""Chooses the renderer of an answer."""

from collections.abc import Iterable
from typing import Final

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

ANYTHING: Final = "*/*"


class ContentNegotiation(DefaultContentNegotiation):
    """DRF's negotiation, skipped for requests that accept any format: they get the first
    renderer."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        headers = request.META
        is_open = (
            headers.get("HTTP_ACCEPT", ANYTHING) == ANYTHING
            and not format_suffix
            and not headers.get("QUERY_STRING")  # may contain ``format``
        )
        if is_open:
            first = next(iter(renderers))
            return first, first.media_type
        return super().select_renderer(request, renderers, format_suffix)
