"""Exceptions raised while building and reading indexes."""

from core.exceptions import Conflict, StrataError, Unavailable, Unknown, Unprocessable


class InvalidSpec(Unprocessable):
    """An index spec is not valid."""

    code = "invalid_spec"
    is_about_setup = True


class SpecNotWritten(Conflict):
    """The file of the spec was not written."""

    code = "spec_not_written"


class UnreadableRecipe(Unavailable):
    """The index was stored by another release, in a form that this release cannot read."""

    code = "unreadable_recipe"
    is_retryable = False
    is_about_setup = True


class UnchunkableText(Unprocessable, ValueError):
    """A text cannot be cut into chunks that fit the model's window."""

    code = "uncuttable"


class TooManyNodes(Unprocessable):
    """The document makes more nodes than a document may."""

    code = "too_many_nodes"


class ModelUnavailable(Unavailable):
    """The embedding model's files are missing or are not the ones expected."""

    code = "model_unavailable"
    is_retryable = False
    is_about_setup = True


class ModelLoading(Unavailable):
    """The embedding model is being loaded; safe to retry."""

    STATE = "is being loaded; the first time, it is also downloaded."  # ends the detail

    code = "model_loading"
    retry_after = 2.0  # seconds; from this machine's disk a model takes 2 to 6


class EmbeddingUnavailable(Unavailable):
    """The embedding provider did not answer; safe to retry."""

    code = "embedding_unavailable"


class EmbeddingMismatch(StrataError):
    """The model's vectors do not have the dimension the spec states."""

    code = "embedding_mismatch"
    is_about_setup = True


class StoreUnavailable(Unavailable):
    """The vector store did not answer; safe to retry."""

    code = "store_unavailable"


class StoreOutcomeUnknown(StoreUnavailable):
    """The vector store did not confirm a request, and may still carry it out."""


class StoreBusy(StoreUnavailable):
    """The vector store limits the rate of requests; safe to retry."""

    code = "store_busy"


class StoreRefused(StoreUnavailable):
    """The vector store refuses this service's requests."""

    code = "store_refused"
    is_retryable = False
    is_about_setup = True


class StoreRejected(StrataError):
    """The vector store rejected a request as invalid."""

    code = "store_rejected"


class PointsLost(Unavailable):
    """The vector store has lost points of this index; searches are refused until they are back."""

    code = "points_lost"
    retry_after = 60.0  # seconds: a reconciliation


class StoreLocked(Unavailable):
    """Another process owns the embedded vector store."""

    code = "store_owned"
    is_retryable = False


class BuildUnfinished(Conflict):
    """The build lacks documents that searches find in the live build."""

    code = "build_unfinished"


class UnknownBuild(Unknown):
    """The index has no build with this number."""

    code = "unknown_build"


class WrongBuildState(Conflict):
    """The build is not in a state that allows this operation."""

    code = "no_such_build"


class NotYetIndexed(Conflict):
    """The change that `min_revision` names is not indexed yet."""

    code = "not_yet_indexed"
