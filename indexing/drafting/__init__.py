"""Drafting: the nodes that a document, or a row of a standalone kind, must have.

``drafter.py`` defines the protocols of drafters. Those of other kinds than chunks are in the apps
of these.
"""

from indexing.drafting.drafter import (
    Drafter,
    DrafterWithoutWrittenInput,
    StandaloneDrafter,
    get_drafter,
    get_drafters,
    get_standalone_drafters,
    hash_payload,
    hash_vector_inputs,
    make_payload,
)
from indexing.hooks import plan_inputs, register_input_planner
