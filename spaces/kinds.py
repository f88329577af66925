"""The kinds of node that have a vector space of their own."""

from core.node_kinds import Kind

KINDS = [
    Kind(
        name="compound",
        plural="chemical structures",
        collection="compound",
        drafter="spaces.drafters.CompoundDrafter",
        switch="compounds",
        regeneration_type="compound",
        embedding="compounds.embedding",
        has_sparse=False,
        search="structures",
        check_metadata="spaces.drafters.check_structures",
    ),
    Kind(
        name="image",
        plural="images",
        collection="image",
        drafter="spaces.drafters.ImageDrafter",
        switch="images",
        regeneration_type="image",
        embedding="images.embedding",
        has_sparse=False,
        search="images",
    ),
]
