"""Exceptions of retrieval."""

from core.exceptions import Conflict, Unknown


class UnknownSource(Unknown):
    """There is no source with this id."""

    code = "unknown_source"


class UnknownTool(Unknown):
    """The index declares no tool of this name."""

    code = "unknown_tool"


class UnavailableTool(Conflict):
    """The live build lacks what the tool searches."""

    code = "unavailable_tool"
