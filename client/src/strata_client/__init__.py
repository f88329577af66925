"""Strata's Python client: ``AsyncStrata``, and the synchronous ``Strata``."""

from strata_client._async.client import AsyncStrata as AsyncStrata
from strata_client._async.concepts import AsyncConcepts as AsyncConcepts
from strata_client._async.evaluations import AsyncEvaluations as AsyncEvaluations
from strata_client._async.evidence import AsyncEvidence as AsyncEvidence
from strata_client._async.relationships import AsyncRelationships as AsyncRelationships
from strata_client._async.streaming import AsyncAnswerStream as AsyncAnswerStream
from strata_client._sync.client import Strata as Strata
from strata_client._sync.concepts import Concepts as Concepts
from strata_client._sync.evaluations import Evaluations as Evaluations
from strata_client._sync.evidence import Evidence as Evidence
from strata_client._sync.relationships import Relationships as Relationships
from strata_client._sync.streaming import AnswerStream as AnswerStream
from strata_client.answers import AnswerEvent as AnswerEvent
from strata_client.answers import Chunk as Chunk
from strata_client.answers import Done as Done
from strata_client.answers import Metadata as Metadata
from strata_client.exceptions import AccessDenied as AccessDenied
from strata_client.exceptions import ArtifactFailed as ArtifactFailed
from strata_client.exceptions import Conflict as Conflict
from strata_client.exceptions import InvalidRequest as InvalidRequest
from strata_client.exceptions import NotFound as NotFound
from strata_client.exceptions import NotReady as NotReady
from strata_client.exceptions import StrataError as StrataError
from strata_client.exceptions import TooManyRequests as TooManyRequests
from strata_client.exceptions import Unavailable as Unavailable
