"""Errors about edits of documents."""

from core.exceptions import Conflict, Unknown


class UnknownEdit(Unknown):
    """There is no edit with this id."""

    code = "unknown_edit"


class NotUndoable(Conflict):
    """This edit cannot be undone."""

    code = "not_undoable"


class SelectionChanged(Conflict):
    """Other documents match now than when the edit was previewed."""

    code = "selection_changed"
