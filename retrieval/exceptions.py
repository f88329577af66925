"""Exceptions of retrieval."""

from core.exceptions import Conflict, Unknown, Unprocessable


class UnknownSource(Unknown):
    """There is no source with this id."""

    code = "unknown_source"


class UnknownTool(Unknown):
    """The index declares no tool of this name."""

    code = "unknown_tool"


class UnavailableTool(Conflict):
    """The live build lacks what the tool searches."""

    code = "unavailable_tool"


class UnknownPipeline(Unknown):
    """There is no query pipeline of this name."""

    code = "unknown_pipeline"


class InvalidPipeline(Unprocessable):
    """A query pipeline's file is not valid."""

    code = "invalid_pipeline"
    is_about_setup = True
