"""The tables of indexes, their builds, and the ledger."""

from indexing.models.builds import (
    Index,
    IndexBuild,
    IndexBuildQuerySet,
    SearchSettings,
    Throughput,
)
from indexing.models.ledger import (
    LOST_TURN,
    MADE_FROM_ID,
    NOT_SYNCED,
    IndexedDocument,
    IndexedDocumentQuerySet,
    Node,
    NodeCountChange,
    NodeQuerySet,
    PointAudit,
    UnconfirmedWrite,
    synced_values,
)
