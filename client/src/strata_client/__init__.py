"""Strata's Python client: ``AsyncStrata``, and the synchronous ``Strata``."""

from strata_client._async.client import AsyncStrata
from strata_client._async.evidence import AsyncEvidence
from strata_client._async.streaming import AsyncAnswerStream
from strata_client._sync.client import Strata
from strata_client._sync.evidence import Evidence
from strata_client._sync.streaming import AnswerStream
from strata_client.answers import AnswerEvent, Chunk, Done, Metadata
from strata_client.exceptions import (
    AccessDenied,
    ArtifactFailed,
    Conflict,
    InvalidRequest,
    NotFound,
    NotReady,
    StrataError,
    TooManyRequests,
    Unavailable,
)

__all__ = [
    "AccessDenied",
    "AnswerEvent",
    "AnswerStream",
    "ArtifactFailed",
    "AsyncAnswerStream",
    "AsyncEvidence",
    "AsyncStrata",
    "Chunk",
    "Conflict",
    "Done",
    "Evidence",
    "InvalidRequest",
    "Metadata",
    "NotFound",
    "NotReady",
    "Strata",
    "StrataError",
    "TooManyRequests",
    "Unavailable",
]
