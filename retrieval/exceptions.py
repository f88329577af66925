"""Conditions met while reading."""

from documents.exceptions import StrataError


class UnknownSource(StrataError):
    """There is no source with this id."""

    code = "unknown_source"


class UnknownTool(StrataError):
    """The index declares no tool of this name."""

    code = "unknown_tool"
