"""Having nodes made and embedded anew: asked for once, gone through artifact by artifact.

What it makes due, the ledger syncs. Nothing here enqueues.
"""

from indexing.regeneration.asking import (
    ALL,
    begin_regeneration,
    cancel_regeneration,
    get_regeneration,
)
from indexing.regeneration.job import (
    Due,
    claim_regeneration,
    regenerate_slice,
    release_leases,
    release_regeneration,
)
from indexing.regeneration.progress import RegenerationProgress, regeneration_progress

__all__ = [
    "ALL",
    "Due",
    "RegenerationProgress",
    "begin_regeneration",
    "cancel_regeneration",
    "claim_regeneration",
    "get_regeneration",
    "regenerate_slice",
    "regeneration_progress",
    "release_leases",
    "release_regeneration",
]
