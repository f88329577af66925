"""Errors about documents."""

from core.exceptions import Conflict, Unavailable, Unknown, Unprocessable


class UnknownArtifact(Unknown):
    """There is no artifact with this id."""

    code = "unknown_artifact"


class ContentConflict(Conflict):
    """Another artifact of this index already has this content."""

    code = "content_conflict"


class DocumentExists(Conflict):
    """A document of this name is in the index already, with other content."""

    code = "document_exists"


class SeveralDocumentsExist(Conflict):
    """Several documents of the index have this name."""

    code = "several_documents_exist"


class DocumentHeld(Conflict):
    """The document is under a legal hold, so that it can be neither deleted nor replaced."""

    code = "document_held"

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(
            detail,
            fix="End the hold first, with the scope manage: PATCH artifacts/{id}/, is_held false.",
        )


class HiddenParts(Conflict):
    """The document holds files that you may not see, which this would change or show."""

    code = "hidden_parts"


class Unparsable(Unprocessable):
    """The file cannot be read as a document; trying again will not help."""

    code = "unparsable"

    def __init__(self, code: str, detail: str, *, fix: str | None = None) -> None:
        super().__init__(detail, fix=fix)
        self.code = code


# Codes of files that no reader can read: another file must be added.
NEEDS_ANOTHER_FILE = {
    "encrypted_pdf", "encrypted_file", "empty_file", "binary_file", "wrong_format", "infected_file",
}  # fmt: skip


class ScannerUnavailable(Unavailable):
    """The virus scanner did not answer; safe to retry."""

    code = "virus_scanner_unavailable"


class ReaderUnavailable(Unavailable):
    """The service that reads the file does not answer; safe to retry."""

    code = "reader_unavailable"


class OriginalsUnavailable(Unavailable):
    """The storage of the original files does not answer; safe to retry."""

    code = "originals_unavailable"


class AddressUnavailable(Unavailable):
    """The document cannot be fetched from its address now; safe to retry."""

    code = "address_unavailable"

    def __init__(
        self,
        detail: str | None = None,
        *,
        field: str | None = "url",
        fix: str = "Try again later, or send the file.",
    ) -> None:
        super().__init__(detail, field=field, fix=fix)


class PagesBusy(Unavailable):
    """Pages of other documents are being drawn."""

    code = "pages_busy"
