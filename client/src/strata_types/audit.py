"""The audit log."""

from typing import Literal

from typing_extensions import TypedDict

from strata_types.common import AnyList


class AuditRow(TypedDict):
    id: int
    at: str
    subject: int
    """Whom it is about; `DELETE audit/subjects/{subject}/` erases their name and address."""
    caller: Literal["key", "user", "server", "command", "nobody"]
    """`server`: a command that asked the API; `nobody`: a caller without a key."""
    caller_id: int | None
    """Of the key or the user."""
    name: str | None
    """Null if it was erased."""
    address: str | None
    """Null if it was erased or is not known."""
    is_erased: bool
    method: str
    """`COMMAND` for a command."""
    route: str
    index: str | None
    document: str | None
    """The first id in the path, or that of what was made."""
    status: int
    """The HTTP status, or the exit status of a command."""
    position: int | None
    """In the chain of seals; null until it is sealed, within a minute."""
    seal: str | None


class AuditRowList(AnyList):
    results: list[AuditRow]


class Change(TypedDict):
    """Of a document."""

    at: str
    caller: Literal["key", "user", "server", "command", "nobody"]
    name: str | None
    """Null if it was erased, and for callers without the scope `manage`."""
    method: str
    route: str
    status: int
    """202: a new document or a new revision; 200: anything else."""
    revision: int | None
    """Of the document after the change; null where it is not known."""


class ChangeList(AnyList):
    results: list[Change]


class AuditVerification(TypedDict):
    is_intact: bool
    broken_at: int | None
    """The position of the first row that was changed or removed, or whose subject was changed."""
    rows: int
    """Whose seals are right."""
    unsealed: int
    """Rows that get their seals within a minute."""
    position: int
    """Of the last sealed row."""
    seal: str | None
    """Of the last sealed row."""


class SubjectErasure(TypedDict):
    subject: int
    is_erased: bool
