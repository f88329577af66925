"""Exceptions of retrieval."""

from core.exceptions import StrataError


class UnknownSource(StrataError):
    """There is no source with this id."""

    code = "unknown_source"


class UnknownTool(StrataError):
    """The index declares no tool of this name."""

    code = "unknown_tool"


class UnavailableTool(StrataError):
    """The live build lacks what the tool searches."""

    code = "unavailable_tool"


class UnknownPipeline(StrataError):
    """There is no query pipeline of this name."""

    code = "unknown_pipeline"


class InvalidPipeline(StrataError):
    """A query pipeline's file is not valid."""

    code = "invalid_pipeline"
    is_about_setup = True
