"""Regeneration: rebuilds and re-embeds nodes of existing artifacts, one artifact at a time.

It only sets nodes pending; sync workers write them. Nothing here enqueues tasks.
"""

from indexing.regeneration.job import (
    DueWork,
    claim_regeneration,
    regenerate_next_artifacts,
)
from indexing.regeneration.progress import RegenerationProgress, get_regeneration_progress
from indexing.regeneration.requests import (
    ALL_TYPES,
    begin_regeneration,
    cancel_regeneration,
    get_regeneration,
)
