"""System checks of the virus scanner, S3, the limits of documents, the overlap of sources and the
readers."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from documents.parsing.added_readers import DOCLING_SERVE, NAMED_READERS, strip_label
from documents.source_splitting import MIN_WORDS

MAX_OVERLAP_WORDS = MIN_WORDS // 2  # half of the shortest source
LIMITS = (
    "STRATA_PARSE_MEMORY_BYTES",
    "STRATA_PARSE_MAX_PAGES",
    "STRATA_PARSE_MAX_TEXT_CHARS",
    "STRATA_MAX_DOCUMENT_NODES",
)


@register("strata")
def check_documents(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = [
        Error(
            f"{name} is {getattr(settings, name)}, so that no document could be added.",
            hint="Set it to a number above 0.",
            id="documents.E001",
        )
        for name in LIMITS
        if getattr(settings, name) < 1
    ]
    address = settings.STRATA_CLAMD
    host, _, port = address.rpartition(":")
    if address and not address.startswith("/") and not (host and port.isdecimal()):
        errors.append(
            Error(
                f"STRATA_CLAMD is {address!r}, which is neither host:port nor the path of a "
                "socket.",
                hint="Write it as 127.0.0.1:3310 or /run/clamav/clamd.ctl.",
                id="documents.E002",
            )
        )
    if settings.STRATA_S3_BUCKET and not (find_spec("storages") and find_spec("boto3")):
        errors.append(
            Error(
                "STRATA_S3_BUCKET is set, but what asks S3 is not installed.",
                hint="strata install s3",
                id="documents.E004",
            )
        )
    if not 0 <= settings.STRATA_SOURCE_OVERLAP_WORDS <= MAX_OVERLAP_WORDS:
        errors.append(
            Error(
                f"STRATA_SOURCE_OVERLAP_WORDS must be 0 to {MAX_OVERLAP_WORDS} words; it is "
                f"{settings.STRATA_SOURCE_OVERLAP_WORDS}.",
                id="documents.E003",
            )
        )
    return [*errors, *_check_fetch_hosts(), *_check_readers()]


def _check_fetch_hosts() -> Iterator[Error]:
    for entry in settings.STRATA_FETCH_HOSTS:
        try:
            named = urlsplit(f"//{entry}")
            is_host = bool(named.hostname) and named.port != 0 and named.netloc == entry
        except ValueError:  # the port is no number, or brackets are missing
            is_host = False
        if not is_host or "@" in entry:
            yield Error(
                f"STRATA_FETCH_HOSTS has {entry!r}, which is no host.",
                hint="Write docs.example.org, *.example.org or docs.example.org:8443.",
                id="documents.E008",
            )


def _check_readers() -> Iterator[Error]:
    for ending, reader in settings.STRATA_READERS.items():
        name = strip_label(reader)
        is_known = name in NAMED_READERS or re.fullmatch(r"[\w.]+:[\w.]+", reader)
        if not is_known or not re.fullmatch(r"[a-z0-9_+-]+", ending):
            yield Error(
                f"STRATA_READERS has {ending}={reader}, which names no ending or no reader.",
                hint="Write an ending in lower case without a dot, then =, then a class as "
                f"module:Class or one of {', '.join(NAMED_READERS)}.",
                id="documents.E005",
            )
        elif name == DOCLING_SERVE and not settings.STRATA_DOCLING_SERVE_URL:
            yield Error(
                "STRATA_READERS names docling-serve, but its address is not set.",
                hint="Set STRATA_DOCLING_SERVE_URL, such as http://docling:5001.",
                id="documents.E006",
            )
        elif name != DOCLING_SERVE and not find_spec(
            package := name.partition(":")[0].partition(".")[0]
        ):
            yield Error(
                f"STRATA_READERS names {reader}, but {package} is not installed.",
                hint="Install it where Strata runs, or correct the setting.",
                id="documents.E007",
            )
