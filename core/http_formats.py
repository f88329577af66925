"""The formats of requests and answers: JSON within limits, and streams of lines read in bounded
memory."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import IO, Any, Final, Protocol

from django.conf import settings
from pydantic_core import to_json
from rest_framework import renderers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder

from core.exceptions import Malformed, TooLarge

READ_BYTES = 1 << 16


class Readable(Protocol):
    def readline(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a stream, without its line break; ``content`` is None if it was too long."""

    number: int  # counted from 1, blank lines included
    content: bytes | None

    def load_json(self) -> Any:
        """Parse the line; raises ``TooLarge``, and as ``load_json``."""
        if self.content is None:
            raise TooLarge(f"A line may have at most {settings.STRATA_MAX_JSON_BYTES:,} bytes.")
        return load_json(self.content)


class JSONParser(BaseParser):
    """Parses JSON (RFC 8259) of at most ``STRATA_MAX_JSON_BYTES``."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.STRATA_MAX_JSON_BYTES
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge(f"A JSON body may have at most {limit:,} bytes.")
        return load_json(body)


def max_json_bytes(content_type: str) -> int:
    """The ``max_body_bytes`` (``config.middleware``) of views that accept long JSON."""
    return int(settings.STRATA_MAX_JSON_BYTES)


def load_json(text: bytes | str) -> Any:
    """Parse JSON; every number in the result is finite.

    Raises:
        Malformed: it is not UTF-8 or not valid JSON, or it is nested too deeply.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")  # with or without a byte order mark
        return json.loads(text, parse_float=_parse_finite_float, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Malformed(f"The text is not UTF-8: byte {error.start} is invalid.") from None
    except RecursionError:
        raise Malformed("The JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"The text is not valid JSON: {error.msg} ({where}).") from None
    except ValueError as error:
        raise Malformed(f"The JSON holds a number that cannot be stored: {error}.") from None


def iter_lines(stream: Readable, *, limit: int) -> Iterator[Line]:
    """Yield the lines of a stream that are not blank; lines over ``limit`` bytes are not kept."""
    for number in count(1):
        line = stream.readline(limit + 1)
        if not line:
            return
        if len(line) > limit and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(READ_BYTES)
            yield Line(number, None)
        elif not line.isspace():
            yield Line(number, line.removesuffix(b"\n"))


def _parse_finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:30]} is too large")
    return number


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


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


class IgnoreAcceptHeader(DefaultContentNegotiation):
    """For answers in only one format: return it even if the caller asked for another."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


_ENCODER = JSONEncoder()


class JSONRenderer(renderers.JSONRenderer):
    """Takes less than half of DRF's time; DRF encodes only what ``to_json`` does not know."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        is_indented = ";" in (accepted_media_type or "")  # a client may ask for ``indent``
        if data is not None and not is_indented:
            body = to_json(data, inf_nan_mode="constants", fallback=_ENCODER.default)
            if b"NaN" not in body and b"Infinity" not in body:
                return body
            # NaN is a word of a text, or a number, for which DRF raises an error.
        return bytes(super().render(data, accepted_media_type, renderer_context))
