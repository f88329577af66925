"""Conditions met while building and reading indexes."""

from core.exceptions import StrataError


class InvalidSpec(StrataError):
    """An index spec is not valid."""

    code = "invalid_spec"
    is_about_setup = True


class Uncuttable(StrataError, ValueError):
    """A text cannot be cut into chunks that fit the model's window."""

    code = "uncuttable"


class ModelUnavailable(StrataError):
    """The embedding model's files are missing or are not the ones expected."""

    code = "model_unavailable"
    is_about_setup = True


class EmbeddingUnavailable(StrataError):
    """The embedding provider did not answer; safe to retry."""

    code = "embedding_unavailable"
    is_retryable = True


class EmbeddingMismatch(StrataError):
    """The model's vectors do not have the dimension the spec states."""

    code = "embedding_mismatch"
    is_about_setup = True


class StoreUnavailable(StrataError):
    """The vector store did not answer; safe to retry."""

    code = "store_unavailable"
    is_retryable = True


class StoreSilent(StoreUnavailable):
    """The vector store was asked and did not say what became of it; it may yet carry it out."""


class StoreOwned(StrataError):
    """Another process owns the embedded vector store."""

    code = "store_owned"


class LeaseLost(StrataError):
    """The claim on these nodes ran out before the work was done."""

    code = "lease_lost"
    is_retryable = True


class BuildUnfinished(StrataError):
    """The build does not hold everything yet that the live one does."""

    code = "build_unfinished"


class UnknownBuild(StrataError):
    """The index has no build of this number."""

    code = "unknown_build"


class BuildNotThere(StrataError):
    """No build is in the state this asks for."""

    code = "no_such_build"


class NotYetIndexed(StrataError):
    """A write the search was to show has not reached the index yet."""

    code = "not_yet_indexed"


class UnknownRegeneration(StrataError):
    """There is no regeneration with this id."""

    code = "unknown_regeneration"
