"""How the searches in separate vector spaces are offered over REST and on the command line."""

from functools import partial

import strata_types
from retrieval.searches import Search
from spaces import search_requests
from spaces.search_answers import render_artifact_hits, render_artifacts_as_text

SEARCHES: dict[str, Search] = {
    "structures": Search(
        "search_structures",
        "spaces.retrievers.StructureRetriever",
        search_requests.StructureParametersSerializer,
        partial(render_artifact_hits, space="structure"),
        strata_types.StructureSearchAnswer,
        "Search by chemical structure",
        "Artifacts with structures similar to the given one, best first. With a query, artifacts "
        "whose passages answer it are ranked with them.",
        kinds=("compound",),
        to_text=render_artifacts_as_text,
        printer="spaces.answer_printing.SpacePrinter",
        query_parameter="structure",
        query_form="a SMILES",
    ),
    "images": Search(
        "search_images",
        "spaces.retrievers.ImageRetriever",
        search_requests.ImageParametersSerializer,
        partial(render_artifact_hits, space="image"),
        strata_types.ImageSearchAnswer,
        "Search images by what they show",
        "Artifacts whose images show what the query says, best first. Artifacts whose passages "
        "answer it are ranked with them, unless with_text is false.",
        kinds=("image",),
        to_text=render_artifacts_as_text,
        printer="spaces.answer_printing.SpacePrinter",
    ),
}
