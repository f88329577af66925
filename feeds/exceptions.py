from core.exceptions import Conflict, InvalidInput, Unavailable, Unknown, Unprocessable


class UnknownFeed(Unknown):
    """The index has no source of this name."""

    code = "unknown_document_source"


class SourceUnavailable(Unavailable):
    """The source cannot be read now."""

    code = "source_unavailable"


class ListingRefused(Unprocessable):
    """The listing of the source cannot be used."""

    code = "listing_refused"


class EntryGone(Unavailable):
    """The source does not have this document any more."""

    code = "entry_gone"


class EntryRefused(InvalidInput):
    """The document cannot be taken from its source."""

    code = "entry_refused"


class NothingToConfirm(Conflict):
    """No removal waits for a decision."""

    code = "nothing_to_confirm"


class SourcePaused(Conflict):
    """The source is paused."""

    code = "source_paused"
