"""Strata's Python client: ``AsyncStrata``, and the synchronous ``Strata``."""

from strata_client._async.client import AsyncStrata
from strata_client._async.concepts import AsyncConcepts
from strata_client._async.evaluations import AsyncEvaluations
from strata_client._async.evidence import AsyncEvidence
from strata_client._async.relationships import AsyncRelationships
from strata_client._async.streaming import AsyncAnswerStream
from strata_client._sync.client import Strata
from strata_client._sync.concepts import Concepts
from strata_client._sync.evaluations import Evaluations
from strata_client._sync.evidence import Evidence
from strata_client._sync.relationships import Relationships
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
    "AsyncConcepts",
    "AsyncEvaluations",
    "AsyncEvidence",
    "AsyncRelationships",
    "AsyncStrata",
    "Chunk",
    "Concepts",
    "Conflict",
    "Done",
    "Evaluations",
    "Evidence",
    "InvalidRequest",
    "Metadata",
    "NotFound",
    "NotReady",
    "Relationships",
    "Strata",
    "StrataError",
    "TooManyRequests",
    "Unavailable",
]
